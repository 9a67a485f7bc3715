// Jobs that arrive over time, read from a CSV trace with the columns of the Acme (Kalos) trace:
// job_id, submit_time_s, num_gpus, duration_s; optional are job_type, priority (an integer, higher
// goes first), user and group, which queues and predictors look at. The columns num_nodes,
// gpus_per_node, cpus_per_gpu and mem_per_pod_gb are known and unused.
#pragma once

#include <cstdint>
#include <filesystem>
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

/// Jobs by submit time, then by line. `arrival_scale` divides the submit times: 2 doubles the load.
/// Throws ConfigError naming file and line: missing or unknown columns, negative times, no GPUs, no
/// duration, a name used twice, no jobs at all.
[[nodiscard]] std::vector<TraceJob> read_job_stream(const std::filesystem::path& path,
                                                    double arrival_scale);

}  // namespace railyard::workload
