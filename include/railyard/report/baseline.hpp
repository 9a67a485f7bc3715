// Recorded results in results/baselines/: what `railyard check` runs again and compares.
//
// A recording holds metrics, attribution and digest, no jobs and links: small enough to review in a
// diff. `scenario` is
// relative to the recording's own folder. Exact unless the file gives tolerances; then the digest
// is not compared.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "railyard/metrics/run_result.hpp"
#include "railyard/report/compare.hpp"

namespace railyard::report {

struct Baseline {
  std::string description;
  std::string reason;                                    ///< why it was last recorded
  std::string scenario;                                  ///< path relative to the recording
  std::vector<std::pair<std::string, std::string>> set;  ///< --set changes: pointer, value
  Tolerances tolerances;
  metrics::RunResult result;
};

[[nodiscard]] std::string baseline_json(const Baseline& baseline);
/// Throws ResultError (missing or malformed, naming the key) or IoError (unreadable).
[[nodiscard]] Baseline read_baseline(const std::filesystem::path& path);
[[nodiscard]] Baseline parse_baseline(const std::string& text, const std::string& name);

}  // namespace railyard::report
