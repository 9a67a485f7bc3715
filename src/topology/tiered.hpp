// What `clos`, `rail_optimized`, the k-ary `fat_tree` and `lingjun_csv` have in common: hosts on
// leaves, leaves on spines, spines on cores.
//
//   - A minipod has `spines` of its own; with shared_spines all minipods share one set and there is
//     no core.
//   - Uplink u of leaf l goes to spine u mod spines (shifted by l where uplinks do not divide, so
//     that no spine is favoured).
//   - Uplink u of a minipod leaves spine u mod spines and goes to core
//     (u + u / lcm(spines, cores) + start) mod cores: even over both, and every core meets every
//     residue of spines in turn. The start lets remainders follow each other over the minipods.
// Every spine reaches every leaf below it and every core every minipod; a plan that breaks this is
// refused.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "railyard/topology/graph.hpp"
#include "topology/host_blocks.hpp"

namespace railyard::topology {

struct MinipodPlan {
  std::string name;
  std::vector<std::string> leaf_names;       ///< one per leaf switch
  std::vector<std::uint32_t> leaf_of_nic;    ///< leaf switch of each NIC, host by host
  std::vector<std::uint32_t> group_of_host;  ///< index into group_names: what LeafId counts
  std::vector<std::string> group_names;
  std::vector<std::uint32_t> leaf_uplinks;  ///< per leaf switch
  std::uint32_t core_uplinks = 0;

  [[nodiscard]] std::size_t hosts() const { return group_of_host.size(); }
};

struct TieredPlan {
  HostPlans hosts;
  LinkSpec leaf_link;  ///< leaf to spine
  LinkSpec core_link;  ///< spine to core
  std::vector<MinipodPlan> minipods;
  std::vector<std::string> host_names;  ///< empty: derived
  std::uint32_t spines = 1;             ///< per minipod; in all when shared
  bool shared_spines = false;
  std::uint32_t cores = 0;
};

/// Builds the fabric. The plan must hold; the builders check what users can get wrong.
[[nodiscard]] Topology assemble(std::string_view builder, const TieredPlan& plan);

/// How many minipods, and of how many hosts: a list, or {"minipods": n, "hosts": m}.
[[nodiscard]] std::vector<std::uint32_t> read_hosts_per_minipod(config::Reader& reader,
                                                                std::string_view key);

/// The part of the JSON that sizes switches above the hosts.
struct SwitchKeys {
  LinkSpec leaf_link;
  LinkSpec core_link;
  double leaf_oversubscription = 1.0;
  double minipod_oversubscription = 1.0;
  bool scaled_uplinks = false;
  std::optional<std::uint32_t> spines;
  std::optional<std::uint32_t> cores;
  std::optional<std::uint32_t> radix;
  std::string_view spines_key;
};
struct SwitchScope {
  bool has_core = true;
  std::string_view spines_key = "spines_per_minipod";
};
[[nodiscard]] SwitchKeys read_switch_keys(config::Reader& reader, SwitchScope scope);

/// What hangs on a fully populated leaf: of mixed hosts the strongest.
struct FullLeaf {
  std::uint32_t nics = 0;
  Bandwidth nic;
};
/// Of a leaf that serves all NICs of `hosts` hosts, or (`one_rail`) one of each.
[[nodiscard]] FullLeaf full_leaf(const HostPlans& plans, std::uint32_t hosts, bool one_rail);

/// Derives uplinks, spines and cores of a plan whose hosts and leaves are set, and checks ports.
/// False, with errors recorded, when the numbers contradict each other.
[[nodiscard]] bool size_switches(config::Reader& reader, const SwitchKeys& keys,
                                 const FullLeaf& leaf, TieredPlan& plan);

/// The JSON keys that read_switch_keys reads, beside the one for spines.
inline constexpr std::string_view kSwitchKeys[] = {"switch_link",  "core_link", "oversubscription",
                                                   "partial_leaf", "cores",     "radix"};

}  // namespace railyard::topology
