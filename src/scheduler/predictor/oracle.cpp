// Oracles: they see the true run time. `oracle` tells it, `noisy_oracle` times a log-normal factor
// of median 1, exp(sigma · z), z standard normal, drawn once a job. Its mean absolute percentage
// error is exp(sigma² / 2) · (2 Φ(sigma) − 1): 8 % at sigma 0.1, 43 % at 0.5.
#include <algorithm>
#include <cmath>

#include "railyard/core/check.hpp"
#include "scheduler/predictor/catalog_entries.hpp"

namespace railyard::scheduler {

namespace {

class Oracle final : public Predictor {
 public:
  explicit Oracle(double sigma) : sigma_(sigma) {}
  bool sees_truth() const override { return true; }
  std::optional<Estimate> predict(const JobView& job, std::optional<Duration> truth,
                                  Rng rng) const override {
    RAILYARD_CHECK(truth.has_value(), "the oracle was not told the truth about job {}", job.name);
    if (sigma_ == 0) return Estimate{*truth, 0};
    const double run = static_cast<double>(truth->count()) * std::exp(sigma_ * rng.normal());
    return Estimate{to_ticks(std::clamp(run, 1.0, static_cast<double>(kHorizonMax.count()))),
                    sigma_};
  }

 private:
  double sigma_;
};

std::unique_ptr<Predictor> create_exact(const config::Parameters& /*parameters*/) {
  return std::make_unique<Oracle>(0.0);
}
std::unique_ptr<Predictor> create_noisy(const config::Parameters& parameters) {
  return std::make_unique<Oracle>(parameters.get<double>("sigma"));
}

}  // namespace

PredictorEntry oracle_entry() {
  return {{.name = "oracle", .summary = "the true run time", .parameters = {}}, &create_exact};
}

PredictorEntry noisy_oracle_entry() {
  return {{.name = "noisy_oracle",
           .summary = "the true run time times a log-normal factor of median 1",
           .parameters = {{.name = "sigma",
                           .fallback = "0.5",
                           .help = "standard deviation of the factor's logarithm",
                           .min = 0.0,
                           .max = 5.0}}},
          &create_noisy};
}

}  // namespace railyard::scheduler
