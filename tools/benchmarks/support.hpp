// What every benchmark prints: one line of name, seconds, exact counts, peak memory and a hash of
// the results.
//
// Counts and hashes are exact and the same on every machine; seconds are not. `--smoke` runs the
// smallest sizes only and prints no seconds, so that its output can be compared with
// tools/benchmarks/counts.txt.
#pragma once

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace railyard::benchmark {

struct Measurement {
  std::string name;
  std::string unit;  ///< of `operations`
  std::uint64_t operations = 0;
  std::vector<std::pair<std::string, std::uint64_t>> counts;
  std::string hash = {};
  std::string note = {};  ///< a time of its own, printed where seconds are
};

/// Processor seconds: on a shared machine they say more than the wall clock.
[[nodiscard]] inline double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

[[nodiscard]] inline double peak_memory_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

struct Options {
  bool smoke = false;
  std::string folder;             ///< a recorded workload to run instead
  std::uint64_t repetitions = 1;  ///< of it
};

[[nodiscard]] inline Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--smoke") {
      options.smoke = true;
    } else if (!options.folder.empty()) {
      options.repetitions = std::max<std::uint64_t>(1, std::strtoull(argv[i], nullptr, 10));
    } else {
      options.folder = argument;
    }
  }
  return options;
}

/// Runs `work` (which returns a Measurement) and prints its line.
template <typename Work>
void measure(const Options& options, Work&& work) {
  const double begin = processor_seconds();
  const Measurement result = work();
  const double elapsed = processor_seconds() - begin;
  std::string line = fmt::format("{:<24} {} {}", result.name, result.operations, result.unit);
  for (const auto& [name, value] : result.counts) line += fmt::format(", {} {}", value, name);
  line += fmt::format(", hash {}", result.hash);
  if (!options.smoke) {
    const auto operations = static_cast<double>(result.operations);
    line += fmt::format(" | {:.4f} processor s, {:.0f} {}/s, {:.3f} us each, peak {:.1f} MiB",
                        elapsed, operations / elapsed, result.unit, 1e6 * elapsed / operations,
                        peak_memory_mib());
    if (!result.note.empty()) line += ", " + result.note;
  }
  std::puts(line.c_str());
  std::fflush(stdout);
}

}  // namespace railyard::benchmark
