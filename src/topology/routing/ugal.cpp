// ugal: universal globally adaptive load-balancing (Singh, "Load-balanced routing in
// interconnection networks", Stanford 2005; on dragonflies Kim et al., ISCA 2008, section 4). When
// a flow starts, a minimal path (chosen as by ecmp) stands against one detour (chosen as by
// valiant); the minimal one is taken if
//
//   load_minimal × hops_minimal ≤ load_detour × hops_detour
//
// hops are those between switches. load is flows over capacity, of the first link between switches
// with scope "local" (UGAL-L: what the source switch sees of its own ports), of the fullest link of
// the path with "global" (UGAL-G: an ideal). The papers count packets in a queue; a fluid has no
// queues, so flows stand for them.
#include <algorithm>

#include "railyard/core/rng.hpp"
#include "topology/routing/hashed.hpp"
#include "topology/routing/routings.hpp"

namespace railyard::topology {
namespace {

class Ugal final : public Routing {
 public:
  Ugal(const Topology& topology, std::uint64_t salt, bool global)
      : topology_(topology), fields_{.salt = salt}, global_(global) {}

  void route(const Connection& connection, Route& out) const override {
    set_single_path(topology_, minimal(connection), out);
  }
  bool needs_load() const override { return true; }
  void route_by_load(const Connection& connection, const LoadView& load, const Route*,
                     Route& out) const override {
    std::vector<LinkId> path = minimal(connection);
    std::vector<LinkId> longer = detour(connection);
    if (!longer.empty() && waiting(path, load) > waiting(longer, load)) path.swap(longer);
    set_single_path(topology_, path, out);
  }
  void choices(const Connection& connection, std::vector<LinkUse>& out) const override {
    std::vector<LinkId> links = minimal(connection);
    const std::vector<LinkId> longer = detour(connection);
    links.insert(links.end(), longer.begin(), longer.end());
    std::sort(links.begin(), links.end());
    links.erase(std::unique(links.begin(), links.end()), links.end());
    for (const LinkId link : links) out.push_back({link, 1.0});
  }
  bool hashes() const override { return true; }

 private:
  [[nodiscard]] std::vector<LinkId> minimal(const Connection& connection) const {
    std::vector<LinkId> path;
    HashHop chooser(hash_of(topology_, connection, 0, fields_));
    topology_.paths().path(connection.source, connection.destination, chooser, path);
    return path;
  }
  /// Empty where the fabric has none.
  [[nodiscard]] std::vector<LinkId> detour(const Connection& connection) const {
    std::vector<LinkId> path;
    const std::uint32_t detours =
        topology_.paths().detours(connection.source, connection.destination);
    if (detours > 0) {
      append_valiant_path(topology_, connection, hash_of(topology_, connection, 0, fields_),
                          detours, path);
    }
    return path;
  }
  /// load × hops.
  [[nodiscard]] double waiting(const std::vector<LinkId>& path, const LoadView& load) const {
    double most = 0;
    double hops = 0;
    for (const LinkId id : path) {
      const Link& link = topology_.link(id);
      if (topology_.kind(link.from) < NodeKind::leaf || topology_.kind(link.to) < NodeKind::leaf)
        continue;
      if (hops == 0 || global_) {
        most = std::max(most, load.flows(id) / static_cast<double>(link.capacity.bytes_per_s()));
      }
      hops += 1;
    }
    return most * hops;
  }

  const Topology& topology_;
  HashFields fields_;
  bool global_;
};

}  // namespace

std::unique_ptr<Routing> make_ugal(const Topology& topology, const config::Parameters& parameters) {
  return std::make_unique<Ugal>(
      topology, static_cast<std::uint64_t>(parameters.get<std::int64_t>("seed_salt")),
      parameters.get<std::string>("scope") == "global");
}

}  // namespace railyard::topology
