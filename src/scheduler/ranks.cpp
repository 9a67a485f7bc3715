// Where ranks lie, and how many minipods their groups touch.
#include <algorithm>
#include <bit>

#include "railyard/core/check.hpp"
#include "railyard/scheduler/placement.hpp"

namespace railyard::scheduler {

namespace {

/// The GPUs of the slots in order, host by host.
std::vector<GpuId> gpus_in_order(const Placement& placement, const topology::Topology& topology) {
  std::vector<GpuId> gpus;
  for (const HostSlot& slot : placement.slots) {
    const auto first = static_cast<std::uint32_t>(topology.host(slot.host).first_gpu);
    for (std::uint64_t mask = slot.gpu_mask; mask != 0; mask &= mask - 1) {
      gpus.push_back(
          static_cast<GpuId>(first + static_cast<std::uint32_t>(std::countr_zero(mask))));
    }
  }
  return gpus;
}

/// Data ranks side by side in a host: GPUs per host / TP where the gang is a matrix of whole hosts,
/// else 1.
std::uint32_t data_ranks_per_host(const Placement& placement, const GangShape& shape,
                                  const topology::Topology& topology) {
  RAILYARD_CHECK(!placement.slots.empty(), "a placement without hosts");
  const std::uint32_t gpus_per_host = topology.host(placement.slots.front().host).gpus;
  for (const HostSlot& slot : placement.slots) {
    if (topology.host(slot.host).gpus != gpus_per_host ||
        slot.gpu_mask != whole_host_mask(gpus_per_host)) {
      return 1;
    }
  }
  if (gpus_per_host % shape.tensor != 0) return 1;
  const std::uint32_t side_by_side = gpus_per_host / shape.tensor;
  return shape.data % side_by_side == 0 ? side_by_side : 1;
}

/// Counts distinct values within one group after another, without clearing in between.
class DistinctCounter {
 public:
  explicit DistinctCounter(std::size_t values) : last_group_(values, 0) {}
  void next_group() {
    ++group_;
    count_ = 0;
  }
  void add(std::size_t value) {
    if (last_group_[value] == group_) return;
    last_group_[value] = group_;
    ++count_;
  }
  [[nodiscard]] std::uint32_t count() const { return count_; }

 private:
  std::vector<std::uint32_t> last_group_;
  std::uint32_t group_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace

std::vector<GpuId> gpu_of_rank(const Placement& placement, const GangShape& shape,
                               const topology::Topology& topology) {
  const std::uint32_t tensor = shape.tensor;
  const std::uint32_t pipeline = shape.pipeline;
  const std::uint32_t data = shape.data;
  RAILYARD_CHECK(std::uint64_t{tensor} * pipeline * data == shape.gpus && shape.gpus > 0,
                 "TP {} · PP {} · DP {} are not {} GPUs", tensor, pipeline, data, shape.gpus);
  const std::vector<GpuId> gpus = gpus_in_order(placement, topology);
  RAILYARD_CHECK(gpus.size() >= shape.gpus, "{} GPUs placed of {}", gpus.size(), shape.gpus);

  const std::uint32_t side_by_side = data_ranks_per_host(placement, shape, topology);
  std::vector<GpuId> of_rank(shape.gpus);
  for (std::uint32_t block = 0; block < pipeline * data; ++block) {
    std::uint32_t stage = block / data;
    std::uint32_t data_rank = block % data;
    if (placement.rank_order == RankOrder::pp_fastest) {
      const std::uint32_t row = block / (pipeline * side_by_side);
      const std::uint32_t in_row = block % (pipeline * side_by_side);
      stage = in_row / side_by_side;
      data_rank = row * side_by_side + in_row % side_by_side;
    }
    const std::uint32_t first_rank = tensor * (data_rank + data * stage);
    for (std::uint32_t t = 0; t < tensor; ++t) of_rank[first_rank + t] = gpus[block * tensor + t];
  }
  return of_rank;
}

double Spread::weighted(double alpha) const {
  return alpha * dp_max + (1.0 - alpha) * pp_max;
}

double Spread::simplified(double alpha, bool unit_dp) const {
  return unit_dp ? (1.0 - alpha) * minipods + alpha * dp_max
                 : alpha * minipods + (1.0 - alpha) * pp_max;
}

Spread spread_of(const Placement& placement, const GangShape& shape,
                 const topology::Topology& topology) {
  const std::vector<GpuId> gpus = gpu_of_rank(placement, shape, topology);
  const auto minipod_of = [&](std::uint32_t rank) {
    return index(topology.host(topology.host_of(gpus[rank])).minipod);
  };
  Spread spread;
  DistinctCounter minipods(topology.minipod_count());
  DistinctCounter leaves(topology.leaf_count());
  minipods.next_group();
  leaves.next_group();
  for (std::uint32_t rank = 0; rank < shape.gpus; ++rank) {
    minipods.add(minipod_of(rank));
    leaves.add(index(topology.host(topology.host_of(gpus[rank])).leaf));
  }
  spread.minipods = minipods.count();
  spread.leaves = leaves.count();

  const std::uint32_t stage_stride = shape.tensor * shape.data;
  for (std::uint32_t first = 0; first < stage_stride; ++first) {
    minipods.next_group();
    for (std::uint32_t s = 0; s < shape.pipeline; ++s) {
      minipods.add(minipod_of(first + s * stage_stride));
    }
    spread.pp_max = std::max(spread.pp_max, minipods.count());
  }
  for (std::uint32_t s = 0; s < shape.pipeline; ++s) {
    for (std::uint32_t t = 0; t < shape.tensor; ++t) {
      minipods.next_group();
      for (std::uint32_t d = 0; d < shape.data; ++d) {
        minipods.add(minipod_of(t + shape.tensor * (d + shape.data * s)));
      }
      spread.dp_max = std::max(spread.dp_max, minipods.count());
    }
  }
  return spread;
}

}  // namespace railyard::scheduler
