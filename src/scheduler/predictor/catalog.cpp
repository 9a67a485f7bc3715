#include <array>

#include "railyard/scheduler/predictor.hpp"
#include "scheduler/predictor/catalog_entries.hpp"

namespace railyard::scheduler {

namespace {

class NoPredictor final : public Predictor {
 public:
  std::optional<Estimate> predict(const JobView& /*job*/, std::optional<Duration> /*truth*/,
                                  Rng /*rng*/) const override {
    return std::nullopt;
  }
  bool estimates() const override { return false; }
};

std::unique_ptr<Predictor> create_no_predictor(const config::Parameters& /*parameters*/) {
  return std::make_unique<NoPredictor>();
}

}  // namespace

config::ParameterSpec initial_estimate_parameter() {
  return {.name = "initial",
          .type = config::ParameterType::duration,
          .fallback = "\"1h\"",
          .help = "the estimate before any job has finished"};
}

PredictorEntry no_predictor_entry() {
  return {{.name = "none", .summary = "no estimates of run times", .parameters = {}},
          &create_no_predictor};
}

std::span<const config::CatalogEntry<PredictorFactory>> predictor_catalog() {
  static const std::array kTable{no_predictor_entry(), oracle_entry(), noisy_oracle_entry(),
                                 history_mean_entry(), ridge_entry()};
  return kTable;
}

}  // namespace railyard::scheduler
