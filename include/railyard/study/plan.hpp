// Which parallelism trains a model fastest on the first N GPUs of a fabric: candidates are listed,
// those that contradict themselves or do not fit in memory are refused and counted, the rest is
// ranked by a closed form, and the best of it, the finalists, are simulated on the fabric.
//
// The closed form (Estimate) adds up computation, pipeline bubble and the bytes of each collective
// over the slowest link of its ring; what flows do to each other is left to the simulation. It only
// has to keep the best among the finalists, and PlanResult says how well it ordered them. Not
// searched: unequal layers per stage, gpipe and dualpipe, ZeRO 2, orders of ranks other than the
// house's (tensor, context, data, pipeline on GPUs 0, 1, …).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "railyard/topology/graph.hpp"
#include "railyard/training/attribution.hpp"
#include "railyard/workload/transformer.hpp"

namespace railyard::study {

struct PlanRequest {
  workload::ModelSpec model;
  workload::GpuSpec gpu;
  std::uint32_t gpus = 1;
  std::uint32_t global_batch = 1024;  ///< sequences
  workload::Precision precision = workload::Precision::bf16;
  bool flash_attention = true;
  std::size_t finalists = 16;  ///< candidates that are simulated
};

/// What a candidate decides; the request says the rest.
struct Strategy {
  workload::Parallelism parallelism;
  std::uint32_t micro_batch = 1;
  workload::Recompute recompute = workload::Recompute::none;
  std::uint32_t zero = 0;
  workload::Schedule schedule = workload::Schedule::one_forward_one_backward;
};
/// "tp8 pp4 dp2 v2 mb1 full zero1": whatever is 1, none, 0 or the usual schedule is left out, but
/// for tensor, pipeline, data and micro-batch.
[[nodiscard]] std::string name(const Strategy& strategy);
/// "1f1b", "interleaved" or "zb_h1".
[[nodiscard]] std::string_view schedule_name(const Strategy& strategy);
/// "none", "full" or "selective".
[[nodiscard]] std::string_view recompute_name(const Strategy& strategy);
/// Total order by the parallelism tuple: (tensor, pipeline, context, data, expert, virtual stages,
/// micro-batch, recompute, zero, schedule). Breaks all ties.
[[nodiscard]] bool before(const Strategy& a, const Strategy& b);

[[nodiscard]] workload::TrainingSpec spec_of(const PlanRequest& request, const Strategy& strategy);

/// What an iteration's time consists of. `pipeline` is sends between stages.
enum class Term : std::uint8_t { compute, bubble, tensor, pipeline, data, context, expert };
inline constexpr std::size_t kTerms = 7;
[[nodiscard]] std::string_view name(Term term);

/// Seconds of an iteration by term, in closed form (docs/reference/plan.md).
struct Estimate {
  std::array<double, kTerms> seconds{};
  [[nodiscard]] double total() const;
  double& of(Term term) { return seconds[static_cast<std::size_t>(term)]; }
  [[nodiscard]] double of(Term term) const { return seconds[static_cast<std::size_t>(term)]; }
};

/// The part of the attribution that exceeds the winner's most, as a share of the winner's
/// iteration; empty where none does.
struct Loss {
  std::string_view part;
  double share = 0;
};

struct Finalist {
  Strategy strategy;
  Estimate estimate;
  double iteration_s = 0;  ///< simulated, steady state
  double tokens_per_s = 0;
  double mfu = 0;  ///< model FLOPs over the peak of the precision
  workload::MemoryUse memory;
  double memory_share = 0;            ///< of the GPU's
  training::Attribution attribution;  ///< sums to the iteration
  Loss loss;                          ///< against the fastest
};

/// Candidates of one kind that contradict themselves, with a sentence of check_training.
struct Contradiction {
  std::string sentence;
  std::uint64_t candidates = 0;
};

struct PlanResult {
  std::uint64_t candidates = 0;
  std::uint64_t contradictory = 0;  ///< do not divide
  Contradiction commonest;
  std::uint64_t too_large = 0;      ///< do not fit in memory
  std::optional<Strategy> closest;  ///< of them
  Bytes closest_lacks;
  std::uint64_t estimated = 0;  ///< the rest
  /// Estimated and not simulated, by the term in which they lose most to the best estimate.
  std::array<std::uint64_t, kTerms> pruned{};
  std::vector<Finalist> finalists;  ///< fastest first
  /// Spearman's ρ of the finalists' estimates and simulations; none with fewer than two.
  std::optional<double> rank_correlation;
  double estimate_error_worst = 0;  ///< |estimate / simulated − 1|, worst of the finalists
};

/// Every strategy that is looked at, in order of `before`; `tensor_max` bounds tensor ranks.
[[nodiscard]] std::vector<Strategy> strategies(const PlanRequest& request,
                                               std::uint32_t tensor_max);

/// GPUs from the first on that NVLink joins, or those of the first host where none does: the most
/// tensor ranks that are tried.
[[nodiscard]] std::uint32_t island_size(const topology::Topology& fabric);

/// Lists, refuses, estimates and prunes: the finalists have their strategy and estimate, those with
/// the least estimate first. Checked: 1 ≤ gpus ≤ the fabric's, finalists ≥ 1. No finalists: no
/// candidate is feasible, and the counts say why.
[[nodiscard]] PlanResult shortlist(const PlanRequest& request, const topology::Topology& fabric);

/// Fills in the finalist's steady-state iteration on GPUs 0 … gpus − 1, rank r on GPU r, evenly
/// sprayed. Independent of all others: finalists may be simulated side by side.
void simulate(const PlanRequest& request, const topology::Topology& fabric, Finalist& finalist);

/// Orders the simulated finalists, says what each loses by and how good the estimates were.
void rank(PlanResult& result);

/// The three in turn.
[[nodiscard]] PlanResult plan(const PlanRequest& request, const topology::Topology& fabric);

}  // namespace railyard::study
