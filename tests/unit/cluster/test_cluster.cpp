#include <doctest/doctest.h>

#include "railyard/cluster/cluster.hpp"
#include "railyard/workload/micro_benchmark.hpp"
#include "support/cluster_bench.hpp"

using namespace railyard;
using namespace railyard::cluster;
using namespace std::chrono_literals;

namespace {

/// A cluster under test: a fabric, a placement policy by name, FIFO, no estimates.
struct Bench : test::ClusterBench {
  explicit Bench(const std::string& fabric, const std::string& placement_name = "gpu_packing")
      : ClusterBench(fabric, {.placement = '"' + placement_name + '"', .predictor = "\"none\""}) {}
};

/// A job whose iteration sends 125 MB over each of its NICs: 10 ms alone.
JobSpec sender(const std::string& name, std::uint32_t gpus, Duration submitted) {
  workload::MicroBenchmark micro;
  micro.point_to_point = true;
  micro.size = Bytes(125'000'000);
  JobSpec job;
  job.name = name;
  job.shape = {gpus, 8, 1, gpus / 8};
  job.dag = std::make_shared<const workload::IterationDag>(
      workload::build_micro_benchmark(micro, gpus, 8));
  job.submitted = TimePoint(submitted);
  return job;
}

}  // namespace

// model.md: placed on the fewest leaves and minipods, alone, a replayed job takes exactly its
// recorded duration: 12,345,678,901,234 ticks here, to the tick.
TEST_CASE("a recorded job alone on the fewest leaves takes exactly its recorded duration") {
  Bench bench(test::plain_clos("[16, 16]"));
  std::vector<JobSpec> jobs{sender("recorded", 64, 5s)};
  jobs.front().recorded = Duration(12'345'678'901'234);
  const Outcome outcome = simulate(jobs, bench.settings);
  CHECK(outcome.jobs.front().status == JobStatus::finished);
  CHECK(outcome.jobs.front().started == TimePoint(5s));
  CHECK(outcome.jobs.front().finished - outcome.jobs.front().started ==
        Duration(12'345'678'901'234));
}

// 100 iterations of 10 ms from t = 0.
TEST_CASE("a job given in iterations takes their number times its iteration") {
  Bench bench(test::plain_clos("[8]"));
  std::vector<JobSpec> jobs{sender("counted", 16, 0s)};
  jobs.front().iterations = 100;
  const Outcome outcome = simulate(jobs, bench.settings);
  CHECK(outcome.jobs.front().finished == TimePoint(1s));
  CHECK(outcome.jobs.front().spread.leaves == 1);
}

// 8 hosts; two jobs of 8 hosts each: the second waits for the first. With an interval of 300 ms the
// first (submitted at 1 ms) starts at 300 ms, runs 1 s to 1.3 s; the next decision is at 1.5 s.
TEST_CASE("gangs wait for whole hosts and start at multiples of the interval") {
  Bench bench(test::plain_clos("[8]"));
  bench.settings.interval = 300ms;
  std::vector<JobSpec> jobs{sender("first", 64, 1ms), sender("second", 64, 2ms)};
  for (JobSpec& job : jobs) job.iterations = 100;
  const Outcome outcome = simulate(jobs, bench.settings);
  CHECK(outcome.jobs[0].started == TimePoint(300ms));
  CHECK(outcome.jobs[0].finished == TimePoint(1300ms));
  CHECK(outcome.jobs[1].started == TimePoint(1500ms));
}

// The decision's latency passes between decision and start, with the hosts already taken.
TEST_CASE("a decision's latency is charged in simulated time") {
  Bench bench(test::plain_clos("[8]"));
  bench.settings.decision_latency = 7s;
  std::vector<JobSpec> jobs{sender("late", 16, 1s)};
  jobs.front().iterations = 1;
  const Outcome outcome = simulate(jobs, bench.settings);
  CHECK(outcome.jobs.front().started == TimePoint(8s));
}

// Two minipods of two hosts, 2:1 to the core: a minipod's two hosts (16 NICs, 200 GB/s) share 100
// GB/s up. `blocks` puts host 0 of each job in minipod 0 and host 1 in minipod 1, so every send
// crosses: 8 NICs (100 GB/s) fit alone, 16 get half. Both jobs always send, so 20 ms an iteration.
TEST_CASE(
    "jobs that share full core links advance at the contended pace and recover when one ends") {
  Bench bench(test::plain_clos("[2, 2]", 1, 2), "blocks");
  std::vector<JobSpec> jobs{sender("short", 16, 0s), sender("long", 16, 0s)};
  jobs[0].iterations = 100;
  jobs[1].iterations = 300;
  const Outcome outcome = simulate(jobs, bench.settings);
  // Short: 100 × 20 ms. Long: 100 by then, 200 × 10 ms more.
  CHECK(in_seconds(outcome.jobs[0].finished) == doctest::Approx(2.0).epsilon(1e-6));
  CHECK(in_seconds(outcome.jobs[1].finished) == doctest::Approx(4.0).epsilon(1e-6));
  CHECK(outcome.jobs[1].varied);
  // 4 s for 300 iterations, whatever paces they were run at.
  CHECK(outcome.jobs[1].iteration_ticks_mean ==
        doctest::Approx(4.0 / 300 * kTicksPerSecond).epsilon(1e-6));
  CHECK(outcome.contended_epochs == 1);
  // Both share the link until the short one ends at 2 s, and lose half of that time to each other.
  for (const JobRecord& record : outcome.jobs) {
    CHECK(in_seconds(record.shared) == doctest::Approx(2.0).epsilon(1e-6));
    CHECK(record.contention_ticks / kTicksPerSecond == doctest::Approx(1.0).epsilon(1e-6));
  }
}

// The same under "analytic": every flow runs alone, so nobody slows anybody down, and jobs are not
// even looked at together.
TEST_CASE("Where every flow runs alone jobs do not contend") {
  Bench bench(test::plain_clos("[2, 2]", 1, 2), "blocks");
  bench.settings.network.model.fidelity = network::Fidelity::analytic;
  std::vector<JobSpec> jobs{sender("short", 16, 0s), sender("long", 16, 0s)};
  jobs[0].iterations = 100;
  jobs[1].iterations = 300;
  const Outcome outcome = simulate(jobs, bench.settings);
  CHECK(in_seconds(outcome.jobs[0].finished) == doctest::Approx(1.0).epsilon(1e-6));
  CHECK(in_seconds(outcome.jobs[1].finished) == doctest::Approx(3.0).epsilon(1e-6));
  CHECK(outcome.contended_epochs == 0);
  CHECK(outcome.jobs[0].shared == Duration{});
  CHECK(outcome.jobs[0].contention_ticks == 0);
}

// Background takes the whole first minipod: the job must go to the second.
TEST_CASE("occupied hosts are not given to jobs") {
  Bench bench(test::plain_clos("[4, 2]"));
  for (std::uint32_t h = 0; h < 4; ++h) {
    bench.settings.background.push_back({static_cast<HostId>(h), 0xff});
  }
  std::vector<JobSpec> jobs{sender("squeezed", 16, 0s)};
  jobs.front().iterations = 1;
  const Outcome outcome = simulate(jobs, bench.settings);
  REQUIRE(outcome.jobs.front().placement.has_value());
  for (const auto& slot : outcome.jobs.front().placement->slots) CHECK(index(slot.host) >= 4);
}

// A job beyond the horizon stays unfinished, one larger than the cluster is rejected and warned of.
TEST_CASE("a run ends at its horizon and rejects what can never fit") {
  Bench bench(test::plain_clos("[2]"));
  bench.settings.horizon = 500ms;
  std::vector<JobSpec> jobs{sender("endless", 16, 0s), sender("huge", 32, 0s)};
  for (JobSpec& job : jobs) job.iterations = 100;
  const Outcome outcome = simulate(jobs, bench.settings);
  CHECK(outcome.jobs[0].status == JobStatus::running);
  CHECK(outcome.jobs[0].work_done == doctest::Approx(50.0));
  CHECK(outcome.jobs[1].status == JobStatus::rejected);
  CHECK(outcome.warnings.size() == 1);
}

// `blocks` over two minipods on a fabric of one: no placement exists, whatever is free.
TEST_CASE("a job that no placement fits waits for ever and the run says so") {
  Bench bench(test::plain_clos("[8]"), "blocks");
  std::vector<JobSpec> jobs{sender("nowhere", 16, 0s)};
  jobs.front().iterations = 1;
  const Outcome outcome = simulate(jobs, bench.settings);
  CHECK(outcome.jobs.front().status == JobStatus::queued);
  REQUIRE(outcome.warnings.size() == 1);
  CHECK(outcome.warnings.front().find("nowhere") != std::string::npos);
}

// 10^9 iterations of 10 ms end after 115 days, arrivals start after 1,000: beyond the horizon of 10
// days nothing is queued, and nothing overflows.
TEST_CASE("what lies beyond the horizon does not happen and does not overflow") {
  Bench bench(test::plain_clos("[8]"));
  bench.settings.horizon = std::chrono::hours(240);
  bench.settings.interval = std::chrono::hours(24 * 1000);
  bench.settings.decision_latency = std::chrono::hours(24 * 1000);
  std::vector<JobSpec> jobs{sender("endless", 16, 0s), sender("late", 16, 1s)};
  for (JobSpec& job : jobs) job.iterations = 1'000'000'000;
  const Outcome outcome = simulate(jobs, bench.settings);
  CHECK(outcome.jobs[0].status == JobStatus::queued);
  CHECK(outcome.jobs[1].status == JobStatus::queued);
}

// A policy set's view of a stop: the run ends, what has finished is kept.
TEST_CASE("an interrupt ends a run in the middle of an iteration") {
  class Stopper final : public Observer {
   public:
    void at(TimePoint, std::size_t, std::size_t, std::uint64_t) override {}
    bool stop() override { return ++asked > 2; }
    int asked = 0;
  };
  Bench bench(test::plain_clos("[8]"));
  std::vector<JobSpec> jobs{sender("stopped", 16, 0s)};
  jobs.front().iterations = 5;
  bench.settings.want_links = true;  // asks for more simulation when the run ends
  Stopper stopper;
  const Outcome outcome = simulate(jobs, bench.settings, &stopper);
  CHECK(outcome.jobs.front().status != JobStatus::finished);
}

// Four hosts of one leaf, the first taken by others: the job lies on the second and third. An
// oracle has run it on the first two before, which is the same to every tick; the links that the
// result names are still those of its own hosts.
TEST_CASE("a result names the links of the hosts that its job has") {
  test::ClusterBench bench(test::plain_clos("[4]"));
  bench.settings.want_links = true;
  bench.settings.background = {{HostId{0}, scheduler::whole_host_mask(8)}};
  JobSpec job = sender("sender", 16, 0s);
  job.iterations = 3;
  const auto outcome = bench.run({job});
  double of_first = 0;
  double of_second = 0;
  for (std::size_t l = 0; l < outcome.links.size(); ++l) {
    const std::string name = bench.topology.link_name(static_cast<LinkId>(l));
    if (name.starts_with("host-0/")) of_first += outcome.links[l].bytes;
    if (name.starts_with("host-1/")) of_second += outcome.links[l].bytes;
  }
  CHECK(of_first == 0);
  CHECK(of_second > 0);
}
