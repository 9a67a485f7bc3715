// Contradictions of a training specification with itself and with the GPU.
#include <algorithm>
#include <numeric>

#include "railyard/workload/transformer.hpp"
#include "workload/model.hpp"

namespace railyard::workload {

namespace {

class Problems {
 public:
  void divides(std::uint64_t whole, std::uint64_t part, const std::string& message) {
    require(part != 0 && whole % part == 0, message);
  }
  void require(bool good, const std::string& message) {
    if (!good) found.push_back(message);
  }
  std::vector<std::string> found;
};

void check_dimensions(const TrainingSpec& spec, Problems& problems) {
  const ModelSpec& m = spec.model;
  const std::uint32_t t = spec.parallelism.tensor;
  const std::uint32_t d = spec.parallelism.data;
  problems.divides(m.heads, t,
                   fmt::format("{} heads do not divide over {} tensor ranks", m.heads, t));
  // Without grouped-query attention the heads have said it.
  if (m.kv_heads != m.heads && m.latent.key_value_rank == 0) {
    problems.divides(m.kv_heads, t,
                     fmt::format("{} kv_heads do not divide over {} tensor ranks", m.kv_heads, t));
  }
  problems.divides(m.ffn, t, fmt::format("ffn {} does not divide over {} tensor ranks", m.ffn, t));
  problems.divides(
      m.vocabulary, t,
      fmt::format("vocabulary {} does not divide over {} tensor ranks; pad it to {}", m.vocabulary,
                  t, divided_up(m.vocabulary, std::int64_t{128} * t) * 128 * t));
  problems.divides(spec.global_batch, std::uint64_t{spec.micro_batch} * d,
                   fmt::format("global_batch {} is not a multiple of micro_batch {} × {} data "
                               "replicas",
                               spec.global_batch, spec.micro_batch, d));
  problems.divides(m.sequence, spec.parallelism.context,
                   fmt::format("a sequence of {} does not divide over {} context ranks", m.sequence,
                               spec.parallelism.context));
}

void check_layers(const TrainingSpec& spec, Problems& problems) {
  const std::uint32_t layers = spec.model.layers;
  const std::uint32_t chunks = spec.chunks();
  if (spec.layers_per_stage.empty()) {
    if (chunks == spec.parallelism.pipeline) {
      problems.divides(
          layers, chunks,
          fmt::format("{} layers do not divide into {} pipeline stages", layers, chunks));
    } else {
      problems.divides(
          layers, chunks,
          fmt::format("{} layers do not divide into {} pipeline stages of {} chunks", layers,
                      spec.parallelism.pipeline, spec.parallelism.virtual_stages));
    }
    return;
  }
  const std::uint64_t given =
      std::accumulate(spec.layers_per_stage.begin(), spec.layers_per_stage.end(), std::uint64_t{0});
  problems.require(spec.layers_per_stage.size() == chunks,
                   fmt::format("layers_per_stage has {} entries for {} chunks",
                               spec.layers_per_stage.size(), chunks));
  problems.require(given == layers,
                   fmt::format("layers_per_stage gives {} layers of {}", given, layers));
}

void check_schedule(const TrainingSpec& spec, Problems& problems) {
  const std::uint32_t p = spec.parallelism.pipeline;
  const std::uint32_t v = spec.parallelism.virtual_stages;
  const std::uint32_t m = spec.micro_batches();
  if (v > 1) {
    problems.require(p > 1,
                     fmt::format("{} virtual stages need a pipeline of two stages or more", v));
    problems.require(
        spec.schedule == Schedule::one_forward_one_backward || spec.schedule == Schedule::gpipe,
        "virtual_stages are for the schedules 1f1b, interleaved and gpipe");
    problems.divides(m, p,
                     fmt::format("{} micro-batches do not divide into groups of {} stages, "
                                 "which the interleaved schedule needs",
                                 m, p));
  }
  if (spec.schedule != Schedule::dual_pipe) return;
  problems.require(p % 2 == 0, fmt::format("dualpipe needs an even number of stages, not {}", p));
  problems.require(m % 2 == 0 && m >= 2 * p,
                   fmt::format("dualpipe needs an even number of micro-batches, at least twice the "
                               "{} stages; there are {}",
                               p, m));
  problems.require(spec.zero < 3, "dualpipe with zero 3 is not modelled");
}

void check_experts(const TrainingSpec& spec, Problems& problems) {
  const Parallelism& parallelism = spec.parallelism;
  const Experts& experts = spec.model.experts;
  const std::uint32_t e = parallelism.expert;
  if (e > 1 && experts.count == 0) {
    problems.require(false,
                     fmt::format("{} expert ranks, but {} has no experts", e, spec.model.name));
    return;
  }
  const std::size_t weights = spec.expert_load.weights.size();
  problems.require(
      weights == 0 || weights == experts.count,
      fmt::format("the expert load has {} entries for {} experts", weights, experts.count));
  problems.require(e > 1 || parallelism.expert_tensor == 0,
                   "expert_tensor needs more than one expert rank");
  if (e == 1) return;
  problems.divides(experts.count, e,
                   fmt::format("{} experts do not divide over {} expert ranks", experts.count, e));
  const std::uint32_t sharing = parallelism.expert_tensor_ranks();
  const std::uint64_t ranks = std::uint64_t{parallelism.replicas()} * parallelism.tensor;
  problems.divides(parallelism.tensor, sharing,
                   fmt::format("{} tensor ranks do not divide into groups of {} that share an "
                               "expert",
                               parallelism.tensor, sharing));
  const std::uint64_t span = std::uint64_t{e} * sharing;
  problems.divides(ranks, span,
                   fmt::format("{} expert ranks × {} that share an expert do not divide the {} "
                               "ranks of a stage",
                               e, sharing, ranks));
  problems.require(span % parallelism.tensor == 0 || parallelism.tensor % span == 0,
                   fmt::format("{} ranks that hold all experts and {} tensor ranks do not fit into "
                               "one another",
                               span, parallelism.tensor));
}

void check_precision(const TrainingSpec& spec, const GpuSpec& gpu, Problems& problems) {
  const auto has = [&](FlopRate peak, const char* name) {
    problems.require(peak > FlopRate(), fmt::format("{} has no {}", gpu.name, name));
  };
  if (spec.precision == Precision::fp8) has(gpu.peak_fp8, "fp8");
  if (spec.precision == Precision::tf32) has(gpu.peak_tf32, "tf32");
  if (spec.precision == Precision::fp32) has(gpu.peak_fp32, "fp32 peak");
  problems.require(spec.gradient_bytes == 2 || spec.gradient_bytes == 4,
                   fmt::format("gradients of {} bytes are not known; 2 (bf16) and 4 (fp32) are",
                               spec.gradient_bytes));
}

}  // namespace

std::vector<std::string> check_training(const TrainingSpec& spec, const GpuSpec& gpu) {
  const Parallelism& parallelism = spec.parallelism;
  if (parallelism.ranks() == 0 || parallelism.expert == 0 || parallelism.virtual_stages == 0 ||
      spec.micro_batch == 0 || spec.global_batch == 0) {
    return {"tensor, pipeline and data ranks, global_batch and micro_batch must be at least 1"};
  }
  Problems problems;
  check_layers(spec, problems);
  check_dimensions(spec, problems);
  if (problems.found.empty()) check_schedule(spec, problems);
  check_experts(spec, problems);
  check_precision(spec, gpu, problems);
  problems.require(spec.gradient_bucket > Bytes(0), "gradient_bucket must be positive");
  problems.require(!spec.sequence_parallel || parallelism.tensor > 1,
                   "sequence_parallel needs more than one tensor rank");
  problems.require(!spec.tensor_overlap || spec.sequence_parallel,
                   "tensor_overlap needs sequence_parallel: an all-reduce cannot be cut");
  problems.require(!spec.overlap_parameters || spec.zero == 1 || spec.zero == 2,
                   "overlap_parameters needs zero 1 or 2");
  if (problems.found.empty()) check_memory(spec, gpu, problems.found);
  return problems.found;
}

}  // namespace railyard::workload
