// Predictors of run times: what policies get instead of the truth. A predictor is asked once, when
// a job arrives, and learns from every job that finishes.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "railyard/config/catalog.hpp"
#include "railyard/scheduler/view.hpp"

namespace railyard::scheduler {

class Predictor {
 public:
  virtual ~Predictor() = default;
  /// Does it see the true run time (oracles)? Nobody else gets it.
  [[nodiscard]] virtual bool sees_truth() const { return false; }
  /// Run time of the job on its GPUs. `truth` is given where sees_truth(); `rng` is the predictor's
  /// own stream for this job, the same each time it is asked of it. Empty: no estimate.
  [[nodiscard]] virtual std::optional<Estimate> predict(const JobView& job,
                                                        std::optional<Duration> truth,
                                                        Rng rng) const = 0;
  /// A job has finished after this time on its GPUs, restarts and lost work left out.
  virtual void learn(const JobView& /*job*/, Duration /*run*/) {}
  /// Does it make estimates at all?
  [[nodiscard]] virtual bool estimates() const { return true; }
};

/// A predictor learns: each run needs one of its own.
using PredictorFactory = std::unique_ptr<Predictor> (*)(const config::Parameters&);
[[nodiscard]] std::span<const config::CatalogEntry<PredictorFactory>> predictor_catalog();

}  // namespace railyard::scheduler
