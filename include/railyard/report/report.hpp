// A RunResult in the forms that people and scripts read. Everything printed comes from the result:
// no number and no judgement is written here.
//
// result.json is a contract (docs/reference): fixed key order, SI units, doubles in their shortest
// round-trip form, null where a metric has no meaning. Equal results give equal bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "railyard/metrics/detail.hpp"
#include "railyard/metrics/run_result.hpp"
#include "railyard/metrics/symptoms.hpp"
#include "railyard/metrics/timeline.hpp"

namespace railyard::report {

enum class Format : std::uint8_t { table, json, csv, markdown };

/// The result in a form, with a line feed at its end.
[[nodiscard]] std::string render(const metrics::RunResult& result, Format format);

/// One screen: who wins, by how much, and why. At most 100 columns wide.
[[nodiscard]] std::string result_table(const metrics::RunResult& result);
[[nodiscard]] std::string result_json(const metrics::RunResult& result);
/// One row a policy; metrics under their contract names, attribution as attribution_<part>_s.
[[nodiscard]] std::string result_csv(const metrics::RunResult& result);
[[nodiscard]] std::string result_markdown(const metrics::RunResult& result);

/// Warnings, each once, after the names of the policies that gave it, and behind them the symptoms
/// that jobs show, each with its cause and remedy.
[[nodiscard]] std::vector<std::string> warnings_once(const metrics::RunResult& result);

class JsonWriter;
/// An array of symptoms, as a result's `symptoms` and `explain` have it.
void add_findings(JsonWriter& json, const std::vector<metrics::Finding>& findings);

/// How a run went, for meta.json. Never compared with anything.
struct Meta {
  std::string version;
  std::string command;
  unsigned threads = 1;
  double wall_s = 0;                                            ///< of the whole command
  std::vector<std::pair<std::string, metrics::RunFacts>> runs;  ///< by policy (or point and policy)
};
[[nodiscard]] std::string meta_json(const Meta& meta);

/// What a page shows of a run beside its result, in columns: detail.json. It carries the result's
/// digest.
[[nodiscard]] std::string detail_json(const metrics::RunResult& result,
                                      const metrics::Detail& detail);

/// What happened under each policy of `detail`, as JSON lines in order of time, one policy after
/// the other: t_s (to the tick), policy, event, and job, host, hosts, why where they apply.
[[nodiscard]] std::string event_lines(const metrics::RunResult& result,
                                      const metrics::Detail& detail);

/// Timelines as Chrome trace events, which ui.perfetto.dev opens.
[[nodiscard]] std::string perfetto_json(const std::vector<metrics::Timeline>& timelines);

/// Who wins, judged by one metric that every policy has: by completion time where there are many
/// jobs, else by throughput, iteration time or makespan.
struct Verdict {
  metrics::Metric metric{};
  std::size_t winner = 0;         ///< the first of the best
  std::vector<std::size_t> ties;  ///< others with exactly the same value
  std::size_t against = 0;  ///< the baseline, or the best other policy where the baseline wins
};
/// Empty when there are fewer than two policies or no metric that all of them have.
[[nodiscard]] std::optional<Verdict> verdict(const metrics::RunResult& result);

/// Index of a policy by name; of the baseline. Checked: it is there.
[[nodiscard]] std::size_t policy_index(const metrics::RunResult& result, std::string_view name);

}  // namespace railyard::report
