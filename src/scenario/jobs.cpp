// Jobs of a scenario: given inline, or from a trace of recorded jobs.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "railyard/collective/collective.hpp"
#include "railyard/workload/compression.hpp"
#include "railyard/workload/job_profile.hpp"
#include "railyard/workload/job_reader.hpp"
#include "railyard/workload/micro_benchmark.hpp"
#include "railyard/workload/recommender.hpp"
#include "railyard/workload/stencil.hpp"
#include "railyard/workload/trace_job.hpp"
#include "training_job.hpp"
#include "world.hpp"

namespace railyard::scenario {
namespace {

using config::Document;
using config::Errors;
using config::Node;
using config::Range;
using config::Reader;

constexpr std::int64_t kPriorityMax = 1'000'000'000;

void read_transformer(Reader& job, const Node& model, std::uint32_t gpus, World& world,
                      cluster::JobSpec& out) {
  const workload::TrainingSpec spec = read_training(job, model);
  const workload::Parallelism& parallelism = spec.parallelism;
  out.shape =
      scheduler::GangShape{gpus, parallelism.tensor, parallelism.pipeline, parallelism.replicas()};
  if (!job.errors().empty()) return;
  if (spec.parallelism.ranks() != gpus) {
    const std::string context =
        parallelism.context > 1 ? fmt::format(" × context {}", parallelism.context) : "";
    job.fail("parallelism",
             fmt::format("tensor {} × pipeline {} × data {}{} is {} GPUs, not the {} of \"gpus\"",
                         parallelism.tensor, parallelism.pipeline, parallelism.data, context,
                         static_cast<std::uint64_t>(parallelism.tensor) * parallelism.pipeline *
                             parallelism.replicas(),
                         gpus));
    return;
  }
  for (const std::string& problem : workload::check_training(spec, *world.gpu)) {
    job.fail("parallelism", problem);
  }
  if (!job.errors().empty()) return;
  world.gradient_bytes.back() = spec.gradient_bytes;
  world.precision.back() = spec.precision;
  out.dag =
      std::make_shared<const workload::IterationDag>(workload::build_iteration(spec, *world.gpu));
}

void read_recommender(Reader& job, const Node& model, std::uint32_t gpus, World& world,
                      cluster::JobSpec& out) {
  const auto spec = workload::read_recommender(model, job.errors());
  const auto batch = static_cast<std::uint32_t>(
      job.required<std::int64_t>("global_batch", Range<std::int64_t>{1, UINT32_MAX}));
  out.shape = scheduler::GangShape{gpus, 1, 1, gpus};
  if (!job.errors().empty()) return;
  for (const std::string& problem : workload::check_recommender(spec, gpus, batch, *world.gpu)) {
    job.fail("workload", problem);
  }
  if (!job.errors().empty()) return;
  world.gradient_bytes.back() = 4;
  world.precision.back() = spec.precision;
  out.dag = std::make_shared<const workload::IterationDag>(
      workload::build_recommender(spec, gpus, batch, *world.gpu));
}

void read_stencil(Reader& job, const Node& model, std::uint32_t gpus, World& world,
                  cluster::JobSpec& out) {
  const auto spec = workload::read_stencil(model, job.errors());
  std::array<std::uint32_t, 3> grid = workload::grid_of(spec, gpus);
  if (const auto given = job.maybe<std::vector<std::int64_t>>("grid")) {
    grid = {1, 1, 1};
    std::uint64_t product = 1;
    for (std::size_t d = 0; d < given->size(); ++d) {
      const std::int64_t ranks = (*given)[d];
      if (d >= grid.size() || ranks < 1 || ranks > kRanksMax) {
        job.fail("grid", "expected the ranks in one to three dimensions");
        return;
      }
      grid[d] = static_cast<std::uint32_t>(ranks);
      product *= static_cast<std::uint64_t>(ranks);
    }
    if (product != gpus)
      job.fail("grid", fmt::format("{} ranks, not the {} of \"gpus\"", product, gpus));
  }
  // Consecutive ranks are neighbours in x.
  out.shape = scheduler::GangShape{gpus, 1, 1, gpus};
  if (!job.errors().empty()) return;
  for (const std::string& problem : workload::check_stencil(spec, grid, *world.gpu))
    job.fail("workload", problem);
  if (!job.errors().empty()) return;
  world.precision.back() = workload::Precision::fp32;
  out.dag = std::make_shared<const workload::IterationDag>(
      workload::build_stencil(spec, grid, *world.gpu));
}

void read_inline_job(const Node& node, Errors& errors, World& world, std::set<std::string>& names) {
  Reader job(node, errors);
  cluster::JobSpec spec;
  world.gradient_bytes.push_back(0);
  world.precision.push_back(workload::Precision::bf16);
  spec.name = job.required<std::string>("name");
  if (!names.insert(spec.name).second) {
    job.fail("name", fmt::format("two jobs are called \"{}\"; names are unique", spec.name));
  }
  const auto gpus = static_cast<std::uint32_t>(
      job.required<std::int64_t>("gpus", Range<std::int64_t>{1, kRanksMax}));
  spec.submitted = TimePoint(job.optional<Duration>("arrival", Duration{}));
  spec.iterations =
      job.optional<std::int64_t>("iterations", 1, Range<std::int64_t>{1, 1'000'000'000});
  spec.priority = static_cast<std::int32_t>(
      job.optional<std::int64_t>("priority", 0, Range<std::int64_t>{-kPriorityMax, kPriorityMax}));
  spec.user = job.optional<std::string>("user", "");
  spec.group = job.optional<std::string>("group", "");
  const std::size_t busy = world.background.size() * world.topology.hosts().front().gpus;
  if (gpus > world.topology.gpu_count() - busy) {
    job.fail(
        "gpus",
        fmt::format("the job needs {} GPUs; the cluster has {}{}", gpus, world.topology.gpu_count(),
                    busy > 0 ? fmt::format(", of which {} are occupied", busy) : std::string()));
  }
  const auto given = job.required_child("workload");
  const Node workload = given ? config::resolve(*given, errors) : Node{};
  if (workload) {
    const auto kind = workload.is_object() ? workload.find("kind") : std::nullopt;
    const std::string word = kind && kind->is_string() ? kind->string() : "transformer";
    if (word == "collective" || word == "p2p") {
      const std::size_t before = errors.count();
      const auto micro = workload::read_micro_benchmark(workload, errors);
      const std::uint32_t per_host = std::min(world.topology.hosts().front().gpus, gpus);
      for (const std::string& problem : workload::check_micro_benchmark(micro, gpus, per_host)) {
        job.fail("gpus", problem);
      }
      spec.shape = scheduler::GangShape{gpus, per_host, 1, std::max(1U, gpus / per_host)};
      if (errors.count() == before) {
        spec.dag = std::make_shared<const workload::IterationDag>(
            workload::build_micro_benchmark(micro, gpus, per_host));
      }
    } else if (word == "recommender") {
      read_recommender(job, workload, gpus, world, spec);
    } else if (word == "stencil") {
      read_stencil(job, workload, gpus, world, spec);
    } else {
      read_transformer(job, workload, gpus, world, spec);
    }
  }
  // Without its workload nobody knows which other keys a job may have.
  if (workload) job.finish();
  world.jobs.push_back(std::move(spec));
  world.from_trace.push_back(false);
}

/// {"profile", "load", "span", "gpus", "seed"}: jobs drawn from published distributions.
workload::JobTrace drawn_jobs(Reader& trace, const World& world) {
  const auto node = trace.required_child("profile");
  const std::size_t before = trace.errors().count();
  const Node given = node ? config::resolve(*node, trace.errors()) : Node{};
  workload::JobProfile profile;
  if (given) profile = workload::read_job_profile(given, trace.errors());
  workload::GeneratedLoad wanted;
  wanted.load = trace.required<double>("load", Range<double>{1e-6, 1e3});
  wanted.span = trace.required<Duration>("span");
  if (wanted.span <= Duration{}) trace.fail("span", "must be more than nothing");
  const auto gpus = static_cast<std::int64_t>(world.topology.gpu_count());
  wanted.gpus = static_cast<std::uint32_t>(
      trace.optional<std::int64_t>("gpus", gpus, Range<std::int64_t>{1, 10'000'000}));
  wanted.seed = static_cast<std::uint64_t>(trace.optional<std::int64_t>(
      "seed", static_cast<std::int64_t>(world.seed), Range<std::int64_t>{0, INT64_MAX}));
  trace.finish();
  if (!given || trace.errors().count() != before) return {};
  try {
    return workload::generate_jobs(profile, wanted);
  } catch (const config::ConfigError& error) {
    trace.fail("load", error.lines().front());
    return {};
  }
}

/// The jobs of "job_trace": a file, an object with a file and its reader, or a profile.
workload::JobTrace trace_of(Reader& scenario, const World& world) {
  const auto node = scenario.child("job_trace");
  if (!node) return {};
  std::filesystem::path path;
  Node reader;
  if (node->is_object()) {
    Reader trace(*node, scenario.errors());
    if (trace.has("profile")) return drawn_jobs(trace, world);
    path = trace.required<std::filesystem::path>("file");
    reader = trace.child("reader").value_or(Node{});
    trace.finish();
  } else if (!config::decode(*node, scenario.errors(), path)) {
    return {};
  }
  if (path.empty()) return {};
  if (!std::filesystem::exists(path)) {
    scenario.fail("job_trace",
                  fmt::format("no such file: {} (paths are relative to the file they stand in)",
                              path.generic_string()));
    return {};
  }
  return workload::read_jobs({path}, reader);
}

void read_trace(Reader& scenario, World& world, const std::set<std::string>& names) {
  const double scale = scenario.optional<double>("arrival_scale", 1.0, Range<double>{1e-6, 1e6});
  if (scenario.has("arrival_scale") && !scenario.has("job_trace"))
    scenario.fail("arrival_scale", "scales the arrivals of a \"job_trace\", which is missing");
  workload::JobTrace trace = trace_of(scenario, world);
  if (scale != 1) workload::scale_arrivals(trace.jobs, scale);
  world.warnings = trace.notes;
  for (const std::string& line : workload::skipped_text(trace)) world.warnings.push_back(line);
  std::map<std::uint32_t,
           std::pair<scheduler::GangShape, std::shared_ptr<const workload::IterationDag>>>
      kinds;
  const std::int64_t gradient_bytes = workload::TrainingSpec{}.gradient_bytes;
  for (workload::TraceJob& record : trace.jobs) {
    auto& kind = kinds[record.gpus];
    if (!kind.second) {
      const workload::TrainingSpec spec = workload::training_of(record.gpus);
      const workload::Parallelism& parallelism = spec.parallelism;
      // The rule rounds gangs of more than a host up to whole hosts, as placement does.
      kind.first = scheduler::GangShape{parallelism.ranks(), parallelism.tensor,
                                        parallelism.pipeline, parallelism.data};
      kind.second = std::make_shared<const workload::IterationDag>(
          workload::build_iteration(spec, *world.gpu));
    }
    if (names.contains(record.name)) {
      scenario.fail("job_trace",
                    fmt::format("a job of \"jobs\" and one of the trace are both called "
                                "\"{}\"; names are unique",
                                record.name));
      return;
    }
    cluster::JobSpec job;
    job.name = std::move(record.name);
    job.shape = kind.first;
    job.dag = kind.second;
    job.submitted = TimePoint(record.submit);
    job.recorded = record.duration;
    job.priority = record.priority;
    job.user = std::move(record.user);
    job.group = std::move(record.group);
    job.kind = std::move(record.type);
    world.jobs.push_back(std::move(job));
    world.from_trace.push_back(true);
    world.gradient_bytes.push_back(gradient_bytes);
    world.precision.push_back(workload::Precision::bf16);
  }
}

}  // namespace

std::vector<cluster::JobSpec> jobs_under(const World& world, const PolicySpec& policy) {
  std::vector<cluster::JobSpec> jobs = world.jobs;
  const auto compression =
      config::entry_of(workload::compression_catalog(), policy.compression.name)
          .create(policy.compression.parameters);
  if (policy.collectives == collective::PartialChoices{} && !compression) return jobs;
  using Dag = workload::IterationDag;
  std::map<const Dag*, std::shared_ptr<const Dag>> copies;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    std::shared_ptr<const Dag>& copy = copies[jobs[j].dag.get()];
    if (!copy) {
      Dag changed =
          compression && world.gradient_bytes[j] > 0
              ? workload::compress(*jobs[j].dag, *compression, world.gradient_bytes[j], *world.gpu)
              : *jobs[j].dag;
      changed.collectives = collective::changed(changed.collectives, policy.collectives);
      copy = std::make_shared<const Dag>(std::move(changed));
    }
    jobs[j].dag = copy;
  }
  return jobs;
}

void read_jobs(Reader& scenario, World& world) {
  std::set<std::string> names;
  const auto jobs = scenario.child("jobs");
  if (jobs && !jobs->is_array()) {
    scenario.fail("jobs", "expected an array of jobs");
  } else if (jobs) {
    for (std::size_t i = 0; i < jobs->size(); ++i) {
      read_inline_job(jobs->at(i), scenario.errors(), world, names);
    }
  }
  read_trace(scenario, world, names);
  if (!scenario.has("jobs") && !scenario.has("job_trace")) {
    scenario.errors().add(scenario.node(),
                          "the scenario has no work: give \"jobs\" or \"job_trace\"");
  } else if (world.jobs.empty() && scenario.errors().empty()) {
    scenario.errors().add(scenario.node(), "the scenario has no jobs");
  }
}

}  // namespace railyard::scenario
