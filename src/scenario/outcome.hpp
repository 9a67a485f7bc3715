// From what the cluster did to metrics: definitions of the contract (docs/model.md, "Metrics").
#pragma once

#include <vector>

#include "railyard/cluster/cluster.hpp"
#include "railyard/metrics/run_result.hpp"
#include "world.hpp"

namespace railyard::scenario {

[[nodiscard]] metrics::PolicyResult policy_result(const World& world, const PolicySpec& policy,
                                                  const scheduler::PlacementPolicy& placement,
                                                  const std::vector<cluster::JobSpec>& jobs,
                                                  const cluster::Outcome& outcome);

/// JCT, queue and slowdown figures, over the jobs that finished under every policy set.
void fill_common_job_metrics(metrics::RunResult& result);

}  // namespace railyard::scenario
