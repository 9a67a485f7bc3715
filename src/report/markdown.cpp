#include <fmt/format.h>

#include "sections.hpp"

namespace railyard::report {

std::string result_markdown(const metrics::RunResult& result) {
  const auto decided = verdict(result);
  std::string out = fmt::format("## {}\n\n", result.scenario);
  if (!result.description.empty()) out += result.description + "\n\n";
  out += fmt::format("Seed {}, digest `{}`, ratios to `{}`.\n\n", result.seed, result.digest,
                     result.baseline);
  out += to_markdown(comparison_columns(result, decided));
  if (const auto table = attribution_columns(result)) out += '\n' + to_markdown(*table);
  if (const auto table = hot_link_columns(result, decided)) out += '\n' + to_markdown(*table);
  const auto add_list = [&out](std::string_view head, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    out += '\n';
    for (const std::string& line : lines) out += fmt::format("- {}{}\n", head, line);
  };
  add_list("", why(result, decided));
  add_list("Note: ", result.notes);
  add_list("Warning: ", warnings_once(result));
  return out;
}

}  // namespace railyard::report
