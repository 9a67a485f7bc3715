// clos: hosts → leaf → minipod spine → core, or any number of tiers (Clos 1953, folded). Keys,
// beside those of the hosts (host_blocks.hpp):
//
//   hosts_per_minipod   [40, 38, …], or {minipods, hosts}
//   hosts_per_leaf      of a full leaf; the last leaf of a minipod is partly filled
//   leaf_hosts          instead of hosts_per_minipod: hosts of every leaf, [[8, 7, …], [8, …]];
//                       hosts_per_leaf then defaults to the largest
//   switch_link         {link} of leaf to spine, and of spine to core unless core_link is given
//   core_link           {link} of spine to core
//   oversubscription    {leaf = 1, minipod = 1}: downlink over uplink bandwidth of a leaf, and NIC
//                       bandwidth of a minipod over its uplinks. Uplinks follow. Of a leaf:
//                       hosts × NICs × NIC bandwidth / leaf / switch_link bandwidth, which must be
//                       whole; of a minipod likewise, rounded up
//   partial_leaf        "full_uplinks" (default: switches are bought and cabled alike), or
//                       "scaled_uplinks": a partly filled leaf keeps the oversubscription of a full
//                       one, rounded up
//   spines_per_minipod  default: the most that divide a leaf's uplinks and have a core uplink each
//   cores               default: as many as radix needs, else as many as spines_per_minipod
//   radix               ports of a switch, checked. NICs slower than switch_link share a port
//
// or instead of all these
//
//   tiers               the switches from the leaves up, as many tiers as wanted (at most 8):
//                       first {hosts, leaves}: hosts of each leaf, [8, 8, 4] or one number and how
//                       many leaves; then {joins, switches, link, oversubscription | uplinks}:
//                         joins     groups of the tier below (leaves at first) under each group of
//                                   this, a list or one number that divides them; the last tier
//                                   has one group
//                         switches  of each group
//                         link      {link} to the tier below
//                         oversubscription  NIC bandwidth of a group below over its cables into
//                                   this tier, rounded up to whole ones; default 1. Or uplinks:
//                                   their number
//                       Groups of the second tier are the minipods
//
// A fabric of one minipod has no core: cores, core_link and oversubscription.minipod are refused.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "topology/builders.hpp"
#include "topology/tiered.hpp"

namespace railyard::topology {
namespace {

/// leaf_hosts[minipod][leaf].
using LeafHosts = std::vector<std::vector<std::uint32_t>>;

LeafHosts read_leaf_hosts(config::Reader& reader, std::uint32_t& hosts_per_leaf) {
  LeafHosts out;
  const config::Node list = *reader.child("leaf_hosts");
  if (reader.has("hosts_per_minipod")) {
    (void)reader.child("hosts_per_minipod");
    reader.fail("hosts_per_minipod", "\"leaf_hosts\" already says it: give one of the two");
  }
  const bool limited = reader.has("hosts_per_leaf");
  std::int64_t most = 1;
  if (limited)
    most = reader.required<std::int64_t>("hosts_per_leaf", config::Range<std::int64_t>{1, 100'000});
  std::vector<std::vector<std::int64_t>> counts;
  if (!config::decode(list, reader.errors(), counts)) return {};
  if (counts.empty()) reader.errors().add(list, "expected at least one minipod");
  for (std::size_t m = 0; m < counts.size(); ++m) {
    if (counts[m].empty()) reader.errors().add(list.at(m), "expected at least one leaf");
    out.emplace_back();
    for (std::size_t l = 0; l < counts[m].size(); ++l) {
      const std::int64_t hosts = counts[m][l];
      if (hosts < 1 || hosts > 100'000 || (limited && hosts > most)) {
        reader.errors().add(list.at(m).at(l), fmt::format("{} hosts on a leaf of 1 to {}", hosts,
                                                          limited ? most : 100'000));
      }
      if (!limited) most = std::max(most, hosts);
      out.back().push_back(static_cast<std::uint32_t>(std::clamp<std::int64_t>(hosts, 1, 100'000)));
    }
  }
  hosts_per_leaf = static_cast<std::uint32_t>(std::clamp<std::int64_t>(most, 1, 100'000));
  return out;
}

LeafHosts fill_leaves(config::Reader& reader, std::uint32_t& hosts_per_leaf) {
  if (reader.has("leaf_hosts")) return read_leaf_hosts(reader, hosts_per_leaf);
  const auto minipods = read_hosts_per_minipod(reader, "hosts_per_minipod");
  const auto most =
      reader.required<std::int64_t>("hosts_per_leaf", config::Range<std::int64_t>{1, 100'000});
  hosts_per_leaf = static_cast<std::uint32_t>(std::clamp<std::int64_t>(most, 1, 100'000));
  LeafHosts out;
  for (std::uint32_t hosts : minipods) {
    out.emplace_back();
    for (; hosts > hosts_per_leaf; hosts -= hosts_per_leaf) out.back().push_back(hosts_per_leaf);
    out.back().push_back(hosts);
  }
  return out;
}

/// `host` counts the hosts of all minipods.
MinipodPlan plan_minipod(std::size_t number, const std::vector<std::uint32_t>& leaf_hosts,
                         const HostPlans& hosts, std::size_t& host) {
  MinipodPlan minipod;
  minipod.name = fmt::format("minipod-{}", number);
  for (std::uint32_t leaf = 0; leaf < leaf_hosts.size(); ++leaf) {
    minipod.leaf_names.push_back(fmt::format("{}/leaf-{}", minipod.name, leaf));
    minipod.group_of_host.insert(minipod.group_of_host.end(), leaf_hosts[leaf], leaf);
    for (std::uint32_t i = 0; i < leaf_hosts[leaf]; ++i)
      minipod.leaf_of_nic.insert(minipod.leaf_of_nic.end(), hosts.of(host++).nics, leaf);
  }
  minipod.group_names = minipod.leaf_names;
  return minipod;
}

}  // namespace

Topology build_clos(config::Reader& reader) {
  if (reader.has("tiers")) return build_clos_tiers(reader);
  const std::size_t before = reader.errors().count();
  TieredPlan plan;
  plan.hosts = read_hosts(reader);
  std::uint32_t hosts_per_leaf = 1;
  const LeafHosts leaves = fill_leaves(reader, hosts_per_leaf);
  const SwitchKeys keys = read_switch_keys(reader, {.has_core = leaves.size() != 1});
  if (reader.errors().count() != before) return {};
  std::uint64_t hosts = 0;
  for (const auto& leaf_hosts : leaves)
    hosts = std::accumulate(leaf_hosts.begin(), leaf_hosts.end(), hosts);
  if (!check_hosts(reader, plan.hosts, hosts)) return {};
  std::size_t host = 0;
  for (const auto& leaf_hosts : leaves) {
    plan.minipods.push_back(plan_minipod(plan.minipods.size(), leaf_hosts, plan.hosts, host));
  }
  if (!size_switches(reader, keys, full_leaf(plan.hosts, hosts_per_leaf, false), plan)) return {};
  return assemble("clos", plan);
}

}  // namespace railyard::topology
