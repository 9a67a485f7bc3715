// Ranks, groups and streams of a pipeline-parallel iteration: who computes in lockstep, who reduces
// with whom, and on which stream.
//
// Flat index of a rank in its stage: tensor + T · replica, replica = context + CP · data. An actor
// is a run of replicas of one stage, long enough for whole context and expert groups.
#pragma once

#include <cstdint>
#include <vector>

#include "workload/pipeline_dag.hpp"

namespace railyard::workload {

/// Consecutive entries of IterationDag::groups.
struct GroupRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

class PipelineLayout {
 public:
  PipelineLayout(const PipelinePlan& plan, IterationDag& dag);

  [[nodiscard]] std::uint32_t blocks() const { return blocks_; }
  [[nodiscard]] std::uint32_t actor(std::uint32_t block, std::uint32_t stage) const {
    return block + blocks_ * stage;
  }
  /// The stage where a chunk works on a micro-batch.
  [[nodiscard]] std::uint32_t stage_of(std::uint32_t chunk, std::uint32_t micro_batch) const {
    const bool mirrored =
        plan_.schedule == Schedule::dual_pipe && micro_batch >= plan_.micro_batches / 2;
    return mirrored ? p_ - 1 - chunk : chunk % p_;
  }
  /// Stages that hold one set of parameters: one, under DualPipe two. Homes are numbered by their
  /// first stage.
  [[nodiscard]] std::uint32_t homes() const { return dual() ? p_ / 2 : p_; }
  [[nodiscard]] std::vector<std::uint32_t> stages_of_home(std::uint32_t home) const;
  [[nodiscard]] std::uint32_t home_of(std::uint32_t chunk) const;
  /// The chunks of a home, the last one (whose gradients come first) first.
  [[nodiscard]] std::vector<std::uint32_t> chunks_of_home(std::uint32_t home) const;

  /// Groups of an actor for exchanges of a cause.
  [[nodiscard]] GroupRange groups(std::uint32_t actor, Cause cause) const;
  /// Groups of ranks that hold the same dense, or expert, parameters; count 0 where nobody else
  /// does.
  [[nodiscard]] GroupRange dense(std::uint32_t home) const;
  [[nodiscard]] GroupRange expert(std::uint32_t home) const;
  /// First and last stage of every replica and tensor rank.
  [[nodiscard]] GroupRange tied(std::uint32_t block) const;

  [[nodiscard]] std::uint32_t compute_stream(std::uint32_t actor) const { return 3 * actor; }
  [[nodiscard]] std::uint32_t send_stream(std::uint32_t actor, bool forward) const {
    return 3 * actor + (forward ? 1 : 2);
  }
  [[nodiscard]] std::uint32_t gradient_stream(std::uint32_t home, std::uint32_t group) const {
    return first_gradient_stream_ + home * gradient_streams_ + group;
  }
  [[nodiscard]] std::uint32_t tied_stream(std::uint32_t block, std::uint32_t group) const {
    return first_tied_stream_ + tied(block).first - first_tied_ + group;
  }
  [[nodiscard]] std::uint32_t parameter_stream(std::uint32_t home, std::uint32_t group) const {
    return first_parameter_stream_ + home * gradient_streams_ + group;
  }
  /// Where an actor's group number `slot` exchanges while the actor computes.
  [[nodiscard]] std::uint32_t exchange_stream(std::uint32_t actor, std::uint32_t slot) const {
    return first_exchange_stream_ + actor * slots_ + slot;
  }
  [[nodiscard]] std::uint32_t host_stream(std::uint32_t actor) const {
    return first_host_stream_ + actor;
  }

 private:
  [[nodiscard]] bool dual() const { return plan_.schedule == Schedule::dual_pipe; }
  [[nodiscard]] Rank rank_of(std::uint32_t flat, std::uint32_t stage) const {
    return Rank{flat + flats_ * stage};
  }
  void add_actor_groups(IterationDag& dag, std::uint32_t actor);
  void add_gradient_groups(IterationDag& dag);
  void add_streams(IterationDag& dag);

  const PipelinePlan& plan_;
  std::uint32_t t_;
  std::uint32_t p_;
  std::uint32_t replicas_;
  std::uint32_t flats_;        ///< ranks of a stage
  std::uint32_t expert_span_;  ///< consecutive ranks that hold all experts between them
  std::uint32_t block_;        ///< replicas of an actor
  std::uint32_t blocks_;
  // Groups of an actor by kind, then of a home by kind.
  std::uint32_t tensor_groups_ = 0;
  std::uint32_t context_groups_ = 0;
  std::uint32_t expert_groups_ = 0;
  std::uint32_t dense_groups_ = 0;
  std::uint32_t expert_data_groups_ = 0;
  std::uint32_t tied_groups_ = 0;
  std::uint32_t first_dense_ = 0;
  std::uint32_t first_expert_data_ = 0;
  std::uint32_t first_tied_ = 0;
  std::uint32_t slots_ = 0;
  std::uint32_t gradient_streams_ = 0;
  std::uint32_t first_gradient_stream_ = 0;
  std::uint32_t first_tied_stream_ = 0;
  std::uint32_t first_parameter_stream_ = 0;
  std::uint32_t first_exchange_stream_ = 0;
  std::uint32_t first_host_stream_ = 0;
};

}  // namespace railyard::workload
