#include "outcome.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cost.hpp"
#include "railyard/core/check.hpp"
#include "railyard/topology/hostlist.hpp"

namespace railyard::scenario {
namespace {

using cluster::JobRecord;
using cluster::JobSpec;
using cluster::JobStatus;
using metrics::Metric;
using metrics::Metrics;

constexpr std::size_t kLinksShown = 20;

double seconds(double ticks) {
  return ticks / static_cast<double>(kTicksPerSecond);
}

bool ran(const JobRecord& record) {
  return record.status == JobStatus::running || record.status == JobStatus::finished;
}

std::string_view status_name(JobStatus status) {
  switch (status) {
    case JobStatus::queued:
      return "queued";
    case JobStatus::running:
      return "running";
    case JobStatus::finished:
      return "finished";
    case JobStatus::rejected:
      return "rejected";
  }
  return "";
}

/// Time a job would take from start to finish on its reference placement, alone.
double reference_run_ticks(const JobSpec& spec, const JobRecord& record) {
  return spec.recorded ? static_cast<double>(spec.recorded->count())
                       : static_cast<double>(*spec.iterations) * record.reference_ticks;
}

std::string hosts_text(const topology::Topology& topology,
                       const std::vector<scheduler::HostSlot>& slots) {
  std::vector<HostId> hosts;
  for (const scheduler::HostSlot& slot : slots) hosts.push_back(slot.host);
  std::sort(hosts.begin(), hosts.end());
  std::vector<std::string> names;
  for (const HostId host : hosts) names.push_back(topology.host_name(host));
  return topology::compress_hostlist(names);
}

/// What explains a job and is part of no metric.
void explain_job(const World& world, const std::vector<JobSpec>& jobs, const JobSpec& spec,
                 const JobRecord& record, metrics::JobResult& out) {
  if (record.alone_ticks > 0) out.iteration_s_alone = seconds(record.alone_ticks);
  if (record.reference_ticks > 0) out.iteration_s_reference = seconds(record.reference_ticks);
  if (spec.iterations && record.iteration_ticks_mean > 0) {
    out.attribution = record.iterations.attribution;
  }
  for (const std::uint32_t other : record.contended_with) {
    out.contended_with.push_back(jobs[other].name);
  }
  out.preemptions = record.preemptions;
  out.failures = record.failures;
  if (record.preemptions + record.failures > 0) out.kept_s = in_seconds(record.kept);
  for (const cluster::HeldBack& held : record.held_back) {
    out.held_back.push_back({in_seconds(held.from), in_seconds(held.until), held.why});
  }
  for (const cluster::JobRun& run : record.runs) {
    out.runs.push_back(
        {in_seconds(run.from), in_seconds(run.until), hosts_text(world.topology, run.slots)});
  }
}

metrics::JobResult job_result(const JobSpec& spec, const JobRecord& record) {
  metrics::JobResult out;
  out.name = spec.name;
  out.gpus = spec.shape.gpus;
  out.status = status_name(record.status);
  out.submit_s = in_seconds(spec.submitted);
  if (!ran(record)) return out;
  out.start_s = in_seconds(record.started);
  if (record.iteration_ticks_mean > 0 && spec.iterations) {
    out.iteration_s = seconds(record.iteration_ticks_mean);
    if (record.iteration_ticks_max > record.iteration_ticks_min) {
      out.iteration_s_min = seconds(record.iteration_ticks_min);
      out.iteration_s_max = seconds(record.iteration_ticks_max);
    }
  }
  if (record.status == JobStatus::finished) {
    out.finish_s = in_seconds(record.finished);
    const double reference = reference_run_ticks(spec, record);
    if (reference > 0) {
      out.slowdown = static_cast<double>((record.finished - spec.submitted).count()) / reference;
    }
  }
  out.spread_dp_max = record.spread.dp_max;
  out.spread_pp_max = record.spread.pp_max;
  out.minipods = record.spread.minipods;
  out.leaves = record.spread.leaves;
  if (record.iteration_ticks_mean > 0 && record.held > Duration{}) {
    const auto held = static_cast<double>(record.held.count());
    out.shared_share = static_cast<double>(record.shared.count()) / held;
    out.contention_share = record.contention_ticks / held;
  }
  return out;
}

/// Sums over the jobs that ran.
struct Totals {
  double tokens = 0;
  double model_flops = 0;
  double flops_possible = 0;   ///< peak × GPU time of jobs with model FLOPs
  double iterations = 0;       ///< of inline jobs
  double iteration_ticks = 0;  ///< of inline jobs, summed over iterations
  double p99_ticks = 0;
  bool varied = false;
  double tier_bytes[topology::kTiers] = {};
  double weighted = 0;
  double simplified = 0;
  std::size_t placed = 0;
  scheduler::Spread worst;
  std::size_t finished = 0;
  std::size_t unfinished = 0;
  TimePoint first_start = TimePoint::max();
  TimePoint last_end{};
  TimePoint first_submit = TimePoint::max();  ///< of jobs that were not rejected
  TimePoint last_finish{};
  bool all_simulated = true;
};

void add_inline(Totals& sum, const World& world, std::size_t job, const JobSpec& spec,
                const JobRecord& record) {
  const auto held = static_cast<double>(record.held.count());
  sum.tokens += record.work_done * spec.dag->tokens;
  sum.first_start = std::min(sum.first_start, record.started);
  sum.last_end = std::max(sum.last_end, record.finished);
  if (spec.dag->model_flops > 0) {
    sum.model_flops += record.work_done * spec.dag->model_flops;
    sum.flops_possible += seconds(held) * spec.shape.gpus *
                          workload::peak_of(*world.gpu, world.precision[job]).per_s();
  }
  sum.iterations += record.work_done;
  sum.iteration_ticks += record.work_done * record.iteration_ticks_mean;
  sum.varied =
      sum.varied || record.varied || record.iteration_ticks_max > record.iteration_ticks_min;
  sum.p99_ticks = std::max(sum.p99_ticks, record.iteration_ticks_p99);
}

Totals totals_of(const World& world, const scheduler::PlacementPolicy* placement,
                 const std::vector<JobSpec>& jobs, const cluster::Outcome& outcome) {
  Totals sum;
  const double alpha = world.diffusion_alpha.value_or(0.5);
  const bool unit_dp = placement != nullptr && placement->unit_dp();
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const JobRecord& record = outcome.jobs[j];
    if (record.status != JobStatus::rejected) {
      sum.first_submit = std::min(sum.first_submit, jobs[j].submitted);
    }
    if (record.status == JobStatus::finished) {
      ++sum.finished;
      sum.last_finish = std::max(sum.last_finish, record.finished);
    }
    if (record.status == JobStatus::queued || record.status == JobStatus::running) ++sum.unfinished;
    if (!ran(record)) continue;
    if (jobs[j].iterations) add_inline(sum, world, j, jobs[j], record);
    if (record.iteration_ticks_mean > 0) {
      for (std::size_t t = 0; t < topology::kTiers; ++t) {
        sum.tier_bytes[t] += record.iterations_run * record.iterations.tier_bytes[t];
      }
    } else {
      sum.all_simulated = false;
    }
    ++sum.placed;
    sum.weighted += record.spread.weighted(alpha);
    sum.simplified += record.spread.simplified(alpha, unit_dp);
    sum.worst.dp_max = std::max(sum.worst.dp_max, record.spread.dp_max);
    sum.worst.pp_max = std::max(sum.worst.pp_max, record.spread.pp_max);
  }
  return sum;
}

void set_traffic(const Totals& sum, Metrics& out) {
  double all = 0;
  for (const double bytes : sum.tier_bytes) all += bytes;
  if (all <= 0) return;
  const auto share = [&](topology::Tier tier) {
    return sum.tier_bytes[static_cast<std::size_t>(tier)] / all;
  };
  out.set(Metric::traffic_share_nvlink,
          share(topology::Tier::nvlink) + share(topology::Tier::host));
  out.set(Metric::traffic_share_leaf, share(topology::Tier::leaf));
  out.set(Metric::traffic_share_minipod, share(topology::Tier::minipod));
  out.set(Metric::traffic_share_core, share(topology::Tier::core));
}

void set_links(const World& world, const cluster::Outcome& outcome, metrics::PolicyResult& out) {
  if (outcome.links.empty() || outcome.links_window <= Duration{}) return;
  const double window = in_seconds(outcome.links_window);
  std::vector<double> utilization;
  std::vector<std::pair<metrics::LinkResult, std::uint32_t>> hottest;
  for (std::uint32_t l = 0; l < outcome.links.size(); ++l) {
    const auto id = static_cast<LinkId>(l);
    const topology::Link& link = world.topology.link(id);
    if (link.tier < topology::Tier::leaf) continue;
    const network::LinkUsage& usage = outcome.links[l];
    metrics::LinkResult entry;
    entry.bytes = usage.bytes;
    entry.utilization = usage.bytes / (static_cast<double>(link.capacity.bytes_per_s()) * window);
    entry.busy_share = in_seconds(usage.busy) / window;
    entry.binding_share = in_seconds(usage.binding) / window;
    utilization.push_back(entry.utilization);
    if (usage.bytes > 0) hottest.emplace_back(std::move(entry), l);
  }
  std::sort(hottest.begin(), hottest.end(), [](const auto& a, const auto& b) {
    if (a.first.binding_share != b.first.binding_share) {
      return a.first.binding_share > b.first.binding_share;
    }
    if (a.first.utilization != b.first.utilization)
      return a.first.utilization > b.first.utilization;
    return a.second < b.second;
  });
  if (hottest.size() > kLinksShown) hottest.resize(kLinksShown);
  for (auto& [entry, l] : hottest) {
    entry.name = world.topology.link_name(static_cast<LinkId>(l));
    entry.tier = topology::name(world.topology.link(static_cast<LinkId>(l)).tier);
    out.links.push_back(std::move(entry));
  }
  out.metrics.set(Metric::link_utilization_p50, metrics::percentile(utilization, 0.50));
  out.metrics.set(Metric::link_utilization_p99, metrics::percentile(utilization, 0.99));
  out.metrics.set(Metric::link_utilization_max, metrics::percentile(utilization, 1.0));
}

/// Most trace jobs that ran at one time.
std::size_t peak_concurrency(const World& world, const cluster::Outcome& outcome) {
  std::vector<std::pair<TimePoint, int>> changes;
  for (std::size_t j = 0; j < outcome.jobs.size(); ++j) {
    const JobRecord& record = outcome.jobs[j];
    if (!world.from_trace[j] || !ran(record) || record.started == record.finished) continue;
    changes.emplace_back(record.started, 1);
    changes.emplace_back(record.finished, -1);
  }
  std::sort(changes.begin(), changes.end());
  std::size_t now = 0;
  std::size_t peak = 0;
  for (const auto& [time, change] : changes) {
    now = change > 0 ? now + 1 : now - 1;
    peak = std::max(peak, now);
  }
  return peak;
}

/// How many trace jobs had company on a link that can bind, as Crux (SIGCOMM'24) counts them, and
/// what it cost; empty where none had.
std::string contention_text(const World& world, const cluster::Outcome& outcome) {
  std::size_t jobs = 0;
  std::size_t shared = 0;
  double gpus = 0;
  double shared_gpus = 0;
  double held = 0;
  double lost = 0;
  for (std::size_t j = 0; j < outcome.jobs.size(); ++j) {
    const JobRecord& record = outcome.jobs[j];
    if (!world.from_trace[j] || !ran(record)) continue;
    const double size = world.jobs[j].shape.gpus;
    ++jobs;
    gpus += size;
    held += size * static_cast<double>(record.held.count());
    lost += size * record.contention_ticks;
    if (record.shared <= Duration{}) continue;
    ++shared;
    shared_gpus += size;
  }
  if (shared == 0) return {};
  return fmt::format(
      "{:.1f} % of trace jobs with {:.1f} % of their GPUs shared a link that can bind; contention "
      "took {:.2f} % of the GPU time of all",
      100.0 * static_cast<double>(shared) / static_cast<double>(jobs), 100 * shared_gpus / gpus,
      held > 0 ? 100 * lost / held : 0.0);
}

void add_warnings(const World& world, const PolicySpec& policy, const cluster::Outcome& outcome,
                  metrics::PolicyResult& out) {
  out.warnings = world.warnings;
  out.warnings.insert(out.warnings.end(), outcome.warnings.begin(), outcome.warnings.end());
  if (policy.compression.name != "none") {
    out.warnings.push_back(fmt::format(
        "gradients are compressed (\"{}\"): what that does to the model's accuracy, and to the "
        "number of iterations it takes, is not modelled",
        policy.compression.name));
  }
  const auto trace_jobs = std::count(world.from_trace.begin(), world.from_trace.end(), true);
  if (trace_jobs == 0) return;
  if (const std::string text = contention_text(world, outcome); !text.empty())
    out.warnings.push_back(text);
  const std::size_t peak = peak_concurrency(world, outcome);
  const bool rare = outcome.contended_epochs * 10 < static_cast<std::uint64_t>(trace_jobs);
  out.warnings.push_back(fmt::format(
      "at most {} of {} trace jobs ran at once; in {} epochs jobs shared a link that can bind{}",
      peak, trace_jobs, outcome.contended_epochs,
      rare ? ": placement can hardly matter at this load, raise \"arrival_scale\"" : ""));
}

void set_cluster_metrics(const World& world, const PolicySpec& policy, const Totals& sum,
                         const cluster::Outcome& outcome, Metrics& out) {
  const double span = static_cast<double>(outcome.end.time_since_epoch().count());
  if (span > 0) {
    const auto gpus = static_cast<double>(world.topology.gpu_count());
    out.set(Metric::gpu_utilization,
            outcome.allocated_gpu_ticks / (gpus * span) + outcome.background_gpus / gpus);
  }
  if (outcome.allocated_gpu_ticks > 0 && sum.all_simulated) {
    out.set(Metric::gpu_busy_share, outcome.busy_gpu_ticks / outcome.allocated_gpu_ticks);
  }
  if (sum.finished > 0) {
    out.set(Metric::makespan_s, in_seconds(sum.last_finish - sum.first_submit));
  }
  out.set(Metric::jobs_finished, static_cast<double>(sum.finished));
  out.set(Metric::jobs_unfinished, static_cast<double>(sum.unfinished));
  out.set(Metric::fragmentation, outcome.fragmentation);
  out.set(Metric::decision_s_p50, in_seconds(policy.decision_latency));
  out.set(Metric::decision_s_p99, in_seconds(policy.decision_latency));
  if (sum.placed == 0) return;
  out.set(Metric::spread_dp_max, sum.worst.dp_max);
  out.set(Metric::spread_pp_max, sum.worst.pp_max);
  if (world.diffusion_alpha) {
    out.set(Metric::diffusion_weighted, sum.weighted / static_cast<double>(sum.placed));
    out.set(Metric::diffusion_simplified, sum.simplified / static_cast<double>(sum.placed));
  }
}

/// Absolute error of the run times predicted at arrival, over those of the jobs that finished.
void set_predictor_error(const cluster::Outcome& outcome, Metrics& out) {
  double errors = 0;
  std::size_t jobs = 0;
  for (const JobRecord& record : outcome.jobs) {
    if (record.status != JobStatus::finished || !record.predicted || record.kept <= Duration{}) {
      continue;
    }
    const auto run = static_cast<double>(record.kept.count());
    errors += std::abs(static_cast<double>(record.predicted->count()) - run) / run;
    ++jobs;
  }
  if (jobs > 0) out.set(Metric::predictor_mape, errors / static_cast<double>(jobs));
}

/// Finish-time fairness (Themis, NSDI'20) between users: completion time over that on the user's
/// part of the cluster alone, 1 / (mean number of users with jobs in the system) of its GPUs, on
/// which a job that wants more GPUs runs slower in proportion.
void set_fairness(const World& world, const std::vector<JobSpec>& jobs,
                  const cluster::Outcome& outcome, Metrics& out) {
  const double gpus = static_cast<double>(world.topology.gpu_count()) - outcome.background_gpus;
  std::optional<double> worst;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const JobRecord& record = outcome.jobs[j];
    if (record.status != JobStatus::finished || jobs[j].user.empty()) continue;
    const double alone = reference_run_ticks(jobs[j], record);
    if (alone <= 0) continue;
    const double stretch = std::max(1.0, jobs[j].shape.gpus * record.users_mean / gpus);
    const auto took = static_cast<double>((record.finished - jobs[j].submitted).count());
    worst = std::max(worst.value_or(0.0), took / (alone * stretch));
  }
  out.set(Metric::fairness_rho_max, worst);
}

/// What preemption, failures and reservation cost; empty where there can be none.
void set_displacement(const World& world, const PolicySpec& policy, const cluster::Outcome& outcome,
                      Metrics& out) {
  if (policy.reservation.name != "none") {
    out.set(Metric::reserved_idle_gpu_s, seconds(outcome.reserved_idle_gpu_ticks));
  }
  if (outcome.displaces) {
    out.set(Metric::preemptions, static_cast<double>(outcome.preemptions));
  }
  const bool failures = world.failures.per_host_day > 0;
  if (outcome.displaces || failures) {
    out.set(Metric::restarts, static_cast<double>(outcome.restarts));
    out.set(Metric::lost_gpu_s, seconds(outcome.lost_gpu_ticks));
  }
  const bool costs = outcome.displaces || failures || policy.checkpoints.interval > Duration{};
  if (costs && outcome.allocated_gpu_ticks > 0) {
    out.set(Metric::goodput_share, 1 - (outcome.lost_gpu_ticks + outcome.overhead_gpu_ticks) /
                                           outcome.allocated_gpu_ticks);
  }
}

void add_ticks(const cluster::Outcome& outcome, metrics::PolicyResult& out) {
  for (const JobRecord& record : outcome.jobs) {
    out.ticks.push_back(static_cast<std::int64_t>(record.status));
    out.ticks.push_back(record.started.time_since_epoch().count());
    out.ticks.push_back(record.finished.time_since_epoch().count());
    out.ticks.push_back(std::llround(record.iteration_ticks_mean));
  }
}

}  // namespace

std::optional<std::size_t> largest_inline(const std::vector<JobSpec>& jobs,
                                          const cluster::Outcome& outcome) {
  std::optional<std::size_t> largest;
  std::uint32_t gpus = 0;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (!jobs[j].iterations || !ran(outcome.jobs[j]) || jobs[j].shape.gpus <= gpus) continue;
    largest = j;
    gpus = jobs[j].shape.gpus;
  }
  return largest;
}

metrics::PolicyResult policy_result(const World& world, const PolicySpec& policy,
                                    const scheduler::PlacementPolicy* placement,
                                    const std::vector<JobSpec>& jobs,
                                    const cluster::Outcome& outcome) {
  metrics::PolicyResult out;
  out.name = policy.name;
  out.placement = placement_text(policy);
  const bool composed = policy.scheduler.name == kComposed;
  out.scheduling = {.scheduler = policy.scheduler.name,
                    .placement = policy.placement ? policy.placement->name : std::string(),
                    .queue = composed ? policy.queue.name : std::string(),
                    .reservation = policy.reservation.name,
                    .predictor = policy.predictor.name,
                    .interval_s = in_seconds(policy.interval),
                    .decision_latency_s = in_seconds(policy.decision_latency)};
  if (outcome.links_of) out.links_of = jobs[*outcome.links_of].name;
  const Totals sum = totals_of(world, placement, jobs, outcome);
  Metrics& m = out.metrics;
  if (sum.tokens > 0) {
    m.set(Metric::throughput_tokens_per_s, sum.tokens / in_seconds(sum.last_end - sum.first_start));
  }
  if (sum.iterations > 0) {
    m.set(Metric::iteration_s_mean, seconds(sum.iteration_ticks / sum.iterations));
    if (sum.varied) m.set(Metric::iteration_s_p99, seconds(sum.p99_ticks));
  }
  if (sum.flops_possible > 0) m.set(Metric::mfu, sum.model_flops / sum.flops_possible);
  set_cluster_metrics(world, policy, sum, outcome, m);
  set_displacement(world, policy, outcome, m);
  set_predictor_error(outcome, m);
  set_fairness(world, jobs, outcome, m);
  set_traffic(sum, m);
  if (const auto largest = largest_inline(jobs, outcome)) {
    out.attribution = outcome.jobs[*largest].iterations.attribution;
    const auto total = static_cast<double>(out.attribution->total().count());
    if (total > 0) {
      m.set(Metric::communication_share_exposed,
            static_cast<double>(out.attribution->communication().count()) / total);
    }
  }
  set_links(world, outcome, out);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    out.jobs.push_back(job_result(jobs[j], outcome.jobs[j]));
    explain_job(world, jobs, jobs[j], outcome.jobs[j], out.jobs.back());
  }
  for (const cluster::CurvePoint& point : outcome.curve) {
    out.curve.push_back({in_seconds(point.at), point.allocated, point.retention});
  }
  add_costs(world, jobs, outcome, out);
  add_warnings(world, policy, outcome, out);
  add_ticks(outcome, out);
  return out;
}

metrics::ClusterResult cluster_result(const World& world) {
  const topology::Topology& topology = world.topology;
  metrics::ClusterResult out;
  out.gpus_per_host = topology.hosts().front().gpus;
  std::vector<std::vector<scheduler::HostSlot>> hosts(topology.leaf_count());
  for (std::size_t h = 0; h < topology.hosts().size(); ++h) {
    const auto host = static_cast<HostId>(h);
    hosts[index(topology.host(host).leaf)].push_back({host, 0});
  }
  for (std::size_t l = 0; l < hosts.size(); ++l) {
    if (hosts[l].empty()) continue;
    const MinipodId minipod = topology.host(hosts[l].front().host).minipod;
    out.leaves.push_back({topology.leaf_name(static_cast<LeafId>(l)),
                          topology.minipod_name(minipod), hosts_text(topology, hosts[l])});
  }
  out.background = hosts_text(topology, world.background);
  out.gpus = topology.gpu_count();
  out.occupied_gpus = scheduler::gpu_count(world.background);
  return out;
}

void fill_common_job_metrics(metrics::RunResult& result) {
  if (result.policies.empty()) return;
  const std::size_t jobs = result.policies.front().jobs.size();
  std::vector<std::size_t> common;
  for (std::size_t j = 0; j < jobs; ++j) {
    const bool everywhere = std::all_of(
        result.policies.begin(), result.policies.end(),
        [&](const metrics::PolicyResult& policy) { return policy.jobs[j].finish_s.has_value(); });
    if (everywhere) common.push_back(j);
  }
  for (metrics::PolicyResult& policy : result.policies) {
    std::vector<double> completion;
    std::vector<double> queued;
    double slowdown = 0;
    std::size_t slowdowns = 0;
    for (const std::size_t j : common) {
      const metrics::JobResult& job = policy.jobs[j];
      completion.push_back(*job.finish_s - *job.submit_s);
      queued.push_back(*job.start_s - *job.submit_s);
      if (job.slowdown) {
        slowdown += *job.slowdown;
        ++slowdowns;
      }
    }
    const auto mean = [](const std::vector<double>& values) -> std::optional<double> {
      if (values.empty()) return std::nullopt;
      double sum = 0;
      for (const double value : values) sum += value;
      return sum / static_cast<double>(values.size());
    };
    Metrics& m = policy.metrics;
    m.set(Metric::jct_s_mean, mean(completion));
    m.set(Metric::jct_s_p50, metrics::percentile(completion, 0.50));
    m.set(Metric::jct_s_p95, metrics::percentile(completion, 0.95));
    m.set(Metric::jct_s_p99, metrics::percentile(completion, 0.99));
    m.set(Metric::queue_s_mean, mean(queued));
    m.set(Metric::queue_s_p50, metrics::percentile(queued, 0.50));
    m.set(Metric::queue_s_p99, metrics::percentile(queued, 0.99));
    if (slowdowns > 0) m.set(Metric::slowdown_mean, slowdown / static_cast<double>(slowdowns));
  }
}

}  // namespace railyard::scenario
