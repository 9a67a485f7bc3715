// dragonfly_plus: groups of two levels, leaves and spines fully joined, and global links between
// spines (Shpiner et al., "Dragonfly+: low cost topology for scaling datacenters", HiPINEB 2017). A
// group is a minipod. Keys, beside those of the hosts (host_blocks.hpp):
//
//   groups                  at most spines_per_group × global_links_per_spine + 1
//   leaves_per_group, spines_per_group
//   hosts_per_leaf          hosts that hang on a leaf with all their NICs, default 1
//   global_links_per_spine
//   switch_link             {link} between leaf and spine; global_link unless that is given
//   global_link             {link} between groups
//   local_links             parallel cables between a leaf and a spine, default 1
//   hosts                   fewer than fit: the first leaves are filled
//   radix                   ports of a switch, checked for leaves and spines
//
// How global links are laid: global_links.hpp. Minimal routes: leaf, spine, spine, leaf between
// groups, over every cable that joins them; leaf, spine, leaf inside one. Detours: through any
// other group; there a spine passes on, or a leaf takes it to the spine that has the next cable.
#include <fmt/format.h>

#include <algorithm>

#include "topology/builders.hpp"
#include "topology/flat.hpp"
#include "topology/global_links.hpp"
#include "topology/switch_paths.hpp"

namespace railyard::topology {
namespace {

/// Leaves of all groups come first, then the spines of all groups.
struct Places {
  std::uint32_t first_leaf = 0;
  std::uint32_t first_spine = 0;
  std::uint32_t leaves = 1;  ///< of a group
  GlobalLinks global;

  [[nodiscard]] NodeId leaf(std::uint32_t group, std::uint32_t member) const {
    return static_cast<NodeId>(first_leaf + group * leaves + member);
  }
  [[nodiscard]] NodeId spine(std::uint32_t group, std::uint32_t member) const {
    return static_cast<NodeId>(first_spine + group * global.switches + member);
  }
  [[nodiscard]] bool is_leaf(NodeId node) const { return index(node) < first_spine; }
  [[nodiscard]] std::uint32_t group(NodeId node) const {
    const auto i = static_cast<std::uint32_t>(index(node));
    return is_leaf(node) ? (i - first_leaf) / leaves : (i - first_spine) / global.switches;
  }
};

class DragonflyPlusPaths final : public SwitchPaths {
 public:
  DragonflyPlusPaths(const GraphView& view, const Places& places)
      : SwitchPaths(view), places_(places) {}

 private:
  void next_hops(NodeId at, NodeId to, std::vector<std::uint32_t>& out) const override {
    const std::uint32_t here = places_.group(at);
    if (here != places_.group(to)) return hops_to_group(at, places_.group(to), out);
    if (!places_.is_leaf(at)) return links_between(at, to, out);
    for (std::uint32_t s = 0; s < places_.global.switches; ++s)
      links_between(at, places_.spine(here, s), out);
  }

  /// From a leaf to the spines that have cables to the group. From a spine over its own cables; one
  /// that has none (a detour entered by it) goes by the leaves of its group.
  void hops_to_group(NodeId at, std::uint32_t there, std::vector<std::uint32_t>& out) const {
    const std::uint32_t here = places_.group(at);
    std::vector<NodeId> next;
    for (std::uint32_t c = 0; c < places_.global.cables(); ++c) {
      const NodeId near = places_.spine(here, places_.global.switch_of(here, there, c));
      if (places_.is_leaf(at)) next.push_back(near);
      if (near == at)
        next.push_back(places_.spine(there, places_.global.switch_of(there, here, c)));
    }
    if (next.empty()) {
      for (std::uint32_t leaf = 0; leaf < places_.leaves; ++leaf)
        next.push_back(places_.leaf(here, leaf));
    }
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    for (const NodeId node : next) links_between(at, node, out);
  }

  [[nodiscard]] std::uint32_t waypoints(NodeId from, NodeId to) const override {
    const bool same = places_.group(from) == places_.group(to);
    return same || places_.global.groups < 3 ? 0 : places_.global.groups - 2;
  }
  [[nodiscard]] bool at_waypoint(NodeId at, NodeId from, NodeId to,
                                 std::uint32_t detour) const override {
    return places_.group(at) == skipping(detour, places_.group(from), places_.group(to));
  }
  void hops_to_waypoint(NodeId at, NodeId from, NodeId to, std::uint32_t detour,
                        std::vector<std::uint32_t>& out) const override {
    hops_to_group(at, skipping(detour, places_.group(from), places_.group(to)), out);
  }

  Places places_;
};

struct DragonflyPlusPlan {
  FlatPlan flat;
  std::uint32_t leaves = 1;
  GlobalLinks global;
  std::uint32_t local_links = 1;
  LinkSpec local;
  LinkSpec far;
};

Places add_switches(GraphBuilder& graph, const DragonflyPlusPlan& plan) {
  Places out{.leaves = plan.leaves, .global = plan.global};
  out.first_leaf = add_flat(graph, plan.flat);
  out.first_spine = static_cast<std::uint32_t>(graph.node_count());
  for (std::uint32_t g = 0; g < plan.global.groups; ++g) {
    for (std::uint32_t s = 0; s < plan.global.switches; ++s)
      graph.add_node(NodeKind::spine, fmt::format("group-{}/spine-{}", g, s));
  }
  return out;
}

void cable(GraphBuilder& graph, const DragonflyPlusPlan& plan, const Places& at) {
  const GlobalLinks& global = plan.global;
  for (std::uint32_t g = 0; g < global.groups; ++g) {
    for (std::uint32_t l = 0; l < plan.leaves; ++l) {
      for (std::uint32_t s = 0; s < global.switches; ++s)
        graph.add_cable(at.leaf(g, l), at.spine(g, s), plan.local.cable(Tier::minipod),
                        plan.local_links);
    }
    for (std::uint32_t h = g + 1; h < global.groups; ++h) {
      for (std::uint32_t c = 0; c < global.cables(); ++c)
        graph.add_cable(at.spine(g, global.switch_of(g, h, c)),
                        at.spine(h, global.switch_of(h, g, c)), plan.far.cable(Tier::core));
    }
  }
}

}  // namespace

Topology build_dragonfly_plus(config::Reader& reader) {
  const std::size_t before = reader.errors().count();
  DragonflyPlusPlan plan;
  read_flat(reader, "hosts_per_leaf", plan.flat);
  plan.leaves = required_count(reader, "leaves_per_group");
  plan.global = {.groups = required_count(reader, "groups"),
                 .switches = required_count(reader, "spines_per_group"),
                 .links_per_switch = required_count(reader, "global_links_per_spine")};
  plan.local = required_link(reader, "switch_link");
  plan.far = optional_link(reader, "global_link").value_or(plan.local);
  plan.local_links = optional_count(reader, "local_links", 1);
  const double groups = plan.global.groups;
  if (!check_size(reader, "groups", groups * (plan.leaves + plan.global.switches),
                  groups * plan.global.switches *
                      (1.0 * plan.leaves * plan.local_links + plan.global.links_per_switch)))
    return {};
  const bool counted =
      set_host_count(reader, std::uint64_t{plan.global.groups} * plan.leaves, plan.flat);
  const std::uint64_t leaf_ports =
      std::uint64_t{nic_ports(plan.flat)} + std::uint64_t{plan.global.switches} * plan.local_links;
  const std::uint64_t spine_ports =
      std::uint64_t{plan.leaves} * plan.local_links + plan.global.links_per_switch;
  const bool fits = leaf_ports >= spine_ports ? check_ports(reader, leaf_ports, "leaf")
                                              : check_ports(reader, spine_ports, "spine");
  if (!fits || !counted || !check_groups(reader, plan.global)) return {};
  if (reader.errors().count() != before) return {};
  for (std::uint32_t g = 0; g < plan.global.groups; ++g) {
    plan.flat.groups.push_back(fmt::format("group-{}", g));
    for (std::uint32_t l = 0; l < plan.leaves; ++l) {
      plan.flat.switches.push_back(fmt::format("group-{}/leaf-{}", g, l));
      plan.flat.group_of_switch.push_back(g);
    }
  }
  GraphBuilder graph("dragonfly_plus", plan.flat.hosts.kinds.front().gpu_kind);
  const Places places = add_switches(graph, plan);
  cable(graph, plan, places);
  graph.freeze();
  auto paths = std::make_unique<DragonflyPlusPaths>(graph.view(), places);
  return graph.take(std::move(paths));
}

}  // namespace railyard::topology
