#include <doctest/doctest.h>

#include "railyard/cluster/cluster.hpp"
#include "support/cluster_bench.hpp"

using namespace railyard;
using namespace railyard::cluster;

namespace {

/// Sixty jobs of 1 to 32 GPUs on two minipods of four hosts, which preempt each other while hosts
/// fail.
Outcome busy_run(bool want_history) {
  test::ClusterBench bench(test::plain_clos("[4, 4]"),
                           {.queue = R"({"name": "priority", "preempt": true})"});
  bench.settings.failures.per_host_day = 20;
  bench.settings.failures.repair = from_seconds(600);
  bench.settings.want_history = want_history;
  std::vector<JobSpec> jobs;
  for (std::uint32_t j = 0; j < 60; ++j) {
    const std::uint32_t gpus = 1U << (j * 7 % 6);
    jobs.push_back(test::recorded_job("job " + std::to_string(j), gpus, from_seconds(j * 40.0),
                                      from_seconds(100 + j * 37 % 900)));
    jobs.back().priority = static_cast<std::int32_t>(j * 5 % 7);
  }
  return bench.run(jobs);
}

}  // namespace

// By their meaning: GPUs x time that jobs held them is the integral of the allocated GPUs, which
// the cluster sums up by itself; so is the area under the samples.
TEST_CASE("holdings and samples add up to the GPU time the cluster allocated") {
  const Outcome outcome = busy_run(true);
  REQUIRE(outcome.preemptions > 5);
  REQUIRE(outcome.job_failures > 0);
  double held = 0;
  for (const Holding& holding : outcome.holdings) {
    CHECK(holding.to >= holding.from);
    held += holding.gpus * static_cast<double>((holding.to - holding.from).count());
  }
  CHECK(held == doctest::Approx(outcome.allocated_gpu_ticks).epsilon(1e-12));
  double area = 0;
  for (std::size_t i = 0; i < outcome.samples.size(); ++i) {
    const bool last = i + 1 == outcome.samples.size();
    const auto span = (last ? outcome.end : outcome.samples[i + 1].at) - outcome.samples[i].at;
    area +=
        static_cast<double>(outcome.samples[i].allocated_gpus) * static_cast<double>(span.count());
  }
  CHECK(area == doctest::Approx(outcome.allocated_gpu_ticks).epsilon(1e-12));
}

TEST_CASE("at no time is more held in a minipod than it has, and a job is held once at a time") {
  const Outcome outcome = busy_run(true);
  for (const Holding& at : outcome.holdings) {
    std::uint32_t gpus = 0;
    std::uint32_t own = 0;
    for (const Holding& other : outcome.holdings) {
      if (other.from > at.from || other.to <= at.from) continue;
      if (other.minipod != at.minipod) continue;
      gpus += other.gpus;
      if (other.job == at.job) ++own;
    }
    CHECK(gpus <= 32);
    CHECK(own <= 1);
  }
}

TEST_CASE("history is kept where it is wanted, and changes nothing") {
  const Outcome without = busy_run(false);
  const Outcome with = busy_run(true);
  CHECK(without.holdings.empty());
  CHECK(without.samples.empty());
  CHECK(test::finishes(without) == test::finishes(with));
}
