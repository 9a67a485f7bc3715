// Arnold's decision without hosts: how identical units (PP or DP groups of `unit_size` hosts) are
// divided over minipods.
//
// The simplified programme (arXiv 2509.15940, Eq. 4-10) minimises
//   w_minipods · (minipods used) + w_spread · T,   T = most minipods any unit touches,
// with the free hosts of each minipod as capacity. All units are alike, so only (T, minipods used)
// matter:
//   T = 1 needs the fewest minipods, largest first, whose whole units floor(free / unit_size)
//         reach the number of units;
//   T = 2 needs the fewest whose free hosts reach units · unit_size, filled one after the other:
//         a unit then spans at most two minipods if each holds at least unit_size hosts.
// Where every minipod used holds a whole unit, the better of the two is the optimum of Eq. 4-10,
// which also allows fractions of hosts: fewer minipods than the second do not hold the job, and
// fewer than the first force T >= 2. Where smaller minipods must be used, T is measured on the
// assignment and the result is a heuristic: by the same argument no assignment costs less than the
// better of the two counts, the second with T >= unit_size / largest minipod (lower_bound), which
// says how far off it can be.
//
// The candidates are both ways of filling (whole units first, then the rest over what is left; one
// after the other) into the k largest minipods, for each k from the second count up to the first
// (to all of them where whole units never suffice).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace railyard::scheduler {

/// Hosts that a unit takes of a minipod (index into the list of free hosts).
struct UnitPart {
  std::uint32_t minipod = 0;
  std::uint32_t hosts = 0;
  friend bool operator==(const UnitPart&, const UnitPart&) = default;
};

struct UnitAssignment {
  std::vector<std::vector<UnitPart>> units;
  std::uint32_t minipods = 0;     ///< used by any unit
  std::uint32_t spread = 0;       ///< T, measured
  std::uint32_t split_units = 0;  ///< units in more than one minipod

  [[nodiscard]] double cost(double w_minipods, double w_spread) const {
    return w_minipods * minipods + w_spread * spread;
  }
};

struct UnitProblem {
  std::span<const std::uint32_t> free_hosts;  ///< per minipod
  std::uint32_t units = 0;
  std::uint32_t unit_size = 0;  ///< hosts a unit
};

/// Fills in minipods, spread and split units of an assignment over so many minipods.
void measure(UnitAssignment& assignment, std::size_t minipods);

/// Candidates in a fixed order, smaller k first. Empty when the hosts do not suffice. Minipods of
/// equal size go by index.
[[nodiscard]] std::vector<UnitAssignment> unit_candidates(const UnitProblem& problem);

/// No assignment of Eq. 4-10, whole hosts or fractions, costs less. Checked: the hosts suffice.
[[nodiscard]] double lower_bound(const UnitProblem& problem, double w_minipods, double w_spread);

/// The cheapest candidate; among equals the smaller T, then fewer split units, then fewer minipods,
/// then the earlier. Checked: there is one. Costs within 1e-9 are equal.
[[nodiscard]] const UnitAssignment& cheapest(std::span<const UnitAssignment> candidates,
                                             std::span<const double> costs);

}  // namespace railyard::scheduler
