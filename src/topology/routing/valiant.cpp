// valiant: a minimal path to a random intermediate group, then a minimal path to the destination
// (Valiant, "A scheme for fast parallel communication", SIAM J. Comput. 1982; on dragonflies Kim et
// al., ISCA 2008, section 4). Twice the hops buy an even load under any pattern. The intermediate
// is drawn by the hash of the connection and its queue pair, so a connection keeps its path. On
// trees there are no detours: their roots are the random middle, and valiant is ecmp.
#include "railyard/core/rng.hpp"
#include "topology/routing/hashed.hpp"
#include "topology/routing/routings.hpp"

namespace railyard::topology {
namespace {

class Valiant final : public Routing {
 public:
  Valiant(const Topology& topology, std::uint64_t salt, std::uint32_t queue_pairs)
      : topology_(topology), fields_{.salt = salt}, queue_pairs_(queue_pairs) {}

  void route(const Connection& connection, Route& out) const override {
    const std::uint32_t detours =
        topology_.paths().detours(connection.source, connection.destination);
    EvenSplit split(topology_, queue_pairs_);
    std::vector<LinkId> path;
    for (std::uint32_t pair = 0; pair < queue_pairs_; ++pair) {
      path.clear();
      append_valiant_path(topology_, connection, hash_of(topology_, connection, pair, fields_),
                          detours, path);
      split.add(path);
    }
    split.finish(out);
  }
  bool hashes() const override { return true; }

 private:
  const Topology& topology_;
  HashFields fields_;
  std::uint32_t queue_pairs_;
};

}  // namespace

void append_valiant_path(const Topology& topology, const Connection& connection, std::uint64_t hash,
                         std::uint32_t detours, std::vector<LinkId>& out) {
  constexpr std::uint64_t kIntermediate = 0x76616c69616e74;  // apart from the choices of hops
  HashHop chooser(hash);
  const PathFinder& paths = topology.paths();
  if (detours == 0) return paths.path(connection.source, connection.destination, chooser, out);
  const auto through = static_cast<std::uint32_t>(mix64(hash ^ kIntermediate) % detours);
  paths.detour(connection.source, connection.destination, through, chooser, out);
}

std::unique_ptr<Routing> make_valiant(const Topology& topology,
                                      const config::Parameters& parameters) {
  return std::make_unique<Valiant>(
      topology, static_cast<std::uint64_t>(parameters.get<std::int64_t>("seed_salt")),
      static_cast<std::uint32_t>(parameters.get<std::int64_t>("queue_pairs")));
}

}  // namespace railyard::topology
