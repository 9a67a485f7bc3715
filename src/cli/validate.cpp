#include "railyard/study/validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "command_line.hpp"
#include "output.hpp"
#include "parallel.hpp"
#include "progress.hpp"
#include "railyard/report/json_writer.hpp"
#include "railyard/report/report.hpp"
#include "railyard/report/table.hpp"
#include "simulate.hpp"
#include "verbs.hpp"

namespace railyard::cli {

namespace {

namespace fs = std::filesystem;
using study::ValidationResult;
using study::ValidationSummary;

/// Files of rows: those named by --rows, or the project's own.
std::vector<fs::path> files_of(const CommandLine& line) {
  std::vector<fs::path> files;
  for (const std::string& path : line.texts("rows")) files.emplace_back(path);
  if (!files.empty()) return files;
  const fs::path folder = bundled("validation");
  if (folder.empty())
    throw config::ConfigError(
        "no folder \"validation\" here or beside the program; give --rows FILE");
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Everything that the files hold, of the tables `wanted`; empty: of all.
std::vector<study::Measurement> measurements_of(const std::vector<fs::path>& files,
                                                const study::Changes& changes,
                                                const Arguments& wanted) {
  std::vector<study::Measurement> all;
  for (const fs::path& file : files) {
    for (study::Measurement& one : study::read_measurements(file, changes))
      all.push_back(std::move(one));
  }
  if (wanted.empty()) return all;
  std::vector<std::string_view> tables;
  for (const study::Measurement& one : all) {
    if (std::ranges::find(tables, one.table) == tables.end()) tables.push_back(one.table);
  }
  for (const std::string& word : wanted) {
    if (std::ranges::find(tables, word) != tables.end()) continue;
    throw config::ConfigError(
        unknown(fmt::format("no table is called \"{}\"", word), word, tables));
  }
  std::erase_if(all, [&](const study::Measurement& one) {
    return std::ranges::find(wanted, one.table) == wanted.end();
  });
  return all;
}

/// In the order of the measurements; nothing more is begun once interrupted.
std::vector<ValidationResult> simulate_all(const std::vector<study::Measurement>& all,
                                           unsigned threads) {
  std::vector<std::vector<ValidationResult>> parts(all.size());
  for_each_index(all.size(), threads, [&](std::size_t i) {
    if (!interrupted()) parts[i] = all[i].simulate();
  });
  std::vector<ValidationResult> results;
  for (auto& part : parts) results.insert(results.end(), part.begin(), part.end());
  return results;
}

std::string number(const std::optional<double>& value, const char* form) {
  return value ? fmt::format(fmt::runtime(form), *value) : std::string(report::kNone);
}

report::Table rows_table(const std::vector<ValidationResult>& results) {
  report::Table table{{{"row", "", {}, true},
                       {"metric", "", {}, true},
                       {"published", "", {}},
                       {"simulated", "", {}},
                       {"error", "%", {}},
                       {"note", "", {}, true}}};
  for (const ValidationResult& result : results) {
    table.columns[0].cells.push_back(result.id);
    table.columns[1].cells.push_back(result.metric);
    table.columns[2].cells.push_back(number(result.published, "{:.5g}"));
    table.columns[3].cells.push_back(number(result.simulated, "{:.5g}"));
    table.columns[4].cells.push_back(number(result.error_percent(), "{:+.1f}"));
    table.columns[5].cells.push_back(result.note);
  }
  return table;
}

report::Table summary_table(const std::vector<ValidationSummary>& summary) {
  report::Table table{{{"table", "", {}, true},
                       {"rows", "", {}},
                       {"simulated", "", {}},
                       {"mean error", "%", {}},
                       {"median", "%", {}},
                       {"95th percentile", "%", {}}}};
  for (const ValidationSummary& entry : summary) {
    table.columns[0].cells.push_back(entry.table);
    table.columns[1].cells.push_back(fmt::format("{}", entry.rows));
    table.columns[2].cells.push_back(fmt::format("{}", entry.simulated));
    const bool any = entry.simulated > 0;
    const auto cell = [&](double value) {
      return any ? fmt::format("{:.1f}", value) : std::string(report::kNone);
    };
    table.columns[3].cells.push_back(cell(entry.mape_percent));
    table.columns[4].cells.push_back(cell(entry.median_percent));
    table.columns[5].cells.push_back(cell(entry.p95_percent));
  }
  return table;
}

void add_parameters(report::JsonWriter& json) {
  json.key("parameters");
  json.open('{');
  for (const workload::GpuSpec& gpu : workload::gpu_catalog()) {
    json.key(gpu.name);
    json.open('{', true);
    json.member("peak_bf16_flops", gpu.peak_bf16.per_s());
    json.member("gemm_efficiency", gpu.gemm_efficiency);
    json.member("gemm_efficiency_fp8", gpu.gemm_efficiency_fp8);
    json.member("memory_efficiency", gpu.memory_efficiency);
    json.member("attention_efficiency", gpu.attention_efficiency);
    json.member("kernel_overhead_s", in_seconds(gpu.kernel_overhead));
    json.close('}');
  }
  json.close('}');
}

std::string to_json(const std::vector<ValidationResult>& results,
                    const std::vector<ValidationSummary>& summary) {
  report::JsonWriter json;
  json.open('{');
  json.rows("rows", results, [&](const ValidationResult& result) {
    json.member("id", result.id);
    json.member("table", result.table);
    json.member("metric", result.metric);
    json.member("published", result.published);
    json.member("simulated", result.simulated);
    json.member("error_percent", result.error_percent());
    json.member("note", result.note);
  });
  json.rows("summary", summary, [&](const ValidationSummary& entry) {
    json.member("table", entry.table);
    json.member("rows", std::uint64_t{entry.rows});
    json.member("simulated", std::uint64_t{entry.simulated});
    json.member("mape_percent", entry.mape_percent);
    json.member("median_percent", entry.median_percent);
    json.member("p95_percent", entry.p95_percent);
  });
  add_parameters(json);
  json.close('}');
  return json.finish();
}

}  // namespace

CommandLine validate_options() {
  CommandLine line(
      {"validate",
       "[TABLE…]",
       "Simulates published training steps and says how far off each is: the project's "
       "own copy of the\npublished rows (folder validation), or rows of one's own.",
       {"railyard validate", "railyard validate sc21_table1 --format markdown",
        "railyard validate --rows my_runs.csv"}});
  line.repeated("rows", "FILE", "rows to simulate in place of the project's own (JSON or CSV)")
      .repeated("set", "/field=value", "sets a field of every row, as in /stack=eager")
      .option("jobs", "N", "threads; results do not depend on them (default: all cores)")
      .flag("summary", "tables only, no rows")
      .format_option();
  return line;
}

int validate(const CommandLine& line) {
  const report::Format format = line.format();
  study::Changes changes = line.changes();
  for (auto& [field, value] : changes) field.erase(0, field.find_first_not_of('/'));
  const std::vector<ValidationResult> results =
      simulate_all(measurements_of(files_of(line), changes, line.words()), line.jobs());
  if (interrupted()) return kInterrupted;
  const std::vector<ValidationSummary> summary = study::summarise(results);
  switch (format) {
    case report::Format::json:
      write_stdout(to_json(results, summary));
      break;
    case report::Format::csv:
      write_stdout(report::to_csv(rows_table(results)));
      break;
    case report::Format::markdown:
      if (!line.has("summary")) write_stdout(report::to_markdown(rows_table(results)) + "\n");
      write_stdout(report::to_markdown(summary_table(summary)));
      break;
    case report::Format::table:
      if (!line.has("summary")) write_stdout(report::to_text(rows_table(results)) + "\n");
      write_stdout(report::to_text(summary_table(summary)));
      break;
  }
  return exit_code();
}

}  // namespace railyard::cli
