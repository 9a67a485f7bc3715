// What the queues do to jobs on a cluster: against schedules made by hand, an exhaustive search,
// and the promises that backfilling makes.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>

#include "railyard/workload/micro_benchmark.hpp"
#include "support/cluster_bench.hpp"

using namespace railyard;
using namespace railyard::cluster;
using namespace std::chrono_literals;
using test::ClusterBench;
using test::finishes;
using test::recorded_job;

namespace {

const std::string kOneHost = test::plain_clos("[1]");
const std::string kFourHosts = test::plain_clos("[4]");

}  // namespace

// One host. A (30 s of 8 GPUs) leaves the first queue after 80 GPU-seconds, at 10 s; B, there since
// 5 s, displaces it then and runs 8 s (64 GPU-s) to 18 s; C (4 s, since 12 s) goes before A, which
// sank: 22 s. A has its other 20 s until 42 s.
TEST_CASE("Least attained service displaces who has sunk, as worked out by hand") {
  const ClusterBench bench(
      kOneHost, {.queue = R"({"name": "las", "threshold_gpu_s": 80})", .predictor = "\"none\""});
  const auto outcome = bench.run(
      {recorded_job("a", 8, 0s, 30s), recorded_job("b", 8, 5s, 8s), recorded_job("c", 8, 12s, 4s)});
  CHECK(finishes(outcome) == std::vector<double>{42, 18, 22});
  CHECK(outcome.preemptions == 1);
  CHECK(outcome.restarts == 1);
  CHECK(outcome.jobs[0].held == Duration(30s));
  CHECK(outcome.lost_gpu_ticks == 0);
}

// The same with what a checkpoint costs. Written on demand (2 s) and read (3 s): A's second run
// begins at 22 s, makes progress from 27 s, ends at 47 s; 5 s of 8 GPUs were overhead.
TEST_CASE("A checkpoint on demand is paid when the job starts again, and loses nothing") {
  ClusterBench bench(kOneHost, {.queue = R"({"name": "las", "threshold_gpu_s": 80})"});
  bench.settings.checkpoints.cost = 2s;
  bench.settings.checkpoints.restart = 3s;
  const auto outcome = bench.run(
      {recorded_job("a", 8, 0s, 30s), recorded_job("b", 8, 5s, 8s), recorded_job("c", 8, 12s, 4s)});
  CHECK(finishes(outcome) == std::vector<double>{47, 18, 22});
  CHECK(outcome.lost_gpu_ticks == 0);
  CHECK(outcome.overhead_gpu_ticks == 5.0 * 8 * kTicksPerSecond);
  CHECK(outcome.jobs[0].kept == Duration(30s));
}

// Every 4 s for nothing: at 10 s, 2 s of A's work are lost, 16 GPU-seconds; it has 22 s to go.
TEST_CASE("With checkpoints at intervals the work since the last one is lost") {
  ClusterBench bench(kOneHost, {.queue = R"({"name": "las", "threshold_gpu_s": 80})"});
  bench.settings.checkpoints.interval = 4s;
  const auto outcome = bench.run(
      {recorded_job("a", 8, 0s, 30s), recorded_job("b", 8, 5s, 8s), recorded_job("c", 8, 12s, 4s)});
  CHECK(finishes(outcome) == std::vector<double>{44, 18, 22});
  CHECK(outcome.lost_gpu_ticks == 2.0 * 8 * kTicksPerSecond);
  CHECK(outcome.jobs[0].held == Duration(32s));
  CHECK(outcome.jobs[0].kept == Duration(30s));
}

// A pause of 1 s after every 4 s makes everything 1.25 times as long: 20 s take 25 s, and 1/5 of
// the time on the GPUs is no progress.
TEST_CASE("Pauses for checkpoints slow a job in proportion") {
  ClusterBench bench(kOneHost);
  bench.settings.checkpoints = {.interval = 4s, .cost = 1s, .restart = 0s};
  const auto outcome = bench.run({recorded_job("a", 8, 0s, 20s)});
  CHECK(finishes(outcome) == std::vector<double>{25});
  CHECK(outcome.overhead_gpu_ticks == doctest::Approx(5.0 * 8 * kTicksPerSecond));
}

// Low runs from 0 s. High comes at 10 s, takes the host, ends at 15 s; low has 20 s left: 35 s.
// Without preemption high waits until 30 s.
TEST_CASE("Higher priority displaces lower where it is allowed to") {
  std::vector<JobSpec> jobs{recorded_job("low", 8, 0s, 30s), recorded_job("high", 8, 10s, 5s)};
  jobs[1].priority = 1;
  const ClusterBench may(kOneHost, {.queue = R"({"name": "priority", "preempt": true})"});
  CHECK(finishes(may.run(jobs)) == std::vector<double>{35, 15});
  const ClusterBench may_not(kOneHost, {.queue = "\"priority\""});
  CHECK(finishes(may_not.run(jobs)) == std::vector<double>{30, 35});
}

// Four hosts. Four jobs of a host each; the gang of two hosts takes those of the two with the
// lowest priority; the others do not notice.
TEST_CASE("Only those whose GPUs the gang gets are displaced") {
  std::vector<JobSpec> jobs;
  for (int j = 0; j < 4; ++j) jobs.push_back(recorded_job("small", 8, 0s, 100s));
  for (int j = 0; j < 4; ++j) jobs[static_cast<std::size_t>(j)].priority = (j * 3) % 4;
  jobs.push_back(recorded_job("gang", 16, 10s, 5s));
  jobs.back().priority = 9;
  const ClusterBench bench(kFourHosts, {.queue = R"({"name": "priority", "preempt": true})"});
  const auto outcome = bench.run(jobs);
  CHECK(finishes(outcome) == std::vector<double>{105, 100, 100, 105, 15});
  CHECK(outcome.preemptions == 2);
}

namespace {

struct Task {
  int release;
  int work;
};

/// Least sum of completion times on one machine with preemption at whole seconds, by trying
/// everything.
class Exhaustive {
 public:
  using Left = std::array<int, 4>;
  explicit Exhaustive(const std::array<Task, 4>& tasks) : tasks_(tasks) {}
  int best_sum(const Left& left, int now) {
    if (left == Left{}) return 0;
    const auto key = std::pair(now, left);
    if (const auto found = memo_.find(key); found != memo_.end()) return found->second;
    int best = 1'000'000;
    bool idle = true;
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      if (left[t] == 0 || tasks_[t].release > now) continue;
      idle = false;
      Left next = left;
      --next[t];
      const int done = next[t] == 0 ? now + 1 : 0;
      best = std::min(best, done + best_sum(next, now + 1));
    }
    if (idle) best = best_sum(left, now + 1);
    return memo_[key] = best;
  }

 private:
  const std::array<Task, 4>& tasks_;
  std::map<std::pair<int, Left>, int> memo_;
};

}  // namespace

// Schrage 1968: SRTF minimises the mean completion time on one machine when preemption is free. 200
// random cases of four jobs against an exhaustive search over all schedules by the second.
TEST_CASE("Shortest remaining time first is optimal on one machine with an oracle") {
  Rng rng(11);
  for (int trial = 0; trial < 200; ++trial) {
    CAPTURE(trial);
    std::array<Task, 4> tasks{};
    std::array<int, 4> left{};
    std::vector<JobSpec> jobs;
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      tasks[t] = {static_cast<int>(rng.below(7)), 1 + static_cast<int>(rng.below(5))};
      left[t] = tasks[t].work;
      jobs.push_back(recorded_job("t", 8, std::chrono::seconds(tasks[t].release),
                                  std::chrono::seconds(tasks[t].work)));
    }
    const ClusterBench bench(kOneHost, {.queue = "\"srtf\""});
    double sum = 0;
    for (const double finish : finishes(bench.run(jobs))) sum += finish;
    CHECK(sum == Exhaustive(tasks).best_sum(left, 0));
  }
}

// Four hosts. A holds three until 10 s. The head B wants four: 10 s. C (one host, 10 s) is over in
// time and overtakes; D (one host, 11 s) would not be and waits for B; with FIFO nobody overtakes.
TEST_CASE("EASY lets only those overtake who do not delay the head") {
  const std::vector<JobSpec> jobs{recorded_job("a", 24, 0s, 10s), recorded_job("b", 32, 0s, 5s),
                                  recorded_job("d", 8, 0s, 11s), recorded_job("c", 8, 0s, 10s)};
  const ClusterBench easy(kFourHosts, {.queue = "\"easy_backfill\""});
  CHECK(finishes(easy.run(jobs)) == std::vector<double>{10, 15, 26, 10});
  const ClusterBench fifo(kFourHosts);
  CHECK(finishes(fifo.run(jobs)) == std::vector<double>{10, 15, 26, 25});
}

// Four hosts. A holds two until 10 s. B wants three and gets them at 10 s; one host stays unused by
// B: D may have it for as long as it wants. So the promise is of hosts, not of a time alone.
TEST_CASE("EASY lets long jobs overtake on hosts that the head does not need") {
  const std::vector<JobSpec> jobs{recorded_job("a", 16, 0s, 10s), recorded_job("b", 24, 0s, 5s),
                                  recorded_job("d", 8, 0s, 100s), recorded_job("e", 8, 0s, 100s)};
  const ClusterBench easy(kFourHosts, {.queue = "\"easy_backfill\""});
  const auto outcome = easy.run(jobs);
  CHECK(outcome.jobs[1].started == TimePoint(10s));
  CHECK(outcome.jobs[2].started == TimePoint(0s));
  // E would take one of B's hosts beyond 10 s.
  CHECK(outcome.jobs[3].started == TimePoint(15s));
}

namespace {

/// Gangs of whole hosts on eight, more than they can take, some at the same time.
std::vector<JobSpec> random_jobs(Rng& rng, std::size_t count) {
  std::vector<JobSpec> jobs;
  Duration at{};
  for (std::size_t j = 0; j < count; ++j) {
    if (rng.below(3) > 0) at += std::chrono::seconds(rng.below(20));
    const auto hosts = 1 + static_cast<std::uint32_t>(rng.below(rng.below(3) == 0 ? 8 : 3));
    jobs.push_back(recorded_job("j" + std::to_string(j), hosts * 8, at,
                                std::chrono::seconds(1 + rng.below(60))));
  }
  return jobs;
}

/// Notes of every job that becomes the head when it would start if everybody ran as long as
/// recorded and nobody overtook: when enough hosts come free.
class HeadWatch final : public scheduler::Scheduler {
 public:
  HeadWatch(scheduler::Scheduler& inner, const std::vector<JobSpec>& jobs, std::uint32_t hosts)
      : inner_(inner), jobs_(jobs), hosts_(hosts) {}

  std::vector<scheduler::Decision> decide(const scheduler::ClusterView& view) override {
    auto decisions = inner_.decide(view);
    std::vector<JobId> waiting(view.waiting.begin(), view.waiting.end());
    std::vector<std::pair<TimePoint, std::uint32_t>> ends;  // and hosts
    for (const JobId job : view.running) add(ends, job, view.job(job).started);
    for (const auto& decision : decisions) {
      const auto& start = std::get<scheduler::Start>(decision);
      std::erase(waiting, start.job);
      add(ends, start.job, view.now);
    }
    if (waiting.empty()) return decisions;
    std::ranges::sort(ends);
    std::uint32_t free = hosts_;
    for (const auto& [end, held] : ends) free -= held;
    TimePoint shadow = view.now;
    const JobId head = waiting.front();
    for (const auto& [end, held] : ends) {
      if (free >= hosts_of(head)) break;
      free += held;
      shadow = end;
    }
    promises.try_emplace(head, shadow);
    return decisions;
  }
  std::map<JobId, TimePoint> promises;

 private:
  [[nodiscard]] std::uint32_t hosts_of(JobId job) const { return jobs_[index(job)].shape.gpus / 8; }
  void add(std::vector<std::pair<TimePoint, std::uint32_t>>& ends, JobId job, TimePoint from) {
    ends.emplace_back(from + *jobs_[index(job)].recorded, hosts_of(job));
  }
  scheduler::Scheduler& inner_;
  const std::vector<JobSpec>& jobs_;
  std::uint32_t hosts_;
};

}  // namespace

// The law of EASY: with exact estimates the head starts no later than the shadow time it had when
// it became the head. The shadow is counted here by hosts, apart from the scheduler's own plan.
TEST_CASE("With exact estimates EASY never delays the head") {
  Rng rng(21);
  int overtook = 0;
  for (int trial = 0; trial < 40; ++trial) {
    CAPTURE(trial);
    const auto jobs = random_jobs(rng, 30);
    ClusterBench bench(test::plain_clos("[8]"), {.queue = "\"easy_backfill\""});
    const auto inner = scheduler::compose({bench.queue.get(), bench.placement.get(), nullptr});
    HeadWatch watch(*inner, jobs, 8);
    bench.settings.scheduler = &watch;
    const auto outcome = bench.run(jobs);
    for (const auto& [job, shadow] : watch.promises) {
      CHECK(outcome.jobs[index(job)].started <= shadow);
    }
    for (std::size_t j = 1; j < jobs.size(); ++j) {
      if (outcome.jobs[j].started < outcome.jobs[j - 1].started) ++overtook;
    }
  }
  CHECK(overtook > 100);
}

// The law of conservative backfilling: who comes later delays nobody. So no job starts later than
// in the trace that ends with it. EASY does not have that law, and the traces show it.
TEST_CASE("With exact estimates conservative backfilling delays nobody, EASY some") {
  Rng rng(22);
  int delayed_by_easy = 0;
  for (int trial = 0; trial < 12; ++trial) {
    CAPTURE(trial);
    const auto jobs = random_jobs(rng, 20);
    const auto starts = [&](const std::string& queue, std::size_t count) {
      const ClusterBench bench(test::plain_clos("[5, 3]"), {.queue = queue});
      std::vector<TimePoint> out;
      const std::vector<JobSpec> some(jobs.begin(),
                                      jobs.begin() + static_cast<std::ptrdiff_t>(count));
      for (const JobRecord& record : bench.run(some).jobs) out.push_back(record.started);
      return out;
    };
    const auto conservative = starts("\"conservative_backfill\"", jobs.size());
    const auto easy = starts("\"easy_backfill\"", jobs.size());
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      CAPTURE(j);
      CHECK(conservative[j] <= starts("\"conservative_backfill\"", j + 1)[j]);
      if (easy[j] > starts("\"easy_backfill\"", j + 1)[j]) ++delayed_by_easy;
    }
  }
  CHECK(delayed_by_easy > 0);
}

// Estimated 1 s, run 50: the head's promise comes and goes, and it starts when the hosts are free.
TEST_CASE("Backfilling survives estimates that are wrong") {
  for (const char* queue : {"\"easy_backfill\"", "\"conservative_backfill\""}) {
    const ClusterBench bench(
        kFourHosts, {.queue = queue, .predictor = R"({"name": "history_mean", "initial": "1s"})"});
    const auto outcome = bench.run({recorded_job("a", 24, 0s, 50s), recorded_job("b", 32, 0s, 5s),
                                    recorded_job("c", 8, 0s, 60s)});
    CHECK(finishes(outcome) == std::vector<double>{50, 65, 60});
    CHECK(outcome.warnings.empty());
  }
}

namespace {

/// Answers with whatever it is given.
class Wrong final : public scheduler::Scheduler {
 public:
  explicit Wrong(std::vector<scheduler::Decision> decisions) : decisions_(std::move(decisions)) {}
  std::vector<scheduler::Decision> decide(const scheduler::ClusterView& /*view*/) override {
    return decisions_;
  }

 private:
  std::vector<scheduler::Decision> decisions_;
};

std::string refusal_of(scheduler::Decision decision) {
  ClusterBench bench(kFourHosts);
  Wrong wrong({std::move(decision)});
  bench.settings.scheduler = &wrong;
  const auto outcome = bench.run({recorded_job("first", 16, 0s, 1s)});
  CHECK(outcome.jobs[0].status != JobStatus::finished);
  std::string all;
  for (const std::string& warning : outcome.warnings) all += warning + '\n';
  return all;
}

scheduler::Start start_on(std::vector<scheduler::HostSlot> slots) {
  return {JobId{0}, {std::move(slots), scheduler::RankOrder::pp_fastest}};
}

}  // namespace

TEST_CASE("Decisions that the cluster cannot follow are refused, counted and explained") {
  const auto says = [](const std::string& text, const char* part) {
    CAPTURE(text);
    CHECK(text.find("1 decisions of the scheduler were refused") != std::string::npos);
    CHECK(text.find(part) != std::string::npos);
  };
  says(refusal_of(start_on({{HostId{0}, 0xff}})), "8 of its 16 GPUs");
  says(refusal_of(start_on({{HostId{0}, 0xff}, {HostId{0}, 0xff}})), "twice");
  says(refusal_of(start_on({{HostId{0}, 0xff}, {HostId{9}, 0xff}})), "host 9 of 4");
  says(refusal_of(start_on({{HostId{0}, 0xff}, {HostId{1}, 0x0f}})), "whole hosts");
  says(refusal_of(scheduler::Start{JobId{7}, {}}), "job 7 of 1");
  says(refusal_of(scheduler::Preempt{JobId{0}}), "does not run");
  says(refusal_of(scheduler::Reject{JobId{3}, "no"}), "does not wait");
  says(refusal_of(scheduler::Wake{TimePoint{}}), "time that has come");
}

TEST_CASE("A job that the scheduler rejects leaves, with the reason") {
  ClusterBench bench(kFourHosts);
  Wrong wrong({scheduler::Reject{JobId{0}, "no quota"}});
  bench.settings.scheduler = &wrong;
  const auto outcome = bench.run({recorded_job("first", 16, 0s, 1s)});
  CHECK(outcome.jobs[0].status == JobStatus::rejected);
  REQUIRE(outcome.warnings.size() == 1);
  CHECK(outcome.warnings[0].find("no quota") != std::string::npos);
}

// 20 iterations of 10 ms: the oracle of a job given in iterations asks for its pace on the
// reference placement before it has one, and is right.
TEST_CASE("The oracle knows jobs that are given in iterations") {
  ClusterBench bench(kFourHosts, {.queue = "\"sjf\""});
  workload::MicroBenchmark micro;
  micro.point_to_point = true;
  micro.size = Bytes(125'000'000);
  JobSpec job = recorded_job("counted", 16, 0s, 1s);
  job.recorded.reset();
  job.iterations = 20;
  job.dag =
      std::make_shared<const workload::IterationDag>(workload::build_micro_benchmark(micro, 16, 8));
  const auto outcome = bench.run({job});
  CHECK(outcome.jobs[0].predicted == Duration(200ms));
  CHECK(outcome.jobs[0].kept == Duration(200ms));
}

// Two minipods of one leaf of two hosts each. A and B hold a host of each until 20 min and 40 min;
// C wants two hosts of one leaf, and is offered one of each at 1 min. It would wait until 1 min +
// `wait`: with 10 min it starts at 11 min on two leaves; with 30 min A's leaf is free first, at 20
// min, and it starts there on one. Without a limit it starts at once.
TEST_CASE("A job waits for few switches as long as it was told, and no longer") {
  const std::string fabric = test::plain_clos("[2, 2]");
  const auto start_and_leaves = [&fabric](const std::string& placement) {
    const ClusterBench bench(fabric, {.placement = placement});
    const auto jobs =
        std::vector{recorded_job("a", 8, 0s, 20min), recorded_job("x", 8, 0s, 30s),
                    recorded_job("b", 8, 0s, 40min), recorded_job("c", 16, 1min, 5min)};
    const auto outcome = bench.run(jobs);
    const JobRecord& c = outcome.jobs[3];
    return std::pair(in_seconds(c.started) / 60, c.spread.leaves);
  };
  CHECK(start_and_leaves(R"({"name": "slurm_tree", "switches": 1, "wait": "10min"})") ==
        std::pair(11.0, 2U));
  CHECK(start_and_leaves(R"({"name": "slurm_tree", "switches": 1, "wait": "30min"})") ==
        std::pair(20.0, 1U));
  CHECK(start_and_leaves("\"slurm_tree\"") == std::pair(1.0, 2U));
}
