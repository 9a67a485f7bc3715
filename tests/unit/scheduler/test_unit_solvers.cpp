#include <doctest/doctest.h>

#include <numeric>

#include "scheduler/unit_assignment.hpp"
#include "scheduler/unit_greedy.hpp"
#include "scheduler/unit_mip.hpp"

namespace railyard::scheduler {
namespace {

/// Eq. 5-8 in whole hosts: every unit whole, no minipod beyond what is free, T and minipods as
/// counted.
void check_legal(const UnitProblem& problem, const UnitAssignment& assignment) {
  std::vector<std::uint32_t> taken(problem.free_hosts.size(), 0);
  std::uint32_t spread = 0;
  REQUIRE(assignment.units.size() == problem.units);
  for (const auto& unit : assignment.units) {
    std::uint32_t hosts = 0;
    for (const UnitPart& part : unit) {
      REQUIRE(part.hosts > 0);
      hosts += part.hosts;
      taken[part.minipod] += part.hosts;
    }
    REQUIRE(hosts == problem.unit_size);
    spread = std::max(spread, static_cast<std::uint32_t>(unit.size()));
  }
  std::uint32_t minipods = 0;
  for (std::size_t m = 0; m < taken.size(); ++m) {
    REQUIRE(taken[m] <= problem.free_hosts[m]);
    minipods += taken[m] > 0 ? 1 : 0;
  }
  CHECK(assignment.spread == spread);
  CHECK(assignment.minipods == minipods);
}

MipAnswer mip(const UnitProblem& problem, double alpha, std::uint32_t nodes = 10'000) {
  return solve_mip(problem, {.w_minipods = alpha, .w_spread = 1 - alpha, .nodes = nodes});
}

// Rows of 8 hosts in minipods with 30/26/24/22/20/18/14/12 free (quickstart): 3 3 3 2 2 2 1 1 whole
// rows, so 15 whole rows need six minipods, 0.3 · 6 + 0.7 · 1 = 2.5; split, five hold 122 >= 120
// hosts, 0.3 · 5 + 0.7 · 2 = 2.9. At alpha 0.8: 0.8 · 6 + 0.2 = 5.0 against 0.8 · 5 + 0.4 = 4.4.
TEST_CASE("CBC finds quickstart's whole rows at alpha 0.3 and split ones at 0.8") {
  const std::vector<std::uint32_t> free{30, 26, 24, 22, 20, 18, 14, 12};
  const UnitProblem problem{.free_hosts = free, .units = 15, .unit_size = 8};
  const MipAnswer whole = mip(problem, 0.3);
  REQUIRE(whole.assignment);
  check_legal(problem, *whole.assignment);
  CHECK(whole.assignment->spread == 1);
  CHECK(whole.assignment->minipods == 6);
  CHECK(whole.assignment->cost(0.3, 0.7) == doctest::Approx(2.5));
  const MipAnswer split = mip(problem, 0.8);
  REQUIRE(split.assignment);
  check_legal(problem, *split.assignment);
  CHECK(split.assignment->cost(0.8, 0.2) == doctest::Approx(4.4));
  CHECK(split.proven);
  CHECK(split.bound == doctest::Approx(4.4));
}

// Two minipods of three hosts and units of two: 1.5 units fit each, so p is 1/2 + 1/2 for the third
// unit. Whole hosts: 2 + 1 and 2 + 1. The only way, at any alpha.
TEST_CASE("A unit that CBC divides by halves comes out as whole hosts") {
  const std::vector<std::uint32_t> free{3, 3};
  const UnitProblem problem{.free_hosts = free, .units = 3, .unit_size = 2};
  for (const double alpha : {0.0, 0.5, 1.0}) {
    const MipAnswer answer = mip(problem, alpha);
    REQUIRE(answer.assignment);
    check_legal(problem, *answer.assignment);
    CHECK(answer.assignment->spread == 2);
    CHECK(answer.assignment->split_units == 1);
  }
}

// Quickstart's rows at alpha 0.8: 4.4, as above. Without a node the linear relaxation proves less,
// and maybe nothing is found; whatever the limit, the bound stays below the optimum and what is
// found above, until both meet.
TEST_CASE("A limit on nodes leaves a gap that holds the optimum") {
  const std::vector<std::uint32_t> free{30, 26, 24, 22, 20, 18, 14, 12};
  const UnitProblem problem{.free_hosts = free, .units = 15, .unit_size = 8};
  CHECK(lower_bound(problem, 0.8, 0.2) == doctest::Approx(4.4));
  for (const std::uint32_t nodes : {0U, 1U, 4U, 1000U}) {
    const MipAnswer answer = mip(problem, 0.8, nodes);
    CHECK(answer.bound <= 4.4 + 1e-6);
    CHECK(answer.proven == (nodes == 1000));
    if (answer.proven) CHECK(answer.bound == doctest::Approx(4.4));
    if (!answer.assignment) continue;
    check_legal(problem, *answer.assignment);
    CHECK(answer.assignment->cost(0.8, 0.2) >= 4.4 - 1e-6);
  }
}

TEST_CASE("The same programme under the same limit is the same answer twice") {
  const std::vector<std::uint32_t> free{21, 19, 17, 13, 9};
  const UnitProblem problem{.free_hosts = free, .units = 12, .unit_size = 5};
  const MipAnswer first = mip(problem, 0.4, 20);
  const MipAnswer second = mip(problem, 0.4, 20);
  REQUIRE(first.assignment);
  CHECK(first.assignment->units == second.assignment->units);
  CHECK(first.bound == second.bound);
  CHECK(first.nodes == second.nodes);
}

// Units of 4 in minipods with 7, 6, 5 and 4 free. The first unit opens the emptiest (7). The second
// costs alpha more whole in a fresh minipod, or alpha and beta over the 3 hosts left and one of a
// fresh one: whole. So do the third and the fourth: four minipods, T = 1. With all weight on
// minipods the second still opens one (6, 2 left), the third takes 3 + 1 of what is left and opens
// none, the fourth opens the third: T = 2.
TEST_CASE("The greedy solver splits units where minipods weigh more than spread") {
  const std::vector<std::uint32_t> free{7, 6, 5, 4};
  const UnitProblem problem{.free_hosts = free, .units = 4, .unit_size = 4};
  const UnitAssignment whole = greedy_units(problem, {.w_minipods = 0.2, .w_spread = 0.8});
  check_legal(problem, whole);
  CHECK(whole.spread == 1);
  CHECK(whole.minipods == 4);
  const UnitAssignment split = greedy_units(problem, {.w_minipods = 1.0, .w_spread = 0.0});
  check_legal(problem, split);
  CHECK(split.minipods == 3);
  CHECK(split.spread == 2);
}

// Three units of 3 in minipods with 4, 4 and 2 free, alpha 0.5: the first two go whole into the
// fours, and the third takes 1 + 1 + 1, used minipods first: 0.5 · 3 + 0.5 · 3 = 3. The two fours
// hold 8 < 9 hosts, so all three minipods are needed; with 2 + 1 for the third unit T is 2 and the
// optimum 2.5.
TEST_CASE("The greedy solver takes no decision back and may end above the optimum") {
  const std::vector<std::uint32_t> free{4, 4, 2};
  const UnitProblem problem{.free_hosts = free, .units = 3, .unit_size = 3};
  const UnitAssignment greedy = greedy_units(problem, {.w_minipods = 0.5, .w_spread = 0.5});
  check_legal(problem, greedy);
  const MipAnswer answer = mip(problem, 0.5);
  REQUIRE(answer.proven);
  CHECK(answer.assignment->cost(0.5, 0.5) == doctest::Approx(2.5));
  CHECK(greedy.cost(0.5, 0.5) == doctest::Approx(3.0));
}

// max(alpha · minipods, beta · T) at alpha 0.2: fresh minipods cost nothing while beta · 1 = 0.8 is
// the larger, so units stay whole; at alpha 0.9 every fresh minipod counts and T does not.
TEST_CASE("The greedy solver minimises the larger of the two where asked to") {
  const std::vector<std::uint32_t> free{7, 6, 5, 4};
  const UnitProblem problem{.free_hosts = free, .units = 4, .unit_size = 4};
  const GreedySettings flat{.w_minipods = 0.2, .w_spread = 0.8, .larger_of_the_two = true};
  CHECK(greedy_units(problem, flat).spread == 1);
  const GreedySettings steep{.w_minipods = 0.9, .w_spread = 0.1, .larger_of_the_two = true};
  CHECK(greedy_units(problem, steep).minipods == 3);
}

}  // namespace
}  // namespace railyard::scheduler
