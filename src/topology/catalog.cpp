#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "railyard/topology/builder.hpp"
#include "railyard/topology/fabric_reader.hpp"
#include "topology/builders.hpp"
#include "topology/host_blocks.hpp"
#include "topology/tiered.hpp"

namespace railyard::topology {
namespace {

using Keys = std::vector<std::string_view>;

/// The keys of hosts that are all alike, and a builder's own.
Keys with_host(std::initializer_list<std::string_view> keys) {
  Keys out(std::begin(kHostKeys), std::end(kHostKeys));
  out.insert(out.end(), keys);
  return out;
}

/// The keys of hosts that may be mixed, and a builder's own.
Keys with_hosts(std::initializer_list<std::string_view> keys) {
  Keys out(std::begin(kHostsKeys), std::end(kHostsKeys));
  out.insert(out.end(), keys);
  return out;
}

/// The keys of all readers.
Keys with_readers(Keys out) {
  for (const ReaderEntry& entry : reader_catalog()) {
    for (const std::string_view key : entry.keys) {
      if (std::find(out.begin(), out.end(), key) == out.end()) out.push_back(key);
    }
  }
  return out;
}

Keys with_switches(Keys keys) {
  keys.insert(keys.end(), std::begin(kSwitchKeys), std::end(kSwitchKeys));
  return keys;
}

const std::vector<BuilderEntry>& entries() {
  static const std::vector<BuilderEntry> table = {
      {"clos", "hosts on leaves, leaves on minipod spines, spines on cores; uneven minipods",
       with_switches(with_hosts(
           {"hosts_per_minipod", "hosts_per_leaf", "leaf_hosts", "spines_per_minipod", "tiers"})),
       &build_clos},
      {"dragonfly", "groups of fully meshed routers, joined by global links",
       with_hosts({"groups", "routers_per_group", "hosts_per_router", "global_links_per_router",
                   "switch_link", "global_link", "local_links", "hosts", "radix"}),
       &build_dragonfly},
      {"dragonfly_plus", "groups of leaves and spines, global links between spines",
       with_hosts({"groups", "leaves_per_group", "spines_per_group", "hosts_per_leaf",
                   "global_links_per_spine", "switch_link", "global_link", "local_links", "hosts",
                   "radix"}),
       &build_dragonfly_plus},
      {"fat_tree", "k-ary and extended generalised fat-trees, as InfiniBand fabrics are built",
       with_host({"k", "xgft", "hosts", "switch_link", "radix"}), &build_fat_tree},
      {"full_mesh", "every switch joined to every other",
       with_hosts({"switches", "hosts_per_switch", "switch_link", "parallel", "hosts", "radix"}),
       &build_full_mesh},
      {"graph",
       "any fabric, node by node and link by link",
       {"gpu", "nodes", "links"},
       &build_graph},
      {"hpn", "Alibaba HPN: two-port NICs on two ToRs, planes that meet nowhere else",
       with_host({"pods", "segments_per_pod", "hosts_per_segment", "planes", "switch_link",
                  "aggregations", "parallel", "cores", "aggregation_uplinks", "core_link",
                  "radix"}),
       &build_hpn},
      {"lingjun_csv",
       "the published host list of Alibaba's Lingjun cluster, with links of your choice",
       with_switches(with_host({"file", "hosts_per_leaf", "spines_per_minipod"})),
       &build_lingjun_csv},
      {"rail_only", "NIC i of every host on rail i; rails meet only on the NVLink of the hosts",
       with_host({"hosts_per_minipod", "switch_link", "spines", "oversubscription", "radix"}),
       &build_rail_only},
      {"rail_optimized", "NIC i of every host of a scalable unit on leaf i, as in a DGX SuperPOD",
       with_switches(with_hosts({"hosts_per_minipod", "spines", "spines_per_minipod"})),
       &build_rail_optimized},
      {"read", "what a real cluster or another tool prints; `railyard list readers`",
       with_readers({"file", "format"}), &build_read},
      {"torus", "a grid of switches whose rows close to rings, in up to four dimensions",
       with_hosts({"dimensions", "wrap", "hosts_per_switch", "switch_link", "parallel", "paths",
                   "hosts", "radix"}),
       &build_torus},
  };
  return table;
}

}  // namespace

std::span<const BuilderEntry> topology_catalog() {
  return entries();
}

}  // namespace railyard::topology
