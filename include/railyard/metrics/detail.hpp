// What a page shows beside a result: when jobs held GPUs, where a job's groups lie, how loaded the
// links between switches are, what an iteration looks like. Facts of the same run as the result,
// which stays small without them; nothing compares them and no digest covers them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "railyard/metrics/timeline.hpp"

namespace railyard::metrics {

/// The cluster from `t_s` until the next sample: what held, or the mean over that time where there
/// were more changes than a screen has columns.
struct ClusterSample {
  double t_s = 0;
  double allocated_share = 0;           ///< of all GPUs, by jobs
  double queued_jobs = 0;               ///< submitted, without GPUs
  std::optional<double> fragmentation;  ///< see the metric; empty while nothing or all is taken
};

/// GPUs of one minipod that a job held from its start to its end or to when it lost them.
struct Holding {
  std::uint32_t job = 0;  ///< index among the result's jobs
  std::uint32_t minipod = 0;
  std::uint32_t gpus = 0;
  double from_s = 0;
  double to_s = 0;
};

/// Minipods of the largest job's host matrix: a row a pipeline stage, a column a data rank (that of
/// tensor rank 0).
struct GroupPlaces {
  std::string job;
  std::uint32_t pipeline = 0;
  std::uint32_t data = 0;
  std::vector<std::uint32_t> minipod;  ///< stage · data + data rank
};

/// A link between switches in the steady state of the largest job alone.
struct LinkLoad {
  /// Index into Fabric::links; of a run's own detail, number of the link in its topology.
  std::uint32_t link = 0;
  double bytes = 0;
  double utilization = 0;
  double busy_share = 0;
  double binding_share = 0;
  std::uint32_t connections = 0;  ///< pairs of GPUs of the job whose route crosses it, or may
};

/// Something that happened, as a line of `run --trace`. Empty texts do not apply.
struct LoggedEvent {
  std::int64_t ticks = 0;  ///< when
  std::string event;       ///< "arrived", "placed", …
  std::string job;
  std::string host;
  std::vector<std::string> hosts;  ///< in rank order
  std::string why;
};

struct PolicyDetail {
  double end_s = 0;  ///< the last finish, or of the run where jobs still ran
  std::vector<ClusterSample> samples;
  std::vector<Holding> holdings;
  std::vector<LoggedEvent> events;  ///< in no detail.json
  std::optional<GroupPlaces> groups;
  std::vector<LinkLoad> links;  ///< used ones
};

/// The switches and the links between them.
struct Fabric {
  struct Switch {
    std::string name;
    std::string kind;                      ///< leaf, spine, core
    std::optional<std::uint32_t> minipod;  ///< where all below it are of one
  };
  struct Link {
    std::uint32_t from = 0;  ///< index into `switches`
    std::uint32_t to = 0;
    std::string name;
    std::string tier;
    double capacity_bytes_per_s = 0;
  };
  struct Minipod {
    std::string name;
    std::uint32_t gpus = 0;
  };
  std::vector<Switch> switches;
  std::vector<Link> links;
  std::uint32_t links_left_out = 0;  ///< the least used, where there are too many to draw
  std::vector<Minipod> minipods;
  std::uint64_t occupied_gpus = 0;  ///< by others than the jobs, all the time
};

struct Detail {
  Fabric fabric;
  std::vector<PolicyDetail> policies;  ///< in the result's order
  /// One iteration of the first data rank's pipeline, of some policies.
  std::vector<Timeline> timelines;
};

}  // namespace railyard::metrics
