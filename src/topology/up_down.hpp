// Equal shortest paths of regular fabrics in closed form: up to the lowest common group of
// switches, then down.
//
// Switches stand in levels (0 = leaves), each level in groups; a group of level l+1 is the parent
// of several groups of level l. What the builders must guarantee, and the property tests check:
//   - all up-links of a switch go to its parent group;
//   - every switch of a group reaches every child group by at least one down-link;
//   - level-0 groups are single leaves.
// A GPU may be its own NIC (hosts of which nothing but the port is known).
// Then every choice on the way up leads to the destination, and all paths between two NICs have the
// same number of hops. The next hops are ranges of the sorted out-links, found by binary search: no
// table grows with pairs of hosts. A NIC may have several ports, each into switches of its own (the
// planes of an HPN): the source chooses the port, and port i leads to port i.
#pragma once

#include <memory>
#include <vector>

#include "railyard/topology/routing.hpp"
#include "topology/graph_builder.hpp"

namespace railyard::topology {

struct SwitchLevel {
  std::vector<std::uint32_t>
      first_node;  ///< of each group, and one past the last node: groups are consecutive
  std::vector<std::uint32_t> parent;  ///< group of the next level; empty at the top
};

inline constexpr std::size_t kLevelsMax = 8;

/// Rails that no switch joins (rail_only): data for another rail crosses the island of the source's
/// host to the GPU that has the destination's place in its host. Hosts must be alike.
struct Rails {
  bool apart = false;
  std::uint32_t gpus_per_host = 1;
};

[[nodiscard]] std::unique_ptr<const PathFinder> make_up_down_paths(const GraphView& view,
                                                                   std::vector<SwitchLevel> levels,
                                                                   Rails rails = {});

}  // namespace railyard::topology
