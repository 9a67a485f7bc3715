// Parameter counts of a transformer by where parallelism leaves them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "railyard/workload/transformer.hpp"

namespace railyard::workload {

[[nodiscard]] constexpr std::int64_t divided_up(std::int64_t value, std::int64_t parts) {
  return (value + parts - 1) / parts;
}

/// `sharded` parameters are divided over the tensor ranks, `replicated` ones stand on each (norms,
/// biases added after the all-reduce, positions, down projections, routers), `expert` ones are
/// divided over the ranks that share an expert and over those the experts are spread on.
struct ParameterCount {
  std::int64_t sharded = 0;
  std::int64_t replicated = 0;
  std::int64_t expert = 0;
  friend ParameterCount operator+(ParameterCount a, ParameterCount b) {
    return {a.sharded + b.sharded, a.replicated + b.replicated, a.expert + b.expert};
  }
  [[nodiscard]] std::int64_t whole() const { return sharded + replicated + expert; }
  /// Of one rank, without experts.
  [[nodiscard]] std::int64_t per_rank(std::uint32_t tensor) const {
    return divided_up(sharded, tensor) + replicated;
  }
  [[nodiscard]] std::int64_t expert_per_rank(const Parallelism& parallelism) const {
    return divided_up(expert, std::int64_t{parallelism.expert} * parallelism.expert_tensor_ranks());
  }
};

[[nodiscard]] ParameterCount layer_parameters(const ModelSpec& model, std::uint32_t layer);
/// Token (and position) embedding in front of the first layer.
[[nodiscard]] ParameterCount embedding_parameters(const ModelSpec& model);
/// Last norm, and the output matrix where it is not the token embedding on the same rank.
[[nodiscard]] ParameterCount head_parameters(const ModelSpec& model, bool own_matrix);

/// Parameters of one rank for a chunk of the model, dense and expert ones.
struct RankParameters {
  std::int64_t dense = 0;
  std::int64_t expert = 0;
  RankParameters& operator+=(RankParameters other) {
    dense += other.dense;
    expert += other.expert;
    return *this;
  }
  [[nodiscard]] std::int64_t total() const { return dense + expert; }
};
[[nodiscard]] RankParameters layer_parameters_per_rank(const TrainingSpec& spec,
                                                       std::uint32_t layer);
[[nodiscard]] RankParameters chunk_parameters_per_rank(const TrainingSpec& spec,
                                                       std::uint32_t chunk);
/// Of all chunks of a stage; under DualPipe a stage holds those of its mirror too.
[[nodiscard]] RankParameters stage_parameters_per_rank(const TrainingSpec& spec,
                                                       std::uint32_t stage);
/// The chunks that a stage holds.
[[nodiscard]] std::vector<std::uint32_t> chunks_of_stage(const TrainingSpec& spec,
                                                         std::uint32_t stage);
[[nodiscard]] bool head_owns_matrix(const TrainingSpec& spec);

/// Tokens that each expert rank gets, over the mean before capacity cuts any: 1 each where the load
/// is even. The first ranks hold the first experts.
[[nodiscard]] std::vector<double> expert_rank_loads(const TrainingSpec& spec);
/// Tokens that the busiest expert rank gets, over the mean (1 where the load is even), after
/// capacity has cut them.
[[nodiscard]] double expert_imbalance(const TrainingSpec& spec);

/// Adds a sentence when the fullest stage does not fit in the GPU's memory.
void check_memory(const TrainingSpec& spec, const GpuSpec& gpu, std::vector<std::string>& problems);

}  // namespace railyard::workload
