#include <algorithm>

#include "topology/routing/routings.hpp"

namespace railyard::topology {

void set_single_path(const Topology& topology, std::span<const LinkId> path, Route& out) {
  out.clear();
  for (const LinkId id : path) {
    const Link& link = topology.link(id);
    out.links.push_back({id, 1.0});
    out.latency += link.latency;
    out.tier = std::max(out.tier, link.tier);
  }
}

}  // namespace railyard::topology
