// One job, or one collective, alone on a fabric whose first GPUs it takes: how rows and plans run.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "railyard/core/units.hpp"
#include "railyard/training/iteration_engine.hpp"
#include "railyard/training/program.hpp"

namespace railyard::study {

/// From here on bandwidth decides how long a collective takes, not latency.
inline constexpr Bytes kLarge{std::int64_t{16} << 20U};

/// Packets spread over all equal paths, so that no hash collides.
[[nodiscard]] training::NetworkSettings sprayed(const topology::Topology& fabric);
/// GPUs 0 … count − 1.
[[nodiscard]] std::vector<GpuId> first_gpus(std::uint32_t count);
/// The steady state of a DAG on the first `gpus` GPUs.
[[nodiscard]] training::JobIterations run_alone(std::shared_ptr<const workload::IterationDag> dag,
                                                std::uint32_t gpus,
                                                const topology::Topology& fabric);

}  // namespace railyard::study
