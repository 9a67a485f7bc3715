// Equal shortest paths of arbitrary graphs: fewest hops, by breadth-first search with Boost.Graph.
//
// A link may be used towards a destination unless it enters a GPU other than the destination, or
// enters a host other than the destination's from outside that host: hosts end traffic, they do not
// pass it on. GPUs of one host stay inside it where they can, and do not talk through a NIC they
// share, unless there is no other way.
// All distances are searched when the finder is made (checking that every pair is connected needs
// them anyway), so it is constant afterwards and may be shared between threads.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "railyard/topology/routing.hpp"
#include "topology/graph_builder.hpp"

namespace railyard::topology {

/// Host number of switches.
inline constexpr std::uint32_t kOutsideHosts = 0xffffffff;

class ShortestHopPaths : public PathFinder {
 public:
  /// A pair of GPUs without a path, if there is one.
  [[nodiscard]] virtual std::optional<std::pair<GpuId, GpuId>> unreachable() const = 0;
};

/// `host_of_node` holds a host number for every node, kOutsideHosts for switches.
[[nodiscard]] std::unique_ptr<ShortestHopPaths> make_shortest_hop_paths(
    const GraphView& view, std::vector<std::uint32_t> host_of_node);

}  // namespace railyard::topology
