#include "workload/writers/rank_tasks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"

namespace railyard::workload {
namespace {
constexpr std::uint32_t kNoTaskBefore = UINT32_MAX;
}

std::span<const TraceWriterEntry> trace_writer_catalog() {
  static const std::vector<TraceWriterEntry> kTable{
      {"chakra", "Chakra execution traces in protobuf, <out>.<rank>.et", ".et", true,
       &write_chakra},
      {"goal", "GOAL schedule of LogGOPSim, collectives expanded to their messages", ".goal", false,
       &write_goal},
  };
  return kTable;
}

RankTasks::RankTasks(const IterationDag& dag) : dag_(dag) {
  dag.validate();
  order();
  find_waits();
  find_tasks();
}

template <typename Visit>
void RankTasks::for_each_rank(std::uint32_t task, const Visit& visit) const {
  const Task& what = dag_.tasks[task];
  const auto of = [&](const std::vector<Rank>& ranks) {
    for (const Rank rank : ranks) visit(static_cast<std::uint32_t>(rank));
  };
  if (what.kind == TaskKind::collective) {
    of(dag_.groups[what.group]);
  } else if (what.kind != TaskKind::barrier) {
    of(dag_.actors[what.actor]);
    if (what.kind == TaskKind::send) of(dag_.actors[what.peer]);
  }
}

/// Kahn's algorithm over dependencies and stream order; first come, first served.
void RankTasks::order() {
  const std::size_t count = dag_.tasks.size();
  std::vector<std::uint32_t> waiting(count, 0);
  std::vector<std::uint32_t> next(count, kNoTaskBefore);
  std::vector<std::uint32_t> last(dag_.streams, kNoTaskBefore);
  std::vector<std::vector<std::uint32_t>> followers(count);
  previous_.assign(count, kNoTaskBefore);
  for (std::uint32_t t = 0; t < count; ++t) {
    const Task& task = dag_.tasks[t];
    waiting[t] = task.dependency_count;
    for (std::uint32_t d = 0; d < task.dependency_count; ++d)
      followers[dag_.dependencies[task.first_dependency + d]].push_back(t);
    std::uint32_t& before = last[task.stream];
    if (before != kNoTaskBefore) {
      next[before] = t;
      previous_[t] = before;
      ++waiting[t];
    }
    before = t;
  }
  for (std::uint32_t t = 0; t < count; ++t) {
    if (waiting[t] == 0) order_.push_back(t);
  }
  for (std::size_t at = 0; at < order_.size(); ++at) {
    const std::uint32_t t = order_[at];
    const auto release = [&](std::uint32_t follower) {
      if (--waiting[follower] == 0) order_.push_back(follower);
    };
    if (next[t] != kNoTaskBefore) release(next[t]);
    for (const std::uint32_t follower : followers[t]) release(follower);
  }
}

bool RankTasks::share_a_rank(std::uint32_t a, std::uint32_t b) const {
  std::vector<std::uint32_t> ranks;
  for_each_rank(a, [&](std::uint32_t rank) { ranks.push_back(rank); });
  std::sort(ranks.begin(), ranks.end());
  bool shared = false;
  for_each_rank(b, [&](std::uint32_t rank) {
    shared = shared || std::binary_search(ranks.begin(), ranks.end(), rank);
  });
  return shared;
}

/// What each task waits for, with barriers replaced by what they wait for.
void RankTasks::find_waits() {
  std::vector<std::vector<Wait>> waits(dag_.tasks.size());
  for (const std::uint32_t t : order_) {
    const Task& task = dag_.tasks[t];
    std::vector<Wait>& out = waits[t];
    const auto add = [&](std::uint32_t before, bool left) {
      if (dag_.tasks[before].kind == TaskKind::barrier) {
        out.insert(out.end(), waits[before].begin(), waits[before].end());
      } else {
        out.push_back({before, left && dag_.tasks[before].kind == TaskKind::send});
      }
    };
    for (std::uint32_t d = 0; d < task.dependency_count; ++d)
      add(dag_.dependencies[task.first_dependency + d], false);
    if (previous_[t] != kNoTaskBefore) add(previous_[t], true);
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    for (const Wait& wait : out) {
      if (task.kind == TaskKind::barrier || share_a_rank(t, wait.task)) continue;
      throw config::ConfigError(
          fmt::format("task {} waits for task {}, but no rank takes part in both, so that a trace "
                      "of ranks cannot say it",
                      t, wait.task));
    }
  }
  first_.push_back(0);
  for (const auto& of_task : waits) {
    waits_.insert(waits_.end(), of_task.begin(), of_task.end());
    first_.push_back(waits_.size());
  }
}

void RankTasks::find_tasks() {
  first_task_.assign(std::size_t{dag_.ranks} + 1, 0);
  for (std::uint32_t t = 0; t < dag_.tasks.size(); ++t)
    for_each_rank(t, [&](std::uint32_t rank) { ++first_task_[std::size_t{rank} + 1]; });
  for (std::size_t r = 1; r < first_task_.size(); ++r) first_task_[r] += first_task_[r - 1];
  tasks_.resize(first_task_.back());
  std::vector<std::uint64_t> place(first_task_.begin(), first_task_.end() - 1);
  for (const std::uint32_t t : order_)
    for_each_rank(t, [&](std::uint32_t rank) { tasks_[place[rank]++] = t; });
}

bool RankTasks::is_sender(std::uint32_t task, std::uint32_t rank) const {
  const auto& from = dag_.actors[dag_.tasks[task].actor];
  return std::find(from.begin(), from.end(), Rank{rank}) != from.end();
}

std::uint32_t RankTasks::partner(std::uint32_t task, std::uint32_t rank) const {
  const auto& from = dag_.actors[dag_.tasks[task].actor];
  const auto& to = dag_.actors[dag_.tasks[task].peer];
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] == Rank{rank}) return static_cast<std::uint32_t>(to[i]);
    if (to[i] == Rank{rank}) return static_cast<std::uint32_t>(from[i]);
  }
  RAILYARD_CHECK(false, "rank {} has no part in send {}", rank, task);
  return 0;
}

}  // namespace railyard::workload
