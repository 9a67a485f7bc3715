// The parts of a sweep's file that draw points and put conditions on them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "constraint.hpp"
#include "railyard/config/reader.hpp"
#include "railyard/sweep/sweep.hpp"

namespace railyard::sweep {

inline constexpr std::size_t kMaxPoints = 100'000;

/// The pointers of an axis' key.
[[nodiscard]] std::vector<std::string> pointers_of(std::string_view axis);

/// "variables" and "constraints".
struct Conditions {
  std::vector<std::pair<std::string, std::string>> variables;  ///< name, pointer
  std::vector<Constraint> constraints;
};
[[nodiscard]] Conditions read_conditions(config::Reader& sweep);

/// "random" or "latin_hypercube": axes and points. Conditions on the axes are met.
void draw_points(const config::Node& node, bool latin, const Conditions& conditions,
                 config::Errors& errors, Sweep& sweep);

/// Adds the variables that are no axis, and leaves out the points that break a condition.
void apply_conditions(const Conditions& conditions, config::Errors& errors,
                      const config::Node& where, Sweep& sweep);

}  // namespace railyard::sweep
