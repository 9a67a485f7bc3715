// rail_only: rails that no switch joins (Wang et al., "Rail-only: a low-cost high-performance
// network for training LLMs with trillion parameters", arXiv 2307.12169). NIC i of every host is on
// rail i. Data for another rail first crosses the NVLink island of its own host to the GPU there
// that has the destination's place, as NCCL's PXN does. All hosts are alike. Keys, beside those of
// the host (host_plan.hpp, nvlink required):
//
//   hosts_per_minipod  [32, 32, …], or {minipods, hosts}: a minipod is the set of hosts that share
//                      one leaf a rail. One minipod is the paper's: a rail is one switch
//   switch_link        {link} of leaf to spine
//   spines             of each rail, that join its leaves; default: one for each uplink of a leaf
//   oversubscription   {leaf = 1}: NIC bandwidth of a full leaf over its uplinks
//   radix              ports of a switch, checked
//
// switch_link, spines and oversubscription only with more than one minipod.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "topology/builders.hpp"
#include "topology/flat.hpp"
#include "topology/tiered.hpp"
#include "topology/up_down.hpp"

namespace railyard::topology {
namespace {

struct RailOnlyPlan {
  HostPlans hosts;
  std::vector<std::uint32_t> units;
  LinkSpec link;
  std::uint32_t spines = 0;  ///< of each rail; 0: one switch a rail
  std::uint32_t uplinks = 0;

  [[nodiscard]] std::uint32_t rails() const { return hosts.kinds.front().nics; }
};

void refuse_keys_of_spines(config::Reader& reader) {
  for (const std::string_view key : {"switch_link", "spines", "oversubscription"}) {
    if (!reader.has(key)) continue;
    (void)reader.child(key);
    reader.fail(key, "a rail of one minipod is one switch: leave it out");
  }
}

/// Uplinks of a leaf and spines of a rail.
bool read_spines(config::Reader& reader, RailOnlyPlan& plan) {
  if (plan.units.size() < 2) {
    refuse_keys_of_spines(reader);
    return reader.errors().empty();
  }
  plan.link = required_link(reader, "switch_link");
  double oversubscription = 1.0;
  if (const auto node = reader.child("oversubscription")) {
    config::Reader tiers(*node, reader.errors());
    oversubscription = tiers.optional<double>("leaf", 1.0, config::Range<double>{0.01, 1000.0});
    tiers.finish();
  }
  const std::uint32_t given = optional_count(reader, "spines", 0, 0);
  if (!reader.errors().empty()) return false;
  const std::uint32_t full = *std::max_element(plan.units.begin(), plan.units.end());
  const FullLeaf leaf = full_leaf(plan.hosts, full, true);
  const double exact = static_cast<double>(leaf.nics) *
                       static_cast<double>(leaf.nic.bytes_per_s()) / oversubscription /
                       static_cast<double>(plan.link.bandwidth.bytes_per_s());
  if (exact < 1.0 - 1e-9 || std::abs(exact - std::round(exact)) > 1e-9) {
    reader.fail("oversubscription",
                fmt::format("a full leaf needs {:.6g} uplinks; make it whole", exact));
    return false;
  }
  plan.uplinks = static_cast<std::uint32_t>(std::llround(exact));
  plan.spines = given == 0 ? plan.uplinks : given;
  if (plan.uplinks % plan.spines == 0) return true;
  reader.fail("spines", fmt::format("{} uplinks of a leaf do not spread evenly over {} spines",
                                    plan.uplinks, plan.spines));
  return false;
}

bool check_radix(config::Reader& reader, const RailOnlyPlan& plan) {
  const std::uint64_t leaf = *std::max_element(plan.units.begin(), plan.units.end()) + plan.uplinks;
  const std::uint64_t spine =
      plan.spines == 0 ? 0 : plan.units.size() * (plan.uplinks / plan.spines);
  return leaf >= spine ? check_ports(reader, leaf, "leaf") : check_ports(reader, spine, "spine");
}

Topology assemble_rails(const RailOnlyPlan& plan) {
  const HostPlan& host = plan.hosts.kinds.front();
  const std::uint32_t rails = plan.rails();
  GraphBuilder graph("rail_only", host.gpu_kind);
  HostBlocks blocks(graph, plan.hosts);
  std::vector<std::vector<NodeId>> nics;
  for (std::uint32_t unit = 0; unit < plan.units.size(); ++unit) {
    const MinipodId minipod = graph.add_minipod(fmt::format("minipod-{}", unit));
    const LeafId leaf = graph.add_leaf(fmt::format("minipod-{}/rails", unit));
    for (std::uint32_t i = 0; i < plan.units[unit]; ++i) nics.push_back(blocks.add(leaf, minipod));
  }
  std::vector<SwitchLevel> levels(plan.spines == 0 ? 1 : 2);
  const auto here = [&graph] { return static_cast<std::uint32_t>(graph.node_count()); };
  for (std::uint32_t unit = 0; unit < plan.units.size(); ++unit) {
    for (std::uint32_t rail = 0; rail < rails; ++rail) {
      levels[0].first_node.push_back(here());
      if (plan.spines > 0) levels[0].parent.push_back(rail);
      graph.add_node(NodeKind::leaf, fmt::format("minipod-{}/rail-{}", unit, rail));
    }
  }
  levels[0].first_node.push_back(here());
  const std::uint32_t first_spine = here();
  for (std::uint32_t i = 0; i < rails * plan.spines; ++i) {
    if (i % plan.spines == 0) levels[1].first_node.push_back(here());
    graph.add_node(NodeKind::spine,
                   fmt::format("rail-{}/spine-{}", i / plan.spines, i % plan.spines));
  }
  if (plan.spines > 0) levels[1].first_node.push_back(here());
  std::size_t next = 0;
  for (std::uint32_t unit = 0; unit < plan.units.size(); ++unit) {
    const std::uint32_t first = levels[0].first_node[unit * rails];
    for (const std::size_t last = next + plan.units[unit]; next < last; ++next) {
      for (std::uint32_t rail = 0; rail < rails; ++rail)
        graph.add_cable(nics[next][rail], static_cast<NodeId>(first + rail),
                        host.nic.cable(Tier::leaf));
    }
    for (std::uint32_t i = 0; i < rails * plan.spines; ++i)
      graph.add_cable(static_cast<NodeId>(first + i / plan.spines),
                      static_cast<NodeId>(first_spine + i), plan.link.cable(Tier::minipod),
                      plan.uplinks / plan.spines);
  }
  graph.freeze();
  auto paths = make_up_down_paths(graph.view(), std::move(levels),
                                  {.apart = true, .gpus_per_host = host.gpus});
  return graph.take(std::move(paths));
}

}  // namespace

Topology build_rail_only(config::Reader& reader) {
  const std::size_t before = reader.errors().count();
  RailOnlyPlan plan;
  plan.hosts.kinds = {read_host_plan(reader)};
  const HostPlan& host = plan.hosts.kinds.front();
  if (!host.nvlink || host.wiring != Wiring::nvswitch)
    reader.fail("nvlink", "rails meet only on an NVSwitch: \"nvlink\" with wiring \"nvswitch\"");
  plan.units = read_hosts_per_minipod(reader, "hosts_per_minipod");
  if (reader.errors().count() != before || plan.units.empty()) return {};
  if (!read_spines(reader, plan) || !check_radix(reader, plan)) return {};
  return assemble_rails(plan);
}

}  // namespace railyard::topology
