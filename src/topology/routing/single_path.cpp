#include <algorithm>

#include "railyard/core/check.hpp"
#include "topology/routing/routings.hpp"

namespace railyard::topology {

std::uint32_t PathFinder::detours(GpuId, GpuId) const {
  return 0;
}

void PathFinder::detour(GpuId source, GpuId destination, std::uint32_t number, HopChooser&,
                        std::vector<LinkId>&) const {
  RAILYARD_CHECK(false, "detour {} from GPU {} to {}, but the fabric has none", number,
                 index(source), index(destination));
}

void Routing::route_by_load(const Connection& connection, const LoadView&, const Route*,
                            Route& out) const {
  route(connection, out);
}

void Routing::choices(const Connection&, std::vector<LinkUse>&) const {
  RAILYARD_CHECK(false, "a routing that does not need the load has no choices");
}

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
