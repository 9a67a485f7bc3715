// The rows of the predictor catalog, one a file.
#pragma once

#include "railyard/scheduler/predictor.hpp"

namespace railyard::scheduler {

using PredictorEntry = config::CatalogEntry<PredictorFactory>;
[[nodiscard]] PredictorEntry no_predictor_entry();
[[nodiscard]] PredictorEntry oracle_entry();
[[nodiscard]] PredictorEntry noisy_oracle_entry();
[[nodiscard]] PredictorEntry history_mean_entry();
[[nodiscard]] PredictorEntry ridge_entry();

}  // namespace railyard::scheduler
