#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "railyard/cluster/cluster.hpp"
#include "railyard/core/check.hpp"

namespace railyard::cluster {
namespace {

struct Leaf {
  MinipodId minipod{};
  LeafId leaf{};
  std::vector<HostId> hosts;
};

/// Leaves with their hosts: minipods with most hosts first, in them the fullest leaves first.
std::vector<Leaf> leaves_by_size(const topology::Topology& topology) {
  std::map<std::pair<MinipodId, LeafId>, std::vector<HostId>> members;
  std::map<MinipodId, std::size_t> size;
  for (std::uint32_t h = 0; h < topology.hosts().size(); ++h) {
    const topology::Host& host = topology.hosts()[h];
    members[{host.minipod, host.leaf}].push_back(static_cast<HostId>(h));
    ++size[host.minipod];
  }
  std::vector<Leaf> leaves;
  for (auto& [key, hosts] : members) leaves.push_back(Leaf{key.first, key.second, hosts});
  std::stable_sort(leaves.begin(), leaves.end(), [&](const Leaf& a, const Leaf& b) {
    if (size[a.minipod] != size[b.minipod]) return size[a.minipod] > size[b.minipod];
    if (a.minipod != b.minipod) return a.minipod < b.minipod;
    return a.hosts.size() > b.hosts.size();
  });
  return leaves;
}

std::uint32_t hosts_needed(const scheduler::GangShape& shape, const topology::Topology& topology) {
  const std::uint32_t per_host = topology.hosts().front().gpus;
  return (shape.gpus + per_host - 1) / per_host;
}

/// How many of the largest groups hold `wanted` hosts.
std::uint32_t fewest(std::vector<std::size_t> sizes, std::size_t wanted) {
  std::sort(sizes.rbegin(), sizes.rend());
  std::uint32_t count = 0;
  for (std::size_t held = 0; held < wanted && count < sizes.size(); ++count) held += sizes[count];
  return count;
}

}  // namespace

scheduler::Placement reference_placement(const scheduler::GangShape& shape,
                                         const topology::Topology& topology) {
  scheduler::Placement placement;
  std::uint32_t wanted = shape.gpus;
  for (const Leaf& leaf : leaves_by_size(topology)) {
    for (const HostId host : leaf.hosts) {
      if (wanted == 0) return placement;
      const std::uint32_t gpus = std::min(topology.host(host).gpus, wanted);
      placement.slots.push_back(scheduler::HostSlot{
          host, gpus == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << gpus) - 1});
      wanted -= gpus;
    }
  }
  RAILYARD_CHECK(wanted == 0,
                 "a job of {} GPUs is larger than the cluster; it must be refused before",
                 shape.gpus);
  return placement;
}

bool is_tightest(const scheduler::Placement& placement, const scheduler::GangShape& shape,
                 const topology::Topology& topology) {
  std::vector<std::size_t> leaf_sizes(topology.leaf_count());
  std::vector<std::size_t> minipod_sizes(topology.minipod_count());
  for (const topology::Host& host : topology.hosts()) {
    ++leaf_sizes[index(host.leaf)];
    ++minipod_sizes[index(host.minipod)];
  }
  const std::uint32_t wanted = hosts_needed(shape, topology);
  const scheduler::Spread spread = scheduler::spread_of(placement, shape, topology);
  return spread.leaves <= fewest(leaf_sizes, wanted) &&
         spread.minipods <= fewest(minipod_sizes, wanted);
}

}  // namespace railyard::cluster
