#include "sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace railyard::report {

namespace {

using metrics::Metric;
using metrics::RunResult;

enum class Form : std::uint8_t { rate, time, gpu_time, share, count, real, money, energy };
enum class When : std::uint8_t { always, many_jobs, not_zero };

/// A column of the comparison: how its values are printed, whether a ratio to the baseline stands
/// beside it.
struct Shown {
  Metric metric;
  Form form;
  bool ratio = false;
  When when = When::always;
  std::string_view unit = {};  ///< in place of the form's own
};

using enum Form;
constexpr std::array<Shown, metrics::kMetrics> kShown{{
    {Metric::throughput_tokens_per_s, rate, true},
    {Metric::iteration_s_mean, time, true},
    {Metric::iteration_s_p99, time},
    {Metric::communication_share_exposed, share, true},
    {Metric::gpu_busy_share, share, true},
    {Metric::mfu, share, true},
    {Metric::jct_s_mean, time, true},
    {Metric::jct_s_p50, time, false, When::many_jobs},
    {Metric::jct_s_p95, time, false, When::many_jobs},
    {Metric::jct_s_p99, time, true, When::many_jobs},
    {Metric::queue_s_mean, time, true},
    {Metric::queue_s_p50, time, false, When::many_jobs},
    {Metric::queue_s_p99, time, false, When::many_jobs},
    {Metric::slowdown_mean, real, false, When::many_jobs},
    {Metric::makespan_s, time, true, When::many_jobs},
    {Metric::gpu_utilization, share, true, When::many_jobs},
    {Metric::jobs_finished, count, false, When::many_jobs},
    {Metric::jobs_unfinished, count, false, When::not_zero},
    {Metric::spread_dp_max, count, false, When::always, "pods"},
    {Metric::spread_pp_max, count, false, When::always, "pods"},
    {Metric::diffusion_weighted, real},
    {Metric::diffusion_simplified, real},
    {Metric::traffic_share_nvlink, share, false, When::always, "%bytes"},
    {Metric::traffic_share_leaf, share, false, When::always, "%bytes"},
    {Metric::traffic_share_minipod, share, false, When::always, "%bytes"},
    {Metric::traffic_share_core, share, false, When::always, "%bytes"},
    {Metric::link_utilization_p50, share, false, When::many_jobs},
    {Metric::link_utilization_p99, share, false, When::many_jobs},
    {Metric::link_utilization_max, share, false, When::many_jobs},
    {Metric::fragmentation, share, false, When::many_jobs},
    {Metric::reserved_idle_gpu_s, gpu_time, false, When::not_zero},
    {Metric::preemptions, count, false, When::not_zero},
    {Metric::restarts, count, false, When::not_zero},
    {Metric::lost_gpu_s, gpu_time, false, When::not_zero},
    {Metric::goodput_share, share, false, When::many_jobs},
    {Metric::fairness_rho_max, real, false, When::many_jobs},
    {Metric::predictor_mape, share},
    {Metric::decision_s_p50, time, false, When::not_zero},
    {Metric::decision_s_p99, time, false, When::not_zero},
    {Metric::cost_total, money, true},
    {Metric::cost_per_job, money, false, When::many_jobs},
    {Metric::cost_per_iteration, money, true},
    {Metric::cost_per_token, money, true},
    {Metric::energy_j, energy, true},
}};

struct Unit {
  std::string_view name;
  double size;
};

/// The unit in which the largest value of a column reads well.
Unit unit_of(Form form, double largest) {
  switch (form) {
    case rate:
      if (largest >= 1e6) return {"M", 1e6};
      return largest >= 1e3 ? Unit{"k", 1e3} : Unit{"", 1};
    case gpu_time:
      return {"GPU h", 3600};
    case energy:
      return largest < 3.6e9 ? Unit{"kWh", 3.6e6} : Unit{"MWh", 3.6e9};
    case money:
      // The currency stands in the table of costs.
      if (largest >= 1e6) return {"M", 1e6};
      return largest == 0.0 || largest >= 1e-2 ? Unit{"", 1} : Unit{"1e-6", 1e-6};
    case share:
      return {"%", 0.01};
    case time:
      if (largest == 0.0) return {"s", 1};
      if (largest < 1e-3) return {"us", 1e-6};
      if (largest < 1) return {"ms", 1e-3};
      if (largest < 300) return {"s", 1};
      if (largest < 4 * 3600.0) return {"min", 60};
      return largest < 4 * 86400.0 ? Unit{"h", 3600} : Unit{"d", 86400};
    default:
      return {"", 1};
  }
}

/// Digits after the point that show about five significant digits of the column's largest value.
int decimals_of(Form form, double largest) {
  if (form == count || largest == 0.0) return 0;
  if (form == share) return 1;
  if (form == real) return 2;
  int before = 1;
  for (double bound = 10; largest >= bound && before < 5; bound *= 10) ++before;
  return 5 - before;
}

/// Is the value the same, up to what a reader can see, as zero everywhere?
bool all_zero(const RunResult& result, Metric metric) {
  return std::all_of(result.policies.begin(), result.policies.end(), [metric](const auto& policy) {
    return policy.metrics.get(metric).value_or(0.0) == 0.0;
  });
}

bool is_shown(const RunResult& result, const Shown& shown) {
  const auto has_value = [&](const auto& policy) {
    return policy.metrics.get(shown.metric).has_value();
  };
  if (std::none_of(result.policies.begin(), result.policies.end(), has_value)) return false;
  switch (shown.when) {
    case When::many_jobs:
      return std::any_of(result.policies.begin(), result.policies.end(),
                         [](const auto& policy) { return policy.jobs.size() > 1; });
    case When::not_zero:
      return !all_zero(result, shown.metric);
    default:
      return true;
  }
}

void add_columns(Table& table, const RunResult& result, const Shown& shown) {
  double largest = 0;
  for (const auto& policy : result.policies) {
    largest = std::max(largest, std::abs(policy.metrics.get(shown.metric).value_or(0.0)));
  }
  const Unit unit = unit_of(shown.form, largest);
  const int decimals = decimals_of(shown.form, largest / unit.size);
  const auto& description = metrics::metric_catalog()[static_cast<std::size_t>(shown.metric)];
  const auto base =
      result.policies[policy_index(result, result.baseline)].metrics.get(shown.metric);
  Column values{std::string(description.title),
                std::string(shown.unit.empty() ? unit.name : shown.unit),
                {},
                false,
                false};
  Column ratios{"", "ratio", {}, false, true};
  for (const auto& policy : result.policies) {
    const auto value = policy.metrics.get(shown.metric);
    values.cells.push_back(value ? fmt::format("{:.{}f}", *value / unit.size, decimals)
                                 : std::string(kNone));
    if (policy.name == result.baseline) {
      ratios.cells.emplace_back("base");
    } else {
      ratios.cells.push_back(value && base ? ratio_text(*value, *base) : std::string(kNone));
    }
  }
  table.columns.push_back(std::move(values));
  // Ratios to zero, as of queueing on a free cluster, say nothing.
  if (shown.ratio && base.value_or(0.0) != 0.0 && result.policies.size() > 1) {
    table.columns.push_back(std::move(ratios));
  }
}

std::string share_text(double share) {
  const double percent = share * 100;
  return fmt::format("{:.{}f}", percent, percent < 9.95 ? 1 : 0);
}

}  // namespace

Table comparison_columns(const RunResult& result, const std::optional<Verdict>& verdict) {
  Column names{"policy", "", {}, true, false};
  for (std::size_t i = 0; i < result.policies.size(); ++i) {
    const bool wins = verdict && (i == verdict->winner ||
                                  std::count(verdict->ties.begin(), verdict->ties.end(), i) > 0);
    names.cells.push_back(result.policies[i].name + (wins ? " *" : ""));
  }
  Table table{{std::move(names)}};
  for (const Shown& shown : kShown) {
    if (is_shown(result, shown)) add_columns(table, result, shown);
  }
  return table;
}

std::optional<Table> attribution_columns(const RunResult& result) {
  std::vector<const metrics::PolicyResult*> policies;
  for (const auto& policy : result.policies) {
    if (policy.attribution) policies.push_back(&policy);
  }
  if (policies.empty()) return std::nullopt;
  Column names{"iteration", "", {}, true, false};
  for (const auto* policy : policies) names.cells.push_back(policy->name);
  Table table{{std::move(names)}};
  double largest = 0;
  for (const auto* policy : policies)
    largest = std::max(largest, in_seconds(policy->attribution->total()));
  const Unit unit = unit_of(time, largest);
  const int decimals = std::max(0, decimals_of(time, largest / unit.size) - 1);
  for (const auto& part : metrics::attribution_parts()) {
    Column seconds{std::string(part.title), std::string(unit.name), {}, false, false};
    Column shares{"", "%", {}, false, true};
    bool any = false;
    for (const auto* policy : policies) {
      const double value = in_seconds((*policy->attribution).*part.member);
      const double total = in_seconds(policy->attribution->total());
      any = any || value != 0.0;
      seconds.cells.push_back(fmt::format("{:.{}f}", value / unit.size, decimals));
      shares.cells.push_back(total > 0 ? share_text(value / total) : std::string(kNone));
    }
    if (!any) continue;
    table.columns.push_back(std::move(seconds));
    table.columns.push_back(std::move(shares));
  }
  return table;
}

std::optional<Table> hot_link_columns(const RunResult& result,
                                      const std::optional<Verdict>& verdict) {
  constexpr std::size_t kLinks = 3;  // of each policy: what fits on the screen; result.json has 20
  std::vector<std::size_t> policies{policy_index(result, result.baseline)};
  if (verdict) policies = {verdict->winner, verdict->against};
  Table table{{{"hottest links of", "", {}, true, false},
               {"link", "", {}, true, false},
               {"tier", "", {}, true, false},
               {"used", "%", {}, false, false},
               {"busy", "%", {}, false, false},
               {"binds", "%", {}, false, false}}};
  for (const std::size_t i : policies) {
    const auto& links = result.policies[i].links;
    for (std::size_t k = 0; k < std::min(kLinks, links.size()); ++k) {
      const std::array<std::string, 6> row{result.policies[i].name,
                                           links[k].name,
                                           links[k].tier,
                                           fmt::format("{:.1f}", links[k].utilization * 100),
                                           fmt::format("{:.1f}", links[k].busy_share * 100),
                                           fmt::format("{:.1f}", links[k].binding_share * 100)};
      for (std::size_t column = 0; column < row.size(); ++column)
        table.columns[column].cells.push_back(row[column]);
    }
  }
  if (table.columns[0].cells.empty()) return std::nullopt;
  return table;
}

std::optional<Table> cost_columns(const RunResult& result) {
  const std::array<std::pair<std::string_view, double metrics::CostResult::*>, 8> columns{{
      {"busy", &metrics::CostResult::busy_gpu_h},
      {"waiting", &metrics::CostResult::waiting_gpu_h},
      {"reserved", &metrics::CostResult::reserved_gpu_h},
      {"idle", &metrics::CostResult::idle_gpu_h},
      {"energy used", &metrics::CostResult::energy_kwh},
      {"GPUs", &metrics::CostResult::gpus},
      {"network", &metrics::CostResult::network},
      {"energy", &metrics::CostResult::energy},
  }};
  Table table{{{"cost", "", {}, true, false}}};
  for (std::size_t c = 0; c < columns.size(); ++c) {
    table.columns.push_back({std::string(columns[c].first), "", {}, false, false});
  }
  for (const auto& policy : result.policies) {
    if (!policy.cost) continue;
    table.columns[0].cells.push_back(policy.name);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      Column& column = table.columns[c + 1];
      column.unit = c < 4 ? "GPU h" : c == 4 ? "kWh" : policy.cost->currency;
      column.cells.push_back(fmt::format("{:.5g}", (*policy.cost).*columns[c].second));
    }
  }
  if (table.columns[0].cells.empty()) return std::nullopt;
  return table;
}

std::vector<std::string> warnings_once(const RunResult& result) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (const auto& policy : result.policies) {
    for (const std::string& warning : policy.warnings) {
      if (!seen.insert(warning).second) continue;
      std::string names;
      std::size_t count = 0;
      for (const auto& other : result.policies) {
        if (std::count(other.warnings.begin(), other.warnings.end(), warning) == 0) continue;
        names += (count++ > 0 ? ", " : "") + other.name;
      }
      if (count == result.policies.size()) names = "every policy";
      out.push_back(fmt::format("{}: {}", names, warning));
    }
  }
  for (std::string& symptom : symptoms(result)) out.push_back(std::move(symptom));
  return out;
}

std::string time_text(double seconds) {
  const Unit unit = unit_of(time, std::abs(seconds));
  const double value = seconds / unit.size;
  int before = 1;
  for (double bound = 10; std::abs(value) >= bound && before < 4; bound *= 10) ++before;
  return fmt::format("{:.{}f} {}", value, value == 0.0 ? 0 : 4 - before, unit.name);
}

}  // namespace railyard::report
