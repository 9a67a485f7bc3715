// ecmp: at each switch a hash of the connection chooses among the equal next hops.
//
// The hash sees source NIC, destination NIC, label and queue pair (the 5-tuple), the seed salt, and
// the switch itself. `queue_pairs` splits a connection evenly into that many paths, as
// NCCL_IB_QPS_PER_CONNECTION does. Two switches show what a real fabric may lack:
//   enhanced = false  plain ECMP on RoCE. All packets between two NICs carry the same addresses and
//                     the same UDP ports, so label and queue pair do not enter the hash and all
//                     queue pairs share one path. With true (E-ECMP: Gangidi et al., "RDMA over
//                     Ethernet for Distributed AI Training at Meta Scale", SIGCOMM 2024)
//                     the switches also hash the destination queue pair, or the NIC varies the UDP
//                     source port by it, so that queue pairs spread
//   polarized = true  all switches hash with the same function and seed, so that the choices of
//                     successive tiers agree and part of the paths is never taken (what Alibaba's
//                     HPN was built to avoid: Qian et al., SIGCOMM 2024)
#include "topology/routing/hashed.hpp"
#include "topology/routing/routings.hpp"

namespace railyard::topology {
namespace {

struct EcmpSettings {
  HashFields fields;
  bool polarized = false;
  std::uint32_t queue_pairs = 1;
};

class Ecmp final : public Routing {
 public:
  Ecmp(const Topology& topology, const EcmpSettings& settings)
      : topology_(topology), settings_(settings) {}

  void route(const Connection& connection, Route& out) const override {
    std::vector<LinkId> path;
    if (settings_.queue_pairs == 1) {
      path_of(connection, 0, path);
      return set_single_path(topology_, path, out);
    }
    EvenSplit split(topology_, settings_.queue_pairs);
    for (std::uint32_t pair = 0; pair < settings_.queue_pairs; ++pair) {
      path.clear();
      path_of(connection, pair, path);
      split.add(path);
    }
    split.finish(out);
  }
  bool hashes() const override { return true; }

 private:
  void path_of(const Connection& connection, std::uint32_t pair, std::vector<LinkId>& path) const {
    HashHop chooser(hash_of(topology_, connection, pair, settings_.fields), settings_.polarized);
    topology_.paths().path(connection.source, connection.destination, chooser, path);
  }

  const Topology& topology_;
  EcmpSettings settings_;
};

}  // namespace

std::unique_ptr<Routing> make_ecmp(const Topology& topology, const config::Parameters& parameters) {
  return std::make_unique<Ecmp>(
      topology,
      EcmpSettings{
          .fields = {.salt = static_cast<std::uint64_t>(parameters.get<std::int64_t>("seed_salt")),
                     .enhanced = parameters.get<bool>("enhanced")},
          .polarized = parameters.get<bool>("polarized"),
          .queue_pairs = static_cast<std::uint32_t>(parameters.get<std::int64_t>("queue_pairs"))});
}

}  // namespace railyard::topology
