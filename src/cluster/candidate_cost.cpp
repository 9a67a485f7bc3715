#include "candidate_cost.hpp"

#include <utility>

#include "contention.hpp"
#include "railyard/core/check.hpp"

namespace railyard::cluster {

/// Neighbours that share a link with the candidate that can bind, directly or through others.
std::vector<std::uint32_t> CandidateCost::beside(std::span<const Member> neighbours,
                                                 const training::Program& candidate) const {
  // Where every flow runs alone nobody slows anybody down.
  if (settings_->network.model.fidelity == network::Fidelity::analytic) return {};
  std::vector<const std::vector<training::LinkDemand>*> demands;
  for (const Member& neighbour : neighbours) demands.push_back(&neighbour.program->demand);
  demands.push_back(&candidate.demand);
  const auto own = static_cast<std::uint32_t>(neighbours.size());
  for (auto& component : components(demands, *settings_->topology)) {
    if (component.back() != own) continue;
    component.pop_back();
    return component;
  }
  RAILYARD_CHECK(false, "a candidate among {} neighbours is in no component", own);
  return {};
}

scheduler::CandidateIteration CandidateCost::iteration(JobId job,
                                                       const scheduler::Placement& candidate) {
  RAILYARD_CHECK(index(job) < jobs_.size(), "job {} of {}", index(job), jobs_.size());
  const JobSpec& spec = jobs_[index(job)];
  const auto own = bind_placement(spec, candidate, index(job), *settings_);
  training::JobIterations found = oracle_->steady_state(std::span(&own, 1)).jobs.front();
  const std::vector<Member> neighbours = neighbours_();
  const std::vector<std::uint32_t> others = beside(neighbours, *own);
  if (!others.empty()) {
    std::vector<Member> members;
    for (const std::uint32_t other : others) members.push_back(neighbours[other]);
    members.push_back({own, to_ticks(found.iteration_ticks), spec.priority});
    found = together(members, *settings_, *oracle_).jobs.back();
  }
  return {found.iteration_ticks, found.attribution.communication()};
}

namespace {

/// With the oracle that the cost needs.
class IdleCluster final : public scheduler::PlacementCost {
 public:
  IdleCluster(std::span<const JobSpec> jobs, const Settings& settings)
      : settings_(settings),
        oracle_(*settings_.topology, settings_.limits, false, nullptr, settings_.memo),
        cost_(jobs, settings_, oracle_, [] { return std::vector<Member>(); }) {}
  scheduler::CandidateIteration iteration(JobId job,
                                          const scheduler::Placement& candidate) override {
    return cost_.iteration(job, candidate);
  }

 private:
  Settings settings_;
  IterationOracle oracle_;
  CandidateCost cost_;
};

}  // namespace

std::unique_ptr<scheduler::PlacementCost> cost_on_idle_cluster(std::span<const JobSpec> jobs,
                                                               const Settings& settings) {
  return std::make_unique<IdleCluster>(jobs, settings);
}

}  // namespace railyard::cluster
