#include <fmt/format.h>

#include "railyard/sweep/sweep.hpp"

namespace railyard::sweep {

namespace {

/// RFC 4180: quotes around a field that needs them, those inside doubled.
std::string field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char letter : text)
    out += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return out + '"';
}

}  // namespace

std::string points_csv(const Sweep& sweep, const std::vector<PointResult>& results) {
  std::string out = "point";
  for (const std::string& axis : sweep.axes) out += "," + field(axis);
  out += ",seed,policy,digest";
  for (const auto& metric : metrics::metric_catalog()) out += fmt::format(",{}", metric.key);
  out += '\n';
  for (const PointResult& point : results) {
    for (const metrics::PolicyResult& policy : point.result.policies) {
      out += fmt::format("{}", point.index);
      for (const std::string& value : sweep.points[point.index].values) out += "," + field(value);
      out += fmt::format(",{},{},{}", point.result.seed, field(policy.name), point.result.digest);
      for (std::size_t i = 0; i < metrics::kMetrics; ++i) {
        const auto value = policy.metrics.get(static_cast<metrics::Metric>(i));
        out += value ? fmt::format(",{}", *value) : ",";
      }
      out += '\n';
    }
  }
  return out;
}

}  // namespace railyard::sweep
