// Random fit (the baseline of FGD, ATC'23, which Arnold's paper restates as "random minipod,
// balanced"). Host after host, in rank order: a minipod is drawn uniformly from those with a free
// host left, then one of its free hosts uniformly. Minipods are thus filled evenly on average,
// whatever their size. A gang of less than a host draws its host the same way among those that fit.
#include <algorithm>

#include "scheduler/hosts.hpp"
#include "scheduler/placement/catalog_entries.hpp"

namespace railyard::scheduler {

namespace {

/// Draws a minipod, then a host of it, and removes that host. `minipods` holds no empty list before
/// and after.
HostId draw_host(std::vector<std::vector<HostId>>& minipods, Rng& rng) {
  const auto m = static_cast<std::size_t>(rng.below(minipods.size()));
  std::vector<HostId>& hosts = minipods[m];
  const auto h = static_cast<std::size_t>(rng.below(hosts.size()));
  const HostId host = hosts[h];
  hosts.erase(hosts.begin() + static_cast<std::ptrdiff_t>(h));
  if (hosts.empty()) minipods.erase(minipods.begin() + static_cast<std::ptrdiff_t>(m));
  return host;
}

class RandomFit final : public PlacementPolicy {
 public:
  explicit RandomFit(RankOrder rank_order) : rank_order_(rank_order) {}

  std::optional<Placement> place(const GangShape& shape, const Inventory& view,
                                 Rng rng) const override {
    if (shares_host(shape, view)) return share(shape, view, rng);
    const std::uint32_t wanted = hosts_wanted(shape, view);
    if (view.free_host_count() < wanted) return std::nullopt;
    std::vector<std::vector<HostId>> minipods;
    for (std::size_t m = 0; m < view.topology().minipod_count(); ++m) {
      auto hosts = view.free_hosts(static_cast<MinipodId>(m));
      if (!hosts.empty()) minipods.push_back(std::move(hosts));
    }
    Placement placement{{}, rank_order_};
    for (std::uint32_t i = 0; i < wanted; ++i) {
      const HostId host = draw_host(minipods, rng);
      placement.slots.push_back({host, view.free_mask(host)});
    }
    return placement;
  }

 private:
  std::optional<Placement> share(const GangShape& shape, const Inventory& view, Rng& rng) const {
    std::vector<std::vector<HostId>> minipods(view.topology().minipod_count());
    for (std::size_t h = 0; h < view.topology().hosts().size(); ++h) {
      const auto host = static_cast<HostId>(h);
      if (view.free_gpus(host) < shape.gpus) continue;
      minipods[index(view.topology().host(host).minipod)].push_back(host);
    }
    std::erase_if(minipods, [](const auto& hosts) { return hosts.empty(); });
    if (minipods.empty()) return std::nullopt;
    return Placement{{lowest_gpus(view, draw_host(minipods, rng), shape.gpus)}, rank_order_};
  }

  RankOrder rank_order_;
};

std::unique_ptr<PlacementPolicy> create_random_fit(const config::Parameters& parameters) {
  return std::make_unique<RandomFit>(rank_order_of(parameters));
}

}  // namespace

PlacementEntry random_fit_entry() {
  return {{.name = "random_fit",
           .summary = "host by host a random minipod with a free host, then a random free host of "
                      "it; a gang of less than a host draws one that fits the same way",
           .parameters = {rank_order_parameter("\"pp_fastest\"")}},
          &create_random_fit};
}

}  // namespace railyard::scheduler
