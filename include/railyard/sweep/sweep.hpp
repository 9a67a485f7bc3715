// A sweep: one scenario run with many settings and seeds.
//
//   { "description": "…", "scenario": "../quickstart.json",
//     "grid": { "/policies/arnold/placement/alpha": [0.1, 0.3, 0.5], "/seed": [1, 2] } }      first
//     key slowest
//   { "description": "…", "scenario": "../quickstart.json", "points": [ { "/seed": 1 }, { "/seed":
//   2 } ], "seeds": [1, 2] }
//
// A key is a JSON pointer into the scenario, or several separated by spaces that all get the value.
// Paths in values are relative to the sweep's file. "seeds" is a list, or
// {"first": 1, "count": 200}. Seeds vary fastest. All points are decoded and checked before the
// first one runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "railyard/config/document.hpp"
#include "railyard/scenario/scenario.hpp"

namespace railyard::sweep {

struct Point {
  std::vector<std::string>
      values;              ///< JSON text per axis; empty where the point leaves the scenario's own
  std::uint64_t seed = 0;  ///< that it runs with
};

struct Sweep {
  std::string name;
  std::string description;
  std::vector<std::string> axes;      ///< keys of the grid, or of the points in order of first use
  std::vector<Point> points;          ///< in grid order; the index is the point's number
  std::vector<scenario::Spec> specs;  ///< one a point
};

/// Changes to the scenario before its points are made, as --set gives them: pointer, value.
using Changes = std::vector<std::pair<std::string, std::string>>;

/// Is this document a sweep (it has "scenario" and no "topology")?
[[nodiscard]] bool is_sweep(const config::Document& document);

/// Decodes the sweep and every one of its scenarios. Throws ConfigError with all errors, those of a
/// point after its number. `seed` replaces the scenario's.
[[nodiscard]] Sweep load(const config::Document& document, const std::string& name,
                         const Changes& changes = {},
                         std::optional<std::uint64_t> seed = std::nullopt);

/// A finished point.
struct PointResult {
  std::size_t index = 0;
  metrics::RunResult result;
};

/// points.csv: a row per point and policy, with grid index, parameters, seed and every metric.
[[nodiscard]] std::string points_csv(const Sweep& sweep, const std::vector<PointResult>& results);

}  // namespace railyard::sweep
