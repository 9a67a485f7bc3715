// GPU packing (Gandiva, OSDI'18; MLaaS, NSDI'22), adapted as in Arnold's paper: a job of many GPUs
// is packed into as few minipods as possible, so the emptiest come first. A gang of less than a
// host goes where least would be left of a host, as packing wants, and among equals into the
// minipod with most free hosts, which it spoils least.
#include "scheduler/hosts.hpp"
#include "scheduler/placement/catalog_entries.hpp"

namespace railyard::scheduler {

namespace {

class GpuPacking final : public PlacementPolicy {
 public:
  explicit GpuPacking(RankOrder rank_order) : rank_order_(rank_order) {}
  std::optional<Placement> place(const GangShape& shape, const Inventory& view,
                                 Rng /*rng*/) const override {
    return place_in_order(shape, view, FreeOrder::most_first, rank_order_);
  }

 private:
  RankOrder rank_order_;
};

std::unique_ptr<PlacementPolicy> create_gpu_packing(const config::Parameters& parameters) {
  return std::make_unique<GpuPacking>(rank_order_of(parameters));
}

}  // namespace

PlacementEntry gpu_packing_entry() {
  return {{.name = "gpu_packing",
           .summary = "the minipods with most free hosts first, so that few are touched; a gang of "
                      "less than a host takes the host with fewest free GPUs that fits",
           .parameters = {rank_order_parameter("\"pp_fastest\"")}},
          &create_gpu_packing};
}

}  // namespace railyard::scheduler
