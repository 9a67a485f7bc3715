// Recordings: an iteration as a file, with the ticks at which each of its tasks ran, to be replayed
// and compared.
//
// The format is Railyard's own, compact JSON; nothing is lost: read(write(r)) == r. Tasks are rows
//   [kind, cause, operation, stream, actor, peer, group, repeat, bytes, ticks, [dependencies]]
// and `times` holds [start, end] of each task in ticks since the iteration began (absent when the
// DAG was not executed).
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "railyard/workload/iteration_dag.hpp"

namespace railyard::workload {

struct TaskTimes {
  Duration start{};
  Duration end{};
  friend bool operator==(const TaskTimes&, const TaskTimes&) = default;
};

/// When the last task ends; 0 of none.
[[nodiscard]] Duration last_end(const std::vector<TaskTimes>& times);

struct Recording {
  std::string description;
  IterationDag dag;
  std::vector<TaskTimes> times;  ///< one per task, or none
  std::string context;           ///< where it ran, a JSON object of the writer's; empty: none
  friend bool operator==(const Recording&, const Recording&) = default;
};

void write_recording(std::ostream& out, const Recording& recording);
/// Throws ConfigError where the file is no valid recording.
[[nodiscard]] Recording read_recording(const std::filesystem::path& path);

}  // namespace railyard::workload
