// Slurm's topology/tree: the lowest switch that can hold the whole gang, the one with fewest free
// hosts among equals in height, and below it leaves by best fit: the tightest that holds what is
// left, else the one with most free hosts (topology guide; _eval_nodes_topo of select/cons_tres).
// It may use more leaves than necessary. `--switches=N@wait` makes a job wait for an allocation of
// at most N leaves, but no longer than that from the first allocation with more.
//
// The levels of the fabric are leaves, minipods and the whole. Slurm lists hosts in their order.
#include <algorithm>

#include "scheduler/hosts.hpp"
#include "scheduler/placement/catalog_entries.hpp"

namespace railyard::scheduler {

namespace {

class SlurmTree final : public PlacementPolicy {
 public:
  SlurmTree(std::uint32_t switches, Duration wait, RankOrder rank_order)
      : switches_(switches), wait_(wait), rank_order_(rank_order) {}

  std::optional<Placement> place(const GangShape& shape, const Inventory& view,
                                 Rng /*rng*/) const override {
    if (shares_host(shape, view)) {
      return place_in_order(shape, view, FreeOrder::fewest_first, rank_order_);
    }
    const std::uint32_t wanted = hosts_wanted(shape, view);
    const std::vector<FreeLeaf> leaves = below_lowest_switch(view, wanted);
    std::vector<std::uint32_t> rooms;
    for (const FreeLeaf& leaf : leaves) {
      rooms.push_back(static_cast<std::uint32_t>(leaf.hosts.size()));
    }
    const std::vector<DomainPart> parts = best_fit_domains(std::move(rooms), wanted);
    if (parts.empty()) return std::nullopt;
    std::vector<HostId> hosts;
    for (const DomainPart& part : parts) {
      const auto& of_leaf = leaves[part.domain].hosts;
      hosts.insert(hosts.end(), of_leaf.begin(), of_leaf.begin() + part.units);
    }
    std::ranges::sort(hosts);
    Placement placement = on_whole_hosts(hosts, view, rank_order_);
    if (switches_ > 0 && parts.size() > switches_) placement.patience = wait_;
    return placement;
  }

 private:
  /// Leaves below the lowest switch that holds so many hosts. A leaf that does is the tightest of
  /// all, so the tightest minipod's leaves need not be looked at where there is one.
  static std::vector<FreeLeaf> below_lowest_switch(const Inventory& view, std::uint32_t wanted) {
    std::vector<FreeLeaf> leaves = free_leaves(view);
    const auto holds = [wanted](const FreeLeaf& leaf) { return leaf.hosts.size() >= wanted; };
    if (std::ranges::any_of(leaves, holds)) return leaves;
    std::vector<std::uint32_t> minipods(view.topology().minipod_count());
    for (std::size_t m = 0; m < minipods.size(); ++m) {
      minipods[m] = view.free_host_count(static_cast<MinipodId>(m));
    }
    if (const auto minipod = tightest_domain(minipods, wanted)) {
      std::erase_if(leaves,
                    [minipod](const FreeLeaf& leaf) { return index(leaf.minipod) != *minipod; });
    }
    return leaves;
  }

  std::uint32_t switches_;
  Duration wait_;
  RankOrder rank_order_;
};

std::unique_ptr<PlacementPolicy> create_slurm_tree(const config::Parameters& parameters) {
  return std::make_unique<SlurmTree>(
      static_cast<std::uint32_t>(parameters.get<std::int64_t>("switches")),
      parameters.get<Duration>("wait"), rank_order_of(parameters));
}

}  // namespace

PlacementEntry slurm_tree_entry() {
  return {{.name = "slurm_tree",
           .summary = "Slurm's topology/tree: the lowest switch that holds the gang, the tightest "
                      "of equals, and below it leaves by best fit",
           .parameters = {{.name = "switches",
                           .type = config::ParameterType::integer,
                           .fallback = "0",
                           .help = "leaves that a job is to have at most (--switches); 0: any",
                           .min = 0,
                           .max = 1'000'000},
                          {.name = "wait",
                           .type = config::ParameterType::duration,
                           .fallback = "\"5min\"",
                           .help = "how long it waits for that (@max-time; Slurm's "
                                   "max_switch_wait is 300 s)",
                           .max = 7.9e6},
                          rank_order_parameter("\"pp_fastest\"")}},
          &create_slurm_tree};
}

}  // namespace railyard::scheduler
