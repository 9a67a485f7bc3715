// A placement of your own: the leaf with fewest free hosts among those that hold the whole gang;
// where none does, the leaves with most free hosts, one after the other.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "railyard/bridge/plugin.hpp"

namespace {

using namespace railyard;

class FewestLeaves final : public scheduler::PlacementPolicy {
 public:
  explicit FewestLeaves(scheduler::RankOrder rank_order) : rank_order_(rank_order) {}

  std::optional<scheduler::Placement> place(const scheduler::GangShape& gang,
                                            const scheduler::Inventory& view,
                                            Rng /*rng*/) const override {
    const std::uint32_t per_host = view.gpus_per_host();
    if (gang.gpus < per_host) return share(gang, view);
    const std::size_t wanted = (gang.gpus + per_host - 1) / per_host;
    std::map<LeafId, std::vector<HostId>> free;
    for (std::size_t h = 0; h < view.topology().hosts().size(); ++h) {
      const auto host = static_cast<HostId>(h);
      if (view.wholly_free(host)) free[view.topology().host(host).leaf].push_back(host);
    }
    std::vector<std::vector<HostId>> leaves;
    for (auto& [leaf, hosts] : free) leaves.push_back(std::move(hosts));
    std::ranges::stable_sort(leaves, std::greater{}, &std::vector<HostId>::size);
    std::size_t first = 0;
    while (first + 1 < leaves.size() && leaves[first + 1].size() >= wanted) ++first;
    scheduler::Placement placement{{}, rank_order_};
    for (std::size_t leaf = first; leaf < leaves.size(); ++leaf) {
      for (const HostId host : leaves[leaf]) {
        if (placement.slots.size() == wanted) return placement;
        placement.slots.push_back({host, view.free_mask(host)});
      }
    }
    if (placement.slots.size() < wanted) return std::nullopt;
    return placement;
  }

 private:
  /// Part of the first host with room.
  std::optional<scheduler::Placement> share(const scheduler::GangShape& gang,
                                            const scheduler::Inventory& view) const {
    for (std::size_t h = 0; h < view.topology().hosts().size(); ++h) {
      const auto host = static_cast<HostId>(h);
      if (view.free_gpus(host) < gang.gpus) continue;
      std::uint64_t left = view.free_mask(host);
      scheduler::HostSlot slot{host, 0};
      for (std::uint32_t g = 0; g < gang.gpus; ++g, left &= left - 1) {
        slot.gpu_mask |= left & (~left + 1);
      }
      return scheduler::Placement{{slot}, rank_order_};
    }
    return std::nullopt;
  }

  scheduler::RankOrder rank_order_;
};

std::unique_ptr<scheduler::PlacementPolicy> create(const config::Parameters& parameters) {
  const bool dp = parameters.get<std::string>("rank_order") == "dp_fastest";
  return std::make_unique<FewestLeaves>(dp ? scheduler::RankOrder::dp_fastest
                                           : scheduler::RankOrder::pp_fastest);
}

}  // namespace

std::uint32_t railyard_plugin_abi() {
  return bridge::kPluginAbi;
}

void railyard_plugin(scheduler::Catalogs& catalogs) {
  catalogs.placements.push_back(
      {{.name = "fewest_leaves",
        .summary = "the fullest leaf that holds the whole gang, else the emptiest leaves",
        .parameters = {{.name = "rank_order",
                        .type = config::ParameterType::choice,
                        .fallback = "\"pp_fastest\"",
                        .help = "how the framework lays ranks on the hosts",
                        .choices = {"pp_fastest", "dp_fastest"}}}},
       &create});
}
