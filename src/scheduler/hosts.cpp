#include "scheduler/hosts.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <tuple>

#include "railyard/core/check.hpp"

namespace railyard::scheduler {

std::optional<Placement> ask(const PlacementPolicy& policy, const JobView& job,
                             const Inventory& free, const ClusterView& view, PlacementCost* cost) {
  const Rng rng = view.streams->stream("placement", index(job.job));
  if (cost == nullptr) return policy.place(job.shape, free, rng);
  return policy.place_by_cost(job.shape, free, rng, job.job, *cost);
}

std::uint32_t hosts_wanted(const GangShape& shape, const Inventory& view) {
  RAILYARD_CHECK(shape.gpus > 0, "a gang without GPUs");
  return (shape.gpus + view.gpus_per_host() - 1) / view.gpus_per_host();
}

bool shares_host(const GangShape& shape, const Inventory& view) {
  return shape.gpus < view.gpus_per_host();
}

std::vector<HostId> hosts_leaf_by_leaf(const Inventory& view, MinipodId minipod) {
  std::vector<HostId> hosts = view.free_hosts(minipod);
  std::vector<std::uint32_t> free_of_leaf(view.topology().leaf_count(), 0);
  const auto leaf_of = [&view](HostId host) { return view.topology().host(host).leaf; };
  for (const HostId host : hosts) ++free_of_leaf[index(leaf_of(host))];
  std::ranges::sort(hosts, [&](HostId a, HostId b) {
    const LeafId leaf_a = leaf_of(a);
    const LeafId leaf_b = leaf_of(b);
    return std::tuple(free_of_leaf[index(leaf_b)], leaf_a, a) <
           std::tuple(free_of_leaf[index(leaf_a)], leaf_b, b);
  });
  return hosts;
}

std::vector<MinipodId> minipods_by_free_hosts(const Inventory& view, FreeOrder order) {
  std::vector<MinipodId> minipods;
  for (std::size_t m = 0; m < view.topology().minipod_count(); ++m) {
    const auto minipod = static_cast<MinipodId>(m);
    if (view.free_host_count(minipod) > 0) minipods.push_back(minipod);
  }
  std::ranges::stable_sort(minipods, [&](MinipodId a, MinipodId b) {
    const std::uint32_t free_a = view.free_host_count(a);
    const std::uint32_t free_b = view.free_host_count(b);
    return order == FreeOrder::fewest_first ? free_a < free_b : free_a > free_b;
  });
  return minipods;
}

std::optional<std::vector<HostSlot>> take_whole_hosts(const GangShape& shape, const Inventory& view,
                                                      std::span<const MinipodId> minipods) {
  const std::uint32_t wanted = hosts_wanted(shape, view);
  std::vector<HostSlot> slots;
  slots.reserve(wanted);
  for (const MinipodId minipod : minipods) {
    for (const HostId host : hosts_leaf_by_leaf(view, minipod)) {
      if (slots.size() == wanted) return slots;
      slots.push_back({host, view.free_mask(host)});
    }
  }
  if (slots.size() < wanted) return std::nullopt;
  return slots;
}

std::optional<HostSlot> share_fullest_host(const GangShape& shape, const Inventory& view,
                                           FreeOrder order) {
  std::optional<HostId> best;
  std::pair<std::int64_t, std::int64_t> best_key;
  for (std::size_t h = 0; h < view.topology().hosts().size(); ++h) {
    const auto host = static_cast<HostId>(h);
    const std::int64_t free = view.free_gpus(host);
    if (free < std::int64_t{shape.gpus}) continue;
    const std::int64_t minipod_free = view.free_host_count(view.topology().host(host).minipod);
    const std::pair key(free, order == FreeOrder::fewest_first ? minipod_free : -minipod_free);
    if (!best || key < best_key) {
      best = host;
      best_key = key;
    }
  }
  if (!best) return std::nullopt;
  return lowest_gpus(view, *best, shape.gpus);
}

HostSlot lowest_gpus(const Inventory& view, HostId host, std::uint32_t gpus) {
  std::uint64_t free = view.free_mask(host);
  RAILYARD_CHECK(view.free_gpus(host) >= gpus, "host {} has {} free GPUs, {} wanted", index(host),
                 view.free_gpus(host), gpus);
  HostSlot slot{host, 0};
  for (std::uint32_t i = 0; i < gpus; ++i) {
    slot.gpu_mask |= free & (~free + 1);
    free &= free - 1;
  }
  return slot;
}

std::vector<FreeLeaf> free_leaves(const Inventory& view) {
  std::vector<FreeLeaf> leaves(view.topology().leaf_count());
  for (std::size_t h = 0; h < view.topology().hosts().size(); ++h) {
    const auto host = static_cast<HostId>(h);
    if (!view.wholly_free(host)) continue;
    const topology::Host& where = view.topology().host(host);
    FreeLeaf& leaf = leaves[index(where.leaf)];
    leaf.leaf = where.leaf;
    leaf.minipod = where.minipod;
    leaf.hosts.push_back(host);
  }
  std::erase_if(leaves, [](const FreeLeaf& leaf) { return leaf.hosts.empty(); });
  return leaves;
}

std::optional<std::size_t> tightest_domain(std::span<const std::uint32_t> rooms,
                                           std::uint32_t wanted) {
  std::optional<std::size_t> best;
  for (std::size_t d = 0; d < rooms.size(); ++d) {
    if (rooms[d] >= wanted && (!best || rooms[d] < rooms[*best])) best = d;
  }
  return best;
}

std::vector<DomainPart> best_fit_domains(std::vector<std::uint32_t> rooms, std::uint32_t wanted) {
  std::vector<DomainPart> parts;
  while (wanted > 0) {
    const auto largest = std::ranges::max_element(rooms);
    if (largest == rooms.end() || *largest == 0) return {};
    const auto fits = tightest_domain(rooms, wanted);
    const std::size_t domain = fits ? *fits : static_cast<std::size_t>(largest - rooms.begin());
    const std::uint32_t units = std::min(wanted, rooms[domain]);
    parts.push_back({domain, units});
    rooms[domain] = 0;
    wanted -= units;
  }
  return parts;
}

Placement on_whole_hosts(std::span<const HostId> hosts, const Inventory& view,
                         RankOrder rank_order) {
  Placement placement;
  placement.rank_order = rank_order;
  for (const HostId host : hosts) placement.slots.push_back({host, view.free_mask(host)});
  return placement;
}

config::ParameterSpec rank_order_parameter(std::string_view fallback) {
  return {.name = "rank_order",
          .type = config::ParameterType::choice,
          .fallback = fallback,
          .help =
              "how the framework lays ranks on the hosts: consecutive hosts are the stages of "
              "one pipeline, or the data ranks of one stage (Megatron's default)",
          .choices = {"pp_fastest", "dp_fastest"}};
}

RankOrder rank_order_of(const config::Parameters& parameters) {
  return parameters.get<std::string>("rank_order") == "dp_fastest" ? RankOrder::dp_fastest
                                                                   : RankOrder::pp_fastest;
}

std::optional<Placement> place_in_order(const GangShape& shape, const Inventory& view,
                                        FreeOrder order, RankOrder rank_order) {
  if (shares_host(shape, view)) {
    const auto slot = share_fullest_host(shape, view, order);
    if (!slot) return std::nullopt;
    return Placement{{*slot}, rank_order};
  }
  auto slots = take_whole_hosts(shape, view, minipods_by_free_hosts(view, order));
  if (!slots) return std::nullopt;
  return Placement{std::move(*slots), rank_order};
}

}  // namespace railyard::scheduler
