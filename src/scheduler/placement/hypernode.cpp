// Volcano's network-topology-aware placement: hypernodes of tier 1 (leaves), 2 (minipods) and 3
// (all) are searched from the lowest tier up, and the first tier with one that holds the whole gang
// wins; of its hypernodes the fullest is packed. Mode hard goes no higher than the highest tier
// allowed, so the job waits; mode soft goes on.
//
// Inside, Volcano binds pod by pod: a host whose leaf, else whose minipod already has pods of the
// job comes first, then the fullest leaf. The first pod so decides for all, which is what users
// complain about (volcano#4343): the fullest leaf may hold few of them.
#include <algorithm>
#include <tuple>

#include "scheduler/hosts.hpp"
#include "scheduler/placement/catalog_entries.hpp"

namespace railyard::scheduler {

namespace {

constexpr std::uint32_t kTiers = 3;

class Hypernode final : public PlacementPolicy {
 public:
  Hypernode(std::uint32_t highest_tier, RankOrder rank_order)
      : highest_tier_(highest_tier), rank_order_(rank_order) {}

  std::optional<Placement> place(const GangShape& shape, const Inventory& view,
                                 Rng /*rng*/) const override {
    if (shares_host(shape, view)) {
      return place_in_order(shape, view, FreeOrder::fewest_first, rank_order_);
    }
    const std::uint32_t wanted = hosts_wanted(shape, view);
    std::vector<FreeLeaf> leaves = free_leaves(view);
    for (std::uint32_t tier = 1; tier <= highest_tier_; ++tier) {
      if (!keep_fullest(leaves, tier, wanted)) continue;
      return on_whole_hosts(pod_by_pod(leaves, wanted), view, rank_order_);
    }
    return std::nullopt;
  }

 private:
  /// Leaves of the tier's hypernode with fewest free hosts that holds the gang; false: none does.
  static bool keep_fullest(std::vector<FreeLeaf>& leaves, std::uint32_t tier,
                           std::uint32_t wanted) {
    const auto hypernode = [tier](const FreeLeaf& leaf) -> std::size_t {
      return tier == 1 ? index(leaf.leaf) : tier == 2 ? index(leaf.minipod) : 0;
    };
    std::vector<std::uint32_t> rooms;
    for (const FreeLeaf& leaf : leaves) {
      rooms.resize(std::max(rooms.size(), hypernode(leaf) + 1), 0);
      rooms[hypernode(leaf)] += static_cast<std::uint32_t>(leaf.hosts.size());
    }
    const auto fullest = tightest_domain(rooms, wanted);
    if (!fullest) return false;
    std::erase_if(leaves, [&](const FreeLeaf& leaf) { return hypernode(leaf) != *fullest; });
    return true;
  }

  /// A leaf is emptied before the next is touched: its hosts share most with the pods before them.
  static std::vector<HostId> pod_by_pod(std::vector<FreeLeaf> leaves, std::uint32_t wanted) {
    std::vector<HostId> hosts;
    std::vector<MinipodId> met;
    while (hosts.size() < wanted) {
      const auto next = std::ranges::min_element(leaves, {}, [&met](const FreeLeaf& leaf) {
        const bool far = std::ranges::find(met, leaf.minipod) == met.end();
        return std::tuple(far, leaf.hosts.size(), leaf.leaf);
      });
      const std::size_t take = std::min(next->hosts.size(), wanted - hosts.size());
      hosts.insert(hosts.end(), next->hosts.begin(),
                   next->hosts.begin() + static_cast<std::ptrdiff_t>(take));
      met.push_back(next->minipod);
      leaves.erase(next);
    }
    return hosts;
  }

  std::uint32_t highest_tier_;
  RankOrder rank_order_;
};

std::unique_ptr<PlacementPolicy> create_hypernode(const config::Parameters& parameters) {
  const bool hard = parameters.get<std::string>("mode") == "hard";
  if (hard != parameters.has_value("highest_tier")) {
    throw config::ConfigError(
        hard ? "mode \"hard\" wants \"highest_tier\": 1 (leaf), 2 (minipod) or 3 (all)"
             : "\"highest_tier\" goes with mode \"hard\": mode \"soft\" goes up to the whole");
  }
  const std::uint32_t highest =
      hard ? static_cast<std::uint32_t>(parameters.get<std::int64_t>("highest_tier")) : kTiers;
  return std::make_unique<Hypernode>(highest, rank_order_of(parameters));
}

}  // namespace

PlacementEntry hypernode_entry() {
  return {{.name = "hypernode",
           .summary = "Volcano's hypernodes: the lowest tier that holds the gang, the fullest "
                      "hypernode of it, and inside pod by pod from the fullest leaf on",
           .parameters = {{.name = "mode",
                           .type = config::ParameterType::choice,
                           .fallback = "\"soft\"",
                           .help = "soft: any tier; hard: none above highest_tier, else it waits",
                           .choices = {"soft", "hard"}},
                          {.name = "highest_tier",
                           .type = config::ParameterType::integer,
                           .fallback = "null",
                           .help = "of mode hard (highestTierAllowed): 1 leaf, 2 minipod, 3 all",
                           .min = 1,
                           .max = kTiers},
                          rank_order_parameter("\"pp_fastest\"")}},
          &create_hypernode};
}

}  // namespace railyard::scheduler
