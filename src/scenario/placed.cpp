#include "placed.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "railyard/scenario/scenario.hpp"

namespace railyard::scenario {

scheduler::Placement placed(const World& world, std::size_t policy_index) {
  const PolicySpec& policy = world.policies[policy_index];
  const auto placement = make_parts(world, policy).placement;
  if (placement == nullptr) {
    throw config::ConfigError(
        fmt::format("policy set \"{}\" names no placement: its scheduler \"{}\" decides with all "
                    "jobs in view, which `railyard run` asks it to",
                    policy.name, policy.scheduler.name));
  }
  scheduler::Inventory inventory(world.topology);
  for (const scheduler::HostSlot& slot : world.background) inventory.take(slot);
  for (const scheduler::Outage& outage : world.rules.outages) {
    if (outage.from > TimePoint{}) continue;
    for (const HostId host : outage.hosts) inventory.take({host, inventory.free_mask(host)});
  }
  cluster::Settings settings;
  settings.topology = &world.topology;
  settings.network = world.network;
  settings.limits = world.limits;
  settings.streams = RngStreams(world.seed);
  const std::vector<cluster::JobSpec> jobs = jobs_under(world, policy);
  const auto cost = cluster::cost_on_idle_cluster(jobs, settings);
  auto found = placement->place_by_cost(jobs.front().shape, inventory,
                                        settings.streams.stream("placement", 0), JobId{}, *cost);
  if (!found) {
    throw config::ConfigError(fmt::format("policy set \"{}\" finds no place for job \"{}\"",
                                          policy.name, world.jobs.front().name));
  }
  return std::move(*found);
}

std::vector<GpuId> placed_ranks(const World& world, std::size_t policy) {
  return scheduler::gpu_of_rank(placed(world, policy), world.jobs.front().shape, world.topology);
}

PlacedJob place(const Spec& spec, std::size_t policy) {
  const World& world = spec.world();
  const scheduler::GangShape& shape = world.jobs.front().shape;
  PlacedJob out;
  out.job = world.jobs.front().name;
  out.policy = world.policies[policy].name;
  out.tensor = shape.tensor;
  out.pipeline = shape.pipeline;
  out.data = shape.data;
  for (const GpuId gpu : placed_ranks(world, policy)) {
    const HostId host = world.topology.host_of(gpu);
    const auto first = index(world.topology.host(host).first_gpu);
    out.ranks.push_back(
        {world.topology.host_name(host), static_cast<std::uint32_t>(index(gpu) - first)});
  }
  return out;
}

}  // namespace railyard::scenario
