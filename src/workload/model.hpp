// Parameter counts of a transformer by where tensor parallelism leaves them.
#pragma once

#include <cstdint>

#include "railyard/workload/transformer.hpp"

namespace railyard::workload {

/// `sharded` parameters are divided over the tensor ranks, `replicated` ones stand on each (norms,
/// biases added after the all-reduce, positions).
struct ParameterCount {
  std::int64_t sharded = 0;
  std::int64_t replicated = 0;
  friend ParameterCount operator+(ParameterCount a, ParameterCount b) {
    return {a.sharded + b.sharded, a.replicated + b.replicated};
  }
  [[nodiscard]] std::int64_t per_rank(std::uint32_t tensor) const {
    return (sharded + tensor - 1) / tensor + replicated;
  }
};

[[nodiscard]] ParameterCount layer_parameters(const ModelSpec& model);
/// Token (and position) embedding in front of the first layer.
[[nodiscard]] ParameterCount embedding_parameters(const ModelSpec& model);
/// Last norm, and the output matrix where it is not the token embedding on the same rank.
[[nodiscard]] ParameterCount head_parameters(const ModelSpec& model, bool own_matrix);

/// Parameters of one rank of a stage.
[[nodiscard]] std::int64_t stage_parameters_per_rank(const TrainingSpec& spec, std::uint32_t stage);
[[nodiscard]] bool head_owns_matrix(const TrainingSpec& spec);

[[nodiscard]] constexpr std::int64_t divided_up(std::int64_t value, std::int64_t parts) {
  return (value + parts - 1) / parts;
}

}  // namespace railyard::workload
