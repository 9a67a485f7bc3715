// Weighted max-min fair rates: a pure function on spans. No clock, no topology, no randomness.
//
// Definition. Flows f share links l of capacity C_l > 0. One unit of f's rate takes the usage a_lf
// > 0 of each link of its route; f has a share w_f > 0 among others and a cap c_f on its own rate.
// Rates x are feasible when
//
//     sum over f on l of a_lf x_f <= C_l   for every link,     0 <= x_f <= c_f   for every flow.
//
// Call x_f / w_f the level of a flow. Feasible rates are max-min fair when no flow's level can rise
// without lowering the level of a flow that stands no higher. They exist and are unique (Bertsekas
// & Gallager, Data Networks, 2nd ed., section 6.5.2; for usages and shares Radunovic & Le Boudec,
// "A unified framework for max-min and min-max fairness", IEEE/ACM ToN 2007).
//
// Certificate. Feasible rates are max-min fair if and only if every flow is at its own cap or has a
// bottleneck link: a link of its route that is saturated and on which no flow has a higher level.
//   If: to raise f, some flow g must fall on f's bottleneck, because that link is full. g stands no
//   higher than f there. Only if: let f be below its cap with no bottleneck. On each saturated link
//   of its route some flow stands higher than f. Take a little from one of those on each such link
//   and give it to f: f's level rose and only higher ones fell.
// The tests check this certificate, which does not know how the rates were found.
//
// Algorithm: progressive filling. All levels rise together from zero. A link l fills up at the
// level
//
//     level_l = (C_l - used_l) / unfrozen_l,
//     used_l  = sum of a_lf x_f over frozen flows,      unfrozen_l = sum of a_lf w_f over the
//     others,
//
// and a flow reaches its cap at the level c_f / w_f. The lowest of these levels comes next: it
// freezes all unfrozen flows of its link (or the capped flow). Freezing at a level below level_l
// never lowers level_l, so a key in the heap is a lower bound that is evaluated again when it
// surfaces. With n flows, m links and e uses: O(e + (m + n) log(m + n)) and one more heap operation
// for each key that has risen meanwhile, at most e in all.
//
// Numerics. Symmetric flows get bit-equal rates, whatever the order of flows, links and uses in the
// problem:
//   - Sums of weights a_lf w_f are exact: in doubles when all weights are multiples of 2^-20 with a
//   sum up to 2^32, otherwise
//     as 128-bit integers in units of a power of two. Exact sums do not depend on the order of
//     their terms. (Weights of one problem may differ by a factor of about 2^50; smaller ones are
//     rounded to the unit.)
//   - The residual is never found by subtracting flow by flow. used_l is the sum over levels
//   ascending of level x (weight that
//     froze at that level), one rounding per level and not per flow.
//   - All links and caps whose level is bit-equal to the lowest form one batch. Their levels are
//   evaluated before any of them
//     freezes a flow, so it does not matter which of two tied links is taken first.
//   - A level that rounding puts below the current one is taken as the current one: levels never
//   fall.
//
// Ties. A flow that is at its cap and on a saturated link at once is bound by its cap. A flow with
// several bottleneck links reports the one of the lowest index; `link_level` shows them all.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace railyard::network {

/// One max-min problem in CSR form. Flow f uses links link[first_use[f] … first_use[f+1]) with
/// `usage`, each link at most once.
struct MaxMinProblem {
  std::span<const double> capacity_bytes_per_s;  ///< per link, >= 0
  std::span<const std::uint32_t> first_use;      ///< flows + 1
  std::span<const std::uint32_t> link;           ///< per use
  std::span<const double> usage;                 ///< per use, > 0
  std::span<const double> share;                 ///< per flow, > 0
  std::span<const double> cap_bytes_per_s;  ///< per flow, > 0; infinite only for flows with a link
};

/// The binding link of a flow that runs at its own cap.
inline constexpr std::uint32_t kOwnCap = UINT32_MAX;

/// Flow f is held by link l when level[f] == link_level[l] and binding_link[f] != kOwnCap.
struct MaxMinRates {
  std::span<double> rate_bytes_per_s;  ///< per flow
  std::span<double> level;  ///< per flow: rate / share, to the bit that of its bottleneck
  std::span<std::uint32_t>
      binding_link;              ///< per flow: its bottleneck of the lowest index, or kOwnCap
  std::span<double> link_level;  ///< per link: its level; infinite where it is nobody's bottleneck
};

/// Scratch memory, reused between calls: no allocation for a problem no larger than an earlier one.
class MaxMinWorkspace {
 public:
  MaxMinWorkspace();
  ~MaxMinWorkspace();
  MaxMinWorkspace(MaxMinWorkspace&&) noexcept;
  MaxMinWorkspace& operator=(MaxMinWorkspace&&) noexcept;

  struct Arrays;
  [[nodiscard]] Arrays& arrays() { return *arrays_; }

 private:
  std::unique_ptr<Arrays> arrays_;
};

/// Fills `rates`. The result is a function of the problem alone, not of what the workspace did
/// before.
void solve_max_min(const MaxMinProblem& problem, MaxMinWorkspace& workspace,
                   const MaxMinRates& rates);

}  // namespace railyard::network
