// Local search over placements of whole hosts by simulated cost: what a spread cannot see (leaves,
// hash collisions, other jobs' flows, which host of a minipod a ring crosses from) is in the time
// of an iteration.
//
// The starts are evaluated in order, then the best one is changed step by step, for as long as
// evaluations are left: two hosts change places (mostly of one minipod), two units do, or a host is
// replaced by a free one (mostly of its minipod). A step that costs no more is kept. A change that
// permutes nothing but equal routes is remembered by who simulates and costs no time, but counts.
// The result never costs more than the best start. Sizes come from the budget, not from a clock.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "railyard/core/rng.hpp"
#include "railyard/scheduler/inventory.hpp"
#include "railyard/scheduler/placement.hpp"

namespace railyard::scheduler {

struct TrafficSearch {
  std::uint32_t evaluations = 0;  ///< of `ticks`, at most; at least 1
  std::uint32_t pp_group = 1;     ///< hosts: with pp_fastest so many in a row are a unit
  std::uint32_t dp_group = 1;     ///< hosts: with dp_fastest so many
  /// Simulated length of an iteration.
  std::function<double(const Placement&)> ticks;
};

/// Checked: there is a start, and all take whole hosts.
[[nodiscard]] Placement search(const TrafficSearch& settings, const std::vector<Placement>& starts,
                               const Inventory& view, Rng rng);

}  // namespace railyard::scheduler
