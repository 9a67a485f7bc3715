// spray: every packet takes another of the equal paths, so a flow is a fluid split evenly at each
// switch.
#include <algorithm>

#include "topology/routing/routings.hpp"

namespace railyard::topology {
namespace {

class Spray final : public Routing {
 public:
  explicit Spray(const Topology& topology) : topology_(topology) {}

  void route(const Connection& connection, Route& out) const override {
    out.clear();
    topology_.paths().spread(connection.source, connection.destination, out.links);
    // Longest arrival per node. Links come in order of travel, so every link into a node stands
    // before those out of it.
    std::vector<std::pair<NodeId, Duration>> arrival;
    const auto at = [&arrival](NodeId node) -> Duration& {
      for (auto it = arrival.rbegin(); it != arrival.rend(); ++it) {
        if (it->first == node) return it->second;
      }
      return arrival.emplace_back(node, Duration{}).second;
    };
    for (const LinkUse& use : out.links) {
      const Link& link = topology_.link(use.link);
      const Duration reached = at(link.from) + link.latency;
      Duration& latest = at(link.to);
      latest = std::max(latest, reached);
      out.latency = std::max(out.latency, latest);
      out.tier = std::max(out.tier, link.tier);
    }
  }
  bool hashes() const override { return false; }

 private:
  const Topology& topology_;
};

}  // namespace

std::unique_ptr<Routing> make_spray(const Topology& topology, const config::Parameters&) {
  return std::make_unique<Spray>(topology);
}

}  // namespace railyard::topology
