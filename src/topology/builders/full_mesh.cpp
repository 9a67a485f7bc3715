// full_mesh: every switch joined to every other, hosts on all of them (a HyperX of one dimension:
// Ahn et al., SC 2009; also the pods of direct-connect data centres). A switch is a leaf; all are
// one minipod. Keys, beside those of the hosts (host_blocks.hpp):
//
//   switches          how many
//   hosts_per_switch  hosts that hang on a switch with all their NICs, default 1
//   switch_link       {link} between two switches
//   parallel          cables between two switches, default 1
//   hosts             fewer than fit: the first switches are filled
//   radix             ports of a switch, checked: NICs + (switches − 1) parallel
//
// Minimal routes: one of the parallel cables. Detours: through any third switch.
#include <fmt/format.h>

#include "topology/builders.hpp"
#include "topology/flat.hpp"
#include "topology/switch_paths.hpp"

namespace railyard::topology {
namespace {

class FullMeshPaths final : public SwitchPaths {
 public:
  FullMeshPaths(const GraphView& view, std::uint32_t first, std::uint32_t switches)
      : SwitchPaths(view), first_(first), switches_(switches) {}

 private:
  [[nodiscard]] NodeId waypoint(NodeId from, NodeId to, std::uint32_t detour) const {
    const auto place = [this](NodeId node) {
      return static_cast<std::uint32_t>(index(node)) - first_;
    };
    return static_cast<NodeId>(first_ + skipping(detour, place(from), place(to)));
  }

  void next_hops(NodeId at, NodeId to, std::vector<std::uint32_t>& out) const override {
    links_between(at, to, out);
  }
  [[nodiscard]] std::uint32_t waypoints(NodeId, NodeId) const override { return switches_ - 2; }
  [[nodiscard]] bool at_waypoint(NodeId at, NodeId from, NodeId to,
                                 std::uint32_t detour) const override {
    return at == waypoint(from, to, detour);
  }
  void hops_to_waypoint(NodeId at, NodeId from, NodeId to, std::uint32_t detour,
                        std::vector<std::uint32_t>& out) const override {
    links_between(at, waypoint(from, to, detour), out);
  }

  std::uint32_t first_;
  std::uint32_t switches_;
};

}  // namespace

Topology build_full_mesh(config::Reader& reader) {
  const std::size_t before = reader.errors().count();
  FlatPlan plan;
  read_flat(reader, "hosts_per_switch", plan);
  const std::uint32_t switches = required_count(reader, "switches");
  const LinkSpec link = required_link(reader, "switch_link");
  const std::uint32_t parallel = optional_count(reader, "parallel", 1);
  if (!check_size(reader, "switches", switches, 0.5 * switches * (switches - 1.0) * parallel))
    return {};
  const bool counted = set_host_count(reader, switches, plan);
  const std::uint64_t ports =
      std::uint64_t{nic_ports(plan)} + std::uint64_t{switches - 1} * parallel;
  if (!check_ports(reader, ports, "switch") || !counted) return {};
  if (reader.errors().count() != before) return {};
  plan.groups = {"mesh"};
  plan.group_of_switch.assign(switches, 0);
  for (std::uint32_t i = 0; i < switches; ++i) plan.switches.push_back(fmt::format("switch-{}", i));
  GraphBuilder graph("full_mesh", plan.hosts.kinds.front().gpu_kind);
  const std::uint32_t first = add_flat(graph, plan);
  for (std::uint32_t a = 0; a < switches; ++a) {
    for (std::uint32_t b = a + 1; b < switches; ++b)
      graph.add_cable(static_cast<NodeId>(first + a), static_cast<NodeId>(first + b),
                      link.cable(Tier::minipod), parallel);
  }
  graph.freeze();
  auto paths = std::make_unique<FullMeshPaths>(graph.view(), first, switches);
  return graph.take(std::move(paths));
}

}  // namespace railyard::topology
