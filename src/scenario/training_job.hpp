// The keys of a job that trains a model.
#pragma once

#include "railyard/config/reader.hpp"
#include "railyard/workload/transformer.hpp"

namespace railyard::scenario {

/// Most ranks and sequences a job may have.
inline constexpr std::int64_t kRanksMax = 1'000'000;

/// Reads the keys; contradictions among them are workload::check_training's.
[[nodiscard]] workload::TrainingSpec read_training(config::Reader& job, const config::Node& model);

}  // namespace railyard::scenario
