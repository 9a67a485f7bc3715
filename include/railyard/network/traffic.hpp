// What a pattern of traffic does to a fabric, all flows at once and for ever: the load on every
// link and the max-min fair rate of every flow. No clock: who wants times uses FlowNetwork.
//
// Load of a link = what would cross it if every GPU sent as fast as it could alone, over its
// capacity; a GPU with several flows shares that evenly among them. Above 1 the link cannot carry
// it. Utilisation = what does cross it at the fair rates, over its capacity.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "railyard/topology/graph.hpp"
#include "railyard/topology/routing.hpp"

namespace railyard::network {

enum class Pattern : std::uint8_t {
  permutation,  ///< a seeded random one; a GPU that it maps to itself is silent
  all_to_all,   ///< every GPU to every other
  ring,         ///< every GPU to the next in order
  shift,        ///< every GPU to the one `distance` later in order
  incast        ///< every GPU to `target`
};
inline constexpr std::size_t kPatterns = 5;
[[nodiscard]] std::string_view name(Pattern pattern);

struct PatternSpec {
  Pattern pattern = Pattern::permutation;
  std::uint64_t seed = 1;      ///< of the permutation
  std::uint64_t distance = 1;  ///< of the shift, modulo the number of GPUs
  GpuId target{};              ///< of the incast
};
/// The flows, by source and then by destination. No flow from a GPU to itself.
[[nodiscard]] std::vector<topology::Connection> flows_of(const topology::Topology& topology,
                                                         const PatternSpec& pattern);

struct LinkLoad {
  std::uint64_t flows = 0;  ///< that use it
  double load = 0;
  double utilization = 0;
};

struct Traffic {
  std::vector<LinkLoad> links;            ///< by link
  std::vector<double> rate_bytes_per_s;   ///< by flow
  std::vector<double> alone_bytes_per_s;  ///< by flow: what its route allows when nothing else runs
  /// By flow: the link that holds it.
  std::vector<LinkId> bottleneck;
};
/// Routes that need the load are chosen flow by flow, in the order given.
[[nodiscard]] Traffic carry(const topology::Topology& topology, const topology::Routing& routing,
                            std::span<const topology::Connection> flows);

/// Bandwidth between GPUs whose route reaches a tier, and no further.
struct LevelBandwidth {
  topology::Tier tier{};
  topology::Connection example;  ///< the pair measured alone
  std::size_t hops = 0;          ///< links on its longest path
  Duration latency{};
  double alone_bytes_per_s = 0;
  /// When every GPU that has a partner on this level sends to one, as far as possible another for
  /// each: the mean and the least.
  std::uint64_t flows = 0;
  double fair_bytes_per_s = 0;
  double fair_bytes_per_s_min = 0;
};
/// The levels that there are, lowest first.
[[nodiscard]] std::vector<LevelBandwidth> level_bandwidths(const topology::Topology& topology,
                                                           const topology::Routing& routing);

}  // namespace railyard::network
