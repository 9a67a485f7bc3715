// What the points of a sweep say together: means over seeds with confidence intervals, the best
// settings, and those that nothing beats in two metrics.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "railyard/sweep/sweep.hpp"

namespace railyard::sweep {

/// Over the seeds of a setting. Half width of the 95 % confidence interval of the mean, from
/// Student's t; empty for one value.
struct Mean {
  double mean = 0;
  std::optional<double> half_width;
  std::size_t values = 0;
};
[[nodiscard]] std::optional<Mean> mean_of(const std::vector<double>& values);

struct PolicyMeans {
  std::string name;
  std::array<std::optional<Mean>, metrics::kMetrics> metrics;
  /// Of the ratios to the baseline, seed by seed: the policies of a point see the same arrivals and
  /// failures, so that what is common to them cancels.
  std::array<std::optional<Mean>, metrics::kMetrics> ratios;
};

/// Points that differ in nothing but their seed.
struct Setting {
  std::vector<std::string> values;  ///< JSON text per axis, as in Point
  std::vector<std::size_t> points;
  std::vector<PolicyMeans> policies;
};

/// In order of their first points. Points without a result are left out.
[[nodiscard]] std::vector<Setting> settings_of(const Sweep& sweep,
                                               const std::vector<PointResult>& results);

/// A policy under a setting.
struct Choice {
  std::size_t setting = 0;
  std::size_t policy = 0;  ///< of the setting
};

/// All with a mean of the metric, the best first; equal ones in order of settings and policies.
[[nodiscard]] std::vector<Choice> ranked(const std::vector<Setting>& settings,
                                         metrics::Metric metric);

/// Those that no other equals or beats in both metrics and beats in one, the best in the first
/// metric first.
[[nodiscard]] std::vector<Choice> pareto_front(const std::vector<Setting>& settings,
                                               metrics::Metric first, metrics::Metric second);

}  // namespace railyard::sweep
