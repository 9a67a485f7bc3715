// Where the first job goes on the cluster as the scenario starts: decisions without a simulation.
#pragma once

#include <vector>

#include "railyard/scheduler/placement.hpp"
#include "world.hpp"

namespace railyard::scenario {

/// The placement that a policy set gives the first job. Throws ConfigError where it finds none.
[[nodiscard]] scheduler::Placement placed(const World& world, std::size_t policy);
/// GPU of every rank of it.
[[nodiscard]] std::vector<GpuId> placed_ranks(const World& world, std::size_t policy);

}  // namespace railyard::scenario
