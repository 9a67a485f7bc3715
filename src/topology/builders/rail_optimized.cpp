// rail_optimized: NIC i of every host of a scalable unit goes to leaf i of the unit, as in a DGX
// SuperPOD. A minipod is a scalable unit. Keys, beside those of the host (host_plan.hpp):
//
//   hosts_per_minipod   [32, 32, …], or {minipods, hosts}
//   switch_link, oversubscription, partial_leaf, radix
//                       as in clos; a leaf serves one NIC of each host, a full one those of the
//                       largest unit
//   spines              two levels of switches (default): this many spines join all leaves of all
//                       units; default: one for each uplink of a leaf
//   spines_per_minipod  instead of spines, three levels: units have spines of their own, joined by
//                       cores; then also cores, core_link and oversubscription.minipod, as in clos
//
// All hosts of a unit share one LeafId, that of its group of leaves.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "topology/builders.hpp"
#include "topology/tiered.hpp"

namespace railyard::topology {

Topology build_rail_optimized(config::Reader& reader) {
  const std::size_t before = reader.errors().count();
  TieredPlan plan;
  plan.hosts = read_hosts(reader);
  const auto units = read_hosts_per_minipod(reader, "hosts_per_minipod");
  plan.shared_spines = !reader.has("spines_per_minipod");
  if (!plan.shared_spines && reader.has("spines")) {
    (void)reader.child("spines");
    reader.fail("spines", "\"spines_per_minipod\" already says it: give one of the two");
  }
  const SwitchKeys keys = read_switch_keys(
      reader, {.has_core = !plan.shared_spines && units.size() != 1,
               .spines_key = plan.shared_spines ? "spines" : "spines_per_minipod"});
  if (reader.errors().count() != before) return {};
  const auto all = std::accumulate(units.begin(), units.end(), std::uint64_t{0});
  if (!check_hosts(reader, plan.hosts, all)) return {};
  std::size_t host = 0;
  for (const std::uint32_t hosts : units) {
    MinipodPlan unit;
    unit.name = fmt::format("minipod-{}", plan.minipods.size());
    for (std::uint32_t rail = 0; rail < plan.hosts.most_nics(); ++rail)
      unit.leaf_names.push_back(fmt::format("{}/rail-{}", unit.name, rail));
    for (std::uint32_t i = 0; i < hosts; ++i) {
      const std::uint32_t nics = plan.hosts.of(host++).nics;
      for (std::uint32_t nic = 0; nic < nics; ++nic) unit.leaf_of_nic.push_back(nic);
    }
    unit.group_of_host.assign(hosts, 0);
    unit.group_names = {fmt::format("{}/rails", unit.name)};
    plan.minipods.push_back(std::move(unit));
  }
  const std::uint32_t full = *std::max_element(units.begin(), units.end());
  if (!size_switches(reader, keys, full_leaf(plan.hosts, full, true), plan)) return {};
  return assemble("rail_optimized", plan);
}

}  // namespace railyard::topology
