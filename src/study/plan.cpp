#include "railyard/study/plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <tuple>

#include "railyard/core/check.hpp"
#include "railyard/metrics/run_result.hpp"
#include "study/alone.hpp"
#include "study/plan_estimate.hpp"

namespace railyard::study {

using workload::Recompute;

namespace {

constexpr std::array<std::string_view, kTerms> kTermNames{
    "compute", "bubble", "tensor", "pipeline", "data", "context", "expert"};

/// Candidates that passed, with their estimates.
struct Estimated {
  Strategy strategy;
  Estimate estimate;
};

/// Sorts candidates into contradictory, too large and estimated ones.
class Sieve {
 public:
  Sieve(const PlanRequest& request, const topology::Topology& fabric, PlanResult& result)
      : request_(request), rates_(fabric, request.gpus), roomy_(request.gpu), result_(result) {
    roomy_.memory = Bytes(std::numeric_limits<std::int64_t>::max() / 2);
  }

  void take(const Strategy& strategy) {
    ++result_.candidates;
    const workload::TrainingSpec spec = spec_of(request_, strategy);
    const auto problems = workload::check_training(spec, roomy_);
    if (!problems.empty()) {
      ++result_.contradictory;
      ++sentences_[problems.front()];
      return;
    }
    const Bytes needed = workload::memory_use(spec).total();
    if (needed > request_.gpu.memory) {
      const Bytes lacks = needed - request_.gpu.memory;
      if (!result_.closest || lacks < result_.closest_lacks) {
        result_.closest = strategy;
        result_.closest_lacks = lacks;
      }
      ++result_.too_large;
      return;
    }
    estimated.push_back({strategy, estimate(spec, stages(strategy, spec), rates_)});
  }
  /// The commonest contradiction, the first by its sentence among equals.
  void finish() {
    for (const auto& [sentence, count] : sentences_) {
      if (count > result_.commonest.candidates) result_.commonest = {sentence, count};
    }
    result_.estimated = estimated.size();
  }

  std::vector<Estimated> estimated;

 private:
  const StageSet& stages(const Strategy& strategy, const workload::TrainingSpec& spec) {
    const workload::Parallelism& p = strategy.parallelism;
    const std::tuple key(p.tensor, p.pipeline, p.context, p.expert, p.virtual_stages,
                         strategy.micro_batch, strategy.recompute, strategy.zero);
    const auto [found, inserted] = stages_.try_emplace(key);
    if (inserted) found->second = stages_of(spec, request_.gpu);
    return found->second;
  }

  const PlanRequest& request_;
  FabricRates rates_;
  workload::GpuSpec roomy_;
  PlanResult& result_;
  std::map<std::string, std::uint64_t> sentences_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t,
                      std::uint32_t, Recompute, std::uint32_t>,
           StageSet>
      stages_;
};

/// The term in which `other` exceeds `best` most.
Term losing_term(const Estimate& other, const Estimate& best) {
  std::size_t worst = 0;
  for (std::size_t t = 1; t < kTerms; ++t) {
    if (other.seconds.at(t) - best.seconds.at(t) > other.seconds.at(worst) - best.seconds.at(worst))
      worst = t;
  }
  return static_cast<Term>(worst);
}

Loss loss_of(const training::Attribution& other, const training::Attribution& best) {
  Loss loss;
  Duration most{};
  for (const metrics::AttributionPart& part : metrics::attribution_parts()) {
    const Duration excess = other.*part.member - best.*part.member;
    if (excess <= most) continue;
    most = excess;
    loss.part = part.key;
  }
  loss.share = in_seconds(most) / in_seconds(best.total());
  return loss;
}

/// Positions in ascending order, equal values by their index.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(values[a], a) < std::tie(values[b], b);
  });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) ranks[order[i]] = static_cast<double>(i);
  return ranks;
}

/// How well the estimate ordered and hit what was simulated.
void judge_estimates(PlanResult& result) {
  std::vector<double> estimated;
  std::vector<double> simulated;
  for (const Finalist& finalist : result.finalists) {
    estimated.push_back(finalist.estimate.total());
    simulated.push_back(finalist.iteration_s);
    result.estimate_error_worst =
        std::max(result.estimate_error_worst, std::abs(estimated.back() / simulated.back() - 1));
  }
  const double n = static_cast<double>(estimated.size());
  if (estimated.size() < 2) return;
  const auto a = ranks_of(estimated);
  const auto b = ranks_of(simulated);
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
  result.rank_correlation = 1 - 6 * squares / (n * (n * n - 1));
}

}  // namespace

std::string_view name(Term term) {
  return kTermNames.at(static_cast<std::size_t>(term));
}

double Estimate::total() const {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

void simulate(const PlanRequest& request, const topology::Topology& fabric, Finalist& finalist) {
  const workload::TrainingSpec spec = spec_of(request, finalist.strategy);
  const auto dag =
      std::make_shared<const workload::IterationDag>(workload::build_iteration(spec, request.gpu));
  const training::JobIterations job = run_alone(dag, request.gpus, fabric);
  finalist.attribution = job.attribution;
  finalist.iteration_s = job.iteration_ticks / static_cast<double>(kTicksPerSecond);
  finalist.tokens_per_s = dag->tokens / finalist.iteration_s;
  finalist.mfu =
      dag->model_flops / (finalist.iteration_s *
                          workload::peak_of(request.gpu, request.precision).per_s() * request.gpus);
  finalist.memory = workload::memory_use(spec);
  finalist.memory_share = static_cast<double>(finalist.memory.total().count()) /
                          static_cast<double>(request.gpu.memory.count());
}

PlanResult shortlist(const PlanRequest& request, const topology::Topology& fabric) {
  RAILYARD_CHECK(request.gpus >= 1 && request.gpus <= fabric.gpu_count(), "{} of {} GPUs",
                 request.gpus, fabric.gpu_count());
  RAILYARD_CHECK(request.finalists >= 1, "no finalists");
  PlanResult result;
  Sieve sieve(request, fabric, result);
  for (const Strategy& strategy : strategies(request, island_size(fabric))) sieve.take(strategy);
  sieve.finish();
  std::vector<Estimated>& all = sieve.estimated;
  std::sort(all.begin(), all.end(), [](const Estimated& a, const Estimated& b) {
    const double left = a.estimate.total();
    const double right = b.estimate.total();
    return left != right ? left < right : before(a.strategy, b.strategy);
  });
  while (all.size() > request.finalists) {
    ++result.pruned.at(
        static_cast<std::size_t>(losing_term(all.back().estimate, all.front().estimate)));
    all.pop_back();
  }
  for (const Estimated& chosen : all) {
    Finalist finalist;
    finalist.strategy = chosen.strategy;
    finalist.estimate = chosen.estimate;
    result.finalists.push_back(finalist);
  }
  return result;
}

void rank(PlanResult& result) {
  std::sort(result.finalists.begin(), result.finalists.end(),
            [](const Finalist& a, const Finalist& b) {
              return a.iteration_s != b.iteration_s ? a.iteration_s < b.iteration_s
                                                    : before(a.strategy, b.strategy);
            });
  for (Finalist& finalist : result.finalists)
    finalist.loss = loss_of(finalist.attribution, result.finalists.front().attribution);
  judge_estimates(result);
}

PlanResult plan(const PlanRequest& request, const topology::Topology& fabric) {
  PlanResult result = shortlist(request, fabric);
  for (Finalist& finalist : result.finalists) simulate(request, fabric, finalist);
  rank(result);
  return result;
}

}  // namespace railyard::study
