#include "railyard/topology/ring_order.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "railyard/core/check.hpp"

namespace railyard::topology {

namespace {

/// The switch on which a GPU's NIC hangs; the NIC itself where it hangs on none.
NodeId switch_of(const Topology& topology, GpuId gpu) {
  const NodeId nic = topology.nic_node(gpu);
  for (const Link& link : topology.out_links(nic)) {
    if (link.tier == Tier::leaf) return link.to;
  }
  return nic;
}

using Ranks = std::vector<std::uint32_t>;

/// Islands of the group, in the order in which a ring should come to them.
std::vector<Ranks> islands_in_order(const Topology& topology, std::span<const GpuId> group) {
  std::map<IslandKey, std::size_t> number;
  std::vector<Ranks> islands;
  for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
    const auto [at, inserted] =
        number.try_emplace(island_of(topology, group[rank]), islands.size());
    if (inserted) islands.emplace_back();
    islands[at->second].push_back(rank);
  }
  std::map<MinipodId, std::uint32_t> first_of_minipod;
  std::map<LeafId, std::uint32_t> first_of_leaf;
  std::vector<std::array<std::uint32_t, 3>> keys;  // first ranks of minipod, leaf and island
  for (const Ranks& island : islands) {
    const Host& host = topology.host(topology.host_of(group[island.front()]));
    const auto minipod = first_of_minipod.try_emplace(host.minipod, island.front()).first;
    const auto leaf = first_of_leaf.try_emplace(host.leaf, island.front()).first;
    keys.push_back({minipod->second, leaf->second, island.front()});
  }
  std::vector<std::size_t> order(islands.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  std::vector<Ranks> out;
  for (const std::size_t i : order) {
    out.push_back(std::move(islands[i]));
    std::ranges::sort(out.back(), [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(group[a], a) < std::pair(group[b], b);
    });
  }
  return out;
}

}  // namespace

IslandKey island_of(const Topology& topology, GpuId gpu) {
  for (const Link& link : topology.out_links(topology.gpu_node(gpu))) {
    if (topology.kind(link.to) == NodeKind::nvswitch) return {true, index(link.to)};
  }
  return {false, index(topology.host_of(gpu))};
}

std::vector<std::uint32_t> ring_order(const Topology& topology, std::span<const GpuId> group) {
  Ranks out;
  for (Ranks& island : islands_in_order(topology, group)) {
    if (!out.empty()) {
      const NodeId left = switch_of(topology, group[out.back()]);
      const bool ahead = switch_of(topology, group[island.front()]) == left;
      const bool behind = switch_of(topology, group[island.back()]) == left;
      if (behind && !ahead) std::ranges::reverse(island);
    }
    out.insert(out.end(), island.begin(), island.end());
  }
  RAILYARD_CHECK(out.size() == group.size(), "{} of {} ranks on the ring", out.size(),
                 group.size());
  return out;
}

RingCrossings ring_crossings(const Topology& topology, std::span<const GpuId> ring) {
  RingCrossings out;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const GpuId from = ring[i];
    const GpuId to = ring[(i + 1) % ring.size()];
    const Host& left = topology.host(topology.host_of(from));
    const Host& entered = topology.host(topology.host_of(to));
    out.islands += island_of(topology, from) == island_of(topology, to) ? 0 : 1;
    out.leaves += left.leaf == entered.leaf ? 0 : 1;
    out.minipods += left.minipod == entered.minipod ? 0 : 1;
  }
  return out;
}

}  // namespace railyard::topology
