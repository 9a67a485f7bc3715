#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <numeric>

#include "railyard/collective/protocol.hpp"
#include "support/collective_executor.hpp"
#include "unit/collective/algorithms.hpp"

namespace railyard::test {

using collective::GroupShape;
using collective::Operation;
using collective::Request;

namespace {

constexpr double kTick = 1e-11;
constexpr double kAlpha = 3e-6;
constexpr std::int64_t kRate = 25'000'000'000;  // 200 Gb/s

double simulated(const collective::Algorithm& algorithm, const Request& request,
                 std::uint32_t ranks, double alpha = kAlpha) {
  return run_unit_rate(algorithm.schedule(request, GroupShape::flat(ranks)), ranks, alpha,
                       static_cast<double>(kRate));
}
double closed(const collective::Algorithm& algorithm, const Request& request, std::uint32_t ranks,
              double alpha = kAlpha) {
  return in_seconds(algorithm.closed_form(request, ranks, from_seconds(alpha), Bandwidth(kRate)));
}
/// The time of the coupled form on a unit-rate network: a rank's edges share its rate.
double coupled_time(const collective::Coupled& coupled, std::uint32_t ranks, double alpha) {
  std::vector<double> out(ranks, 0);
  std::vector<double> in(ranks, 0);
  for (const auto& edge : coupled.edges) {
    out[edge.source] += static_cast<double>(edge.size.count());
    in[edge.destination] += static_cast<double>(edge.size.count());
  }
  double most = 0;
  for (std::uint32_t r = 0; r < ranks; ++r) most = std::max({most, out[r], in[r]});
  return coupled.latency_steps * alpha + most * (1 + coupled.fill) / static_cast<double>(kRate);
}

}  // namespace

// n ranks, S bytes: every one of the steps costs α + S/(nB); n = 2…9 and a vector that n does not
// divide. Steps: all_reduce 2(n−1), all_gather and reduce_scatter n−1. With chunks that differ by a
// byte the largest one counts: the executor can be faster by one byte time a step, never slower.
TEST_CASE("the ring executes in the time of its closed form") {
  const auto ring = make_algorithm("ring");
  for (const Operation operation :
       {Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter}) {
    for (std::uint32_t n = 2; n <= 9; ++n) {
      for (const std::int64_t size : {std::int64_t{2520} * 1000, std::int64_t{1'000'003}}) {
        CAPTURE(n);
        CAPTURE(size);
        const double steps = operation == Operation::all_reduce ? 2 * (n - 1) : n - 1;
        const double formula =
            steps * (kAlpha + static_cast<double>(size) / n / static_cast<double>(kRate));
        const Request request{operation, Bytes(size)};
        const double byte_time = size % n == 0 ? 0 : 1.0 / static_cast<double>(kRate);
        const double time = simulated(*ring, request, n);
        CHECK(std::abs(time - formula) <= steps * (kTick / 2 + byte_time));
        CHECK(std::abs(time - closed(*ring, request, n)) <= steps * (kTick / 2 + byte_time));
        CHECK(time <= closed(*ring, request, n) + steps * kTick / 2);
        const double coupled = coupled_time(ring->coupled(request, GroupShape::flat(n)), n, kAlpha);
        CHECK(std::abs(coupled - formula) <= steps * (kTick / 2 + byte_time));
      }
    }
  }
}

// A broadcast of k chunks down a path of n−1 edges takes n−2+k steps of α + S/(kB).
TEST_CASE("the ring's broadcast is a pipeline") {
  for (const std::int64_t k : {1, 4, 16}) {
    const auto ring = make_algorithm("ring", k);
    for (std::uint32_t n = 2; n <= 8; ++n) {
      const Request request{Operation::broadcast, Bytes(1'600'000)};
      const double steps = n - 2 + static_cast<double>(k);
      const double formula =
          steps * (kAlpha + 1'600'000.0 / static_cast<double>(k) / static_cast<double>(kRate));
      CHECK(std::abs(simulated(*ring, request, n) - formula) <= steps * kTick);
      CHECK(std::abs(closed(*ring, request, n) - formula) <= steps * kTick / 2);
      const double coupled = coupled_time(ring->coupled(request, GroupShape::flat(n)), n, kAlpha);
      CHECK(std::abs(coupled - formula) <= steps * kTick / 2);
    }
  }
}

// n−1 sends of S/n from each rank, one after the other, each step a permutation: (n−1)(α + S/(nB)).
TEST_CASE("direct all_to_all executes in the time of its closed form") {
  const auto direct = make_algorithm("direct");
  for (const Operation operation :
       {Operation::all_to_all, Operation::all_gather, Operation::reduce_scatter}) {
    for (std::uint32_t n = 2; n <= 9; ++n) {
      const Request request{operation, Bytes(2'520'000)};
      const double steps = n - 1;
      const double formula = steps * (kAlpha + 2'520'000.0 / n / static_cast<double>(kRate));
      CHECK(std::abs(simulated(*direct, request, n) - formula) <= steps * kTick / 2);
      CHECK(std::abs(closed(*direct, request, n) - formula) <= steps * kTick / 2);
      const double coupled = coupled_time(direct->coupled(request, GroupShape::flat(n)), n, kAlpha);
      CHECK(std::abs(coupled - formula) <= steps * kTick / 2);
    }
  }
}

// Upper bound 2(d+k−1)(α + S/(kB)), d = ceil(log2 n); lower bounds 2(n−1)/n·S/B (any all-reduce)
// and 2d(α + S/(2kB)) (the first chunk along the deepest branch).
TEST_CASE("the double binary tree executes between its bounds") {
  const double size = 6'400'000;
  for (const std::int64_t k : {1, 4, 16, 64}) {
    const auto tree = make_algorithm("double_binary_tree", k);
    for (const std::uint32_t n : {2U, 3U, 4U, 5U, 7U, 8U, 12U, 15U, 16U, 31U, 32U}) {
      CAPTURE(k);
      CAPTURE(n);
      const double d = std::ceil(std::log2(n));
      const Request request{Operation::all_reduce, Bytes(static_cast<std::int64_t>(size))};
      const double kk = static_cast<double>(k);
      const double upper = 2 * (d + kk - 1) * (kAlpha + size / kk / static_cast<double>(kRate));
      const double slack = 2 * (d + kk - 1) * kTick;
      CHECK(std::abs(closed(*tree, request, n) - upper) <= slack);
      const double time = simulated(*tree, request, n);
      CHECK(time <= upper + slack);
      CHECK(time >= 2 * (n - 1.0) / n * size / static_cast<double>(kRate) - slack);
      CHECK(time >= 2 * d * (kAlpha + size / (2 * kk) / static_cast<double>(kRate)) - slack);
      CHECK(coupled_time(tree->coupled(request, GroupShape::flat(n)), n, kAlpha) <= upper + slack);
    }
  }
}

// Bandwidth-bound (no α) and finely cut, both bounds meet: the formula over the lower bound is (1 +
// (d−1)/k)·n/(n−1); with n = 32, d = 5, k = 64 that is 1.0625 · 1.032 = 1.097, so closed form and
// execution lie within 10 % of one another.
TEST_CASE("the double binary tree's bounds meet when bandwidth decides") {
  const auto tree = make_algorithm("double_binary_tree", 64);
  const Request request{Operation::all_reduce, Bytes(64'000'000)};
  const double upper = closed(*tree, request, 32, 0);
  const double time = simulated(*tree, request, 32, 0);
  CHECK(time >= upper / 1.097);
  CHECK(time <= upper * (1 + 1e-9));
}

// g ranks an island, I islands, one rate everywhere: 2(g−1)(α + S/(gB)) + 2(I−1)(α + S/(gIB)).
TEST_CASE("the hierarchical all_reduce executes in the time of its closed form") {
  const auto hierarchical = make_algorithm("hierarchical");
  for (std::uint32_t g = 1; g <= 4; ++g) {
    for (std::uint32_t islands = 1; islands <= 4; ++islands) {
      GroupShape shape;
      for (std::uint32_t r = 0; r < g * islands; ++r) shape.island_of.push_back(r / g);
      const double size = 1'728'000;  // 2^9 · 3^3 · 5^3: divisible by every g·I
      const Request request{Operation::all_reduce, Bytes(1'728'000)};
      const double rate = static_cast<double>(kRate);
      const double steps = 2 * (g - 1) + 2 * (islands - 1);
      const double formula = 2 * (g - 1) * (kAlpha + size / g / rate) +
                             2 * (islands - 1) * (kAlpha + size / g / islands / rate);
      const double time =
          run_unit_rate(hierarchical->schedule(request, shape), g * islands, kAlpha, rate);
      CAPTURE(g);
      CAPTURE(islands);
      CHECK(std::abs(time - formula) <= steps * kTick / 2);
      CHECK(coupled_time(hierarchical->coupled(request, shape), g * islands, kAlpha) <=
            formula + steps * kTick);
    }
  }
  const Request request{Operation::all_reduce, Bytes(1'728'000)};
  const auto ring = make_algorithm("ring");
  CHECK(hierarchical->closed_form(request, 6, Duration(100), Bandwidth(kRate)) ==
        ring->closed_form(request, 6, Duration(100), Bandwidth(kRate)));
}

// The coupled form is a summary of the schedule: the same pairs, with the sum of the bytes of their
// transfers.
TEST_CASE("coupled edges carry the bytes of the schedule") {
  for (const auto& entry : collective::algorithm_catalog()) {
    const auto algorithm = make_algorithm(entry.description.name, 5);
    for (std::uint8_t o = 0; o < 5; ++o) {
      for (const std::uint32_t n : {1U, 2U, 3U, 8U}) {
        for (const std::int64_t size :
             {std::int64_t{0}, std::int64_t{1}, std::int64_t{7}, std::int64_t{100'003}}) {
          const Request request{static_cast<Operation>(o), Bytes(size)};
          GroupShape shape = GroupShape::flat(n);
          if (n == 8) shape.island_of = {0, 0, 0, 0, 1, 1, 1, 1};
          if (!algorithm->refusal(request, shape).empty()) continue;
          std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> sums;
          for (const auto& transfer : algorithm->schedule(request, shape).transfers) {
            sums[{transfer.source, transfer.destination}] += transfer.size.count();
          }
          std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> edges;
          for (const auto& edge : algorithm->coupled(request, shape).edges) {
            CHECK(
                edges.emplace(std::pair(edge.source, edge.destination), edge.size.count()).second);
          }
          CHECK(edges == sums);
          CHECK((n > 1 || sums.empty()));
        }
      }
    }
  }
}

// NCCL v2.23.4-1, src/graph/tuning.cc: baseLat Ring/Simple 8.4 µs; hwLat NVLINK Ring/Tree
// Simple 3.4/4.0 µs, NET 14/14 µs.
TEST_CASE("the protocol constants are NCCL's") {
  const collective::Protocol protocol;
  CHECK(in_seconds(protocol.base) == doctest::Approx(8.4e-6));
  CHECK(in_seconds(protocol.ring.nvlink) == doctest::Approx(3.4e-6));
  CHECK(in_seconds(protocol.tree.nvlink) == doctest::Approx(4.0e-6));
  CHECK(in_seconds(protocol.ring.network) == doctest::Approx(14e-6));
  CHECK(in_seconds(protocol.tree.network) == doctest::Approx(14e-6));
}

}  // namespace railyard::test
