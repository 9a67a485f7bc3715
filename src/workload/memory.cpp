#include <algorithm>

#include "railyard/workload/transformer.hpp"
#include "workload/model.hpp"

namespace railyard::workload {

namespace {

constexpr std::int64_t kWeightBytes = 2;      // bf16
constexpr std::int64_t kOptimizerBytes = 12;  // fp32 master weight and two moments

/// Bytes a layer keeps for its backward pass, one micro-batch (Korthikanti et al., Eq. 2, without
/// sequence parallelism; for the GPT family sbh(10 + 24/t + 5as/(ht))). Flash attention keeps no s
/// × s scores.
std::int64_t layer_activations(const TrainingSpec& spec) {
  const ModelSpec& m = spec.model;
  const std::int64_t t = spec.parallelism.tensor;
  const std::int64_t tokens = std::int64_t{spec.micro_batch} * m.sequence;
  const std::int64_t q = divided_up(m.heads, t) * m.head_dim;
  const std::int64_t kv = 2 * divided_up(m.kv_heads, t) * m.head_dim;
  const std::int64_t whole =
      (m.gated ? 8 : 10) * std::int64_t{m.hidden};  // the Llama family keeps no dropout masks
  const std::int64_t split = 2 * (q + kv) + 2 * q + (m.gated ? 6 : 4) * divided_up(m.ffn, t);
  const std::int64_t scores = spec.flash_attention ? 0 : 5 * divided_up(m.heads, t) * m.sequence;
  return tokens * (whole + split + scores);
}

MemoryUse stage_memory(const TrainingSpec& spec, std::uint32_t stage) {
  const ModelSpec& m = spec.model;
  const std::uint32_t p = spec.parallelism.pipeline;
  const std::int64_t layers = m.layers / p;
  const std::int64_t tokens = std::int64_t{spec.micro_batch} * m.sequence;
  const std::int64_t in_flight = std::min(p - stage, spec.micro_batches());
  const std::int64_t parameters = stage_parameters_per_rank(spec, stage);
  const std::int64_t layer = layer_activations(spec);
  const std::int64_t layer_input = 2 * tokens * m.hidden;
  // Full recomputation keeps each layer's input, and one layer's activations while its backward
  // pass runs.
  std::int64_t activations = spec.recompute == Recompute::full
                                 ? in_flight * layers * layer_input + layer
                                 : in_flight * layers * layer;
  if (stage == 0 && !m.gated)
    activations += in_flight * tokens * m.hidden;  // the embedding's dropout mask
  if (stage + 1 == p) {  // inputs of the last norm and of the logits, logits in fp32
    activations += 2 * layer_input + 4 * tokens * divided_up(m.vocabulary, spec.parallelism.tensor);
  }
  return {.parameters = Bytes(kWeightBytes * parameters),
          .gradients = Bytes(spec.gradient_bytes * parameters),
          .optimizer = Bytes(kOptimizerBytes * parameters),
          .activations = Bytes(activations)};
}

double gib(Bytes bytes) {
  return static_cast<double>(bytes.count()) / static_cast<double>(std::int64_t{1} << 30U);
}

void check_memory(const TrainingSpec& spec, const GpuSpec& gpu,
                  std::vector<std::string>& problems) {
  const MemoryUse use = memory_use(spec);
  if (use.total() <= gpu.memory) return;
  std::string advice;
  if (spec.recompute == Recompute::none) advice = "recompute \"full\" or ";
  advice += "more pipeline stages or tensor ranks";
  problems.push_back(fmt::format(
      "needs {:.1f} GiB of the {:.1f} GiB of {}: parameters {:.1f}, gradients {:.1f}, optimizer "
      "{:.1f}, activations {:.1f} "
      "({} bytes too many); try {}",
      gib(use.total()), gib(gpu.memory), gpu.name, gib(use.parameters), gib(use.gradients),
      gib(use.optimizer), gib(use.activations), (use.total() - gpu.memory).count(), advice));
}

}  // namespace

MemoryUse memory_use(const TrainingSpec& spec) {
  MemoryUse fullest;
  for (std::uint32_t stage = 0; stage < spec.parallelism.pipeline; ++stage) {
    const MemoryUse use = stage_memory(spec, stage);
    if (use.total() > fullest.total()) fullest = use;
  }
  return fullest;
}

std::vector<std::string> check_training(const TrainingSpec& spec, const GpuSpec& gpu) {
  std::vector<std::string> problems;
  const ModelSpec& m = spec.model;
  const Parallelism& parallelism = spec.parallelism;
  const auto [t, p, d] = parallelism;
  if (t == 0 || p == 0 || d == 0 || spec.micro_batch == 0 || spec.global_batch == 0) {
    return {"tensor, pipeline and data ranks, global_batch and micro_batch must be at least 1"};
  }
  const auto divides = [&](std::uint32_t whole, std::uint32_t part, const std::string& message) {
    if (whole % part != 0) problems.push_back(message);
  };
  divides(m.layers, p, fmt::format("{} layers do not divide into {} pipeline stages", m.layers, p));
  divides(m.heads, t, fmt::format("{} heads do not divide over {} tensor ranks", m.heads, t));
  // Without grouped-query attention the heads have said it.
  if (m.kv_heads != m.heads) {
    divides(m.kv_heads, t,
            fmt::format("{} kv_heads do not divide over {} tensor ranks", m.kv_heads, t));
  }
  divides(m.ffn, t, fmt::format("ffn {} does not divide over {} tensor ranks", m.ffn, t));
  divides(m.vocabulary, t,
          fmt::format("vocabulary {} does not divide over {} tensor ranks; pad it to {}",
                      m.vocabulary, t, divided_up(m.vocabulary, std::int64_t{128} * t) * 128 * t));
  divides(spec.global_batch, spec.micro_batch * d,
          fmt::format("global_batch {} is not a multiple of micro_batch {} × {} data replicas",
                      spec.global_batch, spec.micro_batch, d));
  if (spec.gradient_bytes != 2 && spec.gradient_bytes != 4) {
    problems.push_back(fmt::format("gradients of {} bytes are not known; 2 (bf16) and 4 (fp32) are",
                                   spec.gradient_bytes));
  }
  if (spec.gradient_bucket <= Bytes(0)) problems.emplace_back("gradient_bucket must be positive");
  bool known = false;
  for (const auto& entry : collective::algorithm_catalog())
    known = known || entry.description.name == spec.all_reduce;
  if (!known)
    problems.push_back(fmt::format("no collective algorithm is named {}", spec.all_reduce));
  if (problems.empty()) check_memory(spec, gpu, problems);
  return problems;
}

}  // namespace railyard::workload
