// The 1F1B iteration of a pipeline whose stage times are given: what build_iteration uses for
// transformers and what tests use for stages of their own.
//
// Per stage: min(p − stage − 1, m) warm-up forwards, then one forward and one backward in turn,
// then the rest of the backwards (Narayanan et al., SC'21, §2.2.1). Only the last micro-batch's
// backward is cut into segments, after each of which the data replicas' all-reduce of the segment's
// gradients may start; it overlaps with the rest of the backward pass.
#pragma once

#include <cstdint>
#include <vector>

#include "railyard/workload/transformer.hpp"

namespace railyard::workload {

/// A piece of a backward pass, in order of execution.
struct BackwardSegment {
  Duration duration{};
  std::uint32_t tensor_all_reduces = 0;
  Bytes gradients{};  ///< of one rank, on the wire
};

struct StagePlan {
  Duration forward{};
  std::uint32_t forward_all_reduces = 0;  ///< over the tensor ranks, of one activation each
  std::vector<BackwardSegment>
      /// at least one; without data parallelism and for all but the last micro-batch merged
      backward;
  Duration optimizer{};  ///< zero: no optimizer task
};

struct PipelinePlan {
  Parallelism parallelism{};
  std::uint32_t micro_batches = 1;
  std::vector<StagePlan> stages{};
  Bytes activation{};  ///< of one micro-batch between stages
  bool scatter_sends = false;
  Bytes tied_gradients{};  ///< of one rank, shared by the first and the last stage; zero: none
};

/// Fills ranks, actors, groups, streams and tasks; leaves model_flops, tokens and the algorithm's
/// name to the caller.
[[nodiscard]] IterationDag build_pipeline(const PipelinePlan& plan);

}  // namespace railyard::workload
