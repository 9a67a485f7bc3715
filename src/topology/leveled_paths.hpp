// Equal shortest up-down paths of fabrics that are nearly regular: what readers find.
//
// Every switch has a level; a GPU uses the NIC that serves it. Where all links join neighbouring
// levels (fat-trees, also with dead links), a path climbs, then falls, and never climbs again:
// shortest of those, as OpenSM's updn and ftree engines route. A leaf that some other leaf cannot
// reach so, and fabrics with links inside a level (dragonfly, torus, mesh), use the paths of fewest
// hops. One breadth-first search per leaf when the finder is made, one byte per leaf and switch;
// constant afterwards, so it may be shared between threads.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "railyard/topology/routing.hpp"
#include "topology/graph_builder.hpp"

namespace railyard::topology {

class LeveledPaths : public PathFinder {
 public:
  /// Two leaves without a path, if there are such.
  [[nodiscard]] virtual std::optional<std::pair<NodeId, NodeId>> unreachable() const = 0;
};

/// `level` by node, of switches only. Hosts are wired as assemble_discovered does: a GPU to its
/// island, and to its NIC or its island to the NIC; a NIC to one switch.
[[nodiscard]] std::unique_ptr<LeveledPaths> make_leveled_paths(const GraphView& view,
                                                               std::vector<std::uint8_t> level);

}  // namespace railyard::topology
