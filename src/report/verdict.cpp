#include <algorithm>

#include "railyard/core/check.hpp"
#include "railyard/report/report.hpp"

namespace railyard::report {

namespace {

using metrics::Metric;

bool all_have(const metrics::RunResult& result, Metric metric) {
  return std::all_of(result.policies.begin(), result.policies.end(), [metric](const auto& policy) {
    return policy.metrics.get(metric).has_value();
  });
}

std::optional<Metric> judged_by(const metrics::RunResult& result) {
  std::size_t jobs = 0;
  for (const auto& policy : result.policies) jobs = std::max(jobs, policy.jobs.size());
  std::vector<Metric> order{Metric::throughput_tokens_per_s, Metric::iteration_s_mean,
                            Metric::jct_s_mean, Metric::makespan_s};
  if (jobs > 1) order.insert(order.begin(), Metric::jct_s_mean);
  for (const Metric metric : order) {
    if (all_have(result, metric)) return metric;
  }
  return std::nullopt;
}

}  // namespace

std::size_t policy_index(const metrics::RunResult& result, std::string_view name) {
  const auto at = std::find_if(result.policies.begin(), result.policies.end(),
                               [name](const auto& policy) { return policy.name == name; });
  RAILYARD_CHECK(at != result.policies.end(), "the result has no policy {}", name);
  return static_cast<std::size_t>(at - result.policies.begin());
}

std::optional<Verdict> verdict(const metrics::RunResult& result) {
  if (result.policies.size() < 2) return std::nullopt;
  const auto metric = judged_by(result);
  if (!metric) return std::nullopt;
  const bool higher = metrics::metric_catalog()[static_cast<std::size_t>(*metric)].better ==
                      metrics::Better::higher;
  const auto value = [&](std::size_t i) { return *result.policies[i].metrics.get(*metric); };
  const auto is_better = [&](std::size_t a, std::size_t b) {
    return higher ? value(a) > value(b) : value(a) < value(b);
  };
  Verdict out;
  out.metric = *metric;
  for (std::size_t i = 1; i < result.policies.size(); ++i) {
    if (is_better(i, out.winner)) out.winner = i;
  }
  for (std::size_t i = 0; i < result.policies.size(); ++i) {
    if (i != out.winner && value(i) == value(out.winner)) out.ties.push_back(i);
  }
  out.against = policy_index(result, result.baseline);
  if (out.against == out.winner) {
    out.against = out.winner == 0 ? 1 : 0;
    for (std::size_t i = 0; i < result.policies.size(); ++i) {
      if (i != out.winner && is_better(i, out.against)) out.against = i;
    }
  }
  return out;
}

}  // namespace railyard::report
