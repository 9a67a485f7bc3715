#include "topology/flat.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace railyard::topology {
namespace {

constexpr std::int64_t kCountMax = 1'000'000;

std::vector<std::uint32_t> switches_of_hosts(const FlatPlan& plan) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < plan.switches.size() && out.size() < plan.host_count; ++i) {
    const std::uint32_t hosts =
        plan.hosts_of_switch.empty() ? plan.hosts_per_switch : plan.hosts_of_switch[i];
    out.insert(out.end(), std::min<std::uint64_t>(hosts, plan.host_count - out.size()), i);
  }
  return out;
}

}  // namespace

std::uint32_t required_count(config::Reader& reader, std::string_view key, std::int64_t least) {
  return static_cast<std::uint32_t>(
      reader.required<std::int64_t>(key, config::Range<std::int64_t>{least, kCountMax}));
}

std::uint32_t optional_count(config::Reader& reader, std::string_view key, std::uint32_t fallback,
                             std::int64_t least) {
  return static_cast<std::uint32_t>(
      reader.optional<std::int64_t>(key, fallback, config::Range<std::int64_t>{least, kCountMax}));
}

bool check_size(config::Reader& reader, std::string_view key, double switches, double cables) {
  constexpr double kCablesMax = 2e7;
  if (switches <= kCountMax && cables <= kCablesMax) return true;
  reader.fail(key, fmt::format("{:.3g} switches and {:.3g} cables are more than {} and {:.0e}",
                               switches, cables, kCountMax, kCablesMax));
  return false;
}

bool check_groups(config::Reader& reader, const GlobalLinks& global) {
  if (global.groups < 2 || global.cables() > 0) return true;
  reader.fail("groups", fmt::format("{} groups need {} global links of each, which has {}",
                                    global.groups, global.groups - 1, global.ports()));
  return false;
}

void read_flat(config::Reader& reader, std::string_view per_switch_key, FlatPlan& plan) {
  plan.hosts = read_hosts(reader);
  plan.hosts_per_switch = optional_count(reader, per_switch_key, 1);
}

bool set_host_count(config::Reader& reader, std::uint64_t switches, FlatPlan& plan) {
  const auto most = static_cast<std::int64_t>(switches * plan.hosts_per_switch);
  const auto hosts =
      reader.optional<std::int64_t>("hosts", most, config::Range<std::int64_t>{1, most});
  plan.host_count = static_cast<std::uint64_t>(hosts);
  return reader.errors().empty() && check_hosts(reader, plan.hosts, plan.host_count);
}

std::uint32_t nic_ports(const FlatPlan& plan) {
  return plan.hosts_per_switch * plan.hosts.most_nics();
}

bool check_ports(config::Reader& reader, std::uint64_t ports, std::string_view what) {
  if (!reader.has("radix")) return true;
  const std::uint32_t radix = required_count(reader, "radix");
  if (ports <= radix) return true;
  reader.fail("radix", fmt::format("a {} needs {} ports of {}", what, ports, radix));
  return false;
}

std::uint32_t add_flat(GraphBuilder& graph, const FlatPlan& plan) {
  for (const std::string& name : plan.groups) graph.add_minipod(name);
  for (const std::string& name : plan.switches) graph.add_leaf(name);
  HostBlocks blocks(graph, plan.hosts);
  std::vector<std::vector<NodeId>> nics;
  const auto switch_of = switches_of_hosts(plan);
  for (const std::uint32_t at : switch_of)
    nics.push_back(
        blocks.add(static_cast<LeafId>(at), static_cast<MinipodId>(plan.group_of_switch[at])));
  const auto first = static_cast<std::uint32_t>(graph.node_count());
  for (const std::string& name : plan.switches) graph.add_node(NodeKind::leaf, name);
  for (std::size_t host = 0; host < nics.size(); ++host) {
    const Cable cable = plan.hosts.of(host).nic.cable(Tier::leaf);
    const auto at = static_cast<NodeId>(first + switch_of[host]);
    for (const NodeId nic : nics[host]) graph.add_cable(nic, at, cable);
  }
  return first;
}

}  // namespace railyard::topology
