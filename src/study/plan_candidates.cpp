// The strategies that a plan looks at.
#include "railyard/study/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "railyard/config/catalog.hpp"
#include "railyard/topology/routing.hpp"

namespace railyard::study {

using workload::Recompute;
using workload::Schedule;

namespace {

/// A ring of keys and values pays from sequences of so many tokens on.
constexpr std::uint32_t kContextSequence = 8192;
constexpr std::uint32_t kMicroBatchMax = 8;

auto tuple_of(const Strategy& s) {
  const workload::Parallelism& p = s.parallelism;
  return std::tuple(p.tensor, p.pipeline, p.context, p.data, p.expert, p.virtual_stages,
                    s.micro_batch, s.recompute, s.zero, s.schedule);
}

std::vector<std::uint32_t> divisors(std::uint32_t number, std::uint32_t most) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t d = 1; d <= std::min(number, most); ++d) {
    if (number % d == 0) out.push_back(d);
  }
  return out;
}

}  // namespace

std::string name(const Strategy& strategy) {
  const workload::Parallelism& p = strategy.parallelism;
  std::string out = fmt::format("tp{} pp{} dp{}", p.tensor, p.pipeline, p.data);
  if (p.context > 1) out += fmt::format(" cp{}", p.context);
  if (p.expert > 1) out += fmt::format(" ep{}", p.expert);
  if (p.virtual_stages > 1) out += fmt::format(" v{}", p.virtual_stages);
  out += fmt::format(" mb{}", strategy.micro_batch);
  if (strategy.schedule == Schedule::zero_bubble) out += " zb_h1";
  if (strategy.recompute != Recompute::none) out += fmt::format(" {}", recompute_name(strategy));
  if (strategy.zero > 0) out += fmt::format(" zero{}", strategy.zero);
  return out;
}

std::string_view schedule_name(const Strategy& strategy) {
  if (strategy.schedule == Schedule::zero_bubble) return "zb_h1";
  return strategy.parallelism.virtual_stages > 1 ? "interleaved" : "1f1b";
}

std::string_view recompute_name(const Strategy& strategy) {
  constexpr std::array<std::string_view, 3> kNames{"none", "full", "selective"};
  return kNames.at(static_cast<std::size_t>(strategy.recompute));
}

bool before(const Strategy& a, const Strategy& b) {
  return tuple_of(a) < tuple_of(b);
}

workload::TrainingSpec spec_of(const PlanRequest& request, const Strategy& strategy) {
  workload::TrainingSpec spec;
  spec.model = request.model;
  spec.parallelism = strategy.parallelism;
  spec.global_batch = request.global_batch;
  spec.micro_batch = strategy.micro_batch;
  spec.schedule = strategy.schedule;
  spec.recompute = strategy.recompute;
  spec.precision = request.precision;
  spec.flash_attention = request.flash_attention;
  spec.sequence_parallel = strategy.parallelism.tensor > 1;
  spec.zero = strategy.zero;
  return spec;
}

namespace {

/// The parallelism of all candidates, without virtual stages.
std::vector<workload::Parallelism> grids(const PlanRequest& request, std::uint32_t tensor_max) {
  const workload::ModelSpec& model = request.model;
  const std::uint32_t contexts = model.sequence >= kContextSequence ? 8 : 1;
  std::vector<workload::Parallelism> out;
  for (const std::uint32_t t : divisors(request.gpus, tensor_max)) {
    for (const std::uint32_t p : divisors(model.layers, request.gpus / t)) {
      for (std::uint32_t c = 1; c <= contexts; c *= 2) {
        if (request.gpus % (std::uint64_t{t} * p * c) != 0) continue;
        const std::uint32_t d = request.gpus / (t * p * c);
        for (const std::uint32_t e :
             divisors(std::max(1U, model.experts.count), request.gpus / p)) {
          workload::Parallelism grid{
              .tensor = t, .pipeline = p, .data = d, .context = c, .expert = e};
          if (e > 1) grid.expert_tensor = 1;
          out.push_back(grid);
        }
      }
    }
  }
  return out;
}

/// The variants of one parallelism and micro-batch that differ in what they keep.
void add_variants(Strategy strategy, bool flash, std::vector<Strategy>& out) {
  const workload::Parallelism& p = strategy.parallelism;
  for (const Recompute recompute : {Recompute::none, Recompute::full, Recompute::selective}) {
    // Flash attention keeps no scores: nothing is saved by computing them again.
    if (recompute == Recompute::selective && flash) continue;
    strategy.recompute = recompute;
    for (const std::uint32_t zero : {0U, 1U, 3U}) {
      if (zero > 0 && p.replicas() == 1) continue;
      if (zero == 3 && p.pipeline > 1) continue;
      strategy.zero = zero;
      strategy.schedule = Schedule::one_forward_one_backward;
      out.push_back(strategy);
      if (p.pipeline == 1 || p.virtual_stages > 1) continue;
      strategy.schedule = Schedule::zero_bubble;
      out.push_back(strategy);
    }
  }
}

}  // namespace

std::vector<Strategy> strategies(const PlanRequest& request, std::uint32_t tensor_max) {
  std::vector<Strategy> out;
  for (const workload::Parallelism& grid : grids(request, tensor_max)) {
    for (std::uint32_t v = 1; v <= (grid.pipeline > 1 ? 4U : 1U); v *= 2) {
      for (std::uint32_t micro_batch = 1; micro_batch <= kMicroBatchMax; micro_batch *= 2) {
        Strategy strategy{.parallelism = grid, .micro_batch = micro_batch};
        strategy.parallelism.virtual_stages = v;
        add_variants(strategy, request.flash_attention, out);
      }
    }
  }
  std::sort(out.begin(), out.end(), before);
  return out;
}

std::uint32_t island_size(const topology::Topology& fabric) {
  const auto table = topology::routing_catalog();
  const auto shortest = config::default_choice("shortest", config::descriptions(table));
  const auto routing = config::entry_of(table, "shortest").create(fabric, shortest.parameters);
  std::uint32_t size = 1;
  topology::Route route;
  for (; size < fabric.gpu_count(); ++size) {
    routing->route({GpuId{0}, GpuId{size}, 0}, route);
    if (route.tier != topology::Tier::nvlink) break;
  }
  return std::max(size, fabric.hosts().front().gpus);
}

}  // namespace railyard::study
