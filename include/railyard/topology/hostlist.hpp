// Slurm's host list expressions: "node[001-016,020],login1" names 18 hosts.
//
// Names are separated by commas; brackets hold numbers and ranges, zeros in front kept; a name may
// have several brackets, the last varying fastest.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "railyard/topology/graph.hpp"

namespace railyard::topology {

/// Appends the names. Empty, or what is wrong; more than `most` names are.
[[nodiscard]] std::string expand_hostlist(std::string_view text, std::size_t most,
                                          std::vector<std::string>& out);

/// Names in order as such a list: runs of numbers in brackets, padded as the first one is.
[[nodiscard]] std::string compress_hostlist(const std::vector<std::string>& names);

/// Every host of a fabric by its name.
[[nodiscard]] std::map<std::string, HostId> hosts_by_name(const Topology& topology);

}  // namespace railyard::topology
