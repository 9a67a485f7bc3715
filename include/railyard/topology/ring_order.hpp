// In which order a ring should visit GPUs so that it leaves islands, leaves and minipods as seldom
// as it can: each once.
//
// A ring has to enter every leaf that holds some of its GPUs, so as many hops change the leaf as
// there are leaves, if there are several; the order below needs no more, and the same holds for
// minipods and islands. On fabrics that are no trees (torus, full mesh, dragonfly) the leaves of a
// minipod come in the order of their first rank, which need not be the shortest way around. Links
// that run at different speeds on one level are not told apart.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "railyard/topology/graph.hpp"

namespace railyard::topology {

/// What GPUs of one NVLink island have in common: the NVSwitch they hang on (true, its node), else
/// their host (false, its number).
using IslandKey = std::pair<bool, std::uint32_t>;
[[nodiscard]] IslandKey island_of(const Topology& topology, GpuId gpu);

/// The ranks of `group` (rank i on group[i]) in ring order: minipods, leaves and islands by their
/// first rank, inside an island by GPU. An island is walked backwards where its last GPU shares a
/// leaf switch with the GPU before and its first one does not: on rail-optimised fabrics a ring so
/// stays on its rail. Where an island spans leaves the leaf of its first rank counts.
[[nodiscard]] std::vector<std::uint32_t> ring_order(const Topology& topology,
                                                    std::span<const GpuId> group);

/// Hops of a ring, the one that closes it included, that change the island, the leaf, the minipod.
struct RingCrossings {
  std::uint32_t islands = 0;
  std::uint32_t leaves = 0;
  std::uint32_t minipods = 0;
};
[[nodiscard]] RingCrossings ring_crossings(const Topology& topology, std::span<const GpuId> ring);

}  // namespace railyard::topology
