#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "railyard/topology/builder.hpp"
#include "railyard/topology/fabric_reader.hpp"
#include "topology/builders.hpp"
#include "topology/host_plan.hpp"
#include "topology/tiered.hpp"

namespace railyard::topology {
namespace {

std::vector<std::string_view> with_hosts(std::initializer_list<std::string_view> keys) {
  std::vector<std::string_view> out(std::begin(kHostKeys), std::end(kHostKeys));
  out.insert(out.end(), keys);
  return out;
}

std::vector<std::string_view> with_switches(std::initializer_list<std::string_view> keys) {
  std::vector<std::string_view> out = with_hosts(keys);
  out.insert(out.end(), std::begin(kSwitchKeys), std::end(kSwitchKeys));
  return out;
}

/// The keys of all readers.
std::vector<std::string_view> with_readers(std::initializer_list<std::string_view> keys) {
  std::vector<std::string_view> out(keys);
  for (const ReaderEntry& entry : reader_catalog()) {
    for (const std::string_view key : entry.keys) {
      if (std::find(out.begin(), out.end(), key) == out.end()) out.push_back(key);
    }
  }
  return out;
}

const std::vector<BuilderEntry>& entries() {
  static const std::vector<BuilderEntry> table = {
      {"clos", "hosts on leaves, leaves on minipod spines, spines on cores; uneven minipods",
       with_switches({"hosts_per_minipod", "hosts_per_leaf", "leaf_hosts", "spines_per_minipod"}),
       &build_clos},
      {"fat_tree", "k-ary and extended generalised fat-trees, as InfiniBand fabrics are built",
       with_hosts({"k", "xgft", "hosts", "switch_link", "radix"}), &build_fat_tree},
      {"graph",
       "any fabric, node by node and link by link",
       {"gpu", "nodes", "links"},
       &build_graph},
      {"lingjun_csv",
       "the published host list of Alibaba's Lingjun cluster, with links of your choice",
       with_switches({"file", "hosts_per_leaf", "spines_per_minipod"}), &build_lingjun_csv},
      {"rail_optimized", "NIC i of every host of a scalable unit on leaf i, as in a DGX SuperPOD",
       with_switches({"hosts_per_minipod", "spines", "spines_per_minipod"}), &build_rail_optimized},
      {"read", "what a real cluster or another tool prints; `railyard list readers`",
       with_readers({"file", "format"}), &build_read},
  };
  return table;
}

}  // namespace

std::span<const BuilderEntry> topology_catalog() {
  return entries();
}

}  // namespace railyard::topology
