#include "workload/model.hpp"

#include <algorithm>
#include <cmath>

#include "railyard/core/check.hpp"
#include "railyard/core/rng.hpp"

namespace railyard::workload {

namespace {

ParameterCount attention_parameters(const ModelSpec& model) {
  const std::int64_t h = model.hidden;
  ParameterCount count;
  if (model.latent.key_value_rank > 0) {
    const LatentAttention& latent = model.latent;
    const std::int64_t queries = std::int64_t{model.heads} * (latent.key_dim + latent.rope_dim);
    const std::int64_t up = std::int64_t{model.heads} * (latent.key_dim + latent.value_dim);
    count.sharded += (latent.query_rank > 0 ? latent.query_rank : h) * queries +
                     latent.key_value_rank * up + std::int64_t{model.heads} * latent.value_dim * h;
    count.replicated += h * (latent.key_value_rank + latent.rope_dim) + latent.key_value_rank;
    if (latent.query_rank > 0) count.replicated += h * latent.query_rank + latent.query_rank;
    return count;
  }
  const std::int64_t q = std::int64_t{model.heads} * model.head_dim;
  const std::int64_t kv = std::int64_t{2} * model.kv_heads * model.head_dim;
  count.sharded = h * (q + kv) + q * h;
  if (!model.gated) {
    count.sharded += q + kv;  // biases of the column-parallel matrix
    count.replicated += h;    // bias of the row-parallel one
  }
  return count;
}

std::int64_t matrices_of_block(const ModelSpec& model) {
  return model.gated ? 3 : 2;
}

}  // namespace

ParameterCount layer_parameters(const ModelSpec& model, std::uint32_t layer) {
  const std::int64_t h = model.hidden;
  ParameterCount count = attention_parameters(model);
  count.replicated += (model.gated ? 2 : 4) * h;  // two norms, with biases in the GPT family
  if (!model.has_experts(layer)) {
    count.sharded += matrices_of_block(model) * h * model.ffn;
    if (!model.gated) {
      count.sharded += model.ffn;
      count.replicated += h;
    }
    return count;
  }
  const Experts& experts = model.experts;
  const std::int64_t one = matrices_of_block(model) * h * experts.ffn;
  count.expert = experts.count * one;
  count.sharded += experts.shared * one;
  count.replicated += h * experts.count;  // the router
  return count;
}

ParameterCount embedding_parameters(const ModelSpec& model) {
  const std::int64_t h = model.hidden;
  return {.sharded = h * model.vocabulary,
          .replicated = model.learned_positions ? h * model.sequence : 0};
}

ParameterCount head_parameters(const ModelSpec& model, bool own_matrix) {
  const std::int64_t h = model.hidden;
  return {.sharded = own_matrix ? h * model.vocabulary : 0, .replicated = model.gated ? h : 2 * h};
}

double ModelSpec::parameters() const {
  ParameterCount whole = embedding_parameters(*this) + head_parameters(*this, !tied_embeddings);
  for (std::uint32_t l = 0; l < layers; ++l) whole = whole + layer_parameters(*this, l);
  return static_cast<double>(whole.whole());
}

std::uint32_t TrainingSpec::first_layer(std::uint32_t chunk) const {
  if (layers_per_stage.empty()) return model.layers / chunks() * chunk;
  std::uint32_t first = 0;
  for (std::uint32_t c = 0; c < chunk; ++c) first += layers_per_stage[c];
  return first;
}

bool head_owns_matrix(const TrainingSpec& spec) {
  return !spec.model.tied_embeddings || spec.parallelism.pipeline > 1;
}

RankParameters layer_parameters_per_rank(const TrainingSpec& spec, std::uint32_t layer) {
  const ParameterCount count = layer_parameters(spec.model, layer);
  return {.dense = count.per_rank(spec.parallelism.tensor),
          .expert = count.expert_per_rank(spec.parallelism)};
}

RankParameters chunk_parameters_per_rank(const TrainingSpec& spec, std::uint32_t chunk) {
  const std::uint32_t t = spec.parallelism.tensor;
  RankParameters count;
  for (std::uint32_t l = spec.first_layer(chunk); l < spec.first_layer(chunk + 1); ++l) {
    count += layer_parameters_per_rank(spec, l);
  }
  if (chunk == 0) count.dense += embedding_parameters(spec.model).per_rank(t);
  if (chunk + 1 == spec.chunks())
    count.dense += head_parameters(spec.model, head_owns_matrix(spec)).per_rank(t);
  return count;
}

std::vector<std::uint32_t> chunks_of_stage(const TrainingSpec& spec, std::uint32_t stage) {
  const std::uint32_t p = spec.parallelism.pipeline;
  if (spec.schedule == Schedule::dual_pipe) return {stage, p - 1 - stage};
  std::vector<std::uint32_t> chunks;
  for (std::uint32_t v = 0; v < spec.parallelism.virtual_stages; ++v)
    chunks.push_back(stage + v * p);
  return chunks;
}

RankParameters stage_parameters_per_rank(const TrainingSpec& spec, std::uint32_t stage) {
  RankParameters count;
  for (const std::uint32_t chunk : chunks_of_stage(spec, stage))
    count += chunk_parameters_per_rank(spec, chunk);
  return count;
}

std::vector<double> expert_rank_loads(const TrainingSpec& spec) {
  const std::vector<double>& weights = spec.expert_load.weights;
  if (weights.empty()) return std::vector<double>(spec.parallelism.expert, 1.0);
  double sum = 0;
  for (const double weight : weights) sum += weight;
  const auto count = static_cast<double>(weights.size());
  const double capacity = spec.expert_load.capacity_factor;
  const std::size_t per_rank = weights.size() / spec.parallelism.expert;
  std::vector<double> loads;
  for (std::size_t first = 0; first < weights.size(); first += per_rank) {
    double load = 0;
    for (std::size_t e = first; e < first + per_rank; ++e) {
      const double relative = weights[e] / sum * count;
      load += capacity > 0 ? std::min(relative, capacity) : relative;
    }
    loads.push_back(load / static_cast<double>(per_rank));
  }
  return loads;
}

double expert_imbalance(const TrainingSpec& spec) {
  const std::vector<double> loads = expert_rank_loads(spec);
  return *std::ranges::max_element(loads);
}

std::vector<double> skewed_load(std::uint32_t experts, double skew, std::uint64_t seed) {
  std::vector<double> weights;
  for (std::uint32_t rank = 1; rank <= experts; ++rank)
    weights.push_back(std::pow(static_cast<double>(rank), -skew));
  RngStreams(seed).stream("expert_load").shuffle(std::span(weights));
  return weights;
}

double model_flops(const TrainingSpec& spec) {
  const ModelSpec& m = spec.model;
  const double s = m.sequence;
  const double h = m.hidden;
  double layers = 0;
  for (std::uint32_t l = 0; l < m.layers; ++l) {
    double matrices = 0;
    if (m.latent.key_value_rank > 0) {
      const ParameterCount count = attention_parameters(m);
      matrices = static_cast<double>(count.sharded + count.replicated);
    } else {
      const double q = static_cast<double>(m.heads) * m.head_dim;
      const double kv = 2.0 * m.kv_heads * m.head_dim;
      matrices = h * (q + kv) + q * h;
    }
    const auto block = static_cast<double>(matrices_of_block(m));
    if (m.has_experts(l)) {
      const Experts& experts = m.experts;
      matrices +=
          block * h * experts.ffn * (experts.per_token + experts.shared) + h * experts.count;
    } else {
      matrices += block * h * m.ffn;
    }
    layers += 2 * s * matrices +
              2 * s * s * static_cast<double>(m.heads) * (m.query_dim() + m.value_dim());
  }
  return 3.0 * spec.global_batch * (layers + 2 * s * h * m.vocabulary);
}

namespace {

std::uint32_t count_of(config::Reader& reader, std::string_view key,
                       std::optional<std::int64_t> fallback) {
  constexpr config::Range<std::int64_t> kRange{.min = 1, .max = 100'000'000};
  const std::int64_t value = fallback ? reader.optional<std::int64_t>(key, *fallback, kRange)
                                      : reader.required<std::int64_t>(key, kRange);
  return value < 1 || value > kRange.max ? 1 : static_cast<std::uint32_t>(value);
}

Experts read_experts(const config::Node& node, config::Errors& errors, std::uint32_t layers) {
  config::Reader reader(node, errors);
  Experts experts;
  experts.count = count_of(reader, "count", std::nullopt);
  experts.per_token = count_of(reader, "per_token", std::nullopt);
  experts.ffn = count_of(reader, "ffn", std::nullopt);
  experts.shared = static_cast<std::uint32_t>(
      reader.optional<std::int64_t>("shared", 0, config::Range<std::int64_t>{0, 1000}));
  experts.dense_layers = static_cast<std::uint32_t>(
      reader.optional<std::int64_t>("dense_layers", 0, config::Range<std::int64_t>{0, layers}));
  if (experts.per_token > experts.count) {
    reader.fail("per_token", fmt::format("a token cannot visit {} of {} experts", experts.per_token,
                                         experts.count));
  }
  reader.finish();
  return experts;
}

LatentAttention read_latent(const config::Node& node, config::Errors& errors) {
  config::Reader reader(node, errors);
  LatentAttention latent;
  latent.query_rank = static_cast<std::uint32_t>(
      reader.optional<std::int64_t>("query_rank", 0, config::Range<std::int64_t>{0, 1'000'000}));
  latent.key_value_rank = count_of(reader, "key_value_rank", std::nullopt);
  latent.key_dim = count_of(reader, "key_dim", std::nullopt);
  latent.rope_dim = count_of(reader, "rope_dim", std::nullopt);
  latent.value_dim = count_of(reader, "value_dim", std::nullopt);
  reader.finish();
  return latent;
}

}  // namespace

ModelSpec read_model(const config::Node& node, config::Errors& errors) {
  config::Reader reader(node, errors);
  static_cast<void>(reader.required_choice("kind", {"transformer"}));
  static_cast<void>(reader.optional<std::string>("description", ""));
  static_cast<void>(reader.optional<std::string>("source", ""));
  ModelSpec model;
  model.name = reader.required<std::string>("name");
  model.layers = count_of(reader, "layers", std::nullopt);
  model.hidden = count_of(reader, "hidden", std::nullopt);
  model.heads = count_of(reader, "heads", std::nullopt);
  model.kv_heads = count_of(reader, "kv_heads", model.heads);
  if (!reader.has("head_dim") && reader.has("hidden") && reader.has("heads") &&
      model.hidden % model.heads != 0) {
    reader.fail("heads", fmt::format("{} heads do not divide hidden {}; give head_dim", model.heads,
                                     model.hidden));
  }
  model.head_dim =
      count_of(reader, "head_dim", std::max<std::uint32_t>(1, model.hidden / model.heads));
  model.ffn =
      count_of(reader, "ffn", std::int64_t{4} * std::min<std::uint32_t>(model.hidden, 25'000'000));
  model.gated = reader.optional<bool>("gated", false);
  model.vocabulary = count_of(reader, "vocabulary", std::nullopt);
  model.sequence = count_of(reader, "sequence", std::nullopt);
  model.tied_embeddings = reader.optional<bool>("tied_embeddings", true);
  model.learned_positions = reader.optional<bool>("learned_positions", true);
  model.causal = reader.optional<bool>("causal", true);
  if (const auto experts = reader.child("experts"))
    model.experts = read_experts(*experts, errors, model.layers);
  if (const auto latent = reader.child("latent_attention"))
    model.latent = read_latent(*latent, errors);
  if (model.heads % model.kv_heads != 0) {
    reader.fail("kv_heads",
                fmt::format("{} kv_heads do not divide {} heads", model.kv_heads, model.heads));
  }
  reader.finish();
  return model;
}

}  // namespace railyard::workload
