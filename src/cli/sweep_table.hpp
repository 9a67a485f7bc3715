// What `railyard sweep` prints and writes of its points.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "railyard/sweep/sweep.hpp"

namespace railyard::cli {

/// The two metrics of --pareto; empty without it. Throws ConfigError.
[[nodiscard]] std::vector<metrics::Metric> pareto_metrics(const CommandLine& line);

/// That of --metric; empty without it. Throws ConfigError.
[[nodiscard]] std::optional<metrics::Metric> shown_metric(const CommandLine& line);

/// In the form that is asked for: a row a point, the best settings, the front.
[[nodiscard]] std::string sweep_text(const CommandLine& line, const sweep::Sweep& sweep,
                                     const std::vector<sweep::PointResult>& points);

/// points.json: every point's metrics, and the means over seeds.
[[nodiscard]] std::string points_json(const sweep::Sweep& sweep,
                                      const std::vector<sweep::PointResult>& points);

}  // namespace railyard::cli
