#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sections.hpp"

namespace railyard::report {

namespace {

constexpr std::size_t kSlices = 60;

/// Where a policy's jobs held GPUs last.
double end_of(const metrics::PolicyResult& policy) {
  double end = 0;
  for (const metrics::JobResult& job : policy.jobs) {
    for (const metrics::JobRun& run : job.runs) end = std::max(end, run.until_s);
  }
  return end;
}

/// Adds a run's GPU seconds to the slices that it touches.
void add_run(std::vector<double>& slices, double width, double gpus, const metrics::JobRun& run) {
  const auto slice_at = [&](double time) {
    return std::min(slices.size() - 1, static_cast<std::size_t>(time / width));
  };
  for (std::size_t s = slice_at(run.from_s); s <= slice_at(run.until_s); ++s) {
    const double from = std::max(run.from_s, static_cast<double>(s) * width);
    const double until = std::min(run.until_s, static_cast<double>(s + 1) * width);
    slices[s] += gpus * std::max(0.0, until - from);
  }
}

}  // namespace

std::vector<double> held_over_time(const metrics::PolicyResult& policy, double end_s,
                                   std::size_t slices) {
  std::vector<double> out(slices);
  const double width = end_s / static_cast<double>(slices);
  for (const metrics::JobResult& job : policy.jobs) {
    for (const metrics::JobRun& run : job.runs) add_run(out, width, job.gpus, run);
  }
  for (double& gpus : out) gpus /= width;
  return out;
}

std::string sparkline(const std::vector<double>& shares) {
  constexpr std::array<std::string_view, 8> kBars{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string out;
  for (const double share : shares) {
    const double level = std::clamp(std::floor(share * 8), 0.0, 7.0);
    out += kBars.at(static_cast<std::size_t>(level));
  }
  return out;
}

std::optional<Table> utilization_columns(const metrics::RunResult& result) {
  double end = 0;
  std::size_t jobs = 0;
  for (const metrics::PolicyResult& policy : result.policies) {
    end = std::max(end, end_of(policy));
    jobs = std::max(jobs, policy.jobs.size());
  }
  if (jobs < 2 || end <= 0 || result.cluster.gpus == 0) return std::nullopt;
  const double width = end / static_cast<double>(kSlices);
  Column names{"GPUs held", "", {}, true, false};
  Column bars{fmt::format("of {}, from 0 to {}; a bar is {}", result.cluster.gpus, time_text(end),
                          time_text(width)),
              "",
              {},
              true,
              false};
  for (const metrics::PolicyResult& policy : result.policies) {
    auto shares = held_over_time(policy, end, kSlices);
    for (double& share : shares) {
      share = (share + static_cast<double>(result.cluster.occupied_gpus)) /
              static_cast<double>(result.cluster.gpus);
    }
    // Nothing is known of the cluster behind the last job of a policy set.
    shares.resize(static_cast<std::size_t>(std::ceil(end_of(policy) / width - 1e-9)));
    names.cells.push_back(policy.name);
    bars.cells.push_back(sparkline(shares));
  }
  return Table{{std::move(names), std::move(bars)}};
}

}  // namespace railyard::report
