// What a fabric looks like, in numbers for people (`railyard topology show`), and what is wrong
// with it (`railyard topology validate`). Capacities are usable ones, after protocol efficiency; a
// link is one direction.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "railyard/topology/graph.hpp"

namespace railyard::topology {

inline constexpr std::size_t kNodeKinds = 7;

struct TierSummary {
  std::uint64_t links = 0;
  Bandwidth capacity;  ///< sum over the tier's links that lead upward (to the kind nearer the core)
};

/// Capacity from below over capacity to above, over the whole level and for its best and worst
/// unit. Zero where nothing is above.
struct Oversubscription {
  double overall = 0;
  double least = 0;
  double most = 0;
};

struct Count {
  std::int64_t value = 0;  ///< hops, or latency in ticks
  std::uint64_t pairs = 0;
};

struct Description {
  std::string builder;
  std::string gpu_kind;
  std::uint64_t gpus = 0;
  std::uint64_t hosts = 0;
  std::uint64_t leaves = 0;
  std::uint64_t minipods = 0;
  std::array<std::uint64_t, kNodeKinds> nodes{};  ///< by NodeKind
  std::array<TierSummary, kTiers> tiers{};        ///< by Tier
  std::vector<std::uint32_t> hosts_per_minipod;
  std::vector<Bandwidth> uplinks_per_minipod;  ///< what leaves each minipod, one direction
  Oversubscription leaf;                       ///< NICs over leaf uplinks, per leaf switch
  Oversubscription minipod;                    ///< NICs over what leaves the minipod, per minipod
  /// Of the two halves that the minipods fall into (largest first, each to the half with fewer
  /// hosts), what can leave the weaker one; zero with one minipod.
  Bandwidth bisection;
  std::uint64_t sampled_pairs = 0;
  std::vector<Count> hops;       ///< links on the path of a sampled pair of GPUs
  std::vector<Count> latencies;  ///< its latency
};

/// Samples `pairs` pairs of distinct GPUs from the stream ("topology.describe", seed).
[[nodiscard]] Description describe(const Topology& topology, std::uint64_t seed = 1,
                                   std::uint64_t pairs = 10'000);

/// Sentences, one per fault: disconnected parts, cables whose two directions differ, duplicate
/// names. Empty when all is well; at most ten of a kind, and then how many more.
[[nodiscard]] std::vector<std::string> validate(const Topology& topology);

/// Empty, or a sentence that names two GPUs without a path.
[[nodiscard]] std::string disconnection(const Topology& topology);

}  // namespace railyard::topology
