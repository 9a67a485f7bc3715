// Recordings of one iteration: what `trace record` writes and `trace replay` runs again.
#include <fmt/format.h>

#include <utility>

#include "placed.hpp"
#include "railyard/core/check.hpp"
#include "railyard/topology/builder.hpp"
#include "railyard/training/iteration_engine.hpp"
#include "recording.hpp"
#include "world.hpp"

namespace railyard::scenario {
namespace {

std::vector<workload::TaskTimes> times_of(const std::shared_ptr<const training::Program>& program,
                                          const topology::Topology& topology) {
  const training::TaskTimes ticks = training::run_once(program, topology);
  std::vector<workload::TaskTimes> times;
  for (std::size_t i = 0; i < ticks.start.size(); ++i) {
    times.push_back({.start = Duration(ticks.start[i]), .end = Duration(ticks.end[i])});
  }
  return times;
}

}  // namespace

workload::Recording record(const Spec& spec, std::size_t policy) {
  const World& world = spec.world();
  workload::Recording recording;
  recording.description = fmt::format(
      "recorded by railyard {} from scenario {}, policy set {}, job {}", metrics::version(),
      world.name, world.policies[policy].name, world.jobs.front().name);
  const std::vector<GpuId> gpus = placed_ranks(world, policy);
  std::vector<std::size_t> numbers;
  for (const GpuId gpu : gpus) numbers.push_back(index(gpu));
  recording.context =
      fmt::format(R"({{"topology": {}, "network": {}, "seed": {}, "gpus": [{}]}})",
                  world.topology_text, world.network_text, world.seed, fmt::join(numbers, ","));
  const auto dag = jobs_under(world, world.policies[policy]).front().dag;
  recording.dag = *dag;
  const auto program = training::bind_job(dag, gpus, world.topology, world.network,
                                          cluster::connection_label(world.seed, 0));
  recording.times = times_of(program, world.topology);
  return recording;
}

BoundRecording bind_recording(const workload::Recording& recording) {
  if (recording.context.empty()) {
    throw config::ConfigError(
        "the recording has no \"context\": it does not say on which GPUs of which fabric it ran");
  }
  const auto context = config::Document::parse_text(recording.context, "recording /context");
  config::Errors errors;
  config::Reader reader(context.root(), errors);
  BoundRecording out;
  World& world = out.world;
  if (const auto node = reader.required_child("topology")) {
    world.topology = topology::build(*node, errors);
  }
  std::vector<GpuId> gpus;
  if (const auto given = reader.maybe<std::vector<std::int64_t>>("gpus")) {
    for (const std::int64_t gpu : *given) {
      if (gpu < 0 || static_cast<std::uint64_t>(gpu) >= world.topology.gpu_count()) {
        reader.fail("gpus", fmt::format("a rank sits on GPU {}; the fabric has {}", gpu,
                                        world.topology.gpu_count()));
      }
      gpus.push_back(static_cast<GpuId>(gpu));
    }
    if (gpus.size() != recording.dag.ranks)
      reader.fail("gpus", fmt::format("{} GPUs for {} ranks", gpus.size(), recording.dag.ranks));
  } else {
    for (std::uint32_t rank = 0; rank < recording.dag.ranks; ++rank)
      gpus.push_back(static_cast<GpuId>(rank));
    if (gpus.size() > world.topology.gpu_count() && errors.empty()) {
      reader.fail("topology", fmt::format("{} ranks want as many GPUs; the fabric has {}",
                                          gpus.size(), world.topology.gpu_count()));
    }
  }
  const std::int64_t seed = reader.required<std::int64_t>("seed", {.min = 0});
  const auto network = reader.required_child("network");
  if (network && errors.empty()) decode_network(*network, errors, world);
  reader.finish();
  errors.throw_if_any();
  const auto dag = std::make_shared<const workload::IterationDag>(recording.dag);
  const std::uint64_t label = cluster::connection_label(static_cast<std::uint64_t>(seed), 0);
  out.program = training::bind_job(dag, std::move(gpus), world.topology, world.network, label);
  return out;
}

std::vector<workload::TaskTimes> replay(const workload::Recording& recording) {
  const BoundRecording bound = bind_recording(recording);
  return times_of(bound.program, bound.world.topology);
}

}  // namespace railyard::scenario
