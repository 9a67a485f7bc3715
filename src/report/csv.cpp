#include <fmt/format.h>

#include "railyard/report/report.hpp"
#include "railyard/report/table.hpp"

namespace railyard::report {

std::string result_csv(const metrics::RunResult& result) {
  std::string out = "scenario,seed,digest,policy";
  for (const auto& metric : metrics::metric_catalog()) out += fmt::format(",{}", metric.key);
  for (const auto& part : metrics::attribution_parts())
    out += fmt::format(",attribution_{}_s", part.key);
  out += '\n';
  for (const auto& policy : result.policies) {
    out += fmt::format("{},{},{},{}", csv_field(result.scenario), result.seed, result.digest,
                       csv_field(policy.name));
    for (std::size_t i = 0; i < metrics::kMetrics; ++i) {
      const auto value = policy.metrics.get(static_cast<metrics::Metric>(i));
      out += value ? fmt::format(",{}", *value) : ",";
    }
    for (const auto& part : metrics::attribution_parts()) {
      out += policy.attribution ? fmt::format(",{}", in_seconds((*policy.attribution).*part.member))
                                : ",";
    }
    out += '\n';
  }
  return out;
}

}  // namespace railyard::report
