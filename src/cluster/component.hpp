// Jobs on GPUs, and what they take together where they share links.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "iteration_oracle.hpp"
#include "railyard/cluster/cluster.hpp"

namespace railyard::cluster {

/// A job's DAG on the GPUs of a placement; `job` separates its connections in the routing hash.
[[nodiscard]] std::shared_ptr<const training::Program> bind_placement(
    const JobSpec& spec, const scheduler::Placement& placement, std::uint64_t job,
    const Settings& settings);

struct Member {
  std::shared_ptr<const training::Program> program;
  Duration alone{};           ///< its iteration
  std::int32_t declared = 0;  ///< the job's priority
};

/// Steady state of the members of a component, who goes first on shared links being the traffic
/// policy's choice.
[[nodiscard]] const training::EngineResult& together(std::span<const Member> members,
                                                     const Settings& settings,
                                                     IterationOracle& oracle);

}  // namespace railyard::cluster
