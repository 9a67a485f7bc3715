// Best fit (Panigrahy et al., MSR-TR-2011-9, as Arnold's paper restates it): hosts go into the
// minipod with least left.
#include "scheduler/hosts.hpp"
#include "scheduler/placement/catalog_entries.hpp"

namespace railyard::scheduler {

namespace {

class BestFit final : public PlacementPolicy {
 public:
  explicit BestFit(RankOrder rank_order) : rank_order_(rank_order) {}
  std::optional<Placement> place(const GangShape& shape, const Inventory& view,
                                 Rng /*rng*/) const override {
    return place_in_order(shape, view, FreeOrder::fewest_first, rank_order_);
  }

 private:
  RankOrder rank_order_;
};

std::unique_ptr<PlacementPolicy> create_best_fit(const config::Parameters& parameters) {
  return std::make_unique<BestFit>(rank_order_of(parameters));
}

}  // namespace

PlacementEntry best_fit_entry() {
  return {{.name = "best_fit",
           .summary = "the minipods with fewest free hosts first, each emptied before the next; a "
                      "gang of less than a host takes the host with fewest free GPUs that fits",
           .parameters = {rank_order_parameter("\"pp_fastest\"")}},
          &create_best_fit};
}

}  // namespace railyard::scheduler
