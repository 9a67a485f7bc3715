#include "component.hpp"

#include <vector>

namespace railyard::cluster {

std::shared_ptr<const training::Program> bind_placement(const JobSpec& spec,
                                                        const scheduler::Placement& placement,
                                                        std::uint64_t job,
                                                        const Settings& settings) {
  return training::bind_job(
      spec.dag, scheduler::gpu_of_rank(placement, spec.shape, *settings.topology),
      *settings.topology, settings.network, connection_label(settings.streams.seed(), job));
}

namespace {

/// Empty: all are alike.
std::vector<std::uint8_t> priorities_of(std::span<const Member> members, const Settings& settings) {
  if (settings.traffic == nullptr || members.size() < 2) return {};
  std::vector<TrafficFacts> facts;
  for (const Member& member : members) {
    facts.push_back(
        {.declared = member.declared,
         .gpu_ticks = training::busy_gpu_ticks(*member.program),
         .link_ticks = training::fullest_link_ticks(*member.program, *settings.topology)});
  }
  return settings.traffic->priorities(facts,
                                      training::priority_levels(settings.network.gradients_last));
}

}  // namespace

const training::EngineResult& together(std::span<const Member> members, const Settings& settings,
                                       IterationOracle& oracle) {
  std::vector<std::shared_ptr<const training::Program>> programs;
  std::vector<Duration> alone;
  for (const Member& member : members) {
    programs.push_back(member.program);
    alone.push_back(member.alone);
  }
  const std::vector<std::uint8_t> priorities = priorities_of(members, settings);
  return oracle.steady_state(programs, {alone, priorities});
}

}  // namespace railyard::cluster
