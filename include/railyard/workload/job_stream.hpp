// Jobs that arrive over time, as a trace of a cluster's jobs records them.
//
// Our own file of them is a CSV with the columns job_id, submit_time_s, num_gpus, duration_s;
// optional are job_type, priority (an integer, higher goes first), user and group, which queues and
// predictors look at. Other files are read by job_reader.hpp.
//
// Not modelled: where the jobs ran, how they were started again; a recorded duration is the time
// from start to end.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "railyard/core/time.hpp"

namespace railyard::workload {

struct TraceJob {
  std::string name;
  Duration submit{};  ///< from the start of the trace's clock
  std::uint32_t gpus = 0;
  Duration duration{};
  std::string type;
  std::int32_t priority = 0;
  std::string user{};
  std::string group{};
  friend bool operator==(const TraceJob&, const TraceJob&) = default;
};

/// Rows of a trace that are no jobs of the cluster's GPUs, and why.
struct SkippedRows {
  std::string reason;
  std::uint64_t rows = 0;
  std::string first;  ///< "file:line"
};

struct JobTrace {
  std::string name;
  std::string format;                ///< its reader
  std::vector<TraceJob> jobs;        ///< by submit time, then by line
  std::vector<SkippedRows> skipped;  ///< by reason, in order of the first
  std::vector<std::string> notes;    ///< what the reader had to assume
};

/// "12 rows skipped: jobs without GPUs (first at trace.csv:3)", a line a reason.
[[nodiscard]] std::vector<std::string> skipped_text(const JobTrace& trace);

/// Divides the submit times: 2 doubles the load. `arrival_scale` > 0.
void scale_arrivals(std::vector<TraceJob>& jobs, double arrival_scale);

/// Our own CSV. Columns that no job fills are left out.
void write_job_csv(std::ostream& out, const std::vector<TraceJob>& jobs);

/// A submit time and a duration must leave room on the clock (kHorizonMax is 92 million seconds).
inline constexpr double kTraceSecondsMax = 40e6;
inline constexpr std::int64_t kTraceJobGpusMax = 10'000'000;
inline constexpr std::int64_t kTracePriorityMax = 1'000'000'000;

}  // namespace railyard::workload
