// Mean of the finished jobs that are most like this one. Alike is, level by level: the same user,
// group, kind and size; user and group; user; group; anybody. Sizes are buckets of powers of two. A
// level counts when it has seen enough jobs. On the PAI trace such means reach 85 to 99 % of an
// oracle's gain under shortest job first (Weng et al., NSDI'22).
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "scheduler/predictor/catalog_entries.hpp"

namespace railyard::scheduler {

namespace {

/// Finished jobs of one kind.
struct Sample {
  std::int64_t jobs = 0;
  double run = 0;          ///< sum of run times, ticks
  double log = 0;          ///< sum of their logarithms
  double log_squares = 0;  ///< sum of the squares of those

  void add(Duration duration) {
    const double ticks = std::max(1.0, static_cast<double>(duration.count()));
    const double logarithm = std::log(ticks);
    ++jobs;
    run += ticks;
    log += logarithm;
    log_squares += logarithm * logarithm;
  }
  [[nodiscard]] Estimate mean() const {
    const auto n = static_cast<double>(jobs);
    const double variance = std::max(0.0, log_squares / n - log / n * (log / n));
    return {to_ticks(run / n), std::sqrt(variance)};
  }
};

constexpr std::size_t kLevels = 5;

class HistoryMean final : public Predictor {
 public:
  HistoryMean(std::int64_t enough, Duration initial) : enough_(enough), initial_(initial) {}

  std::optional<Estimate> predict(const JobView& job, std::optional<Duration> /*truth*/,
                                  Rng /*rng*/) const override {
    const auto keys = keys_of(job);
    for (std::size_t level = 0; level < kLevels; ++level) {
      const auto found = levels_[level].find(keys[level]);
      const bool last = level + 1 == kLevels;
      if (found != levels_[level].end() && (last || found->second.jobs >= enough_)) {
        return found->second.mean();
      }
    }
    return Estimate{initial_, 0};
  }
  void learn(const JobView& job, Duration run) override {
    const auto keys = keys_of(job);
    for (std::size_t level = 0; level < kLevels; ++level) levels_[level][keys[level]].add(run);
  }

 private:
  /// Parts are told apart by a character that no name holds.
  static std::array<std::string, kLevels> keys_of(const JobView& job) {
    const std::string user(job.user);
    const std::string group(job.group);
    const std::string both = user + '\n' + group;
    const std::string size = std::to_string(std::bit_width(job.shape.gpus - 1));
    return {both + '\n' + std::string(job.kind) + '\n' + size, both, user, group, ""};
  }

  std::int64_t enough_;
  Duration initial_;
  std::array<std::map<std::string, Sample>, kLevels> levels_;
};

std::unique_ptr<Predictor> create_history_mean(const config::Parameters& parameters) {
  return std::make_unique<HistoryMean>(parameters.get<std::int64_t>("min_jobs"),
                                       parameters.get<Duration>("initial"));
}

}  // namespace

PredictorEntry history_mean_entry() {
  return {{.name = "history_mean",
           .summary = "mean run time of the finished jobs of this user, group, kind and size, else "
                      "of ever more others",
           .parameters = {{.name = "min_jobs",
                           .type = config::ParameterType::integer,
                           .fallback = "3",
                           .help = "finished jobs that make a mean; with fewer, a wider circle is "
                                   "asked",
                           .min = 1,
                           .max = 1'000'000},
                          initial_estimate_parameter()}},
          &create_history_mean};
}

}  // namespace railyard::scheduler
