// Hosts that fail: how often jobs notice, what it costs them, and which checkpoint interval is
// best.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>

#include "support/cluster_bench.hpp"

using namespace railyard;
using namespace railyard::cluster;
using namespace std::chrono_literals;
using test::ClusterBench;
using test::recorded_job;

namespace {

constexpr double kHour = 3600.0 * kTicksPerSecond;

std::uint64_t failures_of(const Outcome& outcome) {
  std::uint64_t failures = 0;
  for (const JobRecord& record : outcome.jobs) failures += record.failures;
  return failures;
}

double hours_held(const Outcome& outcome) {
  double hours = 0;
  for (const JobRecord& record : outcome.jobs) {
    hours += static_cast<double>(record.held.count()) / kHour;
  }
  return hours;
}

/// Share of the time on its GPUs in which a job of one host got on.
double effective_share(const Checkpoints& checkpoints, const Failures& failures) {
  ClusterBench bench(test::plain_clos("[1]"));
  bench.settings.checkpoints = checkpoints;
  bench.settings.failures = failures;
  bench.settings.streams = RngStreams(7);
  const auto outcome = bench.run({recorded_job("long", 8, 0s, 24h * 300)});
  REQUIRE(outcome.jobs[0].status == JobStatus::finished);
  return static_cast<double>(Duration(24h * 300).count()) /
         static_cast<double>(outcome.jobs[0].held.count());
}

}  // namespace

// 2,048 hosts, 6.5 failures per 1,000 node-days: a job of n hosts fails once in 24 · 1000 / (6.5 n)
// hours: 28.8, 7.21 and 1.80 h for 128, 512 and 2,048. The cluster is filled with such jobs for
// 100 days: about 1,330 failures, so 4 sigmas are 11 %.
TEST_CASE("Jobs of 1,024, 4,096 and 16,384 GPUs fail as the published node rate says") {
  for (const std::uint32_t gpus : {1024U, 4096U, 16'384U}) {
    const double hours = 24 * 1000 / (6.5 * gpus / 8);
    CAPTURE(gpus);
    // A host's GPUs do not matter here, one each is quicker.
    std::string fabric = test::plain_clos("[512, 512, 512, 512]");
    fabric.replace(fabric.find("\"gpus_per_host\": 8"), 18, "\"gpus_per_host\": 1");
    fabric.replace(fabric.find("\"per_host\": 8"), 13, "\"per_host\": 1");
    ClusterBench bench(fabric);
    bench.settings.failures = {.per_host_day = 6.5e-3, .repair = 0s};
    bench.settings.checkpoints = {.interval = 1min, .cost = 0s, .restart = 0s};
    bench.settings.horizon = 24h * 100;
    std::vector<JobSpec> jobs;
    for (std::uint32_t j = 0; j < 16'384 / gpus; ++j) {
      jobs.push_back(recorded_job("j" + std::to_string(j), gpus / 8, 0s, 24h * 200));
    }
    const auto outcome = bench.run(jobs);
    const auto failures = static_cast<double>(failures_of(outcome));
    CHECK(failures > 1'000);
    REQUIRE(outcome.warnings.size() == 1);
    const std::string said = fmt::format("once in {:.4g} h", hours_held(outcome) / failures);
    CHECK(outcome.warnings.front().find(said) != std::string::npos);
    CHECK(hours_held(outcome) / failures ==
          doctest::Approx(hours).epsilon(4 / std::sqrt(failures)));
  }
}

// E[ETTR] = (1 - N r (u0 + dt/2)) / (1 + w/dt) (Kokolis et al., HPCA'25) to first order in the
// rate: one host that fails every 2.88 h, checkpoints of 6 s every 6 min, 1 min to start again: (1
// - (60 + 180) / 10,368) / (1 + 6/360) = 0.9608. About 2,600 failures.
TEST_CASE("The effective share of training time agrees with its expectation") {
  const double rate = 24 / 2.88;
  for (const double minutes : {3.0, 6.0, 12.0, 24.0}) {
    CAPTURE(minutes);
    const Duration interval = from_seconds(minutes * 60);
    const double between = 2.88 * 3600;
    const double expected = (1 - (60 + minutes * 30) / between) / (1 + 6 / (minutes * 60));
    const double share = effective_share({.interval = interval, .cost = 6s, .restart = 60s},
                                         {.per_host_day = rate, .repair = 0s});
    CHECK(share == doctest::Approx(expected).epsilon(0.01));
  }
}

// sqrt(2 · 6 s · 10,368 s) = 353 s. Against a grid around it, with the same failures.
TEST_CASE("Young and Daly's interval is within 0.2 % of the best") {
  const Failures failures{.per_host_day = 24 / 2.88, .repair = 0s};
  Checkpoints daly{.interval = 0s, .young_daly = true, .cost = 6s, .restart = 60s};
  const double ours = effective_share(daly, failures);
  double best = 0;
  for (const double factor : {0.25, 0.5, 0.7, 0.85, 1.0, 1.15, 1.4, 2.0, 4.0}) {
    const Checkpoints fixed{.interval = from_seconds(353 * factor), .cost = 6s, .restart = 60s};
    best = std::max(best, effective_share(fixed, failures));
  }
  CHECK(ours > best * 0.998);
}

// Two hosts, one job on one of them: when it fails the job goes on on the other, and the first
// comes back a day later. Checkpoints every hour: less than an hour is lost each time.
TEST_CASE("A job that loses its host starts again elsewhere from its last checkpoint") {
  ClusterBench bench(test::plain_clos("[2]"));
  bench.settings.failures = {.per_host_day = 0.1, .repair = 24h};
  bench.settings.checkpoints = {.interval = 1h, .cost = 0s, .restart = 0s};
  const auto outcome = bench.run({recorded_job("j", 8, 0s, 24h * 60)});
  const JobRecord& record = outcome.jobs[0];
  CHECK(record.status == JobStatus::finished);
  CHECK(record.failures > 0);
  CHECK(record.starts == record.failures + 1);
  // Work is a real number of ticks, of which a double tells 64 apart at 60 days.
  CHECK(std::abs((record.kept - Duration(24h * 60)).count()) < 1'000);
  CHECK(record.held - record.kept <= Duration(1h) * record.failures);
  CHECK(outcome.lost_gpu_ticks == 8 * static_cast<double>((record.held - record.kept).count()));
}

// Without checkpoints a failure takes all of the run.
TEST_CASE("Without checkpoints a failure throws everything away") {
  ClusterBench bench(test::plain_clos("[1]"));
  bench.settings.failures = {.per_host_day = 2, .repair = 1h};
  bench.settings.streams = RngStreams(3);
  const auto outcome = bench.run({recorded_job("j", 8, 0s, 24h)});
  const JobRecord& record = outcome.jobs[0];
  CHECK(record.status == JobStatus::finished);
  CHECK(record.kept == Duration(24h));
  REQUIRE(record.failures > 0);
  CHECK(record.finished - record.started == record.held + Duration(1h) * record.failures);
}
