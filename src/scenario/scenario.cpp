#include "railyard/scenario/scenario.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "outcome.hpp"
#include "railyard/core/check.hpp"
#include "world.hpp"

namespace railyard::scenario {
namespace {

/// Forwards the cluster's calls to whoever shows progress.
class ProgressObserver final : public cluster::Observer {
 public:
  explicit ProgressObserver(Progress* progress) : progress_(progress) {}
  void at(TimePoint now, std::size_t finished, std::size_t jobs, std::uint64_t events) override {
    if (progress_ != nullptr) progress_->update(in_seconds(now), finished, jobs, events);
  }
  bool stop() override { return progress_ != nullptr && progress_->stop(); }

 private:
  Progress* progress_;
};

/// What a scheduler from outside gets wrong while it runs is the user's fault too: it gets the
/// place where the file names it.
cluster::Outcome simulated(const std::vector<cluster::JobSpec>& jobs,
                           const cluster::Settings& settings, cluster::Observer& observer,
                           const PolicySpec& policy) {
  try {
    return cluster::simulate(jobs, settings, &observer);
  } catch (const scheduler::SchedulerError& error) {
    throw config::ConfigError(fmt::format("{}: {}", policy.scheduler_place, error.what()));
  }
}

}  // namespace

Spec::Spec(std::shared_ptr<const World> world) : world_(std::move(world)) {}
const std::string& Spec::name() const {
  return world_->name;
}
std::uint64_t Spec::seed() const {
  return world_->seed;
}
std::uint64_t Spec::run_key(std::size_t policy) const {
  return world_->run_keys.at(policy);
}
std::size_t Spec::baseline() const {
  return world_->baseline;
}

std::vector<std::string> Spec::policy_names() const {
  std::vector<std::string> names;
  for (const PolicySpec& policy : world_->policies) names.push_back(policy.name);
  return names;
}

std::vector<std::string> Spec::summary() const {
  const World& world = *world_;
  std::vector<std::string> lines;
  lines.push_back(fmt::format("fabric: {} ({}), {} hosts, {} GPUs in {} minipods, {} links",
                              world.topology.builder(), world.topology.gpu_kind(),
                              world.topology.hosts().size(), world.topology.gpu_count(),
                              world.topology.minipod_count(), world.topology.links().size()));
  lines.push_back(fmt::format("jobs: {}, hosts occupied by others: {}", world.jobs.size(),
                              world.background.size()));
  for (std::size_t j = 0; j < std::min<std::size_t>(world.jobs.size(), 5); ++j) {
    const cluster::JobSpec& job = world.jobs[j];
    lines.push_back(
        fmt::format("  {}: {} GPUs, tensor {} pipeline {} data {}, {} tasks an iteration", job.name,
                    job.shape.gpus, job.shape.tensor, job.shape.pipeline, job.shape.data,
                    job.dag->tasks.size()));
  }
  if (world.jobs.size() > 5) lines.push_back(fmt::format("  and {} more", world.jobs.size() - 5));
  for (const PolicySpec& policy : world.policies) {
    const bool own = policy.scheduler.name != kComposed;
    lines.push_back(fmt::format("policy set {}: {}, {} {}", policy.name, placement_text(policy),
                                own ? "scheduler" : "queue",
                                own ? policy.scheduler.name : policy.queue.name));
  }
  return lines;
}

std::shared_ptr<cluster::IterationMemo> make_memo(
    std::function<void(const std::function<void()>& work)> turns) {
  return std::make_shared<cluster::IterationMemo>(std::move(turns));
}

metrics::PolicyResult run_policy(const Spec& spec, std::size_t policy_index,
                                 metrics::RunFacts& facts, const RunCompany& company) {
  const World& world = spec.world();
  RAILYARD_CHECK(policy_index < world.policies.size(), "policy set {} of {}", policy_index,
                 world.policies.size());
  const PolicySpec& policy = world.policies[policy_index];
  const PolicyParts parts = make_parts(world, policy);
  const auto traffic = config::entry_of(cluster::traffic_catalog(), policy.traffic.name)
                           .create(policy.traffic.parameters);
  cluster::Settings settings;
  settings.topology = &world.topology;
  settings.network = world.network;
  settings.limits = world.limits;
  settings.scheduler = parts.scheduler.get();
  settings.predictor = parts.predictor.get();
  settings.traffic = traffic.get();
  settings.checkpoints = policy.checkpoints;
  settings.failures = world.failures;
  settings.rules = world.rules;
  settings.interval = policy.interval;
  settings.decision_latency = policy.decision_latency;
  settings.horizon = world.horizon;
  settings.background = world.background;
  settings.streams = RngStreams(world.seed);
  settings.want_links =
      std::find(world.from_trace.begin(), world.from_trace.end(), false) != world.from_trace.end();
  settings.memo = company.memo;
  settings.want_history = company.detail != nullptr;
  const std::vector<cluster::JobSpec> jobs = jobs_under(world, policy);
  ProgressObserver observer(company.progress);
  const cluster::Outcome outcome = simulated(jobs, settings, observer, policy);
  facts.events += outcome.events + outcome.engine.events;
  facts.flows += outcome.engine.network.flows_started;
  facts.solves += outcome.engine.network.solves;
  facts.flows_touched += outcome.engine.network.flows_touched;
  facts.iterations_simulated += outcome.engine.iterations;
  facts.memo_hits += outcome.memo_hits;
  facts.memo_misses += outcome.memo_misses;
  facts.contended_epochs += outcome.contended_epochs;
  if (company.detail != nullptr) *company.detail = policy_detail(world, jobs, outcome);
  return policy_result(world, policy, parts.placement.get(), jobs, outcome);
}

metrics::RunResult assemble(const Spec& spec, std::vector<metrics::PolicyResult> policies) {
  const World& world = spec.world();
  metrics::RunResult result;
  result.version = metrics::version();
  result.scenario = world.name;
  result.description = world.description;
  result.seed = world.seed;
  result.baseline = world.policies[world.baseline].name;
  result.notes = world.notes;
  result.cluster = cluster_result(world);
  result.policies = std::move(policies);
  fill_common_job_metrics(result);
  result.digest = metrics::digest_of(result);
  return result;
}

}  // namespace railyard::scenario
