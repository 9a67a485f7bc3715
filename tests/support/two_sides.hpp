// Iterations between two sets of GPUs: the first computes, then sends to the second.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "railyard/workload/iteration_dag.hpp"

namespace railyard::test {

/// Actors 0 and 1 of `side` ranks each, without tasks.
inline workload::DagBuilder two_sides(std::uint32_t side, std::uint32_t streams) {
  workload::DagBuilder builder;
  workload::IterationDag& dag = builder.dag();
  dag.ranks = 2 * side;
  dag.streams = streams;
  for (std::uint32_t actor = 0; actor < 2; ++actor) {
    dag.actors.emplace_back();
    for (std::uint32_t rank = 0; rank < side; ++rank) {
      dag.actors.back().push_back(static_cast<Rank>(actor * side + rank));
    }
  }
  return builder;
}

/// From actor 0 to actor 1, `size` a rank.
inline workload::Task send_across(workload::Cause cause, std::uint32_t stream, Bytes size) {
  workload::Task task;
  task.kind = workload::TaskKind::send;
  task.cause = cause;
  task.stream = stream;
  task.peer = 1;
  task.size = size;
  return task;
}

/// Actor 0 computes, then sends.
inline workload::IterationDag compute_then_send(std::uint32_t side, Duration compute, Bytes size) {
  workload::DagBuilder builder = two_sides(side, 2);
  workload::Task computing;
  computing.duration = compute;
  const std::uint32_t first = builder.add(computing, {});
  builder.add(send_across(workload::Cause::pipeline, 1, size), std::span(&first, 1));
  return std::move(builder.dag());
}

}  // namespace railyard::test
