// Which running jobs can slow each other down.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "railyard/topology/graph.hpp"
#include "railyard/training/program.hpp"

namespace railyard::cluster {

/// Partitions jobs into components that share a link which they can fill together. A link that
/// the sum of all demands cannot fill never binds; dropping it is exact. Components in order of
/// their first job; jobs in the order given.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> components(
    std::span<const std::vector<training::LinkDemand>* const> demands,
    const topology::Topology& topology);

}  // namespace railyard::cluster
