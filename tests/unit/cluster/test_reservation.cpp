// Reservations: who waits because of them, who may use them meanwhile, and that announced jobs
// start on time.
#include <doctest/doctest.h>

#include "support/cluster_bench.hpp"

using namespace railyard;
using namespace railyard::cluster;
using namespace std::chrono_literals;
using test::ClusterBench;
using test::recorded_job;
using test::starts;

namespace {

const std::string kPass = R"({"name": "fifo", "hold": "pass"})";

/// Three small jobs of a host and a large one of two, on four hosts.
std::vector<JobSpec> three_and_one() {
  return {recorded_job("s0", 8, 0s, 10s), recorded_job("s1", 8, 0s, 10s),
          recorded_job("s2", 8, 0s, 10s), recorded_job("large", 16, 5s, 20s)};
}

ClusterBench pool(const std::string& more) {
  return ClusterBench(
      test::plain_clos("[4]"),
      {.queue = kPass,
       .reservation = R"({"name": "pool", "share": 0.5, "min_gpus": 16)" + more + "}"});
}

}  // namespace

// Two hosts of four are kept: the third small job waits for 10 s, the large one does not. Until it
// comes, 16 GPUs idle for 5 s.
TEST_CASE("A pool keeps small jobs out and large ones from waiting") {
  const auto outcome = pool("").run(three_and_one());
  CHECK(starts(outcome) == std::vector<double>{0, 0, 10, 5});
  CHECK(outcome.reserved_idle_gpu_ticks == 16.0 * 5 * kTicksPerSecond);
}

// Small jobs of 10 s are welcome as guests where 10 s are allowed; the large one then waits 5 s.
TEST_CASE("Guests of a pool are those who are soon over") {
  CHECK(starts(pool(R"(, "guests": "10s")").run(three_and_one())) ==
        std::vector<double>{0, 0, 0, 10});
  CHECK(starts(pool(R"(, "guests": "9s")").run(three_and_one())) ==
        std::vector<double>{0, 0, 10, 5});
}

// The third small job, of low priority, runs in the pool until the large one takes its host at 5 s;
// outside, a host comes free at 10 s: it has 5 s left.
TEST_CASE("Lodgers of a pool go when a large job wants their hosts") {
  auto jobs = three_and_one();
  jobs[2].priority = -1;
  const auto outcome = pool(R"(, "evict_below": 0)").run(jobs);
  CHECK(starts(outcome) == std::vector<double>{0, 0, 0, 5});
  CHECK(outcome.preemptions == 1);
  CHECK(outcome.jobs[2].finished == TimePoint(15s));
}

// Four hosts, all in the pool but one: a job of two hosts fits nowhere else and counts as large.
TEST_CASE("What fits nowhere outside the pool may use it") {
  const ClusterBench bench(test::plain_clos("[4]"),
                           {.reservation = R"({"name": "pool", "share": 0.75, "min_gpus": 1000})"});
  CHECK(bench.run({recorded_job("two", 16, 0s, 1s)}).jobs[0].status == JobStatus::finished);
}

namespace {

/// Eight hosts, each held by a job of one; they end at 50, 60, … 120 s. At 45 s come one of 30 s
/// and one of 60 s. At 100 s comes one of six hosts.
std::vector<JobSpec> announced_jobs() {
  std::vector<JobSpec> jobs;
  for (int h = 0; h < 8; ++h) {
    jobs.push_back(recorded_job("h" + std::to_string(h), 8, 0s, std::chrono::seconds(50 + 10 * h)));
  }
  jobs.push_back(recorded_job("short", 8, 45s, 30s));
  jobs.push_back(recorded_job("long", 8, 45s, 60s));
  jobs.push_back(recorded_job("large", 48, 100s, 10s));
  return jobs;
}

const std::string kAnnounced =
    R"({"name": "announced", "min_gpus": 48, "lead": "60s", "evict": false})";

}  // namespace

// At 40 s the large job is announced: the six hosts whose holders end by 100 s are its own. The
// short job may use one (50 to 80 s), the long one would not be over and waits for 110 s. Of the
// six, somebody holds all until 60 s, then 5, 4, 2 (two end at 80 s) and 1 until 100 s.
TEST_CASE("An announced job finds its hosts drained and starts on time") {
  const ClusterBench bench(test::plain_clos("[8]"), {.queue = kPass, .reservation = kAnnounced});
  const auto outcome = bench.run(announced_jobs());
  CHECK(outcome.jobs[8].started == TimePoint(50s));
  CHECK(outcome.jobs[9].started == TimePoint(110s));
  CHECK(outcome.jobs[10].started == TimePoint(100s));
  CHECK(outcome.preemptions == 0);
  std::vector<double> retention;
  for (const CurvePoint& point : outcome.curve) {
    if (!point.retention) continue;
    if (retention.empty() || retention.back() != *point.retention) {
      retention.push_back(*point.retention);
    }
  }
  CHECK(retention == std::vector<double>{1, 5.0 / 6, 4.0 / 6, 2.0 / 6, 1.0 / 6});
}

// Best effort: the long job takes the host that is free at 60 s, and at 100 s only five are.
TEST_CASE("Without a reservation the large job finds too few hosts") {
  const ClusterBench bench(test::plain_clos("[8]"), {.queue = kPass});
  const auto outcome = bench.run(announced_jobs());
  CHECK(outcome.jobs[9].started == TimePoint(60s));
  CHECK(outcome.jobs[10].started == TimePoint(110s));
}

// Nobody is known to be over in time: the short job may not use the hosts either and waits until
// 110 s; hosts idle instead.
TEST_CASE("Without predictions a reservation costs more") {
  const ClusterBench blind(test::plain_clos("[8]"),
                           {.queue = kPass, .predictor = "\"none\"", .reservation = kAnnounced});
  const ClusterBench seeing(test::plain_clos("[8]"), {.queue = kPass, .reservation = kAnnounced});
  const auto without = blind.run(announced_jobs());
  const auto with = seeing.run(announced_jobs());
  CHECK(without.jobs[8].started >= TimePoint(110s));
  CHECK(without.reserved_idle_gpu_ticks > with.reserved_idle_gpu_ticks);
}

// Estimates of 1 s: everybody is let in. At 100 s the holders are still there; they are preempted,
// or, without eviction, the large job waits.
TEST_CASE("Who is still on the hosts of an announced job is preempted when it comes") {
  auto jobs = announced_jobs();
  jobs[5].recorded = 105s;
  const std::string wrong = R"({"name": "history_mean", "initial": "1s", "min_jobs": 1000})";
  const auto started = [&](const std::string& evict) {
    const ClusterBench bench(
        test::plain_clos("[8]"),
        {.queue = kPass,
         .predictor = wrong,
         .reservation =
             R"({"name": "announced", "min_gpus": 48, "lead": "60s", "evict": )" + evict + "}"});
    return bench.run(jobs);
  };
  const auto evicted = started("true");
  CHECK(evicted.jobs[10].started == TimePoint(100s));
  CHECK(evicted.preemptions > 0);
  const auto waited = started("false");
  CHECK(waited.jobs[10].started > TimePoint(100s));
  CHECK(waited.preemptions == 0);
}
