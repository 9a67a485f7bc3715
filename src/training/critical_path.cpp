#include <algorithm>
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

/// Computing and tensor collectives of one actor over an iteration.
struct StageWork {
  Duration compute{};
  Parts tensor;
  [[nodiscard]] Duration total() const { return compute + tensor.total(); }
};

StageWork busiest_actor(const JobRun& job) {
  const workload::IterationDag& dag = *job.program->dag;
  std::vector<StageWork> work(std::max<std::size_t>(dag.actors.size(), 1));
  for (std::uint32_t i = 0; i < dag.tasks.size(); ++i) {
    const Task& task = dag.tasks[i];
    if (task.kind == TaskKind::compute) {
      work[task.actor].compute += task.duration;
    } else if (task.cause == Cause::tensor) {
      work[task.actor].tensor += split(job, i, job.log.end[i] - job.log.start[i]);
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
  Parts tensor;
  Parts rest;
  std::uint32_t task = job.last_task;
  TimePoint until = job.log.end[task];
  const Duration length = until - job.iteration_start;
  while (task != kNoTask) {
    const Task& what = dag.tasks[task];
    const Duration stretch = until - job.log.start[task];
    if (what.kind == TaskKind::compute || what.kind == TaskKind::barrier) {
      compute += stretch;
    } else {
      const Parts parts = split(job, task, stretch);
      if (what.cause == Cause::tensor) {
        tensor += parts;
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
  result.exposed_tp = std::min(tensor.alone, own.tensor.alone);
  const Duration tensor_latency = std::min(tensor.latency, own.tensor.latency);
  const Duration tensor_contention = std::min(tensor.contention, own.tensor.contention);
  result.latency = rest.latency + tensor_latency;
  result.contention = rest.contention + tensor_contention;
  result.bubble = compute + tensor.total() - result.compute - result.exposed_tp - tensor_latency -
                  tensor_contention;
  RAILYARD_CHECK(result.total() == length, "the attribution misses {} of {} ticks",
                 (length - result.total()).count(), length.count());
  return result;
}

}  // namespace railyard::training
