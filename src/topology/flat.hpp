// What the fabrics without a tree have in common: hosts on switches in a row, so many on each.
// Switches 0, 1, … come after the hosts; NICs of a host all hang on its switch.
#pragma once

#include <string>
#include <vector>

#include "topology/global_links.hpp"
#include "topology/host_blocks.hpp"

namespace railyard::topology {

/// A count of at least `least` at a key; 1 with an error recorded where it is wrong.
[[nodiscard]] std::uint32_t required_count(config::Reader& reader, std::string_view key,
                                           std::int64_t least = 1);
[[nodiscard]] std::uint32_t optional_count(config::Reader& reader, std::string_view key,
                                           std::uint32_t fallback, std::int64_t least = 1);

struct FlatPlan {
  HostPlans hosts;
  std::uint32_t hosts_per_switch = 1;
  std::vector<std::uint32_t> hosts_of_switch;  ///< instead, where switches differ
  std::uint64_t host_count = 0;
  std::vector<std::string> switches;           ///< names of the switches that hosts hang on
  std::vector<std::uint32_t> group_of_switch;  ///< its minipod
  std::vector<std::string> groups;             ///< names of the minipods
};

/// False, with an error recorded, when a fabric would be larger than a machine holds.
bool check_size(config::Reader& reader, std::string_view key, double switches, double cables);
/// False, with an error recorded, when groups have fewer global ports than other groups.
bool check_groups(config::Reader& reader, const GlobalLinks& global);

/// Reads the hosts and `per_switch_key`: how many hang on a switch, default 1.
void read_flat(config::Reader& reader, std::string_view per_switch_key, FlatPlan& plan);
/// Reads "hosts" (fewer than fit: the first switches are filled, all switches stand) once the
/// number of switches is known; false with an error recorded.
bool set_host_count(config::Reader& reader, std::uint64_t switches, FlatPlan& plan);
/// Ports of the NICs of a full switch.
[[nodiscard]] std::uint32_t nic_ports(const FlatPlan& plan);
/// False, with an error recorded, when a switch needs more ports than "radix" says.
bool check_ports(config::Reader& reader, std::uint64_t ports, std::string_view what);

/// Adds hosts, switches and the cables between them; returns the first switch node.
std::uint32_t add_flat(GraphBuilder& graph, const FlatPlan& plan);

}  // namespace railyard::topology
