#include "workload/pipeline_layout.hpp"

#include <algorithm>
#include <numeric>

#include "railyard/core/check.hpp"

namespace railyard::workload {

PipelineLayout::PipelineLayout(const PipelinePlan& plan, IterationDag& dag)
    : plan_(plan),
      t_(plan.parallelism.tensor),
      p_(plan.parallelism.pipeline),
      replicas_(plan.parallelism.replicas()),
      flats_(t_ * replicas_),
      expert_span_(plan.parallelism.expert > 1
                       ? plan.parallelism.expert * plan.parallelism.expert_tensor_ranks()
                       : 1) {
  const std::uint32_t expert_replicas = std::max(1U, expert_span_ / t_);
  block_ = plan.zero == 3 ? replicas_ : std::lcm(plan.parallelism.context, expert_replicas);
  RAILYARD_CHECK(replicas_ % block_ == 0, "{} replicas in blocks of {}", replicas_, block_);
  blocks_ = replicas_ / block_;
  dag.ranks = plan.parallelism.ranks();
  for (std::uint32_t stage = 0; stage < p_; ++stage) {
    for (std::uint32_t block = 0; block < blocks_; ++block) {
      std::vector<Rank> ranks;
      for (std::uint32_t i = 0; i < t_ * block_; ++i)
        ranks.push_back(rank_of(block * t_ * block_ + i, stage));
      dag.actors.push_back(std::move(ranks));
    }
  }
  if (t_ > 1) tensor_groups_ = block_;
  if (plan.parallelism.context > 1) context_groups_ = t_ * block_ / plan.parallelism.context;
  if (plan.parallelism.expert > 1) expert_groups_ = t_ * block_ / plan.parallelism.expert;
  for (std::uint32_t actor = 0; actor < blocks_ * p_; ++actor) add_actor_groups(dag, actor);
  add_gradient_groups(dag);
  add_streams(dag);
}

void PipelineLayout::add_actor_groups(IterationDag& dag, std::uint32_t actor) {
  const std::vector<Rank>& ranks = dag.actors[actor];
  const auto add = [&](std::uint32_t size, auto member) {
    std::vector<Rank> group;
    for (std::uint32_t i = 0; i < size; ++i) group.push_back(ranks[member(i)]);
    dag.groups.push_back(std::move(group));
  };
  const Parallelism& parallelism = plan_.parallelism;
  for (std::uint32_t g = 0; g < tensor_groups_; ++g)
    add(t_, [&](std::uint32_t i) { return g * t_ + i; });
  for (std::uint32_t g = 0; g < context_groups_; ++g) {
    const std::uint32_t base = g / t_ * t_ * parallelism.context + g % t_;
    add(parallelism.context, [&](std::uint32_t i) { return base + i * t_; });
  }
  const std::uint32_t shared = parallelism.expert_tensor_ranks();
  for (std::uint32_t g = 0; g < expert_groups_; ++g) {
    const std::uint32_t base = g / shared * expert_span_ + g % shared;
    add(parallelism.expert, [&](std::uint32_t i) { return base + i * shared; });
  }
}

void PipelineLayout::add_gradient_groups(IterationDag& dag) {
  const std::uint32_t copies = dual() ? 2 : 1;
  const auto add = [&](std::uint32_t home, std::uint32_t first, std::uint32_t step) {
    std::vector<Rank> group;
    for (const std::uint32_t stage : stages_of_home(home)) {
      for (std::uint32_t flat = first; flat < flats_; flat += step)
        group.push_back(rank_of(flat, stage));
    }
    dag.groups.push_back(std::move(group));
  };
  first_dense_ = static_cast<std::uint32_t>(dag.groups.size());
  if (replicas_ * copies > 1) dense_groups_ = t_;
  for (std::uint32_t home = 0; home < homes(); ++home) {
    for (std::uint32_t tensor = 0; tensor < dense_groups_; ++tensor) add(home, tensor, t_);
  }
  first_expert_data_ = static_cast<std::uint32_t>(dag.groups.size());
  if (plan_.parallelism.expert > 1 && flats_ / expert_span_ * copies > 1)
    expert_data_groups_ = expert_span_;
  for (std::uint32_t home = 0; home < homes(); ++home) {
    for (std::uint32_t place = 0; place < expert_data_groups_; ++place)
      add(home, place, expert_span_);
  }
  first_tied_ = static_cast<std::uint32_t>(dag.groups.size());
  if (plan_.tied_gradients > Bytes(0) && p_ > 1 && !dual()) {
    tied_groups_ = t_ * block_;
    for (std::uint32_t flat = 0; flat < flats_; ++flat)
      dag.groups.push_back({rank_of(flat, 0), rank_of(flat, p_ - 1)});
  }
}

void PipelineLayout::add_streams(IterationDag& dag) {
  const std::uint32_t actors = blocks_ * p_;
  slots_ = std::max({tensor_groups_, context_groups_, expert_groups_, 1U});
  gradient_streams_ = std::max(t_, dense_groups_ + expert_data_groups_);
  std::uint32_t next = 3 * actors;
  const auto take = [&](std::uint32_t count) {
    next += count;
    return next - count;
  };
  first_gradient_stream_ = take(homes() * gradient_streams_);
  first_tied_stream_ = take(tied_groups_ * blocks_);
  const bool gathers = plan_.zero == 3 || (plan_.zero > 0 && plan_.overlap_parameters);
  first_parameter_stream_ = take(gathers ? homes() * gradient_streams_ : 0);
  bool beside = slots_ > 1;
  bool launched = false;
  for (const ChunkPlan& chunk : plan_.chunks) {
    for (const auto* segments : {&chunk.forward, &chunk.backward}) {
      for (const Segment& segment : *segments) {
        launched = launched || segment.launch > Duration(0);
        for (const Work& work : segment.works) beside = beside || !work.beside.empty();
      }
    }
  }
  beside = beside || plan_.schedule == Schedule::dual_pipe;
  first_exchange_stream_ = take(beside ? actors * slots_ : 0);
  first_host_stream_ = take(launched ? actors : 0);
  dag.streams = next;
}

std::vector<std::uint32_t> PipelineLayout::stages_of_home(std::uint32_t home) const {
  if (dual()) return {home, p_ - 1 - home};
  return {home};
}

std::uint32_t PipelineLayout::home_of(std::uint32_t chunk) const {
  return dual() ? std::min(chunk, p_ - 1 - chunk) : chunk % p_;
}

std::vector<std::uint32_t> PipelineLayout::chunks_of_home(std::uint32_t home) const {
  std::vector<std::uint32_t> chunks;
  for (auto chunk = static_cast<std::uint32_t>(plan_.chunks.size()); chunk-- > 0;) {
    if (home_of(chunk) == home) chunks.push_back(chunk);
  }
  return chunks;
}

GroupRange PipelineLayout::groups(std::uint32_t actor, Cause cause) const {
  const std::uint32_t first = actor * (tensor_groups_ + context_groups_ + expert_groups_);
  switch (cause) {
    case Cause::tensor:
    case Cause::pipeline:  // what has been received is gathered over the tensor ranks
      return {first, tensor_groups_};
    case Cause::context:
      return {first + tensor_groups_, context_groups_};
    case Cause::expert:
      return {first + tensor_groups_ + context_groups_, expert_groups_};
    default:
      return {};
  }
}

GroupRange PipelineLayout::dense(std::uint32_t home) const {
  return {first_dense_ + home * dense_groups_, dense_groups_};
}

GroupRange PipelineLayout::expert(std::uint32_t home) const {
  return {first_expert_data_ + home * expert_data_groups_, expert_data_groups_};
}

GroupRange PipelineLayout::tied(std::uint32_t block) const {
  return {first_tied_ + block * tied_groups_, tied_groups_};
}

}  // namespace railyard::workload
