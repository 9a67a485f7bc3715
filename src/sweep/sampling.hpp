// Points drawn at random, or one in every slice of every axis (McKay, Beckman & Conover,
// Technometrics 1979: Latin hypercube sampling).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "railyard/core/rng.hpp"

namespace railyard::sweep {

/// A range of numbers, or a list of values.
struct Axis {
  std::string key;
  std::vector<std::string> choices;  ///< JSON texts; empty: a range
  double from = 0;
  double to = 0;
  bool log = false;    ///< equal shares of the logarithm
  bool whole = false;  ///< rounded to whole numbers
  std::string unit;    ///< written behind the number: a quantity, as JSON string

  /// The JSON text at a share of the axis, 0 <= share < 1. Numbers have six significant digits.
  [[nodiscard]] std::string at(double share) const;
};

using Row = std::vector<std::string>;  ///< JSON text per axis

/// `count` points; one that is not accepted is drawn again, at most 10,000 times for each: fewer
/// come back where the condition all but never holds.
[[nodiscard]] std::vector<Row> sample_random(const std::vector<Axis>& axes, std::size_t count,
                                             std::uint64_t seed,
                                             const std::function<bool(const Row&)>& accepted);

/// `count` points, on every axis one in each of `count` equal slices; those not accepted are left
/// out.
[[nodiscard]] std::vector<Row> sample_latin_hypercube(
    const std::vector<Axis>& axes, std::size_t count, std::uint64_t seed,
    const std::function<bool(const Row&)>& accepted);

}  // namespace railyard::sweep
