#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <tuple>

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
/// The time of the coupled form on a unit-rate network: phases one after the other, in which a
/// rank's edges share its rate.
double coupled_time(const collective::Coupled& coupled, std::uint32_t ranks, double alpha) {
  double time = 0;
  for (const auto& phase : coupled.phases) {
    std::vector<double> out(ranks, 0);
    std::vector<double> in(ranks, 0);
    for (const auto& edge : phase.edges) {
      if (edge.source < ranks) out[edge.source] += static_cast<double>(edge.size.count());
      if (edge.destination < ranks) in[edge.destination] += static_cast<double>(edge.size.count());
    }
    double most = 0;
    for (std::uint32_t r = 0; r < ranks; ++r) most = std::max({most, out[r], in[r]});
    most += static_cast<double>(phase.chunk.count()) * (phase.filling + phase.filling_crossing);
    time += phase.latency_steps * alpha + most / static_cast<double>(kRate);
  }
  return time;
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

// A broadcast (or reduce) of k chunks down a path of n−1 edges: the last chunk leaves rank 0 after
// k·S/(kB) and passes n−2 more hops; α passes while the next chunk is sent, so it counts once a
// hop: (n−1)α + (n−2+k)S/(kB). For n = 2 there is one hop.
TEST_CASE("the ring's broadcast and reduce are pipelines") {
  for (const std::int64_t k : {1, 4, 16}) {
    const auto ring = make_algorithm("ring", k);
    for (std::uint32_t n = 2; n <= 8; ++n) {
      for (const Operation operation : {Operation::broadcast, Operation::reduce}) {
        const Request request{operation, Bytes(1'600'000)};
        const double pieces = n - 2 + static_cast<double>(k);
        const double formula = (n - 1) * kAlpha + pieces * 1'600'000.0 / static_cast<double>(k) /
                                                      static_cast<double>(kRate);
        const double slack = (pieces + n) * kTick;
        CHECK(std::abs(simulated(*ring, request, n) - formula) <= slack);
        CHECK(std::abs(closed(*ring, request, n) - formula) <= slack);
        const double coupled = coupled_time(ring->coupled(request, GroupShape::flat(n)), n, kAlpha);
        CHECK(std::abs(coupled - formula) <= slack);
      }
    }
  }
}

// n−1 sends of S/n from each rank, one after the other, each step a permutation; nobody waits for
// an arrival, so α counts once: α + (n−1)S/(nB).
TEST_CASE("direct all_to_all executes in the time of its closed form") {
  const auto direct = make_algorithm("direct");
  for (const Operation operation :
       {Operation::all_to_all, Operation::all_gather, Operation::reduce_scatter}) {
    for (std::uint32_t n = 2; n <= 9; ++n) {
      const Request request{operation, Bytes(2'520'000)};
      const double steps = n - 1;
      const double formula = kAlpha + steps * 2'520'000.0 / n / static_cast<double>(kRate);
      CHECK(std::abs(simulated(*direct, request, n) - formula) <= steps * kTick / 2);
      CHECK(std::abs(closed(*direct, request, n) - formula) <= steps * kTick / 2);
      const double coupled = coupled_time(direct->coupled(request, GroupShape::flat(n)), n, kAlpha);
      CHECK(std::abs(coupled - formula) <= steps * kTick / 2);
    }
  }
}

// Upper bound 2dα + 2(d+k−1)S/(kB), d = ceil(log2 n); lower bounds 2(n−1)/n·S/B (any all-reduce)
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
      const double upper =
          2 * d * kAlpha + 2 * (d + kk - 1) * size / kk / static_cast<double>(kRate);
      const double slack = 2 * (d + kk - 1) * kTick;
      CHECK(std::abs(closed(*tree, request, n) - upper) <= slack);
      const double time = simulated(*tree, request, n);
      CHECK(time <= upper + slack);
      CHECK(time >= 2 * (n - 1.0) / n * size / static_cast<double>(kRate) - slack);
      CHECK(time >= 2 * d * (kAlpha + size / (2 * kk) / static_cast<double>(kRate)) - slack);
      // The coupled form counts one chunk of filling more: its first hop is not the busiest.
      const double chunk = size / kk / static_cast<double>(kRate);
      CHECK(coupled_time(tree->coupled(request, GroupShape::flat(n)), n, kAlpha) <=
            upper + chunk + slack);
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
      const double coupled =
          coupled_time(hierarchical->coupled(request, shape), g * islands, kAlpha);
      CHECK(std::abs(coupled - formula) <= steps * kTick);
    }
  }
  const Request request{Operation::all_reduce, Bytes(1'728'000)};
  const auto ring = make_algorithm("ring");
  CHECK(hierarchical->closed_form(request, 6, Duration(100), Bandwidth(kRate)) ==
        ring->closed_form(request, 6, Duration(100), Bandwidth(kRate)));
}

// p = n: 2·log2(n)·α + 2(n−1)/n·S/B; else p = 2^floor(log2 n) with 2(α + S/B) more. S =
// 2^4·3^2·5·7· 1000 is a multiple of all p here.
TEST_CASE("recursive halving and doubling executes in the time of its closed form") {
  const auto algorithm = make_algorithm("recursive_halving_doubling");
  const double size = 5'040'000;
  for (std::uint32_t n = 2; n <= 17; ++n) {
    CAPTURE(n);
    const double p = std::exp2(std::floor(std::log2(n)));
    const double rate = static_cast<double>(kRate);
    double formula = 2 * std::log2(p) * kAlpha + 2 * (p - 1) / p * size / rate;
    if (p < n) formula += 2 * (kAlpha + size / rate);
    const Request request{Operation::all_reduce, Bytes(5'040'000)};
    CHECK(simulated(*algorithm, request, n) == doctest::Approx(formula).epsilon(1e-9).scale(0));
    CHECK(closed(*algorithm, request, n) == doctest::Approx(formula).epsilon(1e-6).scale(0));
    CHECK(coupled_time(algorithm->coupled(request, GroupShape::flat(n)), n, kAlpha) ==
          doctest::Approx(formula).epsilon(1e-9).scale(0));
    if (p < n) continue;
    // Halves: log2(n)·α + (n−1)/n·S/B.
    for (const Operation half : {Operation::all_gather, Operation::reduce_scatter}) {
      CHECK(simulated(*algorithm, {half, Bytes(5'040'000)}, n) ==
            doctest::Approx(formula / 2).epsilon(1e-9).scale(0));
      CHECK(closed(*algorithm, {half, Bytes(5'040'000)}, n) ==
            doctest::Approx(formula / 2).epsilon(1e-6).scale(0));
    }
  }
}

// pairwise: (n−1)(α + S/(nB)); binomial tree: ceil(log2 n)(α + S/B); PAT: ceil(log2 n)·α +
// (n−1)/n·S/B; dissemination: ceil(log2 n)(α + 1/B). Where not every message waits for the one
// before (PAT, the binomial tree of other than powers of two), execution lies between the form with
// one α and the form.
TEST_CASE("pairwise, binomial tree, PAT and dissemination execute in their closed forms") {
  struct Row {
    std::string_view name;
    Operation operation;
    double (*formula)(double n, double size);
  };
  static constexpr auto kRateReal = static_cast<double>(kRate);
  const Row rows[] = {
      {"pairwise", Operation::all_to_all,
       [](double n, double s) { return (n - 1) * (kAlpha + s / n / kRateReal); }},
      {"binomial_tree", Operation::broadcast,
       [](double n, double s) { return std::ceil(std::log2(n)) * (kAlpha + s / kRateReal); }},
      {"binomial_tree", Operation::reduce,
       [](double n, double s) { return std::ceil(std::log2(n)) * (kAlpha + s / kRateReal); }},
      {"pat", Operation::all_gather,
       [](double n, double s) {
         return std::ceil(std::log2(n)) * kAlpha + (n - 1) / n * s / kRateReal;
       }},
      {"pat", Operation::reduce_scatter,
       [](double n, double s) {
         return std::ceil(std::log2(n)) * kAlpha + (n - 1) / n * s / kRateReal;
       }},
      {"dissemination", Operation::barrier,
       [](double n, double) { return std::ceil(std::log2(n)) * (kAlpha + 1 / kRateReal); }},
  };
  constexpr std::int64_t kSize = 12'252'240;  // the least common multiple of 1 … 17
  for (const Row& row : rows) {
    const auto algorithm = make_algorithm(row.name);
    for (std::uint32_t n = 2; n <= 17; ++n) {
      CAPTURE(row.name);
      CAPTURE(n);
      const double formula = row.formula(n, static_cast<double>(kSize));
      const Request request{row.operation, Bytes(kSize)};
      const double time = simulated(*algorithm, request, n);
      const bool waits = row.name == "pairwise" || row.name == "dissemination" ||
                         (row.name == "binomial_tree" && std::has_single_bit(n));
      CHECK(time <= formula * (1 + 1e-6));
      CHECK(time >=
            (waits ? formula : formula - (std::ceil(std::log2(n)) - 1) * kAlpha) * (1 - 1e-6));
      CHECK(closed(*algorithm, request, n) == doctest::Approx(formula).epsilon(1e-6).scale(0));
      CHECK(coupled_time(algorithm->coupled(request, GroupShape::flat(n)), n, kAlpha) ==
            doctest::Approx(formula).epsilon(1e-6).scale(0));
    }
  }
}

// The heaviest destination's message is in every step: weights 1, 3, 2, 2 of S = 800: 300 bytes.
TEST_CASE("an all-to-all-v takes as long as its heaviest destination says") {
  const Request request{Operation::all_to_all, Bytes(800'000'000), {1, 3, 2, 2}};
  const double step = kAlpha + 300'000'000.0 / static_cast<double>(kRate);
  CHECK(closed(*make_algorithm("pairwise"), request, 4) ==
        doctest::Approx(3 * step).epsilon(1e-6).scale(0));
  // Direct: rank 1 receives 300 MB from each of three, whatever the order.
  CHECK(simulated(*make_algorithm("direct"), request, 4) >=
        900'000'000.0 / static_cast<double>(kRate));
}

// One island of n, k pieces a slice: 4α + (1 + 1/n)·S/B + 6·S/(nkB); execution within two pieces,
// because not every hop meets another piece.
TEST_CASE("NVLS executes in the time of its closed form") {
  for (const std::int64_t k : {1, 4, 16}) {
    const auto nvls = make_algorithm("nvls", k);
    for (const std::uint32_t n : {2U, 4U, 8U, 15U}) {
      CAPTURE(k);
      CAPTURE(n);
      const double chunks = static_cast<double>(k);
      const double size = 96'000'000;
      const double piece = size / (n * chunks) / static_cast<double>(kRate);
      const double formula =
          4 * kAlpha + (1 + 1.0 / n) * size / static_cast<double>(kRate) + 6 * piece;
      const Request request{Operation::all_reduce, Bytes(96'000'000)};
      const GroupShape shape = islands_of(n, n);
      CHECK(closed(*nvls, request, n) == doctest::Approx(formula).epsilon(1e-6).scale(0));
      CHECK(coupled_time(nvls->coupled(request, shape), n, kAlpha) ==
            doctest::Approx(formula).epsilon(1e-6).scale(0));
      const double time =
          run_unit_rate(nvls->schedule(request, shape), n, kAlpha, static_cast<double>(kRate));
      CHECK(time <= formula + 2 * piece);
      CHECK((n == 2 || time >= formula - 2 * piece));
    }
  }
}

// The coupled form is a summary of the schedule: the same pairs, with the sum of the bytes of their
// transfers.
TEST_CASE("coupled edges carry the bytes of the schedule") {
  using Pair = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
  for (const auto& entry : collective::algorithm_catalog()) {
    for (const std::int64_t channels : {1, 3}) {
      const auto algorithm = make_algorithm(entry.description.name, 5, channels);
      for (std::size_t o = 0; o < collective::kOperations; ++o) {
        for (const std::uint32_t n : {1U, 2U, 3U, 8U}) {
          for (const std::int64_t size : {0, 1, 7, 100'003}) {
            const Request request{collective::operation_at(o), Bytes(size)};
            const GroupShape shape = islands_of(n == 8 ? 4 : n, n);
            if (!algorithm->refusal(request, shape).empty()) continue;
            std::map<Pair, std::int64_t> sums;
            for (const auto& transfer : algorithm->schedule(request, shape).transfers) {
              sums[{transfer.source, transfer.destination, transfer.connection}] +=
                  transfer.size.count();
            }
            std::map<Pair, std::int64_t> edges;
            for (const auto& phase : algorithm->coupled(request, shape).phases) {
              for (const auto& edge : phase.edges)
                edges[{edge.source, edge.destination, edge.connection}] += edge.size.count();
            }
            CAPTURE(entry.description.name);
            CAPTURE(o);
            CAPTURE(n);
            CHECK(edges == sums);
            CHECK((n > 1 || sums.empty()));
          }
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
