// The solver against two judges: the bottleneck certificate and a slow textbook filling.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "railyard/core/rng.hpp"
#include "support/max_min_oracle.hpp"

using railyard::Rng;
using railyard::network::MaxMinWorkspace;
using railyard::test::certificate_fault;
using railyard::test::OracleFlow;
using railyard::test::OracleProblem;
using railyard::test::OracleRates;
using railyard::test::OracleUse;
using railyard::test::solve;
using railyard::test::textbook_rates;

namespace {

/// Rounding: a rate is the result of a few operations per level below it, each within 2^-53.
constexpr double kTolerance = 1e-12;
/// The textbook solver loses more: it adds up all frozen flows again in every round.
constexpr double kTextbookTolerance = 1e-9;

void check_solution(const OracleProblem& problem, const OracleRates& rates,
                    const std::string& name) {
  const std::string fault = certificate_fault(problem, rates.rate, kTolerance);
  if (!fault.empty()) FAIL_CHECK(name << ": " << fault);
}

double random_factor(Rng& rng) {
  constexpr double kFactors[] = {1.0, 1.0, 1.0, 2.0, 0.5, 0.125, 3.0, 1.0 / 3.0, 0.1, 7.0 / 15.0};
  const std::uint64_t pick = rng.below(12);
  return pick < 10 ? kFactors[pick] : 0.01 + 4 * rng.uniform();
}

OracleProblem random_problem(Rng& rng, std::size_t links, std::size_t flows) {
  OracleProblem problem;
  const bool equal_capacities = rng.below(4) == 0;
  const bool plain = rng.below(3) == 0;
  for (std::size_t l = 0; l < links; ++l) {
    problem.capacity.push_back(
        equal_capacities ? 50e9 : static_cast<double>(1 + rng.below(400)) * 1e9 / 7);
  }
  for (std::size_t f = 0; f < flows; ++f) {
    OracleFlow flow;
    std::vector<bool> taken(links, false);
    const std::size_t hops =
        1 + rng.below(std::min<std::size_t>(links, rng.below(20) == 0 ? 40 : 8));
    for (std::size_t h = 0; h < hops; ++h) {
      const auto link = static_cast<std::uint32_t>(rng.below(links));
      if (taken[link]) continue;
      taken[link] = true;
      flow.route.push_back(OracleUse{link, plain ? 1.0 : random_factor(rng)});
    }
    if (!plain) flow.share = random_factor(rng);
    if (rng.below(3) == 0) flow.cap = 50e9 * rng.uniform() + 1e6;
    problem.flows.push_back(flow);
  }
  return problem;
}

}  // namespace

// All problems of 1 to 3 links and 1 to 3 flows over all non-empty route subsets, and of 4 links
// and 4 flows with routes in non-descending order (flows are interchangeable when their other
// properties are equal). Capacities, usages, shares and caps come from a small table indexed by a
// running number, so that each structure meets several of their combinations.
TEST_CASE("every small problem has a certificate for every flow") {
  MaxMinWorkspace workspace;
  constexpr double kCapacities[] = {1, 2, 3, 1, 5};
  constexpr double kUsages[] = {1, 1, 2, 1.0 / 3};
  constexpr double kShares[] = {1, 1, 3, 1, 0.5, 1, 1};
  constexpr double kCaps[] = {1e9, 1e9, 1e9, 0.25, 1e9, 0.5, 1e9, 1e9, 1, 1e9, 1e9};
  std::uint64_t problems = 0;
  std::uint64_t judged_flows = 0;
  std::uint64_t running = 0;
  for (std::uint32_t links = 1; links <= 4; ++links) {
    const std::uint32_t subsets = (1U << links) - 1;
    for (std::uint32_t flows = 1; flows <= 4; ++flows) {
      std::vector<std::uint32_t> routes(flows, 1);
      while (true) {
        for (int variant = 0; variant < 4; ++variant) {
          OracleProblem problem;
          for (std::uint32_t l = 0; l < links; ++l) {
            problem.capacity.push_back(variant == 0 ? 1.0 : kCapacities[running++ % 5]);
          }
          for (std::uint32_t f = 0; f < flows; ++f) {
            OracleFlow flow;
            for (std::uint32_t l = 0; l < links; ++l) {
              if ((routes[f] >> l & 1U) != 0) {
                flow.route.push_back(OracleUse{l, variant < 2 ? 1.0 : kUsages[running++ % 4]});
              }
            }
            if (variant == 3) {
              flow.share = kShares[running++ % 7];
              flow.cap = kCaps[running++ % 11];
            }
            problem.flows.push_back(flow);
          }
          check_solution(problem, solve(problem, workspace),
                         fmt::format("small problem {}", problems));
          ++problems;
          judged_flows += flows;
        }
        std::size_t next = flows;
        while (next > 0 && routes[next - 1] == subsets) --next;
        if (next == 0) break;
        const std::uint32_t route = ++routes[next - 1];
        // Equal multisets of routes are visited once at 4 flows, every tuple below that.
        for (std::size_t f = next; f < flows; ++f) routes[f] = flows == 4 ? route : 1;
      }
    }
  }
  // Tuples: sum over links of s + s^2 + s^3 + C(s+3, 4) with s = 2^links − 1: 4, 54, 539 (with
  // C(10,4) = 210 → 609), 6,675.
  const auto structures = [](std::uint64_t s) {
    return s + s * s + s * s * s + s * (s + 1) * (s + 2) * (s + 3) / 24;
  };
  CHECK(problems == 4 * (structures(1) + structures(3) + structures(7) + structures(15)));
  MESSAGE(problems << " small problems, " << judged_flows << " flows judged");
}

TEST_CASE("thousands of large seeded problems have a certificate for every flow") {
  MaxMinWorkspace workspace;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Rng rng(seed);
    const OracleProblem problem = random_problem(rng, 2 + rng.below(seed % 50 == 0 ? 2000 : 60),
                                                 1 + rng.below(seed % 50 == 0 ? 3000 : 120));
    check_solution(problem, solve(problem, workspace), fmt::format("seed {}", seed));
  }
}

TEST_CASE("the textbook filling gives the same rates") {
  MaxMinWorkspace workspace;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Rng rng(seed);
    const OracleProblem problem = random_problem(rng, 2 + rng.below(30), 1 + rng.below(40));
    const std::vector<double> rates = solve(problem, workspace).rate;
    const std::vector<double> expected = textbook_rates(problem);
    for (std::size_t f = 0; f < rates.size(); ++f) {
      INFO("seed " << seed << " flow " << f);
      CHECK(rates[f] == doctest::Approx(expected[f]).epsilon(kTextbookTolerance));
    }
  }
}

// The order of flows, of links and of the uses of a flow is shuffled: rates and the set of binding
// links keep every bit.
TEST_CASE("permuting and relabelling flows and links changes no bit of the rates") {
  MaxMinWorkspace workspace;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Rng rng(seed);
    const OracleProblem problem = random_problem(rng, 2 + rng.below(40), 1 + rng.below(80));
    std::vector<std::uint32_t> link_name(problem.capacity.size());
    std::vector<std::uint32_t> flow_name(problem.flows.size());
    std::iota(link_name.begin(), link_name.end(), 0U);
    std::iota(flow_name.begin(), flow_name.end(), 0U);
    rng.shuffle(std::span(link_name));
    rng.shuffle(std::span(flow_name));
    OracleProblem renamed;
    renamed.capacity.resize(link_name.size());
    for (std::size_t l = 0; l < link_name.size(); ++l)
      renamed.capacity[link_name[l]] = problem.capacity[l];
    renamed.flows.resize(flow_name.size());
    for (std::size_t f = 0; f < flow_name.size(); ++f) {
      OracleFlow flow = problem.flows[f];
      for (OracleUse& use : flow.route) use.link = link_name[use.link];
      rng.shuffle(std::span(flow.route));
      renamed.flows[flow_name[f]] = flow;
    }
    const OracleRates first = solve(problem, workspace);
    const OracleRates second = solve(renamed, workspace);
    INFO("seed " << seed);
    for (std::size_t f = 0; f < flow_name.size(); ++f)
      CHECK(first.rate[f] == second.rate[flow_name[f]]);
    for (std::size_t l = 0; l < link_name.size(); ++l)
      CHECK(first.link_binds[l] == second.link_binds[link_name[l]]);
  }
}

// Powers of two only shift exponents: capacities and caps × 2^k give rates × 2^k to the bit; shares
// × 2^k change nothing.
TEST_CASE("scaling capacities scales the rates and scaling shares does not, to the bit") {
  MaxMinWorkspace workspace;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Rng rng(seed);
    const OracleProblem problem = random_problem(rng, 2 + rng.below(40), 1 + rng.below(80));
    const std::vector<double> rates = solve(problem, workspace).rate;
    OracleProblem larger = problem;
    for (double& capacity : larger.capacity) capacity *= 8;
    for (OracleFlow& flow : larger.flows) flow.cap *= 8;
    OracleProblem heavier = problem;
    for (OracleFlow& flow : heavier.flows) flow.share *= 4;
    const std::vector<double> larger_rates = solve(larger, workspace).rate;
    const std::vector<double> heavier_rates = solve(heavier, workspace).rate;
    INFO("seed " << seed);
    for (std::size_t f = 0; f < rates.size(); ++f) {
      CHECK(larger_rates[f] == 8 * rates[f]);
      CHECK(heavier_rates[f] == rates[f]);
    }
  }
}

// Two copies of one problem side by side, joined by a link that all flows cross and that has room
// to spare.
TEST_CASE("mirror images inside one component get bit-equal rates") {
  MaxMinWorkspace workspace;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Rng rng(seed);
    const OracleProblem half = random_problem(rng, 2 + rng.below(20), 1 + rng.below(40));
    OracleProblem both = half;
    const auto offset = static_cast<std::uint32_t>(half.capacity.size());
    both.capacity.insert(both.capacity.end(), half.capacity.begin(), half.capacity.end());
    both.capacity.push_back(rng.below(2) == 0 ? 1e15 : 30e9);
    for (const OracleFlow& flow : half.flows) {
      OracleFlow mirrored = flow;
      for (OracleUse& use : mirrored.route) use.link += offset;
      both.flows.push_back(mirrored);
    }
    for (OracleFlow& flow : both.flows) flow.route.push_back(OracleUse{2 * offset, 1});
    const std::vector<double> rates = solve(both, workspace).rate;
    INFO("seed " << seed);
    for (std::size_t f = 0; f < half.flows.size(); ++f)
      CHECK(rates[f] == rates[f + half.flows.size()]);
  }
}
