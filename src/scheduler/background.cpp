#include "railyard/scheduler/background.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"

namespace railyard::scheduler {

namespace {

std::vector<std::vector<HostId>> hosts_by_minipod(const topology::Topology& topology) {
  std::vector<std::vector<HostId>> hosts(topology.minipod_count());
  for (std::size_t h = 0; h < topology.hosts().size(); ++h) {
    hosts[index(topology.hosts()[h].minipod)].push_back(static_cast<HostId>(h));
  }
  return hosts;
}

}  // namespace

std::vector<HostSlot> occupy(const topology::Topology& topology,
                             std::span<const std::uint32_t> hosts_per_minipod, Rng rng) {
  std::vector<std::vector<HostId>> hosts = hosts_by_minipod(topology);
  if (hosts_per_minipod.size() != hosts.size()) {
    throw config::ConfigError(
        fmt::format("hosts_per_minipod lists {} minipods but the topology has {}: give one count "
                    "for each",
                    hosts_per_minipod.size(), hosts.size()));
  }
  std::vector<HostSlot> slots;
  for (std::size_t m = 0; m < hosts.size(); ++m) {
    const std::size_t count = hosts_per_minipod[m];
    if (count > hosts[m].size()) {
      throw config::ConfigError(fmt::format("{} hosts of minipod {} cannot be busy: it has {}",
                                            count, topology.minipod_name(static_cast<MinipodId>(m)),
                                            hosts[m].size()));
    }
    Rng own(rng.next());
    own.shuffle(std::span<HostId>(hosts[m]));
    for (std::size_t i = 0; i < count; ++i) {
      slots.push_back({hosts[m][i], whole_host_mask(topology.host(hosts[m][i]).gpus)});
    }
  }
  std::ranges::sort(slots, {}, &HostSlot::host);
  return slots;
}

std::vector<HostSlot> occupy(const topology::Topology& topology, double share, Rng rng) {
  Rng counts_rng(rng.next());
  const std::vector<std::uint32_t> counts = uneven_counts(topology, share, counts_rng);
  return occupy(topology, std::span<const std::uint32_t>(counts), rng);
}

std::vector<std::uint32_t> uneven_counts(const topology::Topology& topology, double share,
                                         Rng rng) {
  if (!(share >= 0.0 && share <= 1.0)) {
    throw config::ConfigError(fmt::format(
        "a share of {} of the hosts cannot be busy: a share lies between 0 and 1", share));
  }
  constexpr std::uint64_t kWeightMin = 500;    // thousandths
  constexpr std::uint64_t kWeightSpan = 1001;  // 500 … 1500
  const std::vector<std::vector<HostId>> hosts = hosts_by_minipod(topology);
  const auto total = static_cast<std::uint64_t>(
      std::llround(share * static_cast<double>(topology.hosts().size())));
  std::vector<std::uint64_t> weights;
  for (const auto& minipod : hosts) {
    weights.push_back(minipod.size() * (kWeightMin + rng.below(kWeightSpan)));
  }
  const std::uint64_t weight_sum =
      std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
  RAILYARD_CHECK(weight_sum > 0, "a cluster needs hosts");

  std::vector<std::uint32_t> counts;
  std::uint64_t given = 0;
  for (std::size_t m = 0; m < hosts.size(); ++m) {
    const std::uint64_t part = total * weights[m] / weight_sum;
    counts.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(part, hosts[m].size())));
    given += counts.back();
  }
  for (; given < total; ++given) {
    std::size_t best = hosts.size();
    std::int64_t best_lack = 0;
    for (std::size_t m = 0; m < hosts.size(); ++m) {
      if (counts[m] == hosts[m].size()) continue;
      // Lack of hosts in units of 1 / weight_sum, so that it is an exact integer.
      const auto lack = static_cast<std::int64_t>(total * weights[m]) -
                        static_cast<std::int64_t>(counts[m] * weight_sum);
      if (best == hosts.size() || lack > best_lack) {
        best = m;
        best_lack = lack;
      }
    }
    RAILYARD_CHECK(best < hosts.size(), "{} busy hosts do not fit into {}", total,
                   topology.hosts().size());
    ++counts[best];
  }
  return counts;
}

}  // namespace railyard::scheduler
