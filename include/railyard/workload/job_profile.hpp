// Job traces drawn from published distributions: kinds of jobs, their GPUs and run times, bursts of
// arrivals (files: workloads/profiles).
//
// Run times are drawn by strata: of n jobs of a kind one has its run time in each of n equal parts
// of the curve. GPUs go through theirs in steps of the golden section from a random start, so that
// neighbours in run time have all sizes (a lattice rule). So even the tail that holds most GPU time
// is met by every seed; seeds differ in which job gets what, and when. The number of jobs is what
// the load and the time asked for hold on the average; the time is then made what the load of those
// drawn wants. Gaps between arrivals are hyperexponential of two phases with balanced means (Whitt,
// "Approximating a point process by a renewal process", Operations Research 1982), some of them
// zero.
//
// Not modelled: GPUs and run times of a kind that depend on each other, users, hours of the day.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "railyard/config/reader.hpp"
#include "railyard/workload/job_stream.hpp"

namespace railyard::workload {

struct JobProfile {
  struct Kind {
    std::string name;
    double share = 0;                                    ///< of jobs; all add up to 1
    std::vector<std::pair<std::uint32_t, double>> gpus;  ///< with weights, ascending
    /// Points of the distribution function (seconds, share), ascending; the logarithm of time is
    /// straight between them.
    std::vector<std::pair<double, double>> run_time;
  };
  std::string source;
  double gap_cv = 1;       ///< standard deviation of gaps between arrivals / their mean
  double same_second = 0;  ///< share of gaps that are zero
  std::vector<Kind> kinds;
};

/// {"kind": "job_profile", "description", "source", "arrivals": {"cv", "same_second_percent"},
/// "types": [{"name", "percent", "gpus": {"8": weight, …},
///            "run_time_s": [[seconds, percent], …]}]};
/// or "base" (another profile) in place of the types, with arrivals of its own.
[[nodiscard]] JobProfile read_job_profile(const config::Node& node, config::Errors& errors);

struct GeneratedLoad {
  double load = 0.8;  ///< GPU time of all jobs / (gpus · span)
  std::uint32_t gpus = 0;
  Duration span{};  ///< over which jobs are submitted, as nearly as the draw allows
  std::uint64_t seed = 0;
};

/// Throws ConfigError where that is no job, or more than 20 million. Kinds of more GPUs than there
/// are have the larger sizes left out, which a note says.
[[nodiscard]] JobTrace generate_jobs(const JobProfile& profile, const GeneratedLoad& wanted);

}  // namespace railyard::workload
