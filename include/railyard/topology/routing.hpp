// Which links a flow between two GPUs takes.
//
// Two layers. A PathFinder knows the fabric: the equal-cost shortest up-down paths between two
// GPUs, in closed form for the regular fabrics (no all-pairs tables), by Boost.Graph for arbitrary
// ones. A Routing is the policy that chooses among them:
//   shortest  the first of the equal paths, always
//   static    destination modulo the number of choices at each switch (D-mod-k, as the subnet
//             managers of InfiniBand do)
//   ecmp      a seeded hash of the connection's 5-tuple at each switch; `queue_pairs` split a
//             connection evenly
//   spray     evenly over all equal paths (per-packet spraying as a fluid)
// A pure function of its arguments: the same connection always takes the same path, so iterations
// repeat. Paths of arbitrary graphs are searched on demand and kept inside the Topology: do not
// share one between threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "railyard/config/catalog.hpp"
#include "railyard/core/ids.hpp"
#include "railyard/topology/graph.hpp"

namespace railyard::topology {

/// What one unit of a flow's rate takes on a link (1 = the whole rate crosses it).
struct LinkUse {
  LinkId link{};
  double usage = 1.0;
};

struct Route {
  std::vector<LinkUse> links;  ///< in order of travel; each link at most once
  Duration latency{};          ///< sum over the longest of the paths used
  Tier tier = Tier::nvlink;    ///< highest tier touched
  void clear() {
    links.clear();
    latency = Duration{};
    tier = Tier::nvlink;
  }
};

/// Chooses one of `count` equal next hops at a switch. Called in order of travel; `hop` counts
/// choices from 0.
class HopChooser {
 public:
  virtual ~HopChooser() = default;
  virtual std::uint32_t choose(NodeId at, std::uint32_t hop, std::uint32_t count) = 0;
  /// The same on the way down, where a forwarding table may know only the destination.
  virtual std::uint32_t choose_down(NodeId at, std::uint32_t hop, std::uint32_t count) {
    return choose(at, hop, count);
  }
};

class PathFinder {
 public:
  virtual ~PathFinder() = default;
  /// Appends the links from one GPU to another; `chooser` decides wherever equal next hops exist.
  /// Two GPUs of one host use the NVLink island. source != destination.
  virtual void path(GpuId source, GpuId destination, HopChooser& chooser,
                    std::vector<LinkId>& out) const = 0;
  /// Appends every link of every equal path with the share of the traffic that an even split at
  /// each switch sends over it.
  virtual void spread(GpuId source, GpuId destination, std::vector<LinkUse>& out) const = 0;
  /// Number of distinct equal-cost paths.
  [[nodiscard]] virtual std::uint64_t path_count(GpuId source, GpuId destination) const = 0;
};

/// A connection between two GPUs: what the 5-tuple hash sees beside the end points.
struct Connection {
  GpuId source{};
  GpuId destination{};
  std::uint64_t label = 0;  ///< distinguishes connections between the same two GPUs (job, channel)
};

class Routing {
 public:
  virtual ~Routing() = default;
  /// Fills `out` (cleared first). Pure: equal connections give equal routes.
  virtual void route(const Connection& connection, Route& out) const = 0;
  /// True when routes depend on a hash of identities, so that relabelling GPUs may change results.
  [[nodiscard]] virtual bool hashes() const = 0;
};

using RoutingFactory = std::unique_ptr<Routing> (*)(const Topology&, const config::Parameters&);
[[nodiscard]] std::span<const config::CatalogEntry<RoutingFactory>> routing_catalog();

}  // namespace railyard::topology
