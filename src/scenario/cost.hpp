// Prices of a scenario and what a run costs by them (docs/reference/cost.md).
#pragma once

#include <vector>

#include "railyard/metrics/run_result.hpp"
#include "world.hpp"

namespace railyard::scenario {

/// Decodes `cost`. The topology has been built, the GPU is known.
void read_cost(config::Reader& scenario, World& world);
/// The policy's cost, its jobs' and the metrics that follow; nothing where there are no prices.
void add_costs(const World& world, const std::vector<cluster::JobSpec>& jobs,
               const cluster::Outcome& outcome, metrics::PolicyResult& out);

}  // namespace railyard::scenario
