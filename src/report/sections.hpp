// The parts of the comparison that text and markdown share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "railyard/metrics/run_result.hpp"
#include "railyard/report/report.hpp"
#include "railyard/report/table.hpp"

namespace railyard::report {

/// Values of every policy and their ratios to the baseline. Columns in which no policy has a value
/// are left out.
[[nodiscard]] Table comparison_columns(const metrics::RunResult& result,
                                       const std::optional<Verdict>& verdict);

/// Where the time of an iteration goes, per policy; empty when no policy has an attribution.
[[nodiscard]] std::optional<Table> attribution_columns(const metrics::RunResult& result);

/// The most contended links of the winner and of what it is compared with; empty when no link was
/// recorded.
[[nodiscard]] std::optional<Table> hot_link_columns(const metrics::RunResult& result,
                                                    const std::optional<Verdict>& verdict);

/// GPU-hours, energy and money of every policy; empty where the scenario has no prices or powers.
[[nodiscard]] std::optional<Table> cost_columns(const metrics::RunResult& result);

/// Sentences: what ails the jobs, under which policies, from which cause, and the remedy.
[[nodiscard]] std::vector<std::string> symptoms(const metrics::RunResult& result);

/// GPUs that the jobs of a policy held, the mean over each of `slices` equal parts of the time from
/// 0 to `end_s`.
[[nodiscard]] std::vector<double> held_over_time(const metrics::PolicyResult& policy, double end_s,
                                                 std::size_t slices);
/// A bar a share, in eighths: ▁ for less than one eighth, █ from seven on.
[[nodiscard]] std::string sparkline(const std::vector<double>& shares);
/// How much of the cluster was held over time, others' GPUs included, a line of bars a policy;
/// empty for a single job.
[[nodiscard]] std::optional<Table> utilization_columns(const metrics::RunResult& result);

/// Sentences: who wins by how much, of what the gain is made, what the spread says beside it, where
/// links bind.
[[nodiscard]] std::vector<std::string> why(const metrics::RunResult& result,
                                           const std::optional<Verdict>& verdict);

/// "3.241 s", "108.3 ms", with four significant digits and the sign if negative.
[[nodiscard]] std::string time_text(double seconds);

}  // namespace railyard::report
