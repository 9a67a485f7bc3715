// A greedy division of units over minipods, for comparison: the "custom heuristic" of the blog
// retellings of Arnold, which say no more of it than that groups should sit in one minipod where
// they can.
//
// Unit after unit goes where the objective grows least: whole into a minipod that is used already
// (the fullest that holds it), whole into a fresh one (the emptiest), or over what is left of used
// minipods (most left first), then of fresh ones. It never takes a decision back.
#pragma once

#include "scheduler/unit_assignment.hpp"

namespace railyard::scheduler {

struct GreedySettings {
  double w_minipods = 0;
  double w_spread = 0;
  bool larger_of_the_two = false;  ///< max(w_minipods · minipods, w_spread · T) in place of the sum
};

/// Checked: the free hosts hold all units.
[[nodiscard]] UnitAssignment greedy_units(const UnitProblem& problem,
                                          const GreedySettings& settings);

}  // namespace railyard::scheduler
