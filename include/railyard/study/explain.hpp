// Why a job waited, why it is where it is, and why its iteration takes so long: read out of a
// result, with nothing simulated again.
//
// Between two events who holds which hosts and who waits is fixed, so a wait is cut into pieces of
// three kinds: too little was free for the job by numbers; enough was, and jobs submitted before it
// waited too; enough was, and nobody did (a scheduling interval, a decision's latency, a placement
// or reservation that wanted more than free hosts). Hosts that were out are not in a result and
// count as free.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "railyard/metrics/run_result.hpp"

namespace railyard::study {

/// What a job that held GPUs during a wait held of them, in GPU-seconds.
struct Holder {
  std::string job;
  double gpu_s = 0;
};

/// A quota, drain or maintenance window, and how long of a wait it held the job back.
struct HeldBy {
  std::string why;
  double held_s = 0;
};

/// From submission, or the loss of its GPUs, until it got some.
struct Waiting {
  double from_s = 0;
  double until_s = 0;
  bool ended = true;  ///< false: it still waits when the run ends
  double short_s = 0;
  double behind_s = 0;
  double other_s = 0;
  /// Rules of the cluster that kept it from starting, with the time that each did: a view of the
  /// same time, no further part of the sum.
  std::vector<HeldBy> held_back;
  /// Most that was free while it was too little: whole hosts, or GPUs of one host.
  std::uint32_t most_free = 0;
  std::vector<Holder> holders;            ///< who held most comes first
  double held_gpu_s = 0;                  ///< by all of them
  double background_gpu_s = 0;            ///< by what is not simulated
  std::vector<std::string> ahead;         ///< submitted before it, waiting while enough was free
  std::vector<std::string> overtaken_by;  ///< submitted after it, started meanwhile
};

struct MinipodShare {
  std::string minipod;
  std::uint32_t free = 0;  ///< whole hosts, just before
  std::uint32_t taken = 0;
};

/// Where its last start put it.
struct Placed {
  double at_s = 0;
  std::string hosts;
  std::uint32_t minipods = 0;
  std::uint32_t leaves = 0;
  /// Fewest that could have held it on the hosts that were free then.
  std::uint32_t minipods_least = 0;
  std::uint32_t leaves_least = 0;
  std::vector<MinipodShare> shares;  ///< minipods with anything free or taken, in fabric order
};

struct Explanation {
  metrics::JobResult job;
  metrics::SchedulingResult scheduling;
  std::string policy;
  std::uint32_t hosts_wanted = 0;  ///< whole ones; 0: it shares one
  std::vector<Waiting> waits;
  std::optional<Placed> placed;
  std::vector<metrics::LinkResult> links;  ///< hottest first; empty: recorded for another job
};

/// `policy` and `job` are indices into the result. Throws config::ConfigError for a result of a
/// version that did not record who held what.
[[nodiscard]] Explanation explain(const metrics::RunResult& result, std::size_t policy,
                                  std::size_t job);

}  // namespace railyard::study
