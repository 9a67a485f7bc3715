// Results read back from files, and what moved between two of them.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "railyard/metrics/run_result.hpp"

namespace railyard::report {

/// A file is no result of this program. The user's fault: exit code 2.
class ResultError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads result.json, or the one in a folder that `run --out` wrote. Ticks are not in the file.
/// Throws ResultError (missing or malformed, naming the key) or IoError (unreadable).
[[nodiscard]] metrics::RunResult read_result(const std::filesystem::path& path);
[[nodiscard]] metrics::RunResult parse_result(const std::string& text, const std::string& name);

/// Allowed relative differences by metric key; "*" stands for every other metric. Nothing given:
/// exact.
struct Tolerances {
  std::map<std::string, double, std::less<>> relative;
  [[nodiscard]] double of(std::string_view metric) const;
};

/// A metric that moved by more than its tolerance; or, with an empty metric, a policy that only one
/// side has.
struct Difference {
  std::string policy;
  std::string metric;
  std::optional<double> before;
  std::optional<double> after;
  [[nodiscard]] std::string change() const;  ///< "+1.02 %", "appeared", "vanished"
};

/// Policies in the order of `before`, metrics in that of the catalog, then attribution_<part>_s.
[[nodiscard]] std::vector<Difference> compare(const metrics::RunResult& before,
                                              const metrics::RunResult& after,
                                              const Tolerances& tolerances = {});

/// What moved, as JSON: [{"policy", "metric", "before", "after"}, …]; a policy that only one side
/// has has a null metric.
[[nodiscard]] std::string differences_json(const std::vector<Difference>& differences);

}  // namespace railyard::report
