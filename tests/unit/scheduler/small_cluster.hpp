// Clusters, policies and occupation for the scheduler's tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "railyard/scheduler/inventory.hpp"
#include "railyard/scheduler/placement.hpp"
#include "railyard/topology/graph.hpp"

namespace railyard::test {

/// A CLOS with the given hosts in each minipod, in leaves of up to `hosts_per_leaf`.
struct ClusterShape {
  std::vector<std::uint32_t> hosts_per_minipod;
  std::uint32_t hosts_per_leaf = 8;
};
[[nodiscard]] topology::Topology cluster(const ClusterShape& shape);

/// Quickstart's cluster: 256 hosts of 8 GPUs, of which 10/12/12/12/12/10/12/10 are busy:
/// 30/26/24/22/20/18/14/12 free.
[[nodiscard]] topology::Topology quickstart_cluster();
inline const std::vector<std::uint32_t> kQuickstartBusy{10, 12, 12, 12, 12, 10, 12, 10};
/// GPT-3 175B of quickstart: 120 hosts = 15 rows × 8 columns.
inline constexpr scheduler::GangShape kQuickstartJob{
    .gpus = 960, .tensor = 8, .pipeline = 8, .data = 15};

/// A policy from the catalog; `json` as in a scenario: "\"best_fit\"" or {"name": …}. Throws
/// ConfigError.
[[nodiscard]] std::unique_ptr<scheduler::PlacementPolicy> policy(std::string_view json);

/// Spread of quickstart's job where a policy puts it on quickstart's busy cluster: on 120 hosts.
[[nodiscard]] scheduler::Spread quickstart_spread(std::string_view json);

/// Takes the first `count` hosts of a minipod.
void take_hosts(scheduler::Inventory& inventory, std::uint32_t minipod, std::uint32_t count);

}  // namespace railyard::test
