#include "railyard/workload/transformer.hpp"

#include "railyard/core/check.hpp"
#include "workload/compute.hpp"
#include "workload/model.hpp"
#include "workload/pipeline_dag.hpp"

namespace railyard::workload {

namespace {

/// Compute times of the parts a stage is made of; a stage is a sum of whole parts, so that any
/// grouping of its layers has the same duration to the tick.
struct Parts {
  PassTimes layer;  // backward with recomputation where asked
  PassTimes embedding;
  PassTimes head;
};

Parts parts_of(const TrainingSpec& spec, const GpuSpec& gpu) {
  Parts parts{layer_times(spec, gpu), embedding_times(spec, gpu), head_times(spec, gpu)};
  if (spec.recompute == Recompute::full) parts.layer.backward += parts.layer.forward;
  return parts;
}

std::uint32_t layers_per_stage(const TrainingSpec& spec) {
  return spec.model.layers / spec.parallelism.pipeline;
}

/// Backward of a stage in segments: last layer first, layers grouped until their gradients fill a
/// bucket. The head's part belongs to the first segment, the embedding's to the last.
std::vector<BackwardSegment> segments_of(const TrainingSpec& spec, const Parts& parts,
                                         std::uint32_t stage) {
  const std::uint32_t t = spec.parallelism.tensor;
  const bool first = stage == 0;
  const bool last = stage + 1 == spec.parallelism.pipeline;
  const Bytes layer = Bytes(layer_parameters(spec.model).per_rank(t)) * spec.gradient_bytes;
  const std::uint32_t all_reduces = spec.recompute == Recompute::full ? 4 : 2;
  std::vector<BackwardSegment> segments;
  BackwardSegment open;
  if (last) {
    open.duration += parts.head.backward;
    open.tensor_all_reduces += 1;  // gradient of the logits' input
    open.gradients += Bytes(head_parameters(spec.model, head_owns_matrix(spec)).per_rank(t)) *
                      spec.gradient_bytes;
  }
  for (std::uint32_t l = 0; l < layers_per_stage(spec); ++l) {
    open.duration += parts.layer.backward;
    open.tensor_all_reduces += all_reduces;
    open.gradients += layer;
    if (open.gradients >= spec.gradient_bucket && l + 1 < layers_per_stage(spec)) {
      segments.push_back(open);
      open = {};
    }
  }
  if (first) {
    open.duration += parts.embedding.backward;
    open.gradients += Bytes(embedding_parameters(spec.model).per_rank(t)) * spec.gradient_bytes;
  }
  segments.push_back(open);
  return segments;
}

StagePlan plan_stage(const TrainingSpec& spec, const GpuSpec& gpu, const Parts& parts,
                     std::uint32_t stage) {
  StagePlan plan;
  const std::uint32_t layers = layers_per_stage(spec);
  plan.forward = parts.layer.forward * layers;
  plan.forward_all_reduces = 2 * layers;
  if (stage == 0) {
    plan.forward += parts.embedding.forward;
    plan.forward_all_reduces += 1;  // the vocabulary is split over the tensor ranks
  }
  if (stage + 1 == spec.parallelism.pipeline) plan.forward += parts.head.forward;
  plan.backward = segments_of(spec, parts, stage);
  plan.optimizer = optimizer_time(stage_parameters_per_rank(spec, stage), gpu);
  return plan;
}

}  // namespace

StageTimes stage_times(const TrainingSpec& spec, const GpuSpec& gpu, std::uint32_t stage) {
  RAILYARD_CHECK(stage < spec.parallelism.pipeline, "stage {} of {}", stage,
                 spec.parallelism.pipeline);
  const StagePlan plan = plan_stage(spec, gpu, parts_of(spec, gpu), stage);
  StageTimes times{.forward = plan.forward, .backward = Duration(0), .optimizer = plan.optimizer};
  for (const BackwardSegment& segment : plan.backward) times.backward += segment.duration;
  return times;
}

IterationDag build_iteration(const TrainingSpec& spec, const GpuSpec& gpu) {
  RAILYARD_CHECK(spec.model.layers % spec.parallelism.pipeline == 0, "{} layers over {} stages",
                 spec.model.layers, spec.parallelism.pipeline);
  RAILYARD_CHECK(spec.global_batch % (spec.micro_batch * spec.parallelism.data) == 0,
                 "batch {} over {} replicas of {}", spec.global_batch, spec.parallelism.data,
                 spec.micro_batch);
  const Parts parts = parts_of(spec, gpu);
  PipelinePlan plan;
  plan.parallelism = spec.parallelism;
  plan.micro_batches = spec.micro_batches();
  plan.activation =
      Bytes(std::int64_t{2} * spec.micro_batch * spec.model.sequence * spec.model.hidden);
  plan.scatter_sends = spec.scatter_sends;
  for (std::uint32_t stage = 0; stage < spec.parallelism.pipeline; ++stage) {
    plan.stages.push_back(plan_stage(spec, gpu, parts, stage));
  }
  if (spec.model.tied_embeddings && spec.parallelism.pipeline > 1) {
    const ParameterCount matrix{.sharded = std::int64_t{spec.model.hidden} * spec.model.vocabulary,
                                .replicated = 0};
    plan.tied_gradients = Bytes(matrix.per_rank(spec.parallelism.tensor)) * spec.gradient_bytes;
  }
  IterationDag dag = build_pipeline(plan);
  dag.model_flops = model_flops(spec);
  dag.tokens = static_cast<double>(spec.global_batch) * spec.model.sequence;
  dag.all_reduce_algorithm = spec.all_reduce;
  return dag;
}

}  // namespace railyard::workload
