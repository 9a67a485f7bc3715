// What a run computed, as plain data: the right end of the one-way path. Nothing here is read by
// the simulation.
//
// Metrics are a table: one row of `metric_catalog` per contract key (SI units, unit last in the
// name). A metric without a meaning in this run is empty, never a made-up zero.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "railyard/core/time.hpp"
#include "railyard/training/attribution.hpp"

namespace railyard::metrics {

enum class Metric : std::uint8_t {
  throughput_tokens_per_s,
  iteration_s_mean,
  iteration_s_p99,
  mfu,
  gpu_utilization,
  gpu_busy_share,
  communication_share_exposed,
  jct_s_mean,
  jct_s_p50,
  jct_s_p95,
  jct_s_p99,
  queue_s_mean,
  queue_s_p50,
  queue_s_p99,
  slowdown_mean,
  makespan_s,
  jobs_finished,
  jobs_unfinished,
  spread_dp_max,
  spread_pp_max,
  diffusion_weighted,
  diffusion_simplified,
  traffic_share_nvlink,
  traffic_share_leaf,
  traffic_share_minipod,
  traffic_share_core,
  link_utilization_p50,
  link_utilization_p99,
  link_utilization_max,
  fragmentation,
  reserved_idle_gpu_s,
  preemptions,
  restarts,
  lost_gpu_s,
  goodput_share,
  fairness_rho_max,
  predictor_mape,
  decision_s_p50,
  decision_s_p99,
  // Only where a scenario has prices or powers: the digest knows these where they have a value.
  cost_total,
  cost_per_job,
  cost_per_iteration,
  cost_per_token,
  energy_j,
  count_  ///< number of metrics
};
inline constexpr std::size_t kMetrics = static_cast<std::size_t>(Metric::count_);

enum class Better : std::uint8_t { higher, lower, neither };

struct MetricDescription {
  std::string_view key;    ///< contract name
  std::string_view title;  ///< column heading, without a unit
  Better better = Better::neither;
  std::string_view summary;  ///< definition, one sentence
};
[[nodiscard]] const std::array<MetricDescription, kMetrics>& metric_catalog();
/// The metric of a contract name, or empty.
[[nodiscard]] std::optional<Metric> find_metric(std::string_view key);

class Metrics {
 public:
  [[nodiscard]] std::optional<double> get(Metric metric) const {
    return values_[static_cast<std::size_t>(metric)];
  }
  void set(Metric metric, std::optional<double> value) {
    values_[static_cast<std::size_t>(metric)] = value;
  }

 private:
  std::array<std::optional<double>, kMetrics> values_{};
};

/// Where an iteration's time goes on its critical path; sums to the iteration time to the tick.
using training::Attribution;

/// The parts of an attribution with their contract names, in the order of the contract.
struct AttributionPart {
  std::string_view key;
  std::string_view title;
  Duration Attribution::*member;
};
[[nodiscard]] std::span<const AttributionPart> attribution_parts();
/// What the part `contention` is made of, as far as it is told apart: no further parts of the sum.
[[nodiscard]] std::span<const AttributionPart> contention_parts();

/// A stretch of time in which a job held its GPUs, from the decision on.
struct JobRun {
  double from_s = 0;
  double until_s = 0;
  std::string hosts;  ///< as Slurm lists them, in ascending order
};

/// A stretch of a wait in which a rule of the cluster kept a job from starting.
struct HeldBack {
  double from_s = 0;
  double until_s = 0;
  std::string why;
};

struct JobResult {
  std::string name;
  std::uint32_t gpus = 0;
  std::string status;  ///< finished, running, queued, rejected
  std::optional<double> submit_s;
  std::optional<double> start_s;
  std::optional<double> finish_s;
  std::optional<double> iteration_s;      ///< mean over the run
  std::optional<double> iteration_s_min;  ///< over start phases, where jobs contend
  std::optional<double> iteration_s_max;
  std::optional<double> slowdown;  ///< run time / run time alone on its reference placement
  std::optional<std::uint32_t> spread_dp_max;
  std::optional<std::uint32_t> spread_pp_max;
  std::optional<std::uint32_t> minipods;
  std::optional<std::uint32_t> leaves;
  /// Of the time on its GPUs: with other jobs on a link that they can fill together, and lost to
  /// them. Empty where the job never had a link to share.
  std::optional<double> shared_share{};
  std::optional<double> contention_share{};
  /// Of the last placement: an iteration with nobody else on the fabric, and one alone on the
  /// placement that the job's work is measured by.
  std::optional<double> iteration_s_alone{};
  std::optional<double> iteration_s_reference{};
  /// Of one iteration, where jobs are given in iterations.
  std::optional<Attribution> attribution{};
  /// Jobs with which it could fill a link, at most 16.
  std::vector<std::string> contended_with{};
  std::vector<JobRun> runs{};
  std::uint32_t preemptions = 0;
  std::uint32_t failures = 0;  ///< times it lost a host
  /// Run time that was not lost, where there were any of these.
  std::optional<double> kept_s{};
  std::optional<double> cost{};  ///< in the scenario's currency
  std::vector<HeldBack> held_back{};
};

struct LinkResult {
  std::string name;
  std::string tier;
  double bytes = 0;
  double utilization = 0;  ///< bytes / (capacity × time)
  double busy_share = 0;
  double binding_share =
      0;  ///< share of the time in which it slowed at least one flow below its solo rate
};

/// From `t_s` until the next point.
struct CurvePoint {
  double t_s = 0;
  double allocated_share = 0;            ///< of all GPUs, by jobs
  std::optional<double> retained_share;  ///< of the reserved hosts, those that somebody still holds
};

/// Who decided, and when: names of the catalogs.
struct SchedulingResult {
  std::string scheduler;
  std::string placement;  ///< empty: none was named
  std::string queue;      ///< empty: the scheduler decides that itself
  std::string reservation;
  std::string predictor;
  double interval_s = 0;
  double decision_latency_s = 0;
};

struct LeafResult {
  std::string name;
  std::string minipod;
  std::string hosts;
};

/// The cluster that jobs found.
struct ClusterResult {
  std::uint32_t gpus_per_host = 0;
  std::vector<LeafResult> leaves;
  std::string background;           ///< hosts taken by others for the whole run
  std::uint64_t gpus = 0;           ///< 0: not known, of a result of an earlier version
  std::uint64_t occupied_gpus = 0;  ///< those of the background
};

/// What a run cost, where the scenario has prices or powers. GPU-hours of the GPUs that are not
/// occupied by others, from the start of the run to its end; the four of them are all of these.
struct CostResult {
  std::string currency;       ///< empty: only energy was asked for
  double busy_gpu_h = 0;      ///< computing
  double waiting_gpu_h = 0;   ///< held by jobs that communicate, read checkpoints or wait
  double reserved_gpu_h = 0;  ///< kept by reservations, held by nobody
  double idle_gpu_h = 0;      ///< free
  double network_per_gpu_h = 0;
  double energy_kwh = 0;
  // In the currency; their sum is the metric cost_total.
  double gpus = 0;
  double network = 0;
  double energy = 0;
  double switch_ports = 0;  ///< of the fabric
};

struct PolicyResult {
  std::string name;
  std::string placement;  ///< canonical text of the placement choice, for the report
  Metrics metrics;
  std::optional<Attribution> attribution;  ///< of one iteration of the largest job
  std::vector<JobResult> jobs;
  SchedulingResult scheduling;
  std::vector<LinkResult> links;  ///< hottest first, at most 20
  std::string links_of;           ///< the job whose iteration used them so; empty: none
  std::vector<CurvePoint> curve;  ///< allocation and retention; empty without a reservation
  std::optional<CostResult> cost;
  std::vector<std::string> warnings;
  std::vector<std::int64_t>
      ticks;  ///< every job's and iteration's start and end tick, for the digest
};

struct RunResult {
  std::string version;
  std::string scenario;
  std::string description;
  std::uint64_t seed = 0;
  std::string digest;
  std::string baseline;
  ClusterResult cluster;
  std::vector<PolicyResult> policies;  ///< in scenario order
  std::vector<std::string>
      notes;  ///< published numbers to stand beside, limits: from the scenario file
};

/// How the run went: meta.json. Never compared.
struct RunFacts {
  double wall_s = 0;
  std::uint64_t events = 0;
  std::uint64_t flows = 0;
  std::uint64_t solves = 0;
  std::uint64_t flows_touched = 0;
  std::uint64_t iterations_simulated = 0;
  std::uint64_t memo_hits = 0;    ///< components of jobs whose iterations were known
  std::uint64_t memo_misses = 0;  ///< that had to be simulated
  std::uint64_t contended_epochs = 0;
  std::uint64_t peak_rss_bytes = 0;
  /// Adds up; peak memory is that of the process and takes the maximum.
  RunFacts& operator+=(const RunFacts& other);
};

/// Version of this program ("0.1.0"), for RunResult::version.
[[nodiscard]] std::string_view version();

/// Percentile by nearest rank of unsorted values; empty for none. 0 < share <= 1.
[[nodiscard]] std::optional<double> percentile(std::vector<double> values, double share);

/// The digest of a result: of every policy's name, metrics, attribution, job outcomes and ticks.
/// Texts for people (description, notes, warnings), the list of hot links and what only explains
/// (runs, contenders, who decided) stay out of it. Costs are in it where there are any.
[[nodiscard]] std::string digest_of(const RunResult& result);

}  // namespace railyard::metrics
