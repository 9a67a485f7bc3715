#include "railyard/sweep/summary.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace railyard::sweep {

namespace {

/// The 97.5 % point of Student's t (two-sided 95 %). To 30 degrees of freedom from the table of any
/// textbook, beyond by the expansion of Cornish and Fisher in 1/n (Abramowitz & Stegun, 26.7.5).
double student_t(std::size_t degrees) {
  constexpr std::array<double, 30> kTable{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                          2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                          2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                          2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  if (degrees <= kTable.size()) return kTable[degrees - 1];
  constexpr double kNormal = 1.959964;
  const auto n = static_cast<double>(degrees);
  const double cube = kNormal * kNormal * kNormal;
  return kNormal + (cube + kNormal) / (4 * n) +
         (5 * cube * kNormal * kNormal + 16 * cube + 3 * kNormal) / (96 * n * n);
}

/// Larger is better.
double merit(double value, metrics::Metric metric) {
  const auto better = metrics::metric_catalog()[static_cast<std::size_t>(metric)].better;
  return better == metrics::Better::higher ? value : -value;
}

const std::optional<Mean>& mean_at(const std::vector<Setting>& settings, const Choice& choice,
                                   metrics::Metric metric) {
  return settings[choice.setting].policies[choice.policy].metrics[static_cast<std::size_t>(metric)];
}

PolicyMeans means_of(const std::vector<const metrics::RunResult*>& runs, const std::string& name) {
  PolicyMeans out;
  out.name = name;
  const auto find = [](const metrics::RunResult& run, const std::string& wanted) {
    const auto at = std::find_if(run.policies.begin(), run.policies.end(),
                                 [&](const auto& policy) { return policy.name == wanted; });
    return at == run.policies.end() ? nullptr : &*at;
  };
  for (std::size_t m = 0; m < metrics::kMetrics; ++m) {
    const auto metric = static_cast<metrics::Metric>(m);
    std::vector<double> values;
    std::vector<double> ratios;
    for (const metrics::RunResult* run : runs) {
      const auto* own = find(*run, name);
      const auto* base = find(*run, run->baseline);
      const auto value = own == nullptr ? std::nullopt : own->metrics.get(metric);
      if (!value) continue;
      values.push_back(*value);
      const auto against = base == nullptr ? std::nullopt : base->metrics.get(metric);
      if (against && *against != 0.0) ratios.push_back(*value / *against);
    }
    out.metrics[m] = mean_of(values);
    out.ratios[m] = mean_of(ratios);
  }
  return out;
}

}  // namespace

std::optional<Mean> mean_of(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += value;
  Mean out{.mean = sum / count, .half_width = std::nullopt, .values = values.size()};
  if (values.size() < 2) return out;
  double squares = 0;
  for (const double value : values) squares += (value - out.mean) * (value - out.mean);
  out.half_width = student_t(values.size() - 1) * std::sqrt(squares / (count - 1) / count);
  return out;
}

std::vector<Setting> settings_of(const Sweep& sweep, const std::vector<PointResult>& results) {
  std::vector<Setting> out;
  std::map<std::size_t, std::vector<const metrics::RunResult*>> runs;
  std::map<std::size_t, std::size_t> place;
  for (const PointResult& point : results) {
    const Point& own = sweep.points[point.index];
    const auto [at, fresh] = place.try_emplace(own.setting, out.size());
    if (fresh) out.push_back({own.values, {}, {}});
    out[at->second].points.push_back(point.index);
    runs[at->second].push_back(&point.result);
  }
  for (const auto& [setting, members] : runs) {
    for (const metrics::PolicyResult& policy : members.front()->policies)
      out[setting].policies.push_back(means_of(members, policy.name));
  }
  return out;
}

std::vector<Choice> ranked(const std::vector<Setting>& settings, metrics::Metric metric) {
  std::vector<Choice> out;
  for (std::size_t s = 0; s < settings.size(); ++s) {
    for (std::size_t p = 0; p < settings[s].policies.size(); ++p) {
      if (mean_at(settings, {s, p}, metric)) out.push_back({s, p});
    }
  }
  std::stable_sort(out.begin(), out.end(), [&](const Choice& a, const Choice& b) {
    return merit(mean_at(settings, a, metric)->mean, metric) >
           merit(mean_at(settings, b, metric)->mean, metric);
  });
  return out;
}

std::vector<Choice> pareto_front(const std::vector<Setting>& settings, metrics::Metric first,
                                 metrics::Metric second) {
  std::vector<Choice> out;
  double best = 0;        // in the second metric, of those better in the first
  double level = 0;       // first metric of the ones looked at now
  double level_best = 0;  // the best second metric among them
  bool any = false;
  auto order = ranked(settings, first);
  std::erase_if(order, [&](const Choice& one) { return !mean_at(settings, one, second); });
  const auto value = [&](const Choice& one, metrics::Metric metric) {
    return merit(mean_at(settings, one, metric)->mean, metric);
  };
  std::stable_sort(order.begin(), order.end(), [&](const Choice& a, const Choice& b) {
    if (value(a, first) != value(b, first)) return value(a, first) > value(b, first);
    return value(a, second) > value(b, second);
  });
  for (const Choice& one : order) {
    const double x = value(one, first);
    const double y = value(one, second);
    if (!any || (x != level && y > best)) {
      level = x;
      level_best = y;
      best = y;
      any = true;
      out.push_back(one);
    } else if (x == level && y == level_best) {
      out.push_back(one);  // the same in both: neither beats the other
    }
  }
  return out;
}

}  // namespace railyard::sweep
