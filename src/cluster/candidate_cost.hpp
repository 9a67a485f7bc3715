// Candidate placements on the iteration engine: what scheduler's PlacementCost promises.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "component.hpp"
#include "railyard/scheduler/placement_cost.hpp"

namespace railyard::cluster {

class CandidateCost final : public scheduler::PlacementCost {
 public:
  /// The oracle is shared with the run: what is chosen need not be simulated again.
  CandidateCost(std::span<const JobSpec> jobs, const Settings& settings, IterationOracle& oracle)
      : jobs_(jobs), settings_(&settings), oracle_(&oracle) {}

  /// The jobs that run beside every candidate from now on.
  void set_neighbours(std::vector<Member> neighbours) { neighbours_ = std::move(neighbours); }

  [[nodiscard]] scheduler::CandidateIteration iteration(
      JobId job, const scheduler::Placement& candidate) override;

 private:
  [[nodiscard]] std::vector<std::uint32_t> beside(const training::Program& candidate) const;

  std::span<const JobSpec> jobs_;
  const Settings* settings_;
  IterationOracle* oracle_;
  std::vector<Member> neighbours_;
};

}  // namespace railyard::cluster
