// The cables between the groups of a dragonfly or dragonfly+.
//
// A group has switches × links_per_switch global ports, numbered switch by switch. Between any two
// of g groups run floor(ports / (g − 1)) cables: cable c from group G to H leaves G's port
// c (g − 1) + i, where i counts the groups without G, and enters H's port of the same rule. Ports
// that are left over stay free. With g − 1 = ports this is the absolute arrangement (Hastings et
// al., "Comparing global link arrangements for dragonfly networks", CLUSTER 2015).
#pragma once

#include <cstdint>

namespace railyard::topology {

struct GlobalLinks {
  std::uint32_t groups = 1;
  std::uint32_t switches = 1;  ///< of a group, that have global links
  std::uint32_t links_per_switch = 1;

  [[nodiscard]] std::uint32_t ports() const { return switches * links_per_switch; }
  /// Cables between two groups.
  [[nodiscard]] std::uint32_t cables() const { return groups < 2 ? 0 : ports() / (groups - 1); }
  /// The switch, counted within group `from`, that cable `cable` to group `to` leaves.
  [[nodiscard]] std::uint32_t switch_of(std::uint32_t from, std::uint32_t to,
                                        std::uint32_t cable) const {
    const std::uint32_t other = to < from ? to : to - 1;
    return (cable * (groups - 1) + other) / links_per_switch;
  }
};

}  // namespace railyard::topology
