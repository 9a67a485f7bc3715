// Candidate placements on the iteration engine: what scheduler's PlacementCost promises.
#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "component.hpp"
#include "railyard/scheduler/placement_cost.hpp"

namespace railyard::cluster {

class CandidateCost final : public scheduler::PlacementCost {
 public:
  /// Tells who runs beside a candidate; most policies never ask.
  using Neighbours = std::function<std::vector<Member>()>;

  /// The oracle is shared with the run: what is chosen need not be simulated again.
  CandidateCost(std::span<const JobSpec> jobs, const Settings& settings, IterationOracle& oracle,
                Neighbours neighbours)
      : jobs_(jobs), settings_(&settings), oracle_(&oracle), neighbours_(std::move(neighbours)) {}

  [[nodiscard]] scheduler::CandidateIteration iteration(
      JobId job, const scheduler::Placement& candidate) override;

 private:
  [[nodiscard]] std::vector<std::uint32_t> beside(std::span<const Member> neighbours,
                                                  const training::Program& candidate) const;

  std::span<const JobSpec> jobs_;
  const Settings* settings_;
  IterationOracle* oracle_;
  Neighbours neighbours_;
};

}  // namespace railyard::cluster
