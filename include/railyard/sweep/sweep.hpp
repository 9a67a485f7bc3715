// A sweep: one scenario run with many settings and seeds.
//
//   { "description": "…", "scenario": "../quickstart.json",
//     "grid": { "/policies/arnold/placement/alpha": [0.1, 0.3, 0.5], "/seed": [1, 2] } }      first
//     key slowest
//   { "description": "…", "scenario": "../quickstart.json", "points": [ { "/seed": 1 }, { "/seed":
//   2 } ], "seeds": [1, 2] }
//   { "description": "…", "scenario": "../quickstart.json",
//     "random": { "points": 100, "seed": 1, "axes": { "/network/routing": ["ecmp", "spray"],
//       "/policies/arnold/placement/alpha": { "from": 0, "to": 1 } } },
//     "variables": { "alpha": "/policies/arnold/placement/alpha",
//                    "beta": "/policies/arnold/placement/beta" },
//     "constraints": [ "alpha + beta = 1", "alpha >= 0.1" ] }
//
// (or "latin_hypercube" in place of "random").
//
// A key is a JSON pointer into the scenario, or several separated by spaces that all get the value.
// A variable that is no axis gets the value with which an equality holds; points that do not meet
// the other constraints are left out (random ones drawn again). Policies of a point see the same
// arrivals, failures and hash salts (named streams of the seed): common random numbers.
// Paths in values are relative to the sweep's file. "seeds" is a list, or
// {"first": 1, "count": 200}. Seeds vary fastest. All points are decoded and checked before the
// first one runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "railyard/config/document.hpp"
#include "railyard/scenario/scenario.hpp"

namespace railyard::sweep {

struct Point {
  std::vector<std::string>
      values;               ///< JSON text per axis; empty where the point leaves the scenario's own
  std::uint64_t seed = 0;   ///< that it runs with
  std::size_t setting = 0;  ///< points of one setting differ in their seeds only
};

struct Sweep {
  std::string name;
  std::string description;
  std::vector<std::string> axes;      ///< keys of the grid, or of the points in order of first use
  std::vector<Point> points;          ///< in grid order; the index is the point's number
  std::vector<scenario::Spec> specs;  ///< one a point
  std::size_t left_out = 0;           ///< points that the constraints refuse
  /// Fingerprints of the scenario with every file it names, and of the points.
  std::string scenario_fingerprint;
  std::string points_fingerprint;
};

/// Changes to the scenario before its points are made, as --set gives them: pointer, value.
using Changes = std::vector<std::pair<std::string, std::string>>;

/// Is this document a sweep (it has "scenario" and no "topology")?
[[nodiscard]] bool is_sweep(const config::Document& document);

/// Decodes the sweep and every one of its scenarios. Throws ConfigError with all errors, those of a
/// point after its number. `seed` replaces the scenario's; `catalogs` as scenario::load has them.
[[nodiscard]] Sweep load(const config::Document& document, const std::string& name,
                         const Changes& changes = {},
                         std::optional<std::uint64_t> seed = std::nullopt,
                         const scenario::Catalogs& catalogs = nullptr);

/// A finished point.
struct PointResult {
  std::size_t index = 0;
  metrics::RunResult result;
};

/// points.csv: a row per point and policy, with grid index, parameters, seed and every metric.
[[nodiscard]] std::string points_csv(const Sweep& sweep, const std::vector<PointResult>& results);

/// The same as an SQLite database: tables `points` (parameters) and `results` (metrics a policy).
/// Appears whole or not at all. Throws IoError.
void write_sqlite(const Sweep& sweep, const std::vector<PointResult>& results,
                  const std::filesystem::path& path);

}  // namespace railyard::sweep
