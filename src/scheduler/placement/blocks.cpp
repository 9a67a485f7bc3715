// Blocks: the gang cut into equal blocks of consecutive ranks, one a minipod. Not a scheduler
// anybody would run: it controls how many minipods a job touches, for experiments that ask what
// crossing them costs.
#include <algorithm>

#include "scheduler/hosts.hpp"
#include "scheduler/placement/catalog_entries.hpp"

namespace railyard::scheduler {

namespace {

class Blocks final : public PlacementPolicy {
 public:
  Blocks(std::size_t minipods, RankOrder rank_order)
      : minipods_(minipods), rank_order_(rank_order) {}

  std::optional<Placement> place(const GangShape& shape, const Inventory& view,
                                 Rng /*rng*/) const override {
    if (shares_host(shape, view))
      return place_in_order(shape, view, FreeOrder::most_first, rank_order_);
    const std::vector<MinipodId> order = minipods_by_free_hosts(view, FreeOrder::most_first);
    const std::size_t blocks = std::min<std::size_t>(minipods_, hosts_wanted(shape, view));
    if (order.size() < blocks) return std::nullopt;
    Placement placement;
    placement.rank_order = rank_order_;
    for (std::size_t b = 0; b < blocks; ++b) {
      // The first blocks are one host larger where the hosts do not divide.
      const std::size_t hosts = (hosts_wanted(shape, view) + blocks - 1 - b) / blocks;
      const std::vector<HostId> free = hosts_leaf_by_leaf(view, order[b]);
      if (free.size() < hosts) return std::nullopt;
      for (std::size_t h = 0; h < hosts; ++h) {
        placement.slots.push_back(lowest_gpus(view, free[h], view.topology().host(free[h]).gpus));
      }
    }
    return placement;
  }

 private:
  std::size_t minipods_;
  RankOrder rank_order_;
};

std::unique_ptr<PlacementPolicy> create_blocks(const config::Parameters& parameters) {
  return std::make_unique<Blocks>(
      static_cast<std::size_t>(parameters.get<std::int64_t>("minipods")),
      rank_order_of(parameters));
}

}  // namespace

PlacementEntry blocks_entry() {
  return {{.name = "blocks",
           .summary = "equal blocks of consecutive ranks in the given number of minipods, those "
                      "with most free hosts first: for experiments on crossing minipods",
           .parameters = {{.name = "minipods",
                           .type = config::ParameterType::integer,
                           .fallback = "2",
                           .help = "minipods to cut the job over",
                           .min = 1,
                           .max = 1'000'000},
                          rank_order_parameter("\"pp_fastest\"")}},
          &create_blocks};
}

}  // namespace railyard::scheduler
