#include "railyard/metrics/run_result.hpp"

#include <algorithm>
#include <cmath>

#include "railyard/core/check.hpp"
#include "railyard/core/digest.hpp"

namespace railyard::metrics {

namespace {

void add_optional(Digest& digest, std::optional<double> value) {
  digest.add(std::uint64_t{value.has_value()});
  digest.add(value.value_or(0.0));
}

/// Metrics from here on came later and are hashed by name, where they have a value: a run without
/// them keeps its digest.
constexpr Metric kFirstLater = Metric::cost_total;

void add_metrics(Digest& digest, const Metrics& metrics) {
  for (std::size_t i = 0; i < kMetrics; ++i) {
    const auto metric = static_cast<Metric>(i);
    const auto value = metrics.get(metric);
    if (metric < kFirstLater) {
      add_optional(digest, value);
    } else if (value) {
      digest.add(metric_catalog()[i].key);
      digest.add(*value);
    }
  }
}

}  // namespace

std::string_view version() {
  return RAILYARD_VERSION;
}

RunFacts& RunFacts::operator+=(const RunFacts& other) {
  wall_s += other.wall_s;
  events += other.events;
  flows += other.flows;
  solves += other.solves;
  flows_touched += other.flows_touched;
  iterations_simulated += other.iterations_simulated;
  memo_hits += other.memo_hits;
  memo_misses += other.memo_misses;
  contended_epochs += other.contended_epochs;
  // Policies share one process: its peak is the larger one, not the sum.
  peak_rss_bytes = std::max(peak_rss_bytes, other.peak_rss_bytes);
  return *this;
}

std::optional<double> percentile(std::vector<double> values, double share) {
  RAILYARD_CHECK(share > 0.0 && share <= 1.0, "percentile share {} is not in (0, 1]", share);
  if (values.empty()) return std::nullopt;
  for (const double value : values) RAILYARD_CHECK(!std::isnan(value), "a sample is not a number");
  std::sort(values.begin(), values.end());
  // share is a rounded decimal: 0.07 x 100 is a hair above 7 and must still mean the 7th value.
  const double rank = std::ceil(share * static_cast<double>(values.size()) * (1.0 - 1e-12));
  return values[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

std::string digest_of(const RunResult& result) {
  Digest digest;
  for (const PolicyResult& policy : result.policies) {
    digest.add(std::string_view(policy.name));
    add_metrics(digest, policy.metrics);
    digest.add(std::uint64_t{policy.attribution.has_value()});
    if (policy.attribution) {
      for (const AttributionPart& part : attribution_parts()) {
        digest.add(static_cast<std::uint64_t>(((*policy.attribution).*part.member).count()));
      }
    }
    digest.add(static_cast<std::uint64_t>(policy.jobs.size()));
    for (const JobResult& job : policy.jobs) {
      digest.add(std::string_view(job.name));
      digest.add(std::string_view(job.status));
    }
    digest.add(static_cast<std::uint64_t>(policy.ticks.size()));
    for (const std::int64_t tick : policy.ticks) digest.add(static_cast<std::uint64_t>(tick));
  }
  return digest.hex();
}

}  // namespace railyard::metrics
