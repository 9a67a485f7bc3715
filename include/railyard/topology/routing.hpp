// Which links a flow between two GPUs takes.
//
// Two layers. A PathFinder knows the fabric: the equal-cost shortest paths between two GPUs, in
// closed form for the regular fabrics (no all-pairs tables), by Boost.Graph for arbitrary ones, and
// where a fabric has them the detours of Valiant. A Routing is the policy that chooses among them:
//   shortest  the first of the equal paths, always
//   static    destination modulo the number of choices at each switch (D-mod-k, as the subnet
//             managers of InfiniBand do)
//   ecmp      a seeded hash of the connection at each switch; `queue_pairs` split a connection
//             evenly; `enhanced` says whether queue pairs hash apart, `polarized` whether all
//             switches hash alike
//   spray     evenly over all equal paths (per-packet spraying as a fluid)
//   valiant   through a random intermediate group, whatever the load
//   ugal      the minimal path or a detour, whichever has less in front of it when the flow starts
//   adaptive  the least loaded of the equal paths when the flow starts
// The last two need the load (`needs_load`) and are asked by `route_by_load` at the start of every
// flow; the others are pure functions of the connection: it always takes the same path, so
// iterations repeat. Paths given link by link (source routing) are no policy: who has them needs no
// Routing. Constant after construction: one may be shared between threads.
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
  /// Number of distinct equal-cost paths; 2⁶⁴ − 1 where there are that many or more.
  [[nodiscard]] virtual std::uint64_t path_count(GpuId source, GpuId destination) const = 0;
  /// Places that a longer path may be led through: groups of a dragonfly, switches of a full mesh
  /// or torus. 0 where there are none, as on trees, whose roots already are a random middle.
  [[nodiscard]] virtual std::uint32_t detours(GpuId source, GpuId destination) const;
  /// Appends the minimal path to detour `number` and the minimal one from there on. number <
  /// detours(source, destination). No link comes twice.
  virtual void detour(GpuId source, GpuId destination, std::uint32_t number, HopChooser& chooser,
                      std::vector<LinkId>& out) const;
};

/// A connection between two GPUs: what the 5-tuple hash sees beside the end points.
struct Connection {
  GpuId source{};
  GpuId destination{};
  std::uint64_t label = 0;  ///< distinguishes connections between the same two GPUs (job, channel)
};

/// What a routing may ask about the network at the moment a flow starts.
class LoadView {
 public:
  virtual ~LoadView() = default;
  /// Running flows that use the link, each counted by its usage of it (a flow that is split over
  /// two links counts half on each). The flow that asks is not among them.
  [[nodiscard]] virtual double flows(LinkId link) const = 0;
};

class Routing {
 public:
  virtual ~Routing() = default;
  /// Fills `out` (cleared first). Pure: equal connections give equal routes. Of a routing that
  /// needs the load: the route on an idle network.
  virtual void route(const Connection& connection, Route& out) const = 0;
  /// True when routes depend on the load. Who runs flows then calls `route_by_load` at the start
  /// of each, in order of starting; who binds routes ahead of time must refuse such a routing.
  [[nodiscard]] virtual bool needs_load() const { return false; }
  /// Fills `out` (cleared first) by the load at this moment. `current`: the route of a running
  /// flow that may move, kept unless another is better; null at its start.
  virtual void route_by_load(const Connection& connection, const LoadView& load,
                             const Route* current, Route& out) const;
  /// Appends every link that route_by_load may ever choose for the connection, each once, with the
  /// usage 1. Only of a routing that needs the load.
  virtual void choices(const Connection& connection, std::vector<LinkUse>& out) const;
  /// Running flows are offered a new route at the multiples of this time, one after the other;
  /// zero: never.
  [[nodiscard]] virtual Duration repath_interval() const { return Duration{}; }
  /// True when routes depend on a hash of identities, so that relabelling GPUs may change results.
  [[nodiscard]] virtual bool hashes() const = 0;
};

using RoutingFactory = std::unique_ptr<Routing> (*)(const Topology&, const config::Parameters&);
[[nodiscard]] std::span<const config::CatalogEntry<RoutingFactory>> routing_catalog();

}  // namespace railyard::topology
