// Background occupation: hosts that are busy with something that is not simulated, so that a
// cluster is found fragmented.
//
// How many hosts of each minipod are busy is given, or follows from a share of the cluster. Which
// hosts of a minipod they are is drawn at random, every subset equally likely, so leaves are
// fragmented too. A minipod draws from a generator of its own: changing one count leaves the busy
// hosts of the other minipods alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "railyard/core/rng.hpp"
#include "railyard/scheduler/inventory.hpp"
#include "railyard/topology/graph.hpp"

namespace railyard::scheduler {

/// Whole hosts to take, ascending, `hosts_per_minipod[m]` of minipod m. ConfigError when the list
/// does not have one entry a minipod or asks for more hosts than a minipod has.
[[nodiscard]] std::vector<HostSlot> occupy(const topology::Topology& topology,
                                           std::span<const std::uint32_t> hosts_per_minipod,
                                           Rng rng);

/// Whole hosts to take, ascending: `share` of all hosts, uneven over the minipods as
/// `uneven_counts` draws them.
[[nodiscard]] std::vector<HostSlot> occupy(const topology::Topology& topology, double share,
                                           Rng rng);

/// Busy hosts a minipod. The total is share × hosts, rounded to the nearest, exactly. Each minipod
/// gets a weight drawn uniformly from [0.5, 1.5] times its hosts (the unevenness of reference
/// simulations of Arnold), the total is divided in proportion, never beyond a minipod's hosts, and
/// what rounding leaves goes host by host to the minipod furthest below its part. ConfigError when
/// the share is not within [0, 1].
[[nodiscard]] std::vector<std::uint32_t> uneven_counts(const topology::Topology& topology,
                                                       double share, Rng rng);

}  // namespace railyard::scheduler
