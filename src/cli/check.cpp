#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "output.hpp"
#include "railyard/report/baseline.hpp"
#include "railyard/report/junit.hpp"
#include "railyard/report/table.hpp"
#include "railyard/workload/recording.hpp"
#include "simulate.hpp"

namespace railyard::cli {

namespace {

namespace fs = std::filesystem;

/// Recordings of iterations lie packed in workloads/traces.
bool is_trace(const fs::path& file) {
  return file.extension() == ".gz";
}

std::vector<fs::path> recorded_traces() {
  std::vector<fs::path> out;
  const fs::path folder = bundled("workloads") / "traces";
  if (!fs::is_directory(folder)) return out;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().string().ends_with(".json.gz")) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Scenarios go by their stem, traces by their name.
std::string shown_name(const fs::path& file) {
  return (is_trace(file) ? file.filename() : file.stem()).string();
}

/// Does every task of the recording still end at its tick? Empty: yes; else what moved. Traces say
/// where and how they ran, so nothing of this command changes them.
std::optional<std::string> check_trace(const fs::path& file) {
  const workload::Recording recording = workload::read_recording(file);
  if (recording.times.empty()) {
    throw config::ConfigError(fmt::format(
        "{}: has no times to compare with; record it with `railyard trace record`", file.string()));
  }
  const auto times = scenario::replay(recording);
  const auto [then, now] =
      std::mismatch(recording.times.begin(), recording.times.end(), times.begin(), times.end());
  if (then == recording.times.end()) {
    write_stdout(fmt::format("{}: all {} tasks end as recorded\n", shown_name(file), times.size()));
    return std::string();
  }
  const auto end = [](const std::vector<workload::TaskTimes>& all) {
    Duration last{};
    for (const workload::TaskTimes& one : all) last = std::max(last, one.end);
    return in_seconds(last);
  };
  return fmt::format(
      "recorded {} s, now {} s; task {} is the first to differ: it ran from {} to {} s, now "
      "from {} to {} s\n",
      end(recording.times), end(times), then - recording.times.begin(), in_seconds(then->start),
      in_seconds(then->end), in_seconds(now->start), in_seconds(now->end));
}

std::vector<fs::path> recordings(const CommandLine& line) {
  std::vector<fs::path> out(line.words().begin(), line.words().end());
  if (!out.empty()) return out;
  fs::path folder(line.text("baselines").value_or(""));
  if (folder.empty() && !bundled("results").empty()) folder = bundled("results") / "baselines";
  if (folder.empty() || !fs::is_directory(folder)) {
    throw config::ConfigError(fmt::format("{}: no such folder of recordings",
                                          folder.empty() ? "results/baselines" : folder.string()));
  }
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  if (out.empty())
    throw config::ConfigError(
        fmt::format("{}: holds no recording; add one with --add SCENARIO", folder.string()));
  if (line.has("baselines") || !line.changes().empty() || line.has("seed")) return out;
  for (fs::path& trace : recorded_traces()) out.push_back(std::move(trace));
  return out;
}

/// Runs what a recording names. Empty when interrupted.
std::optional<metrics::RunResult> rerun(const CommandLine& line, const fs::path& file,
                                        const report::Baseline& baseline) {
  const fs::path scenario = shown_path((file.parent_path() / baseline.scenario).lexically_normal());
  const auto changes = line.changes();
  // Only changes of this command are on trial: "what if a link were 1 % slower?"
  const auto document = read_changed(scenario, baseline.set).set(changes);
  const bool changes_seed = std::any_of(changes.begin(), changes.end(),
                                        [](const auto& change) { return change.first == "/seed"; });
  std::optional<std::uint64_t> seed = line.number("seed");
  if (!seed && !changes_seed) seed = baseline.result.seed;
  const std::vector<scenario::Spec> specs{
      scenario::load(document, scenario_name(scenario), seed, line.catalogs())};
  auto simulated = simulate(line, specs);
  if (!simulated[0].complete) return std::nullopt;
  return std::move(simulated[0].result);
}

report::Table drift_table(const report::Baseline& before, const metrics::RunResult& after) {
  report::Table table{{{"policy", "", {}, true, false},
                       {"metric", "", {}, true, false},
                       {"recorded", "", {}, false, false},
                       {"now", "", {}, false, false},
                       {"difference", "", {}, false, false}}};
  const auto add = [&table](std::vector<std::string> cells) {
    for (std::size_t i = 0; i < cells.size(); ++i)
      table.columns[i].cells.push_back(std::move(cells[i]));
  };
  const auto text = [](std::optional<double> value) {
    return value ? fmt::format("{}", *value) : std::string(report::kNone);
  };
  for (const report::Difference& one : report::compare(before.result, after, before.tolerances)) {
    if (one.metric.empty()) {
      add({one.policy, "(policy)", "", "", one.change()});
    } else {
      add({one.policy, one.metric, text(one.before), text(one.after), one.change()});
    }
  }
  if (before.tolerances.relative.empty() && before.result.digest != after.digest) {
    add({"", "digest", before.result.digest, after.digest, "moved"});
  }
  return table;
}

void record(const fs::path& file, report::Baseline baseline, metrics::RunResult result,
            const std::string& reason) {
  baseline.reason = reason;
  baseline.result = std::move(result);
  write_file(file, report::baseline_json(baseline));
  say(fmt::format("{}: recorded", shown_path(file)));
}

int add(const CommandLine& line, const std::string& scenario, const std::string& reason) {
  const fs::path folder(line.text("baselines").value_or("results/baselines"));
  prepare_folder(folder);
  report::Baseline baseline;
  baseline.scenario = fs::path(scenario).lexically_proximate(folder).generic_string();
  if (fs::path(scenario).is_absolute() || folder.is_absolute()) {
    baseline.scenario = fs::proximate(scenario, folder).generic_string();
  }
  baseline.set = line.changes();
  const std::vector<scenario::Spec> specs{scenario::load(read_changed(scenario, baseline.set),
                                                         scenario_name(scenario),
                                                         line.number("seed"), line.catalogs())};
  auto simulated = simulate(line, specs);
  if (!simulated[0].complete) return kInterrupted;
  baseline.description =
      fmt::format("railyard check re-runs {} and compares it with this", scenario_name(scenario));
  record(folder / (scenario_name(scenario) + ".json"), baseline, std::move(*simulated[0].result),
         reason);
  return kGood;
}

/// What moved; empty: nothing. Nothing at all when interrupted.
std::optional<std::string> check_scenario(const CommandLine& line, const fs::path& file,
                                          const std::string& reason) {
  const report::Baseline before = report::read_baseline(file);
  const auto after = rerun(line, file, before);
  if (!after) return std::nullopt;
  const report::Table table = drift_table(before, *after);
  const std::size_t moved = table.columns[0].cells.size();
  if (moved == 0) {
    write_stdout(fmt::format("{}: as recorded\n", shown_name(file)));
    return std::string();
  }
  if (line.has("accept")) record(file, before, *after, reason);
  return fmt::format("{} values moved\n{}", moved, to_text(table));
}

bool changes_scenarios(const CommandLine& line) {
  return line.has("accept") || !line.changes().empty() || line.has("seed");
}

}  // namespace

CommandLine check_options() {
  CommandLine line(
      {"check",
       "[BASELINE…]",
       "Re-runs recorded scenarios and traces (all of results/baselines and "
       "workloads/traces when none is named) and\ncompares metric by metric, task by "
       "task. Exit 1 where something moved, with a table of it. --set and --seed\n"
       "change the scenarios beforehand, to see what that moves; traces stay out then.",
       {"railyard check", "railyard check workloads/traces/deepseek_v3_1024.json.gz",
        "railyard check --add scenarios/quickstart.json --reason \"first recording\" "
        "--baselines build/baselines"}});
  line.simulation_options();
  line.option("baselines", "DIR", "folder of recordings (default: results/baselines)");
  line.flag("accept", "records what was found, in place of what was recorded; wants --reason");
  line.option("add", "SCENARIO", "records a scenario for the first time; wants --reason");
  line.option("reason", "TEXT", "why results moved, for the record");
  line.option("junit", "FILE", "writes the verdicts as JUnit XML, for CI systems");
  return line;
}

int check(const CommandLine& line) {
  const std::string reason = line.text("reason").value_or("");
  if (reason.empty() && (line.has("accept") || line.has("add"))) {
    throw config::ConfigError("--accept and --add want a --reason \"why results moved\"");
  }
  if (line.has("accept") && !line.changes().empty()) {
    throw config::ConfigError("--accept records the scenario as it stands; leave out --set");
  }
  if (line.has("add") && line.has("junit")) {
    throw config::ConfigError("--junit: --add compares nothing; leave it out");
  }
  if (const auto scenario = line.text("add")) return add(line, *scenario, reason);

  std::vector<report::CheckedCase> cases;
  for (const fs::path& file : recordings(line)) {
    if (is_trace(file) && changes_scenarios(line)) {
      if (line.words().empty()) continue;
      throw config::ConfigError(fmt::format(
          "{}: a trace is recorded with `railyard trace record`, and holds its own settings; leave "
          "out --accept, --set and --seed",
          file.string()));
    }
    const double before_s = line.elapsed_s();
    const auto moved = is_trace(file) ? check_trace(file) : check_scenario(line, file, reason);
    if (!moved) return kInterrupted;
    if (!moved->empty()) write_stdout(fmt::format("{}: {}", shown_name(file), *moved));
    cases.push_back({.name = shown_name(file),
                     .seconds = line.elapsed_s() - before_s,
                     .failure = line.has("accept") ? std::string() : *moved});
  }
  if (const auto junit = line.text("junit")) {
    write_file(*junit, report::junit_xml("railyard check", cases));
  }
  const bool any =
      std::any_of(cases.begin(), cases.end(), [](const auto& one) { return !one.failure.empty(); });
  return any ? kDiffers : kGood;
}

}  // namespace railyard::cli
