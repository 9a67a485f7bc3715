#include "workload/model.hpp"

#include <algorithm>

#include "railyard/core/check.hpp"

namespace railyard::workload {

ParameterCount layer_parameters(const ModelSpec& model) {
  const std::int64_t h = model.hidden;
  const std::int64_t q = std::int64_t{model.heads} * model.head_dim;
  const std::int64_t kv = std::int64_t{2} * model.kv_heads * model.head_dim;
  const std::int64_t f = model.ffn;
  ParameterCount count;
  count.sharded = h * (q + kv) + q * h + (model.gated ? 3 : 2) * h * f;
  count.replicated = 2 * h;  // two norm weights
  if (!model.gated) {
    count.sharded += q + kv + f;        // biases of the column-parallel matrices
    count.replicated += 2 * h + 2 * h;  // biases of the row-parallel matrices and of the norms
  }
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
  const ParameterCount layer = layer_parameters(*this);
  const ParameterCount ends =
      embedding_parameters(*this) + head_parameters(*this, !tied_embeddings);
  const std::int64_t whole =
      std::int64_t{layers} * (layer.sharded + layer.replicated) + ends.sharded + ends.replicated;
  return static_cast<double>(whole);
}

bool head_owns_matrix(const TrainingSpec& spec) {
  return !spec.model.tied_embeddings || spec.parallelism.pipeline > 1;
}

std::int64_t stage_parameters_per_rank(const TrainingSpec& spec, std::uint32_t stage) {
  const Parallelism& parallelism = spec.parallelism;
  const std::uint32_t t = parallelism.tensor;
  std::int64_t count = std::int64_t{spec.model.layers / parallelism.pipeline} *
                       layer_parameters(spec.model).per_rank(t);
  if (stage == 0) count += embedding_parameters(spec.model).per_rank(t);
  if (stage + 1 == parallelism.pipeline)
    count += head_parameters(spec.model, head_owns_matrix(spec)).per_rank(t);
  return count;
}

double model_flops(const TrainingSpec& spec) {
  const ModelSpec& m = spec.model;
  const double s = m.sequence;
  const double h = m.hidden;
  const double q = static_cast<double>(m.heads) * m.head_dim;
  const double kv = 2.0 * m.kv_heads * m.head_dim;
  const double layer =
      2 * s * (h * (q + kv) + q * h + (m.gated ? 3 : 2) * h * m.ffn) + 4 * s * s * q;
  return 3.0 * spec.global_batch * (m.layers * layer + 2 * s * h * m.vocabulary);
}

namespace {

std::uint32_t count_of(config::Reader& reader, std::string_view key,
                       std::optional<std::int64_t> fallback) {
  constexpr config::Range<std::int64_t> kRange{.min = 1, .max = 100'000'000};
  const std::int64_t value = fallback ? reader.optional<std::int64_t>(key, *fallback, kRange)
                                      : reader.required<std::int64_t>(key, kRange);
  return value < 1 || value > kRange.max ? 1 : static_cast<std::uint32_t>(value);
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
  if (model.heads % model.kv_heads != 0) {
    reader.fail("kv_heads",
                fmt::format("{} kv_heads do not divide {} heads", model.kv_heads, model.heads));
  }
  reader.finish();
  return model;
}

}  // namespace railyard::workload
