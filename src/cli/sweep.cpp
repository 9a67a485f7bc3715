#include "railyard/sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>

#include "output.hpp"
#include "railyard/core/digest.hpp"
#include "railyard/report/compare.hpp"
#include "railyard/sweep/store.hpp"
#include "simulate.hpp"
#include "slurm.hpp"
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

/// Runs these points, and puts each into the store, if there is one, as it is done. Those that
/// finished, in order; one that was interrupted half-way is no point of the table.
std::vector<sweep::PointResult> run_points(const CommandLine& line, const sweep::Sweep& sweep,
                                           const std::vector<std::size_t>& numbers,
                                           sweep::Store* store, report::Meta& meta) {
  std::vector<scenario::Spec> specs;
  for (const std::size_t number : numbers) specs.push_back(sweep.specs[number]);
  Wishes wishes;
  if (store != nullptr) {
    wishes.completed = [&](std::size_t spec, const sweep::Executed& executed) {
      const auto result = scenario::assemble(specs[spec], executed.finished());
      store->add(numbers[spec], report::result_json(result));
    };
  }
  std::vector<sweep::PointResult> points;
  auto simulated = simulate(line, specs, wishes);
  for (std::size_t i = 0; i < simulated.size(); ++i) {
    for (const auto& [policy, facts] : simulated[i].facts)
      meta.runs.emplace_back(fmt::format("{} {}", numbers[i], policy), facts);
    if (simulated[i].complete) points.push_back({numbers[i], std::move(*simulated[i].result)});
  }
  return points;
}

/// All points: those of the store, and the others as they are run here or elsewhere.
std::vector<sweep::PointResult> all_points(const CommandLine& line, const sweep::Sweep& sweep,
                                           sweep::Store* store, report::Meta& meta) {
  if (on_slurm(line)) run_on_slurm(line, sweep, identity_of(sweep), *store);
  std::vector<sweep::PointResult> points;
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < sweep.specs.size(); ++i) {
    const std::string* text = store == nullptr ? nullptr : store->find(i);
    if (text == nullptr) {
      others.push_back(i);
    } else {
      points.push_back({i, report::parse_result(*text, fmt::format("point {}", i))});
    }
  }
  if (on_slurm(line)) return points;
  auto run = run_points(line, sweep, others, store, meta);
  points.insert(points.end(), std::make_move_iterator(run.begin()),
                std::make_move_iterator(run.end()));
  std::sort(points.begin(), points.end(),
            [](const auto& a, const auto& b) { return a.index < b.index; });
  return points;
}

/// A task of an array job: what neither this shard nor the sweep has.
int run_shard(const CommandLine& line, const sweep::Sweep& sweep, const Shard& shard) {
  const std::filesystem::path out(*line.text("out"));
  const auto identity = identity_of(sweep);
  const auto gathered = sweep::read_points(out, identity);
  const auto folder = shard_folder(out, shard);
  prepare_folder(folder);
  sweep::Store store(folder, identity, true);
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < sweep.specs.size(); ++i) {
    if (shard.owns(i) && store.find(i) == nullptr && gathered.count(i) == 0) numbers.push_back(i);
  }
  say(fmt::format("shard {} of {}: {} points to run, {} are there", shard.number, shard.of,
                  numbers.size(), store.size()));
  report::Meta meta;
  static_cast<void>(run_points(line, sweep, numbers, &store, meta));
  return exit_code();
}

void say_resumed(const CommandLine& line, const sweep::Sweep& sweep, const sweep::Store& store) {
  if (line.has("quiet") || !line.has("resume")) return;
  const std::string damaged =
      store.damaged() > 0 ? fmt::format("; {} damaged ones are run again", store.damaged()) : "";
  say(fmt::format("resumed: {} of {} points were finished{}", store.size(), sweep.points.size(),
                  damaged));
}

int dry_run(const CommandLine& line, const sweep::Sweep& sweep) {
  if (on_slurm(line)) {
    std::vector<std::size_t> all(sweep.points.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    write_stdout(slurm_script(line, sweep, all));
    return kGood;
  }
  const std::string left_out =
      sweep.left_out > 0 ? fmt::format("; {} do not meet the constraints", sweep.left_out) : "";
  write_stdout(fmt::format("{}: {} points are well, nothing was simulated{}\n", sweep.name,
                           sweep.points.size(), left_out));
  return kGood;
}

/// Everything about the options that can be known before a point is decoded.
void refuse_wrong_options(const CommandLine& line) {
  static_cast<void>(line.format());
  static_cast<void>(pareto_metrics(line));
  static_cast<void>(shown_metric(line));
  static_cast<void>(on_slurm(line));
  if (line.has("resume") && !line.has("out"))
    throw config::ConfigError("--resume: give the folder of the sweep with --out DIR");
}

/// The exit code, with a line on what is missing.
int say_missing(const CommandLine& line, std::size_t there, std::size_t all) {
  if (exit_code() == kInterrupted) {
    say(fmt::format("interrupted: {} of {} points are kept{}", there, all,
                    line.has("out") ? "; --resume runs the others" : ""));
    return kInterrupted;
  }
  if (there == all) return kGood;
  say(fmt::format(
      "{} of {} points did not finish: why, say the logs in {}/shards; --resume submits "
      "them again",
      all - there, all, *line.text("out")));
  return kIo;
}

}  // namespace

int run_sweep(const CommandLine& line, const config::Document& document) {
  refuse_wrong_options(line);
  const auto out = line.text("out");
  const auto shard = shard_of(line);
  const auto sweep = sweep::load(document, scenario_name(line.words().at(0)), line.changes(),
                                 line.number("seed"), line.catalogs());
  if (line.has("dry-run")) return dry_run(line, sweep);
  if (shard) return run_shard(line, sweep, *shard);
  std::optional<sweep::Store> store;
  if (out) {
    prepare_folder(*out);
    store.emplace(*out, identity_of(sweep), line.has("resume"));
    say_resumed(line, sweep, *store);
  }
  report::Meta meta{std::string(metrics::version()), line.command(), line.jobs(), 0, {}};
  const auto points = all_points(line, sweep, store ? &*store : nullptr, meta);
  meta.wall_s = line.elapsed_s();
  if (out) {
    const std::filesystem::path folder(*out);
    write_file(folder / "points.csv", points_csv(sweep, points));
    write_file(folder / "points.json", points_json(sweep, points));
    sweep::write_sqlite(sweep, points, folder / "points.sqlite");
    write_file(folder / "meta.json", report::meta_json(meta));
  }
  write_stdout(sweep_text(line, sweep, points));
  return say_missing(line, points.size(), sweep.points.size());
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
  declare_executor(line);
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
