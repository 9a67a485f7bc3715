// Traffic policies: which of the jobs that share links goes first on them. Strict priorities
// (railyard/network/flow_network.hpp), set anew whenever the jobs of a component change.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "railyard/config/catalog.hpp"

namespace railyard::cluster {

/// What a monitor of the cluster knows of a running job.
struct TrafficFacts {
  std::int32_t declared = 0;  ///< the job's priority, higher goes first
  double gpu_ticks = 0;       ///< computing, summed over its GPUs, one iteration
  /// Transfer time of one iteration on the link that it loads most, if it had that to itself.
  double link_ticks = 0;
};

class TrafficPolicy {
 public:
  virtual ~TrafficPolicy() = default;
  /// Priorities of jobs of one component, below `levels` ≥ 1; higher goes first.
  [[nodiscard]] virtual std::vector<std::uint8_t> priorities(std::span<const TrafficFacts> jobs,
                                                             std::uint32_t levels) const = 0;
};

/// Null: all are alike.
using TrafficFactory = std::unique_ptr<TrafficPolicy> (*)(const config::Parameters&);
[[nodiscard]] std::span<const config::CatalogEntry<TrafficFactory>> traffic_catalog();

}  // namespace railyard::cluster
