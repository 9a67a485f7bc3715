// What run, sweep, check and digest share: files to specs, specs to results.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "command_line.hpp"
#include "railyard/config/document.hpp"
#include "railyard/metrics/detail.hpp"
#include "railyard/metrics/run_result.hpp"
#include "railyard/report/report.hpp"
#include "railyard/scenario/scenario.hpp"
#include "railyard/sweep/execute.hpp"
#include "railyard/sweep/sweep.hpp"

namespace railyard::cli {

/// One scenario simulated. Empty result: interrupted before its baseline was done.
struct Simulated {
  std::optional<metrics::RunResult> result;
  std::vector<std::pair<std::string, metrics::RunFacts>> facts;  ///< of the policies that finished
  std::optional<metrics::Detail> detail;                         ///< of the same, where kept
  bool complete = false;
};

/// What is wanted beside the results.
struct Wishes {
  sweep::Keep keep = sweep::Keep::results;
  /// Called when all policies of a spec are done, by one thread at a time.
  std::function<void(std::size_t spec, const sweep::Executed& executed)> completed;
};

/// Runs the specs under a progress line. One entry a spec.
[[nodiscard]] std::vector<Simulated> simulate(const CommandLine& line,
                                              std::span<const scenario::Spec> specs,
                                              const Wishes& wishes = {});

/// A scenario or sweep: a file, one of those that come with the program, or the name of one.
[[nodiscard]] config::Document read_scenario(const std::filesystem::path& path);

/// The same with the changes applied.
[[nodiscard]] config::Document read_changed(const std::filesystem::path& path,
                                            const sweep::Changes& changes);

/// Name of a scenario: its file's, without folder and extension.
[[nodiscard]] std::string scenario_name(const std::filesystem::path& path);

/// Warnings of a result on stderr, for formats in which they would be missed; not under --quiet.
void say_warnings(const CommandLine& line, const metrics::RunResult& result);

/// result.json, meta.json and, where it was kept, detail.json, each whole or not at all.
void write_result(const std::filesystem::path& folder, const Simulated& simulated,
                  const CommandLine& line);

/// `railyard run` with a sweep file is `railyard sweep`.
int run_sweep(const CommandLine& line, const config::Document& document);

/// kInterrupted after a SIGINT, else kGood.
[[nodiscard]] int exit_code();

}  // namespace railyard::cli
