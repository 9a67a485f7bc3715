#include "railyard/network/max_min.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "railyard/core/check.hpp"
#include "support/max_min_oracle.hpp"

using railyard::network::kOwnCap;
using railyard::network::MaxMinWorkspace;
using railyard::test::OracleFlow;
using railyard::test::OracleProblem;
using railyard::test::OracleRates;
using railyard::test::solve;

namespace {
const double kNoCap = std::numeric_limits<double>::infinity();
}

// One link of 100, two equal flows: 100 / 2 each.
TEST_CASE("two flows on one link get half of it each") {
  MaxMinWorkspace workspace;
  const OracleRates rates = solve({{100}, {{{{0}}}, {{{0}}}}}, workspace);
  CHECK(rates.rate == std::vector<double>{50, 50});
  CHECK(rates.binding_link == std::vector<std::uint32_t>{0, 0});
  CHECK(rates.link_binds == std::vector<std::uint8_t>{1});
}

// Parking lot: a long flow over links 0, 1, 2 (capacities 10, 12, 20) and one short flow on each.
// Level 10/2 = 5 fills link 0 and stops the long flow and short flow 0; then short flow 1 gets 12 −
// 5 = 7 and short flow 2 gets 20 − 5 = 15.
TEST_CASE(
    "in a parking lot the long flow takes the fair share of its tightest link and the others fill "
    "up the rest") {
  MaxMinWorkspace workspace;
  const OracleRates rates =
      solve({{10, 12, 20}, {{{{0}, {1}, {2}}}, {{{0}}}, {{{1}}}, {{{2}}}}}, workspace);
  CHECK(rates.rate == std::vector<double>{5, 5, 7, 15});
  CHECK(rates.binding_link == std::vector<std::uint32_t>{0, 0, 1, 2});
}

// Shares 1 and 3 on a link of 8: level 8 / (1 + 3) = 2, rates 2 and 6.
TEST_CASE("rates on a shared bottleneck are proportional to the shares") {
  MaxMinWorkspace workspace;
  const OracleRates rates = solve({{8}, {{{{0}}, 1}, {{{0}}, 3}}}, workspace);
  CHECK(rates.rate == std::vector<double>{2, 6});
}

// Usages 0.5 and 2 on a link of 10: level 10 / (0.5 + 2) = 4, and the link carries 0.5 × 4 + 2 × 4
// = 10.
TEST_CASE("usages count what a flow takes of a link and leave the levels equal") {
  MaxMinWorkspace workspace;
  const OracleRates rates = solve({{10}, {{{{0, 0.5}}}, {{{0, 2.0}}}}}, workspace);
  CHECK(rates.rate == std::vector<double>{4, 4});
}

// A coupled flow takes 1 of links 0 and 1 (capacity 10) and 2 of link 2 (capacity 12). It shares
// link 2 with one flow of usage 1: level 12 / (2 + 1) = 4 stops both. A flow on link 0 gets 10 − 4
// = 6.
TEST_CASE("a coupled flow runs at the rate of its slowest edge and frees the rest of the others") {
  MaxMinWorkspace workspace;
  const OracleRates rates =
      solve({{10, 10, 12}, {{{{0, 1}, {1, 1}, {2, 2}}}, {{{2}}}, {{{0}}}}}, workspace);
  CHECK(rates.rate == std::vector<double>{4, 4, 6});
  CHECK(rates.binding_link == std::vector<std::uint32_t>{2, 2, 0});
}

// Link of 9, three flows, one capped at 1: the other two share 9 − 1 = 8.
TEST_CASE("what a capped flow leaves goes to the others") {
  MaxMinWorkspace workspace;
  const OracleRates rates = solve({{9}, {{{{0}}, 1, 1.0}, {{{0}}}, {{{0}}}}}, workspace);
  CHECK(rates.rate == std::vector<double>{1, 4, 4});
  CHECK(rates.binding_link == std::vector<std::uint32_t>{kOwnCap, 0, 0});
}

// Link of 10, two flows with caps of exactly 5: the link fills at the level at which the caps are
// reached. The contract says that such a flow is bound by its cap, so the link is nobody's
// bottleneck.
TEST_CASE("a flow at its cap on a full link is bound by its cap") {
  MaxMinWorkspace workspace;
  const OracleRates rates = solve({{10}, {{{{0}}, 1, 5.0}, {{{0}}, 1, 5.0}}}, workspace);
  CHECK(rates.rate == std::vector<double>{5, 5});
  CHECK(rates.binding_link == std::vector<std::uint32_t>{kOwnCap, kOwnCap});
  CHECK(rates.link_binds == std::vector<std::uint8_t>{0});
}

// Flow 0 crosses links 0 and 1; each also carries one more flow; all capacities 10. Both links fill
// at level 5: flow 0 has two bottlenecks and reports the lower index, both links bind. Given in the
// other order the answer is the same.
TEST_CASE("tied bottlenecks all bind and the lowest index is reported") {
  MaxMinWorkspace workspace;
  const OracleRates rates = solve({{10, 10}, {{{{1}, {0}}}, {{{1}}}, {{{0}}}}}, workspace);
  CHECK(rates.rate == std::vector<double>{5, 5, 5});
  CHECK(rates.binding_link == std::vector<std::uint32_t>{0, 1, 0});
  CHECK(rates.link_binds == std::vector<std::uint8_t>{1, 1});
}

// Links 0 and 1 have capacity 1 and three flows each; flow 0 is on both. Subtracting flow by flow
// would leave (1 − 1/3) / 2 = 0.33333333333333337 on the link that is taken second; the batch gives
// all five 1/3.
TEST_CASE("symmetric flows on tied links get bit-equal rates") {
  MaxMinWorkspace workspace;
  const OracleRates rates =
      solve({{1, 1}, {{{{0}, {1}}}, {{{0}}}, {{{0}}}, {{{1}}}, {{{1}}}}}, workspace);
  for (const double rate : rates.rate) CHECK(rate == 1.0 / 3.0);
}

// Usages of a third are not exact in binary, so sums in doubles depend on their order: (0.1 + 0.2)
// + 0.3 differs from 0.1 + (0.2 + 0.3). With exact sums the level is capacity / 0.6 in each of the
// six orders.
TEST_CASE("weights that are not exact in binary give the same bits in every order") {
  MaxMinWorkspace workspace;
  std::vector<double> usages{0.1, 0.2, 0.3};
  const OracleRates first = solve({{7}, {{{{0, 0.1}}}, {{{0, 0.2}}}, {{{0, 0.3}}}}}, workspace);
  do {
    const OracleRates rates =
        solve({{7}, {{{{0, usages[0]}}}, {{{0, usages[1]}}}, {{{0, usages[2]}}}}}, workspace);
    CHECK(rates.rate == first.rate);
  } while (std::next_permutation(usages.begin(), usages.end()));
}

// A flow of share 2^-40 beside one of share 1 on a link of 1: level 1 / (1 + 2^-40). The tiny flow
// must get 2^-40 of that, not nothing, although 2^-40 is below the unit of the fast path.
TEST_CASE("a very small share keeps its full precision") {
  MaxMinWorkspace workspace;
  const OracleRates rates = solve({{1}, {{{{0}}, 0x1p-40}, {{{0}}, 1}}}, workspace);
  CHECK(rates.rate[1] == 1.0 / (1.0 + 0x1p-40));
  CHECK(rates.rate[0] == rates.rate[1] * 0x1p-40);
}

TEST_CASE("a flow without links runs at its cap, and one without cap and links is refused") {
  MaxMinWorkspace workspace;
  CHECK(solve({{}, {OracleFlow{{}, 1, 3.0}}}, workspace).rate == std::vector<double>{3});
  CHECK_THROWS_AS(solve({{}, {OracleFlow{{}, 1, kNoCap}}}, workspace), railyard::InternalError);
}

// The second problem is smaller than the first: nothing of the first may shine through.
TEST_CASE("a workspace carries nothing from one problem to the next") {
  MaxMinWorkspace used;
  static_cast<void>(
      solve({{10, 12, 20}, {{{{0}, {1}, {2}}}, {{{0}}, 1, 0.5}, {{{1}}}, {{{2}}}}}, used));
  MaxMinWorkspace fresh;
  const OracleProblem problem{{10, 7}, {{{{0}, {1}}}, {{{1}}}}};
  CHECK(solve(problem, used).rate == solve(problem, fresh).rate);
}
