#include "railyard/core/digest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "output.hpp"
#include "simulate.hpp"

namespace railyard::cli {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> bundled_scenarios() {
  const fs::path folder = bundled("scenarios");
  if (folder.empty())
    throw config::ConfigError(
        "no folder \"scenarios\" here or beside the program; name the scenario files");
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Digest of a scenario, or of all points of a sweep; empty when interrupted.
std::string digest_of(const CommandLine& line, const fs::path& path) {
  const auto document = read_scenario(path);
  std::vector<scenario::Spec> specs;
  const bool many = sweep::is_sweep(document);
  if (many) {
    specs = sweep::load(document, scenario_name(path), line.changes(), line.number("seed"),
                        line.catalogs())
                .specs;
  } else {
    specs.push_back(scenario::load(read_changed(path, line.changes()), scenario_name(path),
                                   line.number("seed"), line.catalogs()));
  }
  Digest all;
  std::string last;
  for (const Simulated& one : simulate(line, specs)) {
    if (!one.complete) return {};
    last = one.result->digest;
    all.add(std::string_view(last));
  }
  return many ? all.hex() : last;
}

}  // namespace

CommandLine digest_options() {
  CommandLine line({"digest",
                    "[SCENARIO…]",
                    "Simulates scenarios (all bundled ones when none is named) and prints a "
                    "fingerprint of the behaviour of each\n"
                    "and of them together: equal on every compiler and machine, changed by any "
                    "change of behaviour.",
                    {"railyard digest scenarios/quickstart.json", "railyard digest"}});
  line.simulation_options();
  return line;
}

int digest(const CommandLine& line) {
  std::vector<fs::path> paths(line.words().begin(), line.words().end());
  if (paths.empty()) paths = bundled_scenarios();
  Digest total;
  for (const fs::path& path : paths) {
    const std::string hex = digest_of(line, path);
    if (hex.empty()) return kInterrupted;
    const std::string name = scenario_name(path);
    total.add(std::string_view(name));
    total.add(std::string_view(hex));
    write_stdout(fmt::format("{:<24} {}\n", name, hex));
  }
  write_stdout(fmt::format("{:<24} {}\n", "total", total.hex()));
  return exit_code();
}

}  // namespace railyard::cli
