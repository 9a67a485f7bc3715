// A tiny reference executor of iteration DAGs, independent of network and training: every task
// takes what `cost` says, starts when its dependencies and the task before it on its stream have
// ended, and disturbs nobody.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "railyard/core/check.hpp"
#include "railyard/workload/iteration_dag.hpp"

namespace railyard::test {

struct DagRun {
  std::vector<Duration> end;  ///< by task
  Duration total{};
};

/// Tasks of workload's builders stand in an order in which dependencies come first; that is
/// checked.
template <typename Cost>
DagRun run_dag(const workload::IterationDag& dag, Cost cost) {
  DagRun run;
  std::vector<Duration> stream(dag.streams, Duration(0));
  for (std::uint32_t i = 0; i < dag.tasks.size(); ++i) {
    const workload::Task& task = dag.tasks[i];
    Duration start = stream[task.stream];
    for (std::uint32_t d = 0; d < task.dependency_count; ++d) {
      const std::uint32_t before = dag.dependencies[task.first_dependency + d];
      RAILYARD_CHECK(before < i, "task {} depends on the later {}", i, before);
      start = std::max(start, run.end[before]);
    }
    run.end.push_back(start + cost(task));
    stream[task.stream] = run.end.back();
    run.total = std::max(run.total, run.end.back());
  }
  return run;
}

/// On a free network only compute takes time.
inline DagRun run_on_free_network(const workload::IterationDag& dag) {
  return run_dag(dag, [](const workload::Task& task) {
    return task.kind == workload::TaskKind::compute ? task.duration : Duration(0);
  });
}

}  // namespace railyard::test
