// Quotas, drains and maintenance windows of a scenario (docs/reference/schedulers.md).
#pragma once

#include <string>
#include <vector>

#include "world.hpp"

namespace railyard::scenario {

/// Decodes `quotas`, `drains` and `maintenance` into world.rules. Jobs, background and policies are
/// there.
void read_rules(config::Reader& scenario, World& world);

/// Hosts as Slurm lists them ("node[01-16]"), ascending; empty, and an error recorded at the node,
/// where one is unknown or stands there twice.
[[nodiscard]] std::vector<HostId> hosts_named(const config::Node& node, config::Errors& errors,
                                              const std::vector<std::string>& expressions,
                                              const topology::Topology& topology);

}  // namespace railyard::scenario
