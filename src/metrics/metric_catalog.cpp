#include "railyard/metrics/run_result.hpp"

namespace railyard::metrics {

namespace {

using enum Better;

// In the order of enum Metric.
constexpr std::array<MetricDescription, kMetrics> kCatalog{{
    {"throughput_tokens_per_s", "tokens/s", higher,
     "tokens trained per second, over all running jobs"},
    {"iteration_s_mean", "iteration", lower, "mean time of one training iteration"},
    {"iteration_s_p99", "iter p99", lower,
     "99th percentile of the iteration time; empty where nothing varies"},
    {"mfu", "MFU", higher, "model FLOPs without recompute / (time x peak of the precision x GPUs)"},
    {"gpu_utilization", "GPU alloc", higher, "share of GPU time that is allocated to jobs"},
    {"gpu_busy_share", "GPU busy", higher, "share of allocated GPU time spent computing"},
    {"communication_share_exposed", "comm exp", lower,
     "share of the iteration's critical path spent in or waiting for communication, without "
     "pipeline bubble"},
    {"jct_s_mean", "JCT", lower, "mean job completion time: finish - submission"},
    {"jct_s_p50", "JCT p50", lower, "median job completion time"},
    {"jct_s_p95", "JCT p95", lower, "95th percentile of the job completion time"},
    {"jct_s_p99", "JCT p99", lower, "99th percentile of the job completion time"},
    {"queue_s_mean", "queue", lower, "mean time from submission to start"},
    {"queue_s_p50", "queue p50", lower, "median time from submission to start"},
    {"queue_s_p99", "queue p99", lower, "99th percentile of the time from submission to start"},
    {"slowdown_mean", "slowdown", lower,
     "mean of run time / run time alone on the job's reference placement"},
    {"makespan_s", "makespan", lower, "from the first submission to the last finish"},
    {"jobs_finished", "finished", higher, "jobs that finished before the horizon"},
    {"jobs_unfinished", "unfinished", lower, "jobs that did not: running, queued or rejected"},
    {"spread_dp_max", "DP", lower, "minipods touched by the worst data-parallel group, from 1"},
    {"spread_pp_max", "PP", lower, "minipods touched by the worst pipeline group, from 1"},
    {"diffusion_weighted", "Eq. 2", lower,
     "alpha x spread_dp_max + beta x spread_pp_max (Arnold, Eq. 2)"},
    {"diffusion_simplified", "Eq. 4", lower,
     "alpha x minipods used + beta x spread_pp_max (Arnold, Eq. 4; unit DP: beta x minipods + "
     "alpha x spread_dp_max)"},
    {"traffic_share_nvlink", "nvlink", neither, "share of the bytes that stay inside a host"},
    {"traffic_share_leaf", "leaf", neither, "share of the bytes whose route turns at a leaf"},
    {"traffic_share_minipod", "minipod", neither,
     "share of the bytes whose route turns inside a minipod, above the leaves"},
    {"traffic_share_core", "core", lower, "share of the bytes that cross minipods"},
    {"link_utilization_p50", "link p50", neither,
     "median utilization of the links that carried bytes"},
    {"link_utilization_p99", "link p99", neither, "99th percentile of the link utilization"},
    {"link_utilization_max", "link max", neither, "utilization of the most used link"},
    {"fragmentation", "fragm.", lower,
     "share of free GPUs outside the largest gang of whole hosts of one minipod"},
    {"reserved_idle_gpu_s", "reserved", lower, "GPU seconds that reservations held idle"},
    {"preemptions", "preempted", lower, "preemptions"},
    {"restarts", "restarts", lower, "restarts from a checkpoint"},
    {"lost_gpu_s", "lost", lower, "GPU seconds of work thrown away"},
    {"goodput_share", "goodput", higher, "share of allocated GPU time that advanced a job"},
    {"fairness_rho_max", "rho max", lower,
     "worst ratio of a job's completion time to that on its user's fair share of an idle cluster"},
    {"predictor_mape", "MAPE", lower,
     "mean of |predicted - actual| / actual run time of finished jobs; 0.1 is 10 %"},
    {"decision_s_p50", "decide p50", lower, "median decision latency charged in simulated time"},
    {"decision_s_p99", "decide p99", lower, "99th percentile of the charged decision latency"},
    {"cost_total", "cost", lower,
     "GPU-hours of the cluster, network and energy of the run, in the scenario's currency; empty "
     "without \"cost\" in the scenario, as the next three"},
    {"cost_per_job", "cost/job", lower,
     "what the GPU-hours, network and energy of a finished job cost on average"},
    {"cost_per_iteration", "cost/iter", lower,
     "cost of the jobs that are given in iterations / iterations they ran"},
    {"cost_per_token", "cost/token", lower,
     "cost of the jobs that train on tokens / tokens they trained"},
    {"energy_j", "energy", lower,
     "energy of the cluster's GPUs over the run; empty where their powers are not given"},
}};

constexpr std::array<AttributionPart, 9> kParts{{
    {"compute", "compute", &Attribution::compute},
    {"bubble", "bubble", &Attribution::bubble},
    {"exposed_tp", "TP", &Attribution::exposed_tp},
    {"exposed_pp", "PP", &Attribution::exposed_pp},
    {"exposed_dp", "DP", &Attribution::exposed_dp},
    {"exposed_ep", "EP", &Attribution::exposed_ep},
    {"exposed_cp", "CP", &Attribution::exposed_cp},
    {"latency", "latency", &Attribution::latency},
    {"contention", "contend", &Attribution::contention},
}};

}  // namespace

const std::array<MetricDescription, kMetrics>& metric_catalog() {
  return kCatalog;
}

std::optional<Metric> find_metric(std::string_view key) {
  for (std::size_t i = 0; i < kMetrics; ++i) {
    if (kCatalog[i].key == key) return static_cast<Metric>(i);
  }
  return std::nullopt;
}

std::span<const AttributionPart> contention_parts() {
  static constexpr std::array<AttributionPart, 2> kContention{
      {{"pp", "P2P", &Attribution::contention_pp},
       {"dp", "collectives", &Attribution::contention_dp}}};
  return kContention;
}

std::span<const AttributionPart> attribution_parts() {
  return kParts;
}

}  // namespace railyard::metrics
