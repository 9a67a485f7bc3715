// Pipelines of equal, simple stages for tests.
#pragma once

#include <vector>

#include "workload/pipeline_dag.hpp"

namespace railyard::test {

/// One forward and one backward work a chunk; `weight` of the backward pass makes gradients of
/// weights.
inline workload::ChunkPlan simple_chunk(Duration forward, Duration backward,
                                        Duration weight = Duration(0)) {
  workload::ChunkPlan chunk;
  chunk.forward.push_back({.works = {{.compute = forward}}});
  chunk.backward.push_back({.works = {{.compute = backward - weight}}, .weight = weight});
  return chunk;
}

inline workload::PipelinePlan simple_pipeline(std::uint32_t stages, std::uint32_t micro_batches,
                                              const workload::ChunkPlan& chunk,
                                              std::uint32_t virtual_stages = 1) {
  workload::PipelinePlan plan;
  plan.parallelism.pipeline = stages;
  plan.parallelism.virtual_stages = virtual_stages;
  plan.micro_batches = micro_batches;
  plan.activation = Bytes(1024);
  plan.chunks.assign(std::size_t{stages} * virtual_stages, chunk);
  return plan;
}

/// Tensor all-reduces behind the only work of a segment.
inline workload::Segment with_all_reduces(workload::Segment segment, Bytes size,
                                          std::uint32_t count) {
  segment.works.back().behind.push_back(
      {workload::Cause::tensor, collective::Operation::all_reduce, size, count});
  return segment;
}

}  // namespace railyard::test
