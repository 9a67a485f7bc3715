#include <algorithm>

#include "railyard/workload/transformer.hpp"
#include "workload/compute.hpp"
#include "workload/model.hpp"

namespace railyard::workload {

namespace {

constexpr std::int64_t kOptimizerBytes = 12;  // fp32 master weight and two moments

/// Bytes a layer keeps for its backward pass, one micro-batch (Korthikanti et al., Eq. 2 and 4; for
/// the GPT family sbh(10 + 24/t + 5as/(ht)), with sequence parallelism sbh(34 + 5as/h)/t). Flash
/// attention keeps no s × s scores, selective recomputation none either. What experts keep is their
/// tokens' input, both sides of the activation and the output.
std::int64_t layer_activations(const TrainingSpec& spec, std::uint32_t layer) {
  const ModelSpec& m = spec.model;
  const std::int64_t t = spec.parallelism.tensor;
  const std::int64_t tokens = spec.tokens();
  const std::int64_t heads = divided_up(m.heads, t);
  const std::int64_t q = heads * m.query_dim();
  const std::int64_t kv = m.latent.key_value_rank > 0
                              ? heads * (std::int64_t{m.query_dim()} + m.value_dim())
                              : 2 * divided_up(m.kv_heads, t) * m.head_dim;
  const std::int64_t h = m.hidden;
  const std::int64_t whole =
      divided_up((m.gated ? 8 : 10) * h, spec.sequence_parallel ? t : 1);  // Llama: no masks
  std::int64_t split = 2 * (q + kv) + 2 * heads * m.value_dim();
  std::int64_t ffn = divided_up(m.ffn, t);
  if (m.has_experts(layer)) {
    const std::int64_t sharing = spec.parallelism.expert_tensor_ranks();
    const std::int64_t visits = divided_up(m.experts.per_token * sharing, t);
    split += 4 * visits * h;
    ffn = visits * divided_up(m.experts.ffn, sharing) +
          divided_up(std::int64_t{m.experts.ffn} * m.experts.shared, t);
  }
  split += (m.gated ? 6 : 4) * ffn;
  const bool keeps_scores = !spec.flash_attention && spec.recompute != Recompute::selective;
  const std::int64_t scores = keeps_scores ? 5 * heads * m.sequence : 0;
  return tokens * (whole + split + scores) * (element_bytes(spec.precision) / 2);
}

/// Micro-batches of a chunk that wait for their backward pass when most do.
std::int64_t in_flight(const TrainingSpec& spec, std::uint32_t stage) {
  const std::int64_t p = spec.parallelism.pipeline;
  const std::int64_t m = spec.micro_batches();
  switch (spec.schedule) {
    case Schedule::gpipe:
      return m;
    case Schedule::dual_pipe:  // p + 1 over the two chunks (DeepSeek-V3, Table 2)
      return std::min((p + 2) / 2, m);
    case Schedule::one_forward_one_backward:
    case Schedule::zero_bubble:
      break;
  }
  const std::int64_t v = spec.parallelism.virtual_stages;
  if (v == 1) return std::min(p - stage, m);
  // Warm-up passes and one more, spread over the chunks (SC'21, §2.2.2: 1 + (p − 1)/(pv) times as
  // much as without interleaving).
  return std::min(divided_up(2 * (p - stage - 1) + (v - 1) * p + 1, v), m);
}

/// Shards the states that ZeRO divides over the replicas of dense and of expert parameters.
MemoryUse states(const TrainingSpec& spec, std::uint32_t stage) {
  const RankParameters count = stage_parameters_per_rank(spec, stage);
  const Parallelism& parallelism = spec.parallelism;
  const std::int64_t replicas = parallelism.replicas();
  const std::int64_t expert_replicas =
      parallelism.expert == 1
          ? replicas
          : std::max<std::int64_t>(
                1, replicas * parallelism.tensor /
                       (std::int64_t{parallelism.expert} * parallelism.expert_tensor_ranks()));
  const auto share = [&](std::uint32_t from) {
    if (spec.zero < from) return count.total();
    return divided_up(count.dense, replicas) + divided_up(count.expert, expert_replicas);
  };
  return {.parameters = Bytes(element_bytes(spec.precision) * share(3)),
          .gradients = Bytes(spec.gradient_bytes * share(2)),
          .optimizer = Bytes(kOptimizerBytes * share(1)),
          .activations = {}};
}

MemoryUse stage_memory(const TrainingSpec& spec, std::uint32_t stage) {
  const ModelSpec& m = spec.model;
  const std::int64_t tokens = spec.tokens();
  const std::int64_t flying = in_flight(spec, stage);
  const std::int64_t layer_input =
      divided_up(2 * tokens * m.hidden, spec.sequence_parallel ? spec.parallelism.tensor : 1);
  std::int64_t kept = 0;
  std::int64_t largest = 0;
  const std::vector<std::uint32_t> chunks = chunks_of_stage(spec, stage);
  for (const std::uint32_t chunk : chunks) {
    for (std::uint32_t l = spec.first_layer(chunk); l < spec.first_layer(chunk + 1); ++l) {
      const std::int64_t layer = layer_activations(spec, l);
      largest = std::max(largest, layer);
      kept += spec.recompute == Recompute::full ? layer_input : layer;
    }
  }
  // Full recomputation keeps each layer's input, and one layer's activations while its backward
  // pass runs.
  std::int64_t activations = flying * kept;
  if (spec.recompute == Recompute::full) activations += largest;
  const auto holds = [&](std::uint32_t chunk) {
    return std::ranges::find(chunks, chunk) != chunks.end();
  };
  if (holds(0) && !m.gated)
    activations += flying * tokens * m.hidden;  // the embedding's dropout mask
  if (holds(spec.chunks() - 1)) {  // inputs of the last norm and of the logits, logits in fp32
    activations += 2 * layer_input + 4 * tokens * divided_up(m.vocabulary, spec.parallelism.tensor);
  }
  MemoryUse use = states(spec, stage);
  if (spec.zero == 3) {  // two layers' parameters are gathered at a time
    std::int64_t layer = 0;
    for (std::uint32_t l = 0; l < m.layers; ++l)
      layer = std::max(layer, layer_parameters_per_rank(spec, l).total());
    use.parameters += Bytes(2 * 2 * layer);
  }
  use.activations = Bytes(activations);
  return use;
}

double gib(Bytes bytes) {
  return static_cast<double>(bytes.count()) / static_cast<double>(std::int64_t{1} << 30U);
}

}  // namespace

void check_memory(const TrainingSpec& spec, const GpuSpec& gpu,
                  std::vector<std::string>& problems) {
  const MemoryUse use = memory_use(spec);
  if (use.total() <= gpu.memory) return;
  std::string advice;
  if (spec.recompute != Recompute::full) advice = "recompute \"full\" or ";
  if (spec.zero < 3 && spec.parallelism.replicas() > 1) advice += "a higher \"zero\" or ";
  advice += "more pipeline stages or tensor ranks";
  problems.push_back(fmt::format(
      "needs {:.1f} GiB of the {:.1f} GiB of {}: parameters {:.1f}, gradients {:.1f}, optimizer "
      "{:.1f}, activations {:.1f} "
      "({} bytes too many); try {}",
      gib(use.total()), gib(gpu.memory), gpu.name, gib(use.parameters), gib(use.gradients),
      gib(use.optimizer), gib(use.activations), (use.total() - gpu.memory).count(), advice));
}

MemoryUse memory_use(const TrainingSpec& spec) {
  MemoryUse fullest;
  for (std::uint32_t stage = 0; stage < spec.parallelism.pipeline; ++stage) {
    const MemoryUse use = stage_memory(spec, stage);
    if (use.total() > fullest.total()) fullest = use;
  }
  return fullest;
}

}  // namespace railyard::workload
