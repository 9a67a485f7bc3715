// The iteration of a pipeline whose pass times are given: what build_iteration uses for
// transformers and what tests use for stages of their own.
//
// A model is cut into chunks; chunk c sits on stage c mod p (under DualPipe on stage c and, for the
// micro-batches that come from the other end, on stage p − 1 − c). The order of passes on a stage
// is pipeline_schedule.hpp's. An actor is a set of ranks that compute in lockstep: the tensor ranks
// of as many replicas as a context, expert or parameter-gathering group joins.
#pragma once

#include <cstdint>
#include <vector>

#include "railyard/workload/transformer.hpp"

namespace railyard::workload {

/// A collective of the ranks of an actor, over all their groups of one kind at once.
struct Exchange {
  Cause cause = Cause::tensor;  ///< which groups: tensor, context or expert
  collective::Operation operation = collective::Operation::all_reduce;
  Bytes size{};
  std::uint32_t repeat = 1;
  std::vector<std::uint32_t> shares{};  ///< all_to_all: as Request::shares
  bool by_source = false;               ///< as Request::by_source
};

/// Computation with what is exchanged beside it and behind it.
struct Work {
  Duration compute{};
  std::vector<Exchange> beside{};
  std::vector<Exchange> behind{};
  bool after_launch = false;  ///< starts when the host has launched all of the segment, and the
                              ///< host goes on when it is done
  Duration stall{};           ///< ranks wait for one another so long in the exchanges behind
};

/// A piece of a pass, in order of execution. Only the first and last passes of an iteration are
/// really cut (parameters come piece by piece, gradients leave piece by piece), unless parameters
/// are gathered in every pass.
struct Segment {
  std::vector<Work> works{};
  Duration weight{};  ///< gradients of weights, behind the works (or in a pass of their own)
  Duration launch{};  ///< host time to launch it all; zero: never waits for the host
  Bytes gradients{};  ///< of one rank, on the wire; backward only
  Bytes expert_gradients{};
  Bytes parameters{};  ///< of one rank before sharding, 2 bytes each
  Bytes expert_parameters{};
};

struct ChunkPlan {
  std::vector<Segment> forward{};   ///< at least one
  std::vector<Segment> backward{};  ///< at least one
};

struct PipelinePlan {
  Parallelism parallelism{};
  Schedule schedule = Schedule::one_forward_one_backward;
  std::uint32_t micro_batches = 1;
  std::vector<ChunkPlan> chunks{};
  std::vector<Duration> optimizer{};  ///< by stage; empty or zero: no optimizer task
  Bytes activation{};  ///< of one micro-batch between chunks, all tensor ranks' parts
  bool scatter_sends = false;
  bool gather_received = true;  ///< scattered sends are gathered (not with sequence parallelism)
  Bytes tied_gradients{};       ///< of one rank, shared by the first and the last chunk; zero: none
  std::uint32_t zero = 0;
  bool overlap_sends = true;  ///< sends run beside the compute stream
  bool overlap_gradients = true;
  bool overlap_parameters = false;
};

/// Adds works place by place: `more` runs behind `works` in the same time, as one.
void join_works(std::vector<Work>& works, const std::vector<Work>& more);

/// Fills ranks, actors, groups, streams and tasks; leaves model_flops, tokens and the algorithm's
/// name to the caller.
[[nodiscard]] IterationDag build_pipeline(const PipelinePlan& plan);

}  // namespace railyard::workload
