// Tight pack: the smallest domain that holds the whole gang, and of those the one in which least is
// left: a leaf, else a minipod. A gang that fits into none takes the minipods with most free hosts,
// and for its rest the tightest. In a minipod leaves are filled the same way.
#include "scheduler/hosts.hpp"
#include "scheduler/placement/catalog_entries.hpp"

namespace railyard::scheduler {

namespace {

std::vector<std::uint32_t> rooms_of(std::span<const FreeLeaf> leaves) {
  std::vector<std::uint32_t> rooms;
  for (const FreeLeaf& leaf : leaves) {
    rooms.push_back(static_cast<std::uint32_t>(leaf.hosts.size()));
  }
  return rooms;
}

void take(std::span<const FreeLeaf> leaves, std::uint32_t wanted, std::vector<HostId>& hosts) {
  for (const DomainPart& part : best_fit_domains(rooms_of(leaves), wanted)) {
    const auto& of_leaf = leaves[part.domain].hosts;
    hosts.insert(hosts.end(), of_leaf.begin(), of_leaf.begin() + part.units);
  }
}

class TightPack final : public PlacementPolicy {
 public:
  explicit TightPack(RankOrder rank_order) : rank_order_(rank_order) {}

  std::optional<Placement> place(const GangShape& shape, const Inventory& view,
                                 Rng /*rng*/) const override {
    if (shares_host(shape, view)) {
      return place_in_order(shape, view, FreeOrder::fewest_first, rank_order_);
    }
    const std::uint32_t wanted = hosts_wanted(shape, view);
    const std::vector<FreeLeaf> leaves = free_leaves(view);
    std::vector<HostId> hosts;
    if (tightest_domain(rooms_of(leaves), wanted)) {
      take(leaves, wanted, hosts);
      return on_whole_hosts(hosts, view, rank_order_);
    }
    std::vector<std::uint32_t> minipods(view.topology().minipod_count());
    for (std::size_t m = 0; m < minipods.size(); ++m) {
      minipods[m] = view.free_host_count(static_cast<MinipodId>(m));
    }
    for (const DomainPart& part : best_fit_domains(minipods, wanted)) {
      std::vector<FreeLeaf> of_minipod = leaves;
      std::erase_if(of_minipod,
                    [&part](const FreeLeaf& leaf) { return index(leaf.minipod) != part.domain; });
      take(of_minipod, part.units, hosts);
    }
    if (hosts.size() < wanted) return std::nullopt;
    return on_whole_hosts(hosts, view, rank_order_);
  }

 private:
  RankOrder rank_order_;
};

std::unique_ptr<PlacementPolicy> create_tight_pack(const config::Parameters& parameters) {
  return std::make_unique<TightPack>(rank_order_of(parameters));
}

}  // namespace

PlacementEntry tight_pack_entry() {
  return {{.name = "tight_pack",
           .summary = "the leaf, else the minipod in which least is left around the whole gang; "
                      "larger ones take the emptiest minipods, the tightest for the rest",
           .parameters = {rank_order_parameter("\"pp_fastest\"")}},
          &create_tight_pack};
}

}  // namespace railyard::scheduler
