#include "railyard/sweep/sweep.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "output.hpp"
#include "railyard/core/digest.hpp"
#include "railyard/report/compare.hpp"
#include "railyard/sweep/store.hpp"
#include "simulate.hpp"
#include "sweep_table.hpp"

namespace railyard::cli {

namespace {

/// This very program: a point that another build computed is not mixed with this one's.
std::string program_fingerprint() {
  std::ifstream in("/proc/self/exe", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return fmt::format("{:016x}", hash_text(text));
}

sweep::Identity identity_of(const sweep::Sweep& sweep) {
  return {{"version", std::string(metrics::version())},
          {"build", program_fingerprint()},
          {"scenario", sweep.scenario_fingerprint},
          {"points", sweep.points_fingerprint}};
}

/// Runs the points that the store does not have, and puts each into it as it is done.
std::vector<sweep::PointResult> run_points(const CommandLine& line, const sweep::Sweep& sweep,
                                           sweep::Store* store, report::Meta& meta) {
  std::vector<std::optional<metrics::RunResult>> results(sweep.specs.size());
  std::vector<scenario::Spec> specs;
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < sweep.specs.size(); ++i) {
    const std::string* text = store == nullptr ? nullptr : store->find(i);
    if (text != nullptr) {
      results[i] = report::parse_result(*text, fmt::format("point {}", i));
    } else {
      specs.push_back(sweep.specs[i]);
      numbers.push_back(i);
    }
  }
  Wishes wishes;
  if (store != nullptr) {
    wishes.completed = [&](std::size_t spec, const sweep::Executed& executed) {
      const auto result = scenario::assemble(specs[spec], executed.finished());
      store->add(numbers[spec], report::result_json(result));
    };
  }
  auto simulated = simulate(line, specs, wishes);
  for (std::size_t i = 0; i < simulated.size(); ++i) {
    for (const auto& [policy, facts] : simulated[i].facts)
      meta.runs.emplace_back(fmt::format("{} {}", numbers[i], policy), facts);
    // A point that was interrupted half-way is no point of the table.
    if (simulated[i].complete) results[numbers[i]] = std::move(simulated[i].result);
  }
  std::vector<sweep::PointResult> points;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i]) points.push_back({i, std::move(*results[i])});
  }
  return points;
}

void say_resumed(const CommandLine& line, const sweep::Sweep& sweep, const sweep::Store& store) {
  if (line.has("quiet") || !line.has("resume")) return;
  const std::string damaged =
      store.damaged() > 0 ? fmt::format("; {} damaged ones are run again", store.damaged()) : "";
  say(fmt::format("resumed: {} of {} points were finished{}", store.size(), sweep.points.size(),
                  damaged));
}

int dry_run(const sweep::Sweep& sweep) {
  const std::string left_out =
      sweep.left_out > 0 ? fmt::format("; {} do not meet the constraints", sweep.left_out) : "";
  write_stdout(fmt::format("{}: {} points are well, nothing was simulated{}\n", sweep.name,
                           sweep.points.size(), left_out));
  return kGood;
}

}  // namespace

int run_sweep(const CommandLine& line, const config::Document& document) {
  static_cast<void>(line.format());
  static_cast<void>(pareto_metrics(line));
  static_cast<void>(shown_metric(line));
  const auto out = line.text("out");
  if (line.has("resume") && !out)
    throw config::ConfigError("--resume: give the folder of the sweep with --out DIR");
  const auto sweep = sweep::load(document, scenario_name(line.words().at(0)), line.changes(),
                                 line.number("seed"), line.catalogs());
  if (line.has("dry-run")) return dry_run(sweep);
  std::optional<sweep::Store> store;
  if (out) {
    prepare_folder(*out);
    store.emplace(*out, identity_of(sweep), line.has("resume"));
    say_resumed(line, sweep, *store);
  }
  report::Meta meta{std::string(metrics::version()), line.command(), line.jobs(), 0, {}};
  const auto points = run_points(line, sweep, store ? &*store : nullptr, meta);
  meta.wall_s = line.elapsed_s();
  if (out) {
    const std::filesystem::path folder(*out);
    write_file(folder / "points.csv", points_csv(sweep, points));
    write_file(folder / "points.json", points_json(sweep, points));
    sweep::write_sqlite(sweep, points, folder / "points.sqlite");
    write_file(folder / "meta.json", report::meta_json(meta));
  }
  write_stdout(sweep_text(line, sweep, points));
  if (exit_code() == kInterrupted) {
    say(fmt::format("interrupted: {} of {} points are kept{}", points.size(), sweep.points.size(),
                    out ? "; --resume runs the others" : ""));
  }
  return exit_code();
}

CommandLine sweep_options() {
  CommandLine line(
      {"sweep",
       "SWEEP",
       "Runs a scenario with every setting of a grid, a list or a sample, and prints a row a "
       "point: settings, the\n"
       "winner, and each policy's ratio to the baseline in the metric that decides; then the best "
       "settings, means\n"
       "over seeds with 95 % confidence intervals.",
       {"railyard sweep scenarios/sweeps/alpha_interval.json",
        "railyard sweep scenarios/sweeps/alpha_interval.json --out build/alpha_interval --resume",
        "railyard sweep scenarios/sweeps/alpha_interval.json --pareto "
        "throughput_tokens_per_s,queue_s_mean"}});
  line.simulation_options().format_option();
  line.option("out", "DIR",
              "writes points.csv (grid index, parameters, seed, every metric), points.json, "
              "points.sqlite and meta.json there; every finished point is on disk at once, in "
              "points.log");
  line.flag("resume", "goes on with the sweep in --out: runs what is not there");
  line.option("metric", "METRIC", "prints this metric of every setting, a column a policy set");
  line.option("pareto", "METRIC,METRIC", "prints the settings that nothing beats in both metrics");
  line.flag("dry-run", "checks every point, simulates nothing");
  return line;
}

int sweep(const CommandLine& line) {
  line.expect_words(1, 1, "one sweep file");
  const auto document = read_scenario(line.words()[0]);
  if (!sweep::is_sweep(document)) {
    throw config::ConfigError(fmt::format(
        "{}: no sweep: it has no \"scenario\" with a \"grid\" or \"points\"; see railyard run",
        line.words()[0]));
  }
  return run_sweep(line, document);
}

}  // namespace railyard::cli
