#include <fmt/format.h>

#include "sections.hpp"

namespace railyard::report {

std::string result_table(const metrics::RunResult& result) {
  const auto decided = verdict(result);
  std::string out = fmt::format("{}: seed {}, digest {}, ratios to {}\n", result.scenario,
                                result.seed, result.digest, result.baseline);
  if (!result.description.empty()) out += wrapped("", result.description);
  out += '\n' + to_text(comparison_columns(result, decided));
  if (const auto table = attribution_columns(result)) out += '\n' + to_text(*table);
  if (const auto table = cost_columns(result)) out += '\n' + to_text(*table);
  if (const auto table = utilization_columns(result)) out += '\n' + to_text(*table);
  if (const auto table = hot_link_columns(result, decided)) out += '\n' + to_text(*table);
  const auto sentences = why(result, decided);
  if (!sentences.empty()) out += '\n';
  for (std::size_t i = 0; i < sentences.size(); ++i)
    out += wrapped(i == 0 ? "* " : "  ", sentences[i]);
  const auto warnings = warnings_once(result);
  if (!result.notes.empty() || !warnings.empty()) out += '\n';
  for (const std::string& note : result.notes) out += wrapped("note: ", note);
  for (const std::string& warning : warnings) out += wrapped("warning: ", warning);
  return out;
}

}  // namespace railyard::report
