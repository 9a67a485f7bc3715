// The programme that Arnold solves (arXiv 2509.15940, Eq. 4-10), through COIN-OR CBC.
//
//   min   w_minipods · Σ_j y_j + w_spread · T
//   s.t.  Σ_j s_ij <= T                 every unit i      (most minipods any unit touches)
//         Σ_i p_ij <= c_j y_j           every minipod j   (c_j = free hosts / hosts a unit)
//         Σ_j p_ij  = 1                 every unit i      (placed whole)
//         p_ij <= s_ij                  every i, j        (placed only where selected)
//         y_j, s_ij in {0, 1},  p_ij in [0, 1],  T >= 0
//
// The paper leaves p_ij fractional and does not say how hosts come out of it. They always do: with
// y and s fixed, what is left is a transportation problem in units of 1 / unit_size with whole
// supplies and capacities, whose vertices are whole. So whole hosts cost no more than the optimum,
// and the bound holds for both.
//
// Two things are said beside the rows above that follow from them and that CBC does not see by
// itself: T is whole, and the minipods used hold all units (Σ_j c_j y_j >= units).
//
// One thread, no clock: the search ends after a number of branch-and-bound nodes, so the answer is
// the same on every machine. All units being alike, every solution has units! twins, and the proof
// of optimality can take far longer than the solution.
#pragma once

#include <cstdint>
#include <optional>

#include "scheduler/unit_assignment.hpp"

namespace railyard::scheduler {

struct MipSettings {
  double w_minipods = 0;
  double w_spread = 0;
  std::uint32_t nodes = 0;  ///< branch-and-bound nodes at most
};

struct MipAnswer {
  /// Of the best solution found, in whole hosts; empty when none was within the limit.
  std::optional<UnitAssignment> assignment;
  double bound = 0;     ///< no assignment costs less
  bool proven = false;  ///< nothing is cheaper than the assignment
  std::uint32_t nodes = 0;
};

/// Checked: the free hosts hold all units.
[[nodiscard]] MipAnswer solve_mip(const UnitProblem& problem, const MipSettings& settings);

}  // namespace railyard::scheduler
