// dragonfly: groups of fully meshed routers, joined by global links (Kim, Dally, Scott, Abts,
// "Technology-driven, highly-scalable dragonfly topology", ISCA 2008). A router is a leaf, a group
// a minipod. Keys, beside those of the hosts (host_blocks.hpp); in brackets the paper's letters:
//
//   groups                   [g] at most routers_per_group × global_links_per_router + 1
//   routers_per_group        [a]
//   hosts_per_router         hosts that hang on a router with all their NICs, default 1 [p = hosts
//                            × NICs]
//   global_links_per_router  [h]
//   switch_link              {link} between routers of a group; global_link unless that is given
//   global_link              {link} between groups
//   local_links              parallel cables between two routers of a group, default 1
//   hosts                    fewer than fit: the first routers are filled
//   radix                    ports of a router, checked: p + (a − 1) local_links + h
//
// Balanced is a = 2p = 2h. How global links are laid: global_links.hpp. Minimal routes cross at
// most one local, one global and one local link; of the cables between two groups those serve that
// need the fewest hops. (Two global links in a row may be as short; routers do not use them,
// section 4 of the paper.) Detours: through any other group; between routers of one group, through
// any other router of it.
#include <fmt/format.h>

#include <algorithm>

#include "topology/builders.hpp"
#include "topology/flat.hpp"
#include "topology/global_links.hpp"
#include "topology/switch_paths.hpp"

namespace railyard::topology {
namespace {

class DragonflyPaths final : public SwitchPaths {
 public:
  DragonflyPaths(const GraphView& view, const GlobalLinks& global, std::uint32_t first)
      : SwitchPaths(view), global_(global), first_(first) {}

 private:
  [[nodiscard]] std::uint32_t number(NodeId node) const {
    return static_cast<std::uint32_t>(index(node)) - first_;
  }
  [[nodiscard]] std::uint32_t group(NodeId node) const { return number(node) / global_.switches; }
  [[nodiscard]] NodeId router(std::uint32_t group, std::uint32_t member) const {
    return static_cast<NodeId>(first_ + group * global_.switches + member);
  }

  void next_hops(NodeId at, NodeId to, std::vector<std::uint32_t>& out) const override {
    if (group(at) == group(to)) return links_between(at, to, out);
    hops_to_group(at, group(to), &to, out);
  }

  /// Over the global cables with the fewest hops to group `there`, and on to the router `to` if one
  /// is given.
  void hops_to_group(NodeId at, std::uint32_t there, const NodeId* to,
                     std::vector<std::uint32_t>& out) const {
    const std::uint32_t here = group(at);
    const auto hops = [&](std::uint32_t cable) {
      const NodeId near = router(here, global_.switch_of(here, there, cable));
      const NodeId far = router(there, global_.switch_of(there, here, cable));
      return (near == at ? 0 : 1) + (to == nullptr || far == *to ? 0 : 1);
    };
    int least = 2;
    for (std::uint32_t cable = 0; cable < global_.cables(); ++cable)
      least = std::min(least, hops(cable));
    std::vector<NodeId> next;
    for (std::uint32_t cable = 0; cable < global_.cables(); ++cable) {
      if (hops(cable) != least) continue;
      const NodeId near = router(here, global_.switch_of(here, there, cable));
      next.push_back(near == at ? router(there, global_.switch_of(there, here, cable)) : near);
    }
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    for (const NodeId node : next) links_between(at, node, out);
  }

  [[nodiscard]] std::uint32_t waypoints(NodeId from, NodeId to) const override {
    const std::uint32_t all = group(from) == group(to) ? global_.switches : global_.groups;
    return all > 2 ? all - 2 : 0;
  }
  /// The router or group that a detour goes through.
  [[nodiscard]] std::uint32_t waypoint(NodeId from, NodeId to, std::uint32_t detour) const {
    if (group(from) != group(to)) return skipping(detour, group(from), group(to));
    return skipping(detour, number(from) % global_.switches, number(to) % global_.switches);
  }
  [[nodiscard]] bool at_waypoint(NodeId at, NodeId from, NodeId to,
                                 std::uint32_t detour) const override {
    const std::uint32_t middle = waypoint(from, to, detour);
    return group(from) == group(to) ? at == router(group(from), middle) : group(at) == middle;
  }
  void hops_to_waypoint(NodeId at, NodeId from, NodeId to, std::uint32_t detour,
                        std::vector<std::uint32_t>& out) const override {
    const std::uint32_t middle = waypoint(from, to, detour);
    if (group(from) == group(to)) return links_between(at, router(group(from), middle), out);
    hops_to_group(at, middle, nullptr, out);
  }

  GlobalLinks global_;
  std::uint32_t first_;
};

struct DragonflyPlan {
  FlatPlan flat;
  GlobalLinks global;
  std::uint32_t local_links = 1;
  LinkSpec local;
  LinkSpec far;
};

void cable(GraphBuilder& graph, const DragonflyPlan& plan, std::uint32_t first) {
  const GlobalLinks& global = plan.global;
  const auto router = [&](std::uint32_t group, std::uint32_t member) {
    return static_cast<NodeId>(first + group * global.switches + member);
  };
  for (std::uint32_t g = 0; g < global.groups; ++g) {
    for (std::uint32_t a = 0; a < global.switches; ++a) {
      for (std::uint32_t b = a + 1; b < global.switches; ++b)
        graph.add_cable(router(g, a), router(g, b), plan.local.cable(Tier::minipod),
                        plan.local_links);
    }
    for (std::uint32_t h = g + 1; h < global.groups; ++h) {
      for (std::uint32_t c = 0; c < global.cables(); ++c)
        graph.add_cable(router(g, global.switch_of(g, h, c)), router(h, global.switch_of(h, g, c)),
                        plan.far.cable(Tier::core));
    }
  }
}

}  // namespace

Topology build_dragonfly(config::Reader& reader) {
  const std::size_t before = reader.errors().count();
  DragonflyPlan plan;
  read_flat(reader, "hosts_per_router", plan.flat);
  plan.global = {.groups = required_count(reader, "groups"),
                 .switches = required_count(reader, "routers_per_group"),
                 .links_per_switch = required_count(reader, "global_links_per_router")};
  plan.local = required_link(reader, "switch_link");
  plan.far = optional_link(reader, "global_link").value_or(plan.local);
  plan.local_links = optional_count(reader, "local_links", 1);
  const GlobalLinks& global = plan.global;
  const double routers = 1.0 * global.groups * global.switches;
  if (!check_size(reader, "groups", routers,
                  routers * (1.0 * global.switches * plan.local_links + global.links_per_switch)))
    return {};
  const bool counted =
      set_host_count(reader, std::uint64_t{global.groups} * global.switches, plan.flat);
  const std::uint64_t ports = std::uint64_t{nic_ports(plan.flat)} +
                              std::uint64_t{global.switches - 1} * plan.local_links +
                              global.links_per_switch;
  if (!check_ports(reader, ports, "router") || !counted) return {};
  if (!check_groups(reader, global)) return {};
  if (reader.errors().count() != before) return {};
  for (std::uint32_t g = 0; g < global.groups; ++g) {
    plan.flat.groups.push_back(fmt::format("group-{}", g));
    for (std::uint32_t r = 0; r < global.switches; ++r) {
      plan.flat.switches.push_back(fmt::format("group-{}/router-{}", g, r));
      plan.flat.group_of_switch.push_back(g);
    }
  }
  GraphBuilder graph("dragonfly", plan.flat.hosts.kinds.front().gpu_kind);
  const std::uint32_t first = add_flat(graph, plan.flat);
  cable(graph, plan, first);
  graph.freeze();
  auto paths = std::make_unique<DragonflyPaths>(graph.view(), global, first);
  return graph.take(std::move(paths));
}

}  // namespace railyard::topology
