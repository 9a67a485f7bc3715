// From what the cluster did to metrics: definitions of the contract (docs/model.md, "Metrics").
#pragma once

#include <optional>
#include <vector>

#include "railyard/cluster/cluster.hpp"
#include "railyard/metrics/detail.hpp"
#include "railyard/metrics/run_result.hpp"
#include "world.hpp"

namespace railyard::scenario {

/// `placement` is null where the scheduler needs none.
[[nodiscard]] metrics::PolicyResult policy_result(const World& world, const PolicySpec& policy,
                                                  const scheduler::PlacementPolicy* placement,
                                                  const std::vector<cluster::JobSpec>& jobs,
                                                  const cluster::Outcome& outcome);

/// What a page shows of it beside that.
[[nodiscard]] metrics::PolicyDetail policy_detail(const World& world,
                                                  const std::vector<cluster::JobSpec>& jobs,
                                                  const cluster::Outcome& outcome);
/// The largest job with an iteration of its own that ran, by its index; empty: none did.
[[nodiscard]] std::optional<std::size_t> largest_inline(const std::vector<cluster::JobSpec>& jobs,
                                                        const cluster::Outcome& outcome);
/// The cluster that jobs found, for who explains where they went.
[[nodiscard]] metrics::ClusterResult cluster_result(const World& world);

/// JCT, queue and slowdown figures, over the jobs that finished under every policy set.
void fill_common_job_metrics(metrics::RunResult& result);

}  // namespace railyard::scenario
