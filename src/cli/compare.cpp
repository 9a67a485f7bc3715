#include "railyard/report/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "command_line.hpp"
#include "output.hpp"
#include "railyard/config/document.hpp"
#include "railyard/config/text_lines.hpp"
#include "railyard/report/table.hpp"

namespace railyard::cli {

namespace {

std::optional<double> tolerance_of(const CommandLine& line) {
  const auto given = line.text("tolerance");
  if (!given) return std::nullopt;
  double value = 0;
  const char* end = given->data() + given->size();
  const auto [stop, error] = std::from_chars(given->data(), end, value);
  if (error != std::errc{} || stop != end || !(value >= 0) || !std::isfinite(value)) {
    throw config::ConfigError(
        fmt::format("--tolerance: expected a share from 0, such as 0.01, found \"{}\"", *given));
  }
  return value;
}

std::string text_of(std::optional<double> value) {
  return value ? fmt::format("{}", *value) : std::string(report::kNone);
}

/// Rows of what moved against the first result, for one other.
void add_rows(report::Table& table, const std::string& name,
              const std::vector<report::Difference>& moved) {
  for (const report::Difference& one : moved) {
    const bool policy = one.metric.empty();
    const std::string cells[] = {
        one.policy, policy ? "(policy)" : one.metric, policy ? "" : text_of(one.before),
        name,       policy ? "" : text_of(one.after), one.change()};
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      table.columns[i].cells.push_back(cells[i]);
  }
}

bool is_trace(const std::string& path) {
  return path.ends_with(".jsonl");
}

/// The first event in which two files of `run --trace` differ.
int compare_traces(const std::string& first, const std::string& second) {
  const config::TextLines before = config::TextLines::parse_file(first);
  const config::TextLines after = config::TextLines::parse_file(second);
  const std::size_t both = std::min(before.size(), after.size());
  std::size_t at = 0;
  while (at < both && before[at] == after[at]) ++at;
  if (at == before.size() && at == after.size()) {
    write_stdout(fmt::format("all {} events are the same\n", at));
    return kGood;
  }
  const auto shown = [at](const std::string& path, const config::TextLines& lines) {
    return fmt::format("{}:{}: {}\n", path, at + 1,
                       at < lines.size() ? lines[at] : std::string_view("(no more events)"));
  };
  write_stdout(fmt::format("the same up to event {}; then\n{}{}", at, shown(first, before),
                           shown(second, after)));
  return kDiffers;
}

}  // namespace

CommandLine compare_options() {
  CommandLine line(
      {"compare",
       "A B…",
       "Results side by side: every metric in which a result differs from the first. "
       "A result is a result.json or the\n"
       "folder that `run --out` wrote. Of two files of `run --trace` (.jsonl): the first "
       "event in which they\ndiffer, and exit 1 if there is one.",
       {"railyard compare build/quickstart build/quickstart --tolerance 0.01"}});
  line.format_option();
  line.option(
      "tolerance", "SHARE",
      "leaves out metrics within this share of the first, and exits 1 where one moved further");
  return line;
}

int compare(const CommandLine& line) {
  line.expect_words(2, 1000, "two or more results");
  const report::Format format = line.format();
  const auto tolerance = tolerance_of(line);
  report::Tolerances tolerances;
  tolerances.relative["*"] = tolerance.value_or(0);

  const std::string& first = line.words()[0];
  if (is_trace(first)) {
    if (line.words().size() != 2 || !is_trace(line.words()[1]) || tolerance || line.has("format")) {
      throw config::ConfigError(
          "railyard compare: events (.jsonl) are compared in pairs, without options");
    }
    return compare_traces(first, line.words()[1]);
  }
  const metrics::RunResult before = report::read_result(first);
  report::Table table{{{"policy", "", {}, true, false},
                       {"metric", "", {}, true, false},
                       {first, "", {}, false, false},
                       {"against", "", {}, true, false},
                       {"value", "", {}, false, false},
                       {"change", "", {}, false, false}}};
  std::vector<std::string> json;
  for (std::size_t i = 1; i < line.words().size(); ++i) {
    const std::string& other = line.words()[i];
    const auto moved = report::compare(before, report::read_result(other), tolerances);
    add_rows(table, other, moved);
    json.push_back(report::differences_json(moved));
  }
  const bool any = !table.columns[0].cells.empty();
  switch (format) {
    case report::Format::json:
      write_stdout(json.size() == 1 ? json[0] : fmt::format("[\n{}]\n", fmt::join(json, ",\n")));
      break;
    case report::Format::csv:
      write_stdout(to_csv(table));
      break;
    case report::Format::markdown:
      write_stdout(to_markdown(table));
      break;
    default:
      write_stdout(any ? to_text(table) : "no metric differs\n");
  }
  return any && tolerance ? kDiffers : kGood;
}

}  // namespace railyard::cli
