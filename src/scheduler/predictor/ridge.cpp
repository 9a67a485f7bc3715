// Ridge regression of the logarithm of the run time, fitted anew as jobs finish. Features: 1, log2
// of the GPUs, priority, and the mean logarithm of finished jobs of the same user, group and kind
// (those of everybody where there are none). Weights solve
//   (XᵀX + lambda · I) w = Xᵀy                             (Hoerl and Kennard, Technometrics 1970)
// with both sums kept as jobs finish. y is centred on the mean of all before it, the intercept
// penalised like the rest. The estimate is exp of the prediction: a median, not a mean.
#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>

#include "scheduler/predictor/catalog_entries.hpp"

namespace railyard::scheduler {

namespace {

constexpr int kFeatures = 6;
using Vector = Eigen::Matrix<double, kFeatures, 1>;
using Matrix = Eigen::Matrix<double, kFeatures, kFeatures>;

struct Mean {
  double sum = 0;
  double jobs = 0;
};

class Ridge final : public Predictor {
 public:
  Ridge(double lambda, Duration initial) : lambda_(lambda), initial_(initial) {}

  std::optional<Estimate> predict(const JobView& job, std::optional<Duration> /*truth*/,
                                  Rng /*rng*/) const override {
    if (all_.jobs == 0) return Estimate{initial_, 0};
    const double logarithm = all_.sum / all_.jobs + features(job).dot(weights_);
    const double most = std::log(static_cast<double>(kHorizonMax.count()) / 2);
    return Estimate{to_ticks(std::exp(std::clamp(logarithm, 0.0, most))),
                    std::sqrt(squares_ / all_.jobs)};
  }

  void learn(const JobView& job, Duration run) override {
    const double logarithm = std::log(std::max(1.0, static_cast<double>(run.count())));
    // What would have been said of it, with what was known: its features, and the error made.
    const Vector x = features(job);
    const double known = all_.jobs > 0 ? all_.sum / all_.jobs : logarithm;
    const double error = logarithm - known - x.dot(weights_);
    if (all_.jobs > 0) squares_ += error * error;
    gram_ += x * x.transpose();
    moments_ += x * (logarithm - known);
    for (const auto& [table, name] : tables(job)) {
      Mean& mean = (*table)[std::string(name)];
      mean.sum += logarithm;
      ++mean.jobs;
    }
    all_.sum += logarithm;
    ++all_.jobs;
    const Matrix penalised = gram_ + lambda_ * Matrix::Identity();
    weights_ = penalised.ldlt().solve(moments_);
  }

 private:
  using Table = std::map<std::string, Mean, std::less<>>;
  std::array<std::pair<Table*, std::string_view>, 3> tables(const JobView& job) {
    return {{{&users_, job.user}, {&groups_, job.group}, {&kinds_, job.kind}}};
  }

  [[nodiscard]] double centred(const Table& table, std::string_view name) const {
    const auto found = table.find(name);
    if (found == table.end()) return 0;
    // Half a job of everybody's mean keeps a single job from deciding.
    const double all = all_.sum / all_.jobs;
    return (found->second.sum + all / 2) / (found->second.jobs + 0.5) - all;
  }

  [[nodiscard]] Vector features(const JobView& job) const {
    Vector x;
    x << 1.0, std::log2(static_cast<double>(job.shape.gpus)), static_cast<double>(job.priority),
        centred(users_, job.user), centred(groups_, job.group), centred(kinds_, job.kind);
    return x;
  }

  double lambda_;
  Duration initial_;
  Matrix gram_ = Matrix::Zero();
  Vector moments_ = Vector::Zero();
  Vector weights_ = Vector::Zero();
  double squares_ = 0;  ///< of errors made
  Mean all_;
  Table users_;
  Table groups_;
  Table kinds_;
};

std::unique_ptr<Predictor> create_ridge(const config::Parameters& parameters) {
  return std::make_unique<Ridge>(parameters.get<double>("lambda"),
                                 parameters.get<Duration>("initial"));
}

}  // namespace

PredictorEntry ridge_entry() {
  return {{.name = "ridge",
           .summary = "ridge regression on size, priority and the history of user, group and kind, "
                      "fitted anew as jobs finish",
           .parameters = {{.name = "lambda",
                           .fallback = "1",
                           .help = "penalty on the weights",
                           .min = 1e-9,
                           .max = 1e9},
                          initial_estimate_parameter()}},
          &create_ridge};
}

}  // namespace railyard::scheduler
