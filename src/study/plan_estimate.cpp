#include "study/plan_estimate.hpp"

#include <algorithm>
#include <cmath>

#include "railyard/collective/protocol.hpp"
#include "study/alone.hpp"

namespace railyard::study {

using workload::Recompute;
using workload::Schedule;
using workload::TrainingSpec;

FabricRates::FabricRates(const topology::Topology& fabric, std::uint32_t gpus)
    : fabric_(fabric),
      gpus_(gpus),
      island_(island_size(fabric)),
      routing_(sprayed(fabric).routing) {}

const FabricRates::Edge& FabricRates::edge(std::uint32_t distance, std::uint32_t flows) const {
  const std::uint32_t reach = std::max(gpus_, 2U);
  const auto [found, inserted] = edges_.try_emplace({distance, flows});
  if (!inserted) return found->second;
  std::map<LinkId, double> load;
  topology::Route route;
  for (std::uint32_t source = 0; source < flows; ++source) {
    const std::uint32_t to = source + distance;
    if (to >= reach) break;
    routing_->route({GpuId{source}, GpuId{to}, 0}, route);
    for (const topology::LinkUse& use : route.links) load[use.link] += use.usage;
    // Inside an island every GPU has links of its own.
    found->second.nvlink = route.tier == topology::Tier::nvlink;
    if (found->second.nvlink) break;
  }
  double rate = HUGE_VAL;
  for (const auto& [link, uses] : load)
    rate = std::min(rate, static_cast<double>(fabric_.link(link).capacity.bytes_per_s()) / uses);
  found->second.bytes_per_s = rate;
  return found->second;
}

std::uint32_t FabricRates::inside(GroupSpan group) const {
  return std::clamp(island_ / group.stride, 1U, group.count);
}

FabricRates::Edge FabricRates::slowest(GroupSpan group) const {
  // Groups that lie side by side leave an island at neighbouring GPUs.
  Edge far = edge(group.stride * (group.count - 1), std::min(group.stride, island_));
  if (!far.nvlink && inside(group) > 1)
    far.bytes_per_s = std::min(far.bytes_per_s, edge(1, 1).bytes_per_s);
  return far;
}

double FabricRates::half_ring(double bytes, GroupSpan group) const {
  if (group.count < 2) return 0;
  const collective::Protocol protocol;
  const Edge worst = slowest(group);
  const double steps = group.count - 1;
  const Duration step = worst.nvlink ? protocol.ring.nvlink : protocol.ring.network;
  return steps / group.count * bytes / worst.bytes_per_s + in_seconds(protocol.base) +
         steps * in_seconds(step);
}

double FabricRates::all_reduce(double bytes, GroupSpan group) const {
  if (group.count < 2) return 0;
  return 2 * half_ring(bytes, group) - in_seconds(collective::Protocol().base);
}

double FabricRates::all_to_all(double bytes, GroupSpan group) const {
  if (group.count < 2) return 0;
  const collective::Protocol protocol;
  const double near = inside(group);
  const double share = bytes / group.count;
  const bool leaves = inside(group) < group.count;
  double time = near > 1 ? share * (near - 1) / edge(1, 1).bytes_per_s : 0;
  if (leaves) {
    // All GPUs of an island send to those of the furthest.
    const std::uint32_t furthest = group.stride * (group.count - inside(group));
    time = std::max(time, share * (group.count - near) / edge(furthest, island_).bytes_per_s);
  }
  return time + in_seconds(protocol.base) +
         in_seconds(leaves ? protocol.ring.network : protocol.ring.nvlink);
}

double FabricRates::send(double bytes, std::uint32_t stride) const {
  const collective::Protocol protocol;
  const Edge& way = edge(stride, std::min(stride, island_));
  const Duration step = way.nvlink ? protocol.ring.nvlink : protocol.ring.network;
  return bytes / way.bytes_per_s + in_seconds(protocol.base + step);
}

StageSet stages_of(const TrainingSpec& spec, const workload::GpuSpec& gpu) {
  const std::uint32_t p = spec.parallelism.pipeline;
  StageSet set;
  set.first = workload::stage_times(spec, gpu, 0);
  set.last = p > 1 ? workload::stage_times(spec, gpu, p - 1) : set.first;
  set.middle = p > 2 ? workload::stage_times(spec, gpu, p / 2) : set.last;
  return set;
}

namespace {

GroupSpan replicas_of(const TrainingSpec& spec) {
  return {spec.parallelism.tensor, spec.parallelism.replicas()};
}

/// Layers with experts of the stage that has most of them.
double expert_layers(const TrainingSpec& spec) {
  const auto& experts = spec.model.experts;
  if (experts.count == 0) return 0;
  return std::min<double>(spec.model.layers - experts.dense_layers,
                          static_cast<double>(spec.model.layers) / spec.parallelism.pipeline);
}

/// What the collectives of one micro-batch add to a stage's passes.
struct Exposed {
  double tensor = 0;
  double context = 0;
  double expert = 0;
  [[nodiscard]] double total() const { return tensor + context + expert; }
};

double tensor_seconds(const TrainingSpec& spec, const FabricRates& rates, double bytes,
                      double layers) {
  const GroupSpan group{1, spec.parallelism.tensor};
  if (group.count < 2) return 0;
  // A pass has two sums a layer; a recomputed one two more.
  const double sums = spec.recompute == Recompute::full ? 6 : 4;
  if (!spec.sequence_parallel) return layers * sums * rates.all_reduce(bytes, group);
  // Sums are a scatter and a gather; the way back gathers twice again.
  return layers * (2 * sums + 2) * rates.half_ring(bytes, group);
}

/// Ring attention's keys and values pass on a stream of their own, as in the DAG: what a pass of
/// computation outlasts is hidden. The way back gathers them again and scatters their gradients.
double context_seconds(const TrainingSpec& spec, const workload::StageTimes& times,
                       const FabricRates& rates, double layers) {
  const auto& parallelism = spec.parallelism;
  if (parallelism.context < 2) return 0;
  const workload::ModelSpec& m = spec.model;
  const double kv_heads = std::ceil(static_cast<double>(m.kv_heads) / parallelism.tensor);
  const double width =
      m.latent.key_value_rank > 0 ? m.query_dim() + m.value_dim() : 2.0 * m.head_dim;
  const double all = static_cast<double>(spec.tokens()) * parallelism.context * kv_heads * width *
                     static_cast<double>(workload::element_bytes(spec.precision));
  const double gathers = layers * rates.half_ring(all, {parallelism.tensor, parallelism.context});
  const double back = spec.recompute == Recompute::full ? 3 : 2;
  return std::max(0.0, gathers - in_seconds(times.forward)) +
         std::max(0.0, back * gathers - in_seconds(times.backward));
}

double expert_seconds(const TrainingSpec& spec, const FabricRates& rates) {
  const auto& parallelism = spec.parallelism;
  if (parallelism.expert < 2) return 0;
  const double routed = std::ceil(static_cast<double>(spec.tokens()) / parallelism.tensor) *
                        spec.model.experts.per_token * spec.model.hidden *
                        static_cast<double>(workload::element_bytes(spec.precision));
  const double passes = spec.recompute == Recompute::full ? 3 : 2;
  const double dispatched = spec.precision == workload::Precision::fp8 ? routed / 2 : routed;
  const GroupSpan group{1, parallelism.expert};
  return expert_layers(spec) * passes *
         (rates.all_to_all(dispatched, group) + rates.all_to_all(routed, group));
}

/// Gradients and parameters over the replicas, beyond what the last backward pass hides.
double data_seconds(const TrainingSpec& spec, const StageSet& stages, const FabricRates& rates) {
  const auto& parallelism = spec.parallelism;
  const workload::ModelSpec& m = spec.model;
  TrainingSpec whole = spec;
  whole.zero = 0;
  const double all = static_cast<double>(workload::memory_use(whole).gradients.count());
  const double width = spec.gradient_bytes;
  double expert = 0;
  if (parallelism.expert > 1)
    expert = expert_layers(spec) * m.experts.count / parallelism.expert * m.hidden * m.experts.ffn *
             (m.gated ? 3 : 2) * width;
  const double dense = std::max(0.0, all - expert);
  const GroupSpan group = replicas_of(spec);
  const GroupSpan expert_group{
      parallelism.expert,
      std::max(1U, parallelism.replicas() * parallelism.tensor / parallelism.expert)};
  const auto halves = [&](double share) {
    return rates.half_ring(share * dense, group) + rates.half_ring(share * expert, expert_group);
  };
  const double gathers = halves(2 / width);
  const double passes = spec.micro_batches();
  const double forward = in_seconds(stages.first.forward);
  const double backward = in_seconds(stages.first.backward);
  if (spec.zero == 3) {
    return passes *
               (std::max(0.0, gathers - forward) + std::max(0.0, gathers + halves(1) - backward)) +
           2 * gathers / m.layers;
  }
  const double reduce =
      spec.zero == 0 ? rates.all_reduce(dense, group) + rates.all_reduce(expert, expert_group)
                     : halves(1);
  const double bucket = static_cast<double>(spec.gradient_bucket.count());
  const double tail = reduce * std::min(1.0, bucket / std::max(all, 1.0));
  const double hidden = backward * std::max(0.0, 1 - bucket / std::max(all, 1.0));
  double time = std::max(tail, reduce - hidden);
  if (spec.zero > 0) time += gathers;
  if (m.tied_embeddings && parallelism.pipeline > 1) {
    const std::uint32_t stride =
        parallelism.tensor * parallelism.replicas() * (parallelism.pipeline - 1);
    time += rates.all_reduce(width * m.vocabulary * m.hidden / parallelism.tensor, {stride, 2});
  }
  return time;
}

double pass_seconds(const workload::StageTimes& times) {
  return in_seconds(times.forward + times.backward);
}

/// Weight gradients leave the way back and fill the bubble: F + B − 2W a stage in place of F + B
/// (Qi et al., 2023, §3.1), the second W where there are micro-batches enough. A weight's gradient
/// costs as much as its forward product.
double bubble_share(const TrainingSpec& spec, const StageSet& stages) {
  if (spec.schedule != Schedule::zero_bubble) return 1.0 / spec.parallelism.virtual_stages;
  const double both = pass_seconds(stages.middle);
  const double weight =
      std::min(in_seconds(stages.middle.forward), in_seconds(stages.middle.backward) / 2);
  const double filled =
      std::min(1.0, (spec.micro_batches() - 1.0) / (spec.parallelism.pipeline - 1.0));
  return std::max(0.0, both - (1 + filled) * weight) / both;
}

}  // namespace

Estimate estimate(const TrainingSpec& spec, const StageSet& stages, const FabricRates& rates) {
  const auto& parallelism = spec.parallelism;
  const double p = parallelism.pipeline;
  const double m = spec.micro_batches();
  const double layers = spec.model.layers / p;
  const double activation = static_cast<double>(spec.tokens()) * spec.model.hidden *
                            static_cast<double>(workload::element_bytes(spec.precision));
  const Exposed exposed{tensor_seconds(spec, rates, activation, layers),
                        context_seconds(spec, stages.middle, rates, layers),
                        expert_seconds(spec, rates)};
  const double first = pass_seconds(stages.first) + exposed.total();
  const double middle = pass_seconds(stages.middle) + exposed.total();
  const double last = pass_seconds(stages.last) + exposed.total();
  Estimate out;
  double slowest = std::max(first, last);
  if (p > 2) slowest = std::max(slowest, middle);
  const double sum = p > 1 ? first + last + (p - 2) * middle : first;
  double period = slowest;
  double hop = 0;
  if (p > 1) {
    const std::uint32_t stride = parallelism.tensor * parallelism.replicas();
    hop = rates.send(activation / parallelism.tensor, stride);
    // Stage s keeps p − s micro-batches in flight, each of which goes to the last stage and back.
    double round = last;
    for (std::uint32_t behind = 1; behind < parallelism.pipeline; ++behind) {
      round += behind + 1 == parallelism.pipeline ? first : middle;
      if (parallelism.virtual_stages == 1)
        period = std::max(period, (round + 2 * behind * hop) / (behind + 1));
    }
  }
  out.of(Term::compute) = m * (slowest - exposed.total()) +
                          in_seconds(std::max({stages.first.optimizer, stages.middle.optimizer,
                                               stages.last.optimizer}));
  out.of(Term::tensor) = m * exposed.tensor;
  out.of(Term::context) = m * exposed.context;
  out.of(Term::expert) = m * exposed.expert;
  out.of(Term::bubble) = (sum - slowest) * bubble_share(spec, stages);
  out.of(Term::pipeline) = (m - 1) * (period - slowest) + 2 * (p - 1) * hop;
  out.of(Term::data) = data_seconds(spec, stages, rates);
  return out;
}

}  // namespace railyard::study
