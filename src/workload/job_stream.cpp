#include "railyard/workload/job_stream.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "railyard/core/check.hpp"

namespace railyard::workload {
namespace {

/// A field of a CSV, in quotes where it must be.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace

std::vector<std::string> skipped_text(const JobTrace& trace) {
  std::vector<std::string> out;
  for (const SkippedRows& one : trace.skipped) {
    out.push_back(
        fmt::format("{} rows skipped: {} (first at {})", one.rows, one.reason, one.first));
  }
  return out;
}

void scale_arrivals(std::vector<TraceJob>& jobs, double arrival_scale) {
  RAILYARD_CHECK(arrival_scale > 0, "arrival_scale {} is not positive", arrival_scale);
  for (TraceJob& job : jobs) {
    job.submit = from_seconds(std::min(kTraceSecondsMax, in_seconds(job.submit) / arrival_scale));
  }
}

void write_job_csv(std::ostream& out, const std::vector<TraceJob>& jobs) {
  const auto any = [&jobs](auto has) { return std::ranges::any_of(jobs, has); };
  const bool type = any([](const TraceJob& job) { return !job.type.empty(); });
  const bool priority = any([](const TraceJob& job) { return job.priority != 0; });
  const bool user = any([](const TraceJob& job) { return !job.user.empty(); });
  const bool group = any([](const TraceJob& job) { return !job.group.empty(); });
  out << "job_id,submit_time_s,num_gpus,duration_s" << (type ? ",job_type" : "")
      << (priority ? ",priority" : "") << (user ? ",user" : "") << (group ? ",group" : "") << '\n';
  for (const TraceJob& job : jobs) {
    out << fmt::format("{},{},{},{}", field(job.name), in_seconds(job.submit), job.gpus,
                       in_seconds(job.duration));
    if (type) out << ',' << field(job.type);
    if (priority) out << ',' << job.priority;
    if (user) out << ',' << field(job.user);
    if (group) out << ',' << field(job.group);
    out << '\n';
  }
}

}  // namespace railyard::workload
