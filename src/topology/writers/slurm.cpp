// Slurm's topology.conf, tree form: the leaves with their hosts, the minipods with their leaves,
// and one core above several minipods. Slurm wants a tree, so switches that stand side by side are
// one; it knows no links and no speeds.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "railyard/topology/hostlist.hpp"
#include "topology/writers/parts.hpp"

namespace railyard::topology {
namespace {

/// Slurm reads brackets, commas and blanks in names as lists, and "=" as a key.
void check_name(const std::string& name) {
  if (name.empty() || name.find_first_of(" \t[],=#\"\\") != std::string::npos)
    cannot_say("slurm", fmt::format("\"{}\" is no name for Slurm", name));
}

std::string hostlist(const std::vector<std::string>& names) {
  for (const std::string& name : names) check_name(name);
  return compress_hostlist(names);
}

}  // namespace

std::string write_slurm(const Topology& topology) {
  std::vector<std::vector<std::string>> hosts(topology.leaf_count());
  std::vector<std::uint32_t> minipod_of(topology.leaf_count(), kNoHost);
  for (std::size_t i = 0; i < topology.hosts().size(); ++i) {
    const Host& host = topology.hosts()[i];
    hosts[index(host.leaf)].push_back(topology.host_name(static_cast<HostId>(i)));
    minipod_of[index(host.leaf)] = static_cast<std::uint32_t>(index(host.minipod));
  }
  std::string out;
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> leaves(topology.minipod_count());
  for (std::size_t leaf = 0; leaf < hosts.size(); ++leaf) {
    if (hosts[leaf].empty()) continue;
    const std::string& name = topology.leaf_name(static_cast<LeafId>(leaf));
    check_name(name);
    leaves[minipod_of[leaf]].push_back(name);
    names.push_back(name);
    fmt::format_to(std::back_inserter(out), "SwitchName={} Nodes={}\n", name,
                   hostlist(hosts[leaf]));
  }
  std::vector<std::string> minipods;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].empty()) continue;
    const std::string& name = topology.minipod_name(static_cast<MinipodId>(i));
    check_name(name);
    minipods.push_back(name);
    // A minipod that is one leaf of the same name stands there already.
    if (leaves[i] == std::vector{name}) continue;
    names.push_back(name);
    fmt::format_to(std::back_inserter(out), "SwitchName={} Switches={}\n", name,
                   hostlist(leaves[i]));
  }
  names.emplace_back("core");
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) cannot_say("slurm", fmt::format("two switches are named {}", *twice));
  if (minipods.size() > 1)
    fmt::format_to(std::back_inserter(out), "SwitchName=core Switches={}\n", hostlist(minipods));
  return out;
}

}  // namespace railyard::topology
