// The rows of the predictor catalog, one a file.
#pragma once

#include "railyard/scheduler/predictor.hpp"

namespace railyard::scheduler {

using PredictorEntry = config::CatalogEntry<PredictorFactory>;
/// What predictors that learn say before they have learned.
[[nodiscard]] config::ParameterSpec initial_estimate_parameter();
[[nodiscard]] PredictorEntry no_predictor_entry();
[[nodiscard]] PredictorEntry oracle_entry();
[[nodiscard]] PredictorEntry noisy_oracle_entry();
[[nodiscard]] PredictorEntry history_mean_entry();
[[nodiscard]] PredictorEntry ridge_entry();

}  // namespace railyard::scheduler
