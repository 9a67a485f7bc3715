// ecmp: at each switch a hash of the connection chooses among the equal next hops.
//
// The hash sees source NIC, destination NIC, label and queue pair (the 5-tuple), the seed salt, and
// the switch itself: with one hash function on all switches the second choice would follow the
// first (polarisation). `queue_pairs` splits a connection evenly into that many independently
// hashed paths, as NCCL_IB_QPS_PER_CONNECTION does.
#include <algorithm>

#include "railyard/core/rng.hpp"
#include "topology/routing/routings.hpp"

namespace railyard::topology {
namespace {

class HashHop final : public HopChooser {
 public:
  explicit HashHop(std::uint64_t connection) : connection_(connection) {}
  std::uint32_t choose(NodeId at, std::uint32_t, std::uint32_t count) override {
    return static_cast<std::uint32_t>(mix64(connection_ ^ mix64(index(at))) % count);
  }

 private:
  std::uint64_t connection_;
};

class Ecmp final : public Routing {
 public:
  Ecmp(const Topology& topology, std::uint64_t salt, std::uint32_t queue_pairs)
      : topology_(topology), salt_(salt), queue_pairs_(queue_pairs) {}

  void route(const Connection& connection, Route& out) const override {
    std::vector<LinkId> path;
    if (queue_pairs_ == 1) {
      path_of(connection, 0, path);
      return set_single_path(topology_, path, out);
    }
    out.clear();
    std::vector<Placed> placed;
    for (std::uint32_t pair = 0; pair < queue_pairs_; ++pair) {
      path.clear();
      path_of(connection, pair, path);
      Duration latency{};
      for (std::uint32_t hop = 0; hop < path.size(); ++hop) {
        const Link& link = topology_.link(path[hop]);
        latency += link.latency;
        out.tier = std::max(out.tier, link.tier);
        placed.push_back({hop, path[hop]});
      }
      out.latency = std::max(out.latency, latency);
    }
    merge(placed, out);
  }
  bool hashes() const override { return true; }

 private:
  struct Placed {
    std::uint32_t hop;
    LinkId link;
    friend auto operator<=>(const Placed&, const Placed&) = default;
  };

  void path_of(const Connection& connection, std::uint32_t pair, std::vector<LinkId>& path) const {
    std::uint64_t hash = mix64(salt_);
    hash = mix64(hash ^ index(topology_.nic_node(connection.source)));
    hash = mix64(hash ^ index(topology_.nic_node(connection.destination)));
    hash = mix64(hash ^ connection.label);
    hash = mix64(hash ^ pair);
    HashHop chooser(hash);
    topology_.paths().path(connection.source, connection.destination, chooser, path);
  }

  /// Equal paths are equally long and never meet a link at two positions, so position and link
  /// identify a share.
  void merge(std::vector<Placed>& placed, Route& out) const {
    std::sort(placed.begin(), placed.end());
    for (std::size_t i = 0; i < placed.size();) {
      std::size_t end = i;
      while (end < placed.size() && placed[end] == placed[i]) ++end;
      out.links.push_back(
          {placed[i].link, static_cast<double>(end - i) / static_cast<double>(queue_pairs_)});
      i = end;
    }
  }

  const Topology& topology_;
  std::uint64_t salt_;
  std::uint32_t queue_pairs_;
};

}  // namespace

std::unique_ptr<Routing> make_ecmp(const Topology& topology, const config::Parameters& parameters) {
  return std::make_unique<Ecmp>(
      topology, static_cast<std::uint64_t>(parameters.get<std::int64_t>("seed_salt")),
      static_cast<std::uint32_t>(parameters.get<std::int64_t>("queue_pairs")));
}

}  // namespace railyard::topology
