// The closed form that ranks candidates of a plan before any is simulated.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "railyard/study/plan.hpp"
#include "railyard/topology/routing.hpp"

namespace railyard::study {

/// Ranks base + i · stride, i < count, on GPUs of the same numbers.
struct GroupSpan {
  std::uint32_t stride = 1;
  std::uint32_t count = 1;
};

/// Rates of a fabric as groups see them that lie side by side and exchange at once: GPUs that share
/// a NIC, or a link behind it, share its rate.
class FabricRates {
 public:
  explicit FabricRates(const topology::Topology& fabric, std::uint32_t gpus);

  /// Seconds of a ring's all-gather or reduce-scatter of `bytes` in all: (n − 1)/n · bytes over its
  /// slowest edge, and n − 1 steps.
  [[nodiscard]] double half_ring(double bytes, GroupSpan group) const;
  [[nodiscard]] double all_reduce(double bytes, GroupSpan group) const;
  /// Every rank sends `bytes`, in equal shares, to all.
  [[nodiscard]] double all_to_all(double bytes, GroupSpan group) const;
  /// One message a rank to the rank `stride` further on.
  [[nodiscard]] double send(double bytes, std::uint32_t stride) const;

 private:
  struct Edge {
    double bytes_per_s = 0;
    bool nvlink = false;
  };
  /// GPUs 0 … flows − 1 send `distance` further on, all at once.
  [[nodiscard]] const Edge& edge(std::uint32_t distance, std::uint32_t flows) const;
  /// Of `count`, so many ranks stand in one island.
  [[nodiscard]] std::uint32_t inside(GroupSpan group) const;
  [[nodiscard]] Edge slowest(GroupSpan group) const;

  const topology::Topology& fabric_;
  std::uint32_t gpus_;
  std::uint32_t island_;
  std::shared_ptr<const topology::Routing> routing_;
  mutable std::map<std::pair<std::uint32_t, std::uint32_t>, Edge> edges_;  // distance, flows
};

/// Computation of the stages that differ: the first, one between, the last. Independent of zero and
/// schedule but for the optimizer.
struct StageSet {
  workload::StageTimes first;
  workload::StageTimes middle;
  workload::StageTimes last;
};
[[nodiscard]] StageSet stages_of(const workload::TrainingSpec& spec, const workload::GpuSpec& gpu);

[[nodiscard]] Estimate estimate(const workload::TrainingSpec& spec, const StageSet& stages,
                                const FabricRates& rates);

}  // namespace railyard::study
