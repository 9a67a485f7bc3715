#include <algorithm>
#include <array>
#include <vector>

#include "engine.hpp"
#include "railyard/core/check.hpp"

namespace railyard::training {
namespace {

using workload::Cause;
using workload::Task;
using workload::TaskKind;

/// A stretch of communication: what it takes alone, its fixed costs, and the rest.
struct Parts {
  Duration alone{};
  Duration latency{};
  Duration contention{};
  Parts& operator+=(const Parts& other) {
    alone += other.alone;
    latency += other.latency;
    contention += other.contention;
    return *this;
  }
  [[nodiscard]] Duration total() const { return alone + latency + contention; }
};

/// Splits the first `length` of a communication task.
Parts split(const JobRun& job, std::uint32_t task, Duration length) {
  const std::uint32_t id = job.program->activity_of_task[task];
  if (id == 0) return Parts{length, {}, {}};
  const Activity& activity = job.program->activities[id - 1];
  const bool whole = length == job.log.end[task] - job.log.start[task];
  Parts parts;
  parts.latency = whole ? std::min(activity.latency, length) : Duration{};
  parts.alone = std::min(activity.alone, length - parts.latency);
  parts.contention = length - parts.latency - parts.alone;
  return parts;
}

/// Causes of communication inside a stage, which every stage has: on the path of a pipeline they
/// are partly another stage's, and then bubble.
constexpr std::array<Cause, 3> kInside{Cause::tensor, Cause::context, Cause::expert};

std::size_t inside(Cause cause) {
  return static_cast<std::size_t>(std::find(kInside.begin(), kInside.end(), cause) -
                                  kInside.begin());
}

/// Computing and communication inside the stage, of one actor over an iteration.
struct StageWork {
  Duration compute{};
  std::array<Parts, kInside.size()> exchanged{};
  /// Groups of an actor exchange at the same time: the first one stands for all.
  std::array<std::uint32_t, kInside.size()> group{kNoTask, kNoTask, kNoTask};
  [[nodiscard]] Duration total() const {
    Duration sum = compute;
    for (const Parts& parts : exchanged) sum += parts.total();
    return sum;
  }
};

StageWork busiest_actor(const JobRun& job) {
  const workload::IterationDag& dag = *job.program->dag;
  std::vector<StageWork> work(std::max<std::size_t>(dag.actors.size(), 1));
  for (std::uint32_t i = 0; i < dag.tasks.size(); ++i) {
    const Task& task = dag.tasks[i];
    if (task.kind == TaskKind::barrier) continue;
    StageWork& own = work[task.actor];
    if (task.kind == TaskKind::compute) {
      own.compute += task.duration;
    } else if (const std::size_t cause = inside(task.cause); cause < kInside.size()) {
      std::uint32_t& group = own.group[cause];
      if (group == kNoTask) group = task.group;
      if (group == task.group)
        own.exchanged[cause] += split(job, i, job.log.end[i] - job.log.start[i]);
    }
  }
  return *std::max_element(work.begin(), work.end(), [](const StageWork& a, const StageWork& b) {
    return a.total() < b.total();
  });
}

}  // namespace

Attribution critical_path(const JobRun& job) {
  const workload::IterationDag& dag = *job.program->dag;
  Attribution result;
  Duration compute{};
  std::array<Parts, kInside.size()> stage{};
  Parts rest;
  std::uint32_t task = job.last_task;
  TimePoint until = job.log.end[task];
  const Duration length = until - job.iteration_start;
  while (task != kNoTask) {
    const Task& what = dag.tasks[task];
    const Duration stretch = until - job.log.start[task];
    // Coding of compressed gradients is part of what their reduction costs.
    const bool coding = workload::has_duration(what.kind) && what.cause == Cause::data;
    if (what.kind != TaskKind::collective && what.kind != TaskKind::send && !coding) {
      compute += stretch;
    } else {
      const Parts parts = split(job, task, stretch);
      if (const std::size_t cause = inside(what.cause); cause < kInside.size()) {
        stage[cause] += parts;
      } else {
        rest += parts;
        const bool pipeline = what.cause == Cause::pipeline;
        (pipeline ? result.exposed_pp : result.exposed_dp) += parts.alone;
        (pipeline ? result.contention_pp : result.contention_dp) += parts.contention;
      }
    }
    until = job.log.start[task];
    task = job.log.blocker[task];
  }
  RAILYARD_CHECK(until == job.iteration_start, "the critical path has a gap of {} ticks",
                 (until - job.iteration_start).count());

  const StageWork own = busiest_actor(job);
  result.compute = std::min(compute, own.compute);
  result.latency = rest.latency;
  result.contention = rest.contention;
  result.bubble = compute - result.compute;
  std::array<Duration, kInside.size()> exposed{};
  for (std::size_t c = 0; c < kInside.size(); ++c) {
    exposed[c] = std::min(stage[c].alone, own.exchanged[c].alone);
    const Duration latency = std::min(stage[c].latency, own.exchanged[c].latency);
    const Duration contention = std::min(stage[c].contention, own.exchanged[c].contention);
    result.latency += latency;
    result.contention += contention;
    result.bubble += stage[c].total() - exposed[c] - latency - contention;
  }
  result.exposed_tp = exposed[0];
  result.exposed_cp = exposed[1];
  result.exposed_ep = exposed[2];
  RAILYARD_CHECK(result.total() == length, "the attribution misses {} of {} ticks",
                 (length - result.total()).count(), length.count());
  return result;
}

}  // namespace railyard::training
