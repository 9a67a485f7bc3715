#include "railyard/workload/transformer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "railyard/core/check.hpp"
#include "workload/compute.hpp"
#include "workload/model.hpp"
#include "workload/pipeline_dag.hpp"

namespace railyard::workload {

namespace {

using collective::Operation;

// Operations the host launches (calibration study, §2 and §4; the counts are its assumption, only
// their product with the launch cost is measured).
constexpr int kLaunchesForward = 30;
constexpr int kLaunchesBackward = 42;
constexpr int kLaunchesTensor = 4;
// Reading the batch, embedding; last norm, logits, loss: 2.3 to 3.2 ms a micro-batch at 43 µs in
// vTrain's rows on one host, whatever the model.
constexpr int kLaunchesEmbeddingForward = 14;
constexpr int kLaunchesEmbeddingBackward = 8;
constexpr int kLaunchesHeadForward = 24;
constexpr int kLaunchesHeadBackward = 22;

/// Compute times of the parts a stage is made of; a stage is a sum of whole parts, so that any
/// grouping of its layers has the same duration to the tick.
struct Parts {
  Parts(const TrainingSpec& training, const GpuSpec& gpu)
      : spec(training),
        dense(layer_times(training, gpu, 0)),
        sparse(layer_times(training, gpu, training.model.layers - 1)),
        embedding(embedding_times(training, gpu)),
        head(head_times(training, gpu)) {}
  [[nodiscard]] const PassTimes& layer(std::uint32_t layer) const {
    return spec.model.has_experts(layer) ? sparse : dense;
  }

  const TrainingSpec& spec;
  PassTimes dense;
  PassTimes sparse;
  PassTimes embedding;
  PassTimes head;
};

/// What the layers of a spec exchange with whom, in one forward pass.
class Exchanges {
 public:
  explicit Exchanges(const TrainingSpec& spec)
      : spec_(spec),
        activation_(spec.tokens() * spec.model.hidden * element_bytes(spec.precision)),
        loads_(expert_rank_loads(spec)) {}

  /// An all-reduce of activations over the tensor ranks, or its two halves.
  void add_all_reduces(Work& work, std::uint32_t count) const {
    if (spec_.parallelism.tensor == 1 || count == 0) return;
    work.stall += spec_.stack.skew * count;
    if (!spec_.sequence_parallel) {
      work.behind.push_back({Cause::tensor, Operation::all_reduce, activation_, count});
      return;
    }
    add_gathers(work, count);
    add_scatters(work, count);
  }
  void add_gathers(Work& work, std::uint32_t count) const {
    if (spec_.parallelism.tensor == 1 || count == 0) return;
    (spec_.tensor_overlap ? work.beside : work.behind)
        .push_back({Cause::tensor, Operation::all_gather, activation_, count});
  }
  void add_scatters(Work& work, std::uint32_t count) const {
    if (spec_.parallelism.tensor == 1 || count == 0) return;
    (spec_.tensor_overlap ? work.beside : work.behind)
        .push_back({Cause::tensor, Operation::reduce_scatter, activation_, count});
  }
  /// Ring attention: keys and values of all context ranks pass by while attention runs; on the way
  /// back their gradients too.
  void add_context(Work& work, bool backward) const {
    if (spec_.parallelism.context == 1) return;
    const ModelSpec& m = spec_.model;
    const std::int64_t heads = divided_up(m.kv_heads, spec_.parallelism.tensor);
    const std::int64_t width = m.latent.key_value_rank > 0
                                   ? std::int64_t{m.query_dim()} + m.value_dim()
                                   : std::int64_t{2} * m.head_dim;
    const Bytes all(spec_.tokens() * spec_.parallelism.context * heads * width *
                    element_bytes(spec_.precision));
    work.beside.push_back({Cause::context, Operation::all_gather, all, 1});
    if (backward) work.beside.push_back({Cause::context, Operation::reduce_scatter, all, 1});
  }
  /// Dispatch and combine: every token goes to the ranks of its experts and comes back, to each as
  /// many as its experts are asked for and take; where several ranks share an expert they gather
  /// its tokens and scatter its sums, all as many as the busiest.
  void add_experts(Work& work, std::uint32_t times) const {
    const Parallelism& parallelism = spec_.parallelism;
    if (parallelism.expert == 1) return;
    const std::int64_t own = divided_up(spec_.tokens(), parallelism.tensor);
    const Bytes asked(own * spec_.model.experts.per_token * spec_.model.hidden *
                      element_bytes(spec_.precision));
    const Bytes routed = taken(asked);
    const auto shares = expert_shares();
    work.behind.push_back(
        {Cause::expert, Operation::all_to_all, dispatched(routed), times, shares, false});
    work.behind.push_back(
        {Cause::expert, Operation::all_to_all, routed, times, shares, !shares.empty()});
    const std::uint32_t sharing = parallelism.expert_tensor_ranks();
    if (sharing == 1) return;
    const Bytes gathered = scaled(asked * sharing, expert_imbalance(spec_));
    work.behind.push_back({Cause::tensor, Operation::all_gather, gathered, times});
    work.behind.push_back({Cause::tensor, Operation::reduce_scatter, gathered, times});
  }

 private:
  static Bytes scaled(Bytes size, double factor) {
    if (factor == 1.0) return size;
    return Bytes(
        std::max<std::int64_t>(1, std::llround(static_cast<double>(size.count()) * factor)));
  }
  /// What experts of limited capacity do not drop.
  [[nodiscard]] Bytes taken(Bytes asked) const {
    if (spec_.expert_load.capacity_factor == 0) return asked;
    double sum = 0;
    for (const double load : loads_) sum += load;
    return scaled(asked, sum / static_cast<double>(loads_.size()));
  }
  /// The loads as whole weights, which a request wants; empty where all are alike.
  [[nodiscard]] std::vector<std::uint32_t> expert_shares() const {
    constexpr double kWhole = 1U << 24U;
    const auto [least, most] = std::ranges::minmax_element(loads_);
    if (*least == *most) return {};
    double sum = 0;
    for (const double load : loads_) sum += load;
    std::vector<std::uint32_t> shares;
    for (const double load : loads_)
      shares.push_back(static_cast<std::uint32_t>(std::llround(load / sum * kWhole)));
    return shares;
  }
  /// fp8 sends half of the bytes to the experts; what comes back is 2 bytes wide (DeepSeek-V3,
  /// §3.2).
  [[nodiscard]] Bytes dispatched(Bytes routed) const {
    return spec_.precision == Precision::fp8 ? routed.divided_up(2) : routed;
  }

  const TrainingSpec& spec_;
  Bytes activation_;
  std::vector<double> loads_;  ///< [expert rank]
};

Bytes gradient_size(const TrainingSpec& spec, std::int64_t parameters) {
  return Bytes(parameters) * spec.gradient_bytes;
}

/// Parameters of a segment, on the wire; without expert parallelism all are dense.
void add_parameters(const TrainingSpec& spec, RankParameters count, Segment& segment) {
  if (spec.parallelism.expert == 1) count = {.dense = count.total(), .expert = 0};
  segment.gradients += gradient_size(spec, count.dense);
  segment.expert_gradients += gradient_size(spec, count.expert);
  segment.parameters += Bytes(2 * count.dense);
  segment.expert_parameters += Bytes(2 * count.expert);
}

/// Operations of one attention pass that Megatron's fused softmax saves; it takes part in it only
/// where the maps of a rank are a multiple of four (Megatron-LM, fused_softmax.py).
constexpr int kLaunchesSoftmax = 7;
int softmax_launches(const TrainingSpec& spec) {
  const std::int64_t maps =
      spec.micro_batch * divided_up(spec.model.heads, spec.parallelism.tensor);
  return spec.flash_attention || maps % 4 == 0 ? 0 : kLaunchesSoftmax;
}

Duration launches(const TrainingSpec& spec, int operations, int tensor_passes) {
  const int tensor = spec.parallelism.tensor > 1 ? kLaunchesTensor * tensor_passes : 0;
  return spec.stack.launch * (operations + tensor);
}

/// A segment of one layer. Where something hides behind attention alone, attention is a work of its
/// own.
Segment layer_forward(const TrainingSpec& spec, const Parts& parts, std::uint32_t layer) {
  const PassTimes& times = parts.layer(layer);
  const Exchanges exchanges(spec);
  Segment segment;
  if (spec.parallelism.context > 1) {
    segment.works.push_back({times.attention_forward, {}, {}});
    exchanges.add_context(segment.works.back(), false);
    segment.works.push_back({times.forward - times.attention_forward, {}, {}});
  } else {
    segment.works.push_back({times.forward, {}, {}});
  }
  Work& last = segment.works.back();
  exchanges.add_all_reduces(last, 2);
  if (spec.model.has_experts(layer)) exchanges.add_experts(last, 1);
  segment.launch = launches(spec, kLaunchesForward + softmax_launches(spec), 1);
  add_parameters(spec, layer_parameters_per_rank(spec, layer), segment);
  return segment;
}

/// Backward of a layer, with what is recomputed in front of it.
Segment layer_backward(const TrainingSpec& spec, const Parts& parts, std::uint32_t layer) {
  const PassTimes& times = parts.layer(layer);
  const Exchanges exchanges(spec);
  const bool full = spec.recompute == Recompute::full;
  Duration attention = times.attention_backward;
  Duration rest = times.backward - times.attention_backward - times.weight;
  if (full) rest += times.forward;
  if (spec.recompute == Recompute::selective) attention += times.attention_forward;
  Segment segment;
  segment.weight = times.weight;
  if (spec.parallelism.context > 1) {
    segment.works.push_back({attention, {}, {}});
    exchanges.add_context(segment.works.back(), true);
    segment.works.push_back({rest, {}, {}});
    if (full) exchanges.add_context(segment.works.front(), false);
  } else {
    segment.works.push_back({attention + rest, {}, {}});
  }
  Work& last = segment.works.back();
  exchanges.add_all_reduces(last, full ? 4 : 2);
  // What was gathered for the forward product is gathered again for the gradient of its weights.
  if (spec.sequence_parallel) exchanges.add_gathers(last, 2);
  if (spec.model.has_experts(layer)) exchanges.add_experts(last, full ? 2 : 1);
  segment.launch = launches(spec,
                            kLaunchesBackward + softmax_launches(spec) +
                                (full ? kLaunchesForward + softmax_launches(spec) : 0),
                            full ? 2 : 1);
  add_parameters(spec, layer_parameters_per_rank(spec, layer), segment);
  return segment;
}

void append(Segment& into, const Segment& more) {
  const Bytes gradients = into.gradients + more.gradients;
  if (into.works.empty()) {
    into = more;
    return;
  }
  into.gradients = gradients;
  into.expert_gradients += more.expert_gradients;
  into.parameters += more.parameters;
  into.expert_parameters += more.expert_parameters;
  into.weight += more.weight;
  into.launch += more.launch;
  join_works(into.works, more.works);
}

/// Layers one after the other, those of a bucket as one segment; `ends` adds what the model's ends
/// do in front and behind.
class SegmentList {
 public:
  explicit SegmentList(Bytes bucket) : bucket_(bucket) {}
  void add(const Segment& layer, bool last) {
    append(open_, layer);
    if (last || open_.gradients + open_.expert_gradients < bucket_) return;
    segments_.push_back(std::exchange(open_, {}));
  }
  [[nodiscard]] Segment& open() { return open_; }
  [[nodiscard]] std::vector<Segment> take() {
    segments_.push_back(std::move(open_));
    return std::move(segments_);
  }

 private:
  Bytes bucket_;
  Segment open_;
  std::vector<Segment> segments_;
};

/// What an end of the model does in a pass.
struct End {
  Duration compute{};
  Duration weight{};
  std::int64_t parameters = 0;
  std::uint32_t all_reduces = 0;
  int launches = 0;
  bool read = false;  ///< the host launches it last and reads the result
};

Segment end_segment(const TrainingSpec& spec, const End& end) {
  Segment segment;
  const std::size_t works = spec.parallelism.context > 1 ? 2 : 1;
  segment.works.resize(end.read ? works + 1 : works);
  segment.works.back().compute = end.compute;
  segment.works.back().after_launch = end.read;
  Exchanges(spec).add_all_reduces(segment.works.back(), end.all_reduces);
  segment.weight = end.weight;
  segment.launch = launches(spec, end.launches, 0);
  add_parameters(spec, {.dense = end.parameters, .expert = 0}, segment);
  return segment;
}

ChunkPlan plan_chunk(const TrainingSpec& spec, const Parts& parts, std::uint32_t chunk) {
  const std::uint32_t t = spec.parallelism.tensor;
  const std::uint32_t begin = spec.first_layer(chunk);
  const std::uint32_t end = spec.first_layer(chunk + 1);
  const bool last = chunk + 1 == spec.chunks();
  const std::int64_t head = head_parameters(spec.model, head_owns_matrix(spec)).per_rank(t);
  const std::int64_t embedding = embedding_parameters(spec.model).per_rank(t);
  // An eager host reads the loss of every micro-batch; its logits run after all else is launched.
  const bool eager = spec.stack.launch > Duration(0);
  SegmentList forward(spec.gradient_bucket);
  // The vocabulary is split over the tensor ranks: what is looked up is summed.
  if (chunk == 0)
    append(forward.open(), end_segment(spec, {parts.embedding.forward, Duration(0), embedding, 1,
                                              kLaunchesEmbeddingForward}));
  for (std::uint32_t l = begin; l < end; ++l)
    forward.add(layer_forward(spec, parts, l), l + 1 == end);
  if (last)
    append(forward.open(), end_segment(spec, {parts.head.forward, Duration(0), head, 0,
                                              kLaunchesHeadForward, eager}));
  SegmentList backward(spec.gradient_bucket);
  if (last)  // the gradient of the logits' input is summed
    append(backward.open(), end_segment(spec, {parts.head.backward - parts.head.weight,
                                               parts.head.weight, head, 1, kLaunchesHeadBackward}));
  for (std::uint32_t l = end; l-- > begin;)
    backward.add(layer_backward(spec, parts, l), l == begin);
  if (chunk == 0)
    append(backward.open(), end_segment(spec, {parts.embedding.backward, Duration(0), embedding, 0,
                                               kLaunchesEmbeddingBackward}));
  return {.forward = forward.take(), .backward = backward.take()};
}

/// Parameters whose optimizer state a rank keeps.
std::int64_t optimized_parameters(const TrainingSpec& spec, std::uint32_t stage) {
  const RankParameters count = stage_parameters_per_rank(spec, stage);
  if (spec.zero == 0) return count.total();
  const std::int64_t replicas = spec.parallelism.replicas();
  const Parallelism& parallelism = spec.parallelism;
  const std::int64_t expert_replicas = std::max<std::int64_t>(
      1, replicas * parallelism.tensor / (parallelism.expert * parallelism.expert_tensor_ranks()));
  return divided_up(count.dense, replicas) + divided_up(count.expert, expert_replicas);
}

Duration total(const std::vector<Segment>& segments) {
  Duration sum{};
  for (const Segment& segment : segments) {
    sum += segment.weight;
    for (const Work& work : segment.works) sum += work.compute;
  }
  return sum;
}

}  // namespace

const SoftwareStack* find_stack(std::string_view name) {
  static const SoftwareStack kGraphs;
  static const SoftwareStack kEager{"eager", std::chrono::microseconds(43), 1,
                                    std::chrono::microseconds(220)};
  if (name == "graphs") return &kGraphs;
  return name == "eager" ? &kEager : nullptr;
}

StageTimes stage_times(const TrainingSpec& spec, const GpuSpec& gpu, std::uint32_t stage) {
  RAILYARD_CHECK(stage < spec.parallelism.pipeline, "stage {} of {}", stage,
                 spec.parallelism.pipeline);
  const Parts parts(spec, gpu);
  StageTimes times;
  for (const std::uint32_t chunk : chunks_of_stage(spec, stage)) {
    const ChunkPlan plan = plan_chunk(spec, parts, chunk);
    times.forward += total(plan.forward);
    times.backward += total(plan.backward);
  }
  times.optimizer = optimizer_time(optimized_parameters(spec, stage), gpu);
  return times;
}

IterationDag build_iteration(const TrainingSpec& spec, const GpuSpec& gpu) {
  RAILYARD_CHECK(spec.first_layer(spec.chunks()) == spec.model.layers, "{} layers in {} chunks",
                 spec.model.layers, spec.chunks());
  RAILYARD_CHECK(spec.global_batch % (spec.micro_batch * spec.parallelism.data) == 0,
                 "batch {} over {} replicas of {}", spec.global_batch, spec.parallelism.data,
                 spec.micro_batch);
  const Parts parts(spec, gpu);
  PipelinePlan plan;
  plan.parallelism = spec.parallelism;
  plan.schedule = spec.schedule;
  plan.micro_batches = spec.micro_batches();
  const std::int64_t sent =
      spec.send_bytes > 0 ? std::int64_t{spec.send_bytes} : element_bytes(spec.precision);
  plan.activation = Bytes(spec.tokens() * spec.model.hidden * sent);
  // With sequence parallelism a rank has and keeps its share.
  plan.scatter_sends = spec.scatter_sends || spec.sequence_parallel;
  plan.gather_received = !spec.sequence_parallel;
  plan.zero = spec.zero;
  plan.overlap_sends = spec.overlap_sends;
  plan.overlap_gradients = spec.overlap_gradients;
  plan.overlap_parameters = spec.overlap_parameters;
  for (std::uint32_t chunk = 0; chunk < spec.chunks(); ++chunk)
    plan.chunks.push_back(plan_chunk(spec, parts, chunk));
  for (std::uint32_t stage = 0; stage < spec.parallelism.pipeline; ++stage)
    plan.optimizer.push_back(optimizer_time(optimized_parameters(spec, stage), gpu));
  if (spec.model.tied_embeddings && spec.parallelism.pipeline > 1) {
    const ParameterCount matrix{.sharded = std::int64_t{spec.model.hidden} * spec.model.vocabulary};
    plan.tied_gradients = gradient_size(spec, matrix.per_rank(spec.parallelism.tensor));
  }
  IterationDag dag = build_pipeline(plan);
  dag.model_flops = model_flops(spec);
  dag.tokens = static_cast<double>(spec.global_batch) * spec.model.sequence;
  dag.collectives = spec.collectives;
  return dag;
}

}  // namespace railyard::workload
