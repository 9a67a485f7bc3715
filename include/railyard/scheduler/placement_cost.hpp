// What a candidate placement would cost, simulated: how a placement policy asks without seeing
// flows, rates or links. The cluster implements it with the iteration engine.
//
// Not modelled: what the candidate costs the jobs that run already.
#pragma once

#include "railyard/core/ids.hpp"
#include "railyard/core/time.hpp"
#include "railyard/scheduler/placement.hpp"

namespace railyard::scheduler {

/// Steady state of a job on a candidate.
struct CandidateIteration {
  double ticks = 0;        ///< mean length of an iteration
  Duration communication;  ///< of it, communication on the critical path
};

class PlacementCost {
 public:
  virtual ~PlacementCost() = default;
  /// Called by a placement policy while it decides. The job runs on the candidate beside the jobs
  /// that run now; whether the candidate's GPUs are free is not looked at. The same candidate costs
  /// the same, and nothing to ask again.
  [[nodiscard]] virtual CandidateIteration iteration(JobId job, const Placement& candidate) = 0;
};

}  // namespace railyard::scheduler
