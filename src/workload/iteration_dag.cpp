#include "railyard/workload/iteration_dag.hpp"

#include <algorithm>

#include "railyard/core/check.hpp"

namespace railyard::workload {

std::uint32_t DagBuilder::add(Task task, std::span<const std::uint32_t> dependencies) {
  task.first_dependency = static_cast<std::uint32_t>(dag_.dependencies.size());
  task.dependency_count = static_cast<std::uint32_t>(dependencies.size());
  dag_.dependencies.insert(dag_.dependencies.end(), dependencies.begin(), dependencies.end());
  dag_.tasks.push_back(task);
  return static_cast<std::uint32_t>(dag_.tasks.size() - 1);
}

namespace {

void check_ranks(const IterationDag& dag, const std::vector<std::vector<Rank>>& sets,
                 const char* what) {
  for (std::size_t i = 0; i < sets.size(); ++i) {
    RAILYARD_CHECK(!sets[i].empty(), "{} {} has no ranks", what, i);
    std::vector<Rank> sorted = sets[i];
    std::ranges::sort(sorted);
    RAILYARD_CHECK(index(sorted.back()) < dag.ranks, "{} {} holds rank {} of {}", what, i,
                   index(sorted.back()), dag.ranks);
    RAILYARD_CHECK(std::ranges::adjacent_find(sorted) == sorted.end(), "{} {} holds a rank twice",
                   what, i);
  }
}

void check_task(const IterationDag& dag, std::size_t i) {
  const Task& task = dag.tasks[i];
  RAILYARD_CHECK(task.stream < dag.streams, "task {} is on stream {} of {}", i, task.stream,
                 dag.streams);
  RAILYARD_CHECK(
      std::size_t{task.first_dependency} + task.dependency_count <= dag.dependencies.size(),
      "task {} has dependencies beyond the table", i);
  RAILYARD_CHECK(task.repeat > 0, "task {} is repeated 0 times", i);
  if (task.kind == TaskKind::barrier) return;
  RAILYARD_CHECK(task.actor < dag.actors.size(), "task {} has actor {} of {}", i, task.actor,
                 dag.actors.size());
  switch (task.kind) {
    case TaskKind::compute:
    case TaskKind::host:
      RAILYARD_CHECK(task.duration >= Duration(0), "task {} takes {} ticks", i,
                     task.duration.count());
      break;
    case TaskKind::collective:
      RAILYARD_CHECK(task.group < dag.groups.size(), "task {} has group {} of {}", i, task.group,
                     dag.groups.size());
      RAILYARD_CHECK(task.size > Bytes(0), "collective {} has {} bytes", i, task.size.count());
      RAILYARD_CHECK(task.shares <= dag.shares.size(), "collective {} has shares {} of {}", i,
                     task.shares, dag.shares.size());
      RAILYARD_CHECK(
          task.shares == 0 || (task.operation == collective::Operation::all_to_all &&
                               dag.shares[task.shares - 1].size() == dag.groups[task.group].size()),
          "collective {} has shares that do not fit its operation or group", i);
      RAILYARD_CHECK(!task.by_source || task.shares != 0, "collective {} has shares of nobody", i);
      break;
    case TaskKind::send:
      RAILYARD_CHECK(task.peer < dag.actors.size() && task.peer != task.actor,
                     "send {} goes from actor {} to {}", i, task.actor, task.peer);
      RAILYARD_CHECK(dag.actors[task.actor].size() == dag.actors[task.peer].size(),
                     "send {} joins actors of {} and {} ranks", i, dag.actors[task.actor].size(),
                     dag.actors[task.peer].size());
      RAILYARD_CHECK(task.size > Bytes(0), "send {} has {} bytes", i, task.size.count());
      break;
    case TaskKind::barrier:
      break;
  }
}

}  // namespace

void IterationDag::validate() const {
  check_ranks(*this, actors, "actor");
  check_ranks(*this, groups, "group");
  // Kahn's algorithm over dependencies and stream order together.
  constexpr std::uint32_t kNone = UINT32_MAX;
  std::vector<std::uint32_t> waiting(tasks.size(), 0);
  std::vector<std::uint32_t> followers_of(tasks.size() + 1, 0);
  std::vector<std::uint32_t> last(streams, kNone);
  std::vector<std::uint32_t> next_on_stream(tasks.size(), kNone);
  for (std::uint32_t i = 0; i < tasks.size(); ++i) {
    check_task(*this, i);
    for (std::uint32_t d = 0; d < tasks[i].dependency_count; ++d) {
      const std::uint32_t before = dependencies[tasks[i].first_dependency + d];
      RAILYARD_CHECK(before < tasks.size() && before != i, "task {} depends on task {} of {}", i,
                     before, tasks.size());
      ++followers_of[before + 1];
      ++waiting[i];
    }
    std::uint32_t& previous = last[tasks[i].stream];
    if (previous != kNone) {
      next_on_stream[previous] = i;
      ++waiting[i];
    }
    previous = i;
  }
  for (std::size_t i = 1; i < followers_of.size(); ++i) followers_of[i] += followers_of[i - 1];
  std::vector<std::uint32_t> follower(followers_of.back());
  std::vector<std::uint32_t> place(followers_of.begin(), followers_of.end() - 1);
  for (std::uint32_t i = 0; i < tasks.size(); ++i) {
    for (std::uint32_t d = 0; d < tasks[i].dependency_count; ++d) {
      follower[place[dependencies[tasks[i].first_dependency + d]]++] = i;
    }
  }
  std::vector<std::uint32_t> ready;
  for (std::uint32_t i = 0; i < tasks.size(); ++i) {
    if (waiting[i] == 0) ready.push_back(i);
  }
  std::size_t done = 0;
  const auto release = [&](std::uint32_t i) {
    if (--waiting[i] == 0) ready.push_back(i);
  };
  while (!ready.empty()) {
    const std::uint32_t i = ready.back();
    ready.pop_back();
    ++done;
    if (next_on_stream[i] != kNone) release(next_on_stream[i]);
    for (std::uint32_t f = followers_of[i]; f < followers_of[i + 1]; ++f) release(follower[f]);
  }
  RAILYARD_CHECK(done == tasks.size(), "{} of {} tasks wait for one another in a circle",
                 tasks.size() - done, tasks.size());
}

}  // namespace railyard::workload
