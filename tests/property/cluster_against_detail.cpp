// The cluster's pace against a run entirely in iteration detail (ADR 0009).
#include <doctest/doctest.h>

#include <cmath>

#include "railyard/cluster/cluster.hpp"
#include "railyard/core/rng.hpp"
#include "support/fabric.hpp"
#include "support/two_sides.hpp"
#include "training/engine.hpp"

using namespace railyard;

namespace {

/// Two hosts in different minipods behind one 400 Gb/s uplink each; two jobs of four GPUs a host.
struct SharedUplink {
  topology::Topology topology = test::build_fabric(test::plain_clos("[1, 1]", 1, 2));
  training::NetworkSettings network = test::free_of_latency(topology, "spray");

  [[nodiscard]] std::shared_ptr<const training::Program> job(std::uint32_t half, Duration compute,
                                                             Bytes size) const {
    std::vector<GpuId> gpus;
    for (std::uint32_t side = 0; side < 2; ++side) {
      for (std::uint32_t g = 0; g < 4; ++g) {
        gpus.push_back(static_cast<GpuId>(side * 8 + half * 4 + g));
      }
    }
    return training::bind_job(
        std::make_shared<const workload::IterationDag>(test::compute_then_send(4, compute, size)),
        gpus, topology, network, half);
  }
};

}  // namespace

// Two jobs (computing 10 ms; sending 10 ms alone, 20 ms when both send) in every relative phase. In
// detail, an iteration takes what the phases make it take; the steady state's range over four
// stratified phases must hold the mean of every detailed run of 40 iterations, from any of ten
// seeded offsets, and the mean over the offsets must lie within 2 % of the steady state's mean
// times the width that four strata leave: half a stratum of a range [20, 30] ms is 1.25 ms.
TEST_CASE("detailed iteration times lie in the range that the steady state reports") {
  const SharedUplink fabric;
  const std::vector<std::shared_ptr<const training::Program>> jobs{
      fabric.job(0, Duration(1'000'000'000), Bytes(125'000'000)),
      fabric.job(1, Duration(1'000'000'000), Bytes(125'000'000))};
  const auto steady = training::run_to_steady_state(jobs, fabric.topology, {}, false);
  CHECK(steady.jobs[0].shortest >= Duration(2'000'000'000));
  CHECK(steady.jobs[0].longest <= Duration(3'000'000'000));

  Rng rng(20261129);
  double sum = 0;
  constexpr int kOffsets = 10;
  constexpr std::size_t kIterations = 40;
  const training::RouteTable routes(jobs, fabric.topology, false);
  for (int trial = 0; trial < kOffsets; ++trial) {
    const std::vector<Duration> offsets{
        Duration{}, Duration(static_cast<std::int64_t>(rng.below(2'000'000'000)))};
    training::Engine engine(jobs, fabric.topology, routes);
    engine.run(offsets,
               [&](std::uint32_t) { return engine.job(0).iterations.size() < kIterations; });
    double mean = 0;
    for (std::size_t i = 1; i < kIterations; ++i) {
      mean += static_cast<double>(engine.job(0).iterations[i].count()) / (kIterations - 1);
    }
    CHECK(mean >= static_cast<double>(Duration(2'000'000'000).count()) - 1);
    CHECK(mean <= static_cast<double>(Duration(3'000'000'000).count()) + 1);
    sum += mean / kOffsets;
  }
  CHECK(std::abs(sum - steady.jobs[0].iteration_ticks) < 125'000'000);
}

// Alone, detail and cluster agree to the tick: 50 iterations of compute 10 ms + send 10 ms.
TEST_CASE("a job alone finishes in detail and in the cluster at the same tick") {
  const SharedUplink fabric;
  const auto program = fabric.job(0, Duration(1'000'000'000), Bytes(125'000'000));
  const training::RouteTable routes(std::span(&program, 1), fabric.topology, false);
  training::Engine engine(std::span(&program, 1), fabric.topology, routes);
  const Duration start{};
  engine.run(std::span(&start, 1),
             [&](std::uint32_t) { return engine.job(0).iterations.size() < 50; });
  const auto steady =
      training::run_to_steady_state(std::span(&program, 1), fabric.topology, {}, false);
  CHECK(engine.now().time_since_epoch() == steady.jobs[0].shortest * 50);
}

// Both compute and send for 10 ms. Who goes first runs as if alone: 20 ms, always. The other sends
// while the first computes: from its second iteration on it computes while the first sends, 20 ms
// too, where fair sharing can keep both at 30 ms for ever.
TEST_CASE("a job of higher priority runs as if alone, and the other in its pauses") {
  const SharedUplink fabric;
  const Duration compute(1'000'000'000);
  const std::vector<std::shared_ptr<const training::Program>> jobs{
      fabric.job(0, compute, Bytes(125'000'000)), fabric.job(1, compute, Bytes(125'000'000))};
  const auto fair = training::run_to_steady_state(jobs, fabric.topology, {}, false);
  const std::vector<std::uint8_t> priorities{4, 2};
  const auto ranked = training::run_to_steady_state(jobs, fabric.topology, {}, false,
                                                    {.alone = {}, .priorities = priorities});
  CHECK(ranked.jobs[0].shortest == 2 * compute);
  CHECK(ranked.jobs[0].longest == 2 * compute);
  CHECK(ranked.jobs[1].shortest == 2 * compute);
  CHECK(ranked.jobs[1].iteration_ticks < 1.05 * 2e9);
  CHECK(fair.jobs[0].iteration_ticks > 1.1 * 2e9);
}
