// Times follow the equations of docs/model.md, "Compute". Every time is a sum of rooflines rounded
// once to ticks; no libm.
#include "workload/compute.hpp"

#include <algorithm>
#include <array>

#include "workload/model.hpp"

namespace railyard::workload {

namespace {

struct Tile {
  std::int64_t rows;
  std::int64_t columns;
  double efficiency;  // of the large tiles' rate: smaller tiles reuse less of what they load
};
constexpr std::array<Tile, 5> kTiles{
    {{256, 128, 1.0}, {128, 256, 1.0}, {128, 128, 0.93}, {128, 64, 0.75}, {64, 64, 0.55}}};

// Unfused attention: batched GEMMs on s × s scores reach half the peak at best, and softmax with
// dropout reads and writes 9 bytes per score forward and 11 backward (2-byte scores, probabilities
// and outputs, 1-byte masks).
constexpr double kBatchedGemmEfficiency = 0.5;
constexpr double kScoreBytesForward = 9;
constexpr double kScoreBytesBackward = 11;
// Flash attention: backward does 2.5 times the operations (it recomputes the scores) at 0.78 of the
// forward efficiency: 0.75 to 0.8 of the forward rate in the calibration over published runs.
constexpr double kFlashBackwardWork = 2.5;
constexpr double kFlashBackwardEfficiency = 0.78;
// Element-wise kernels of a layer: norms, bias-dropout-add, activation, splitting of q, k and v.
constexpr std::uint32_t kElementwiseKernelsForward = 10;
constexpr std::uint32_t kElementwiseKernelsBackward = 18;
// fp32 cross-entropy over the logits: 26 bytes a logit in both passes together.
constexpr double kLossBytesForward = 16;
constexpr double kLossBytesBackward = 10;
// Adam reads and writes weights, master weights, both moments and gradients: 30 bytes a parameter,
// a handful of fused kernels.
constexpr double kAdamBytes = 30;
constexpr std::uint32_t kAdamKernels = 4;
// Routing, permutation and activation around the experts.
constexpr std::uint32_t kExpertKernelsForward = 6;
constexpr std::uint32_t kExpertKernelsBackward = 8;

/// What a rank works on.
struct Shape {
  std::int64_t tokens;
  std::int64_t hidden;
  std::int64_t heads;
  std::int64_t query;      ///< width of all queries
  std::int64_t key_value;  ///< width of all keys and values
  std::int64_t value;      ///< width of what attention puts out
  std::int64_t ffn;
  std::int64_t ffn_in;  ///< columns of the first matrix: twice ffn when gated
};

Shape shape_of(const TrainingSpec& spec) {
  const ModelSpec& m = spec.model;
  const std::int64_t t = spec.parallelism.tensor;
  Shape shape{};
  shape.tokens = spec.tokens();
  shape.hidden = m.hidden;
  shape.heads = divided_up(m.heads, t);
  shape.query = shape.heads * m.query_dim();
  shape.value = shape.heads * m.value_dim();
  shape.key_value = m.latent.key_value_rank > 0 ? shape.query + shape.value
                                                : 2 * divided_up(m.kv_heads, t) * m.head_dim;
  shape.ffn = divided_up(m.ffn, t);
  shape.ffn_in = shape.ffn * (m.gated ? 2 : 1);
  return shape;
}

/// Seconds of one layer while they are added up.
struct Seconds {
  double forward = 0;
  double backward = 0;
  double weight = 0;  ///< part of backward
  double attention_forward = 0;
  double attention_backward = 0;
  [[nodiscard]] PassTimes rounded() const {
    return {.forward = from_seconds(forward),
            .backward = from_seconds(backward),
            .weight = from_seconds(weight),
            .attention_forward = from_seconds(attention_forward),
            .attention_backward = from_seconds(attention_backward)};
  }
};

/// The GEMM forward and its two of the backward pass: gradients of the input and of the weights.
void add_gemm(const Roofline& roofline, const Product& product, Seconds& sum) {
  const auto& [m, n, k, count] = product;
  sum.forward += roofline.gemm(product);
  const double weight = roofline.gemm({k, n, m, count});
  sum.backward += roofline.gemm({m, k, n, count}) + weight;
  sum.weight += weight;
}

void add_attention(const TrainingSpec& spec, const Roofline& roofline, const Shape& shape,
                   Seconds& sum) {
  const double s = spec.model.sequence;
  const double dims = static_cast<double>(spec.model.query_dim()) + spec.model.value_dim();
  // Ring attention gives each rank an equal share of the causal triangle (zigzag order).
  const double maps = static_cast<double>(spec.micro_batch) * static_cast<double>(shape.heads) /
                      spec.parallelism.context;
  const double overhead = in_seconds(roofline.gpu().kernel_overhead);
  double forward = 0;
  double backward = 0;
  if (spec.flash_attention) {
    const double efficiency = roofline.gpu().attention_efficiency;
    const double seen = spec.model.causal ? 0.5 : 1.0;  // causal: half of the scores
    const double flops = seen * 2 * maps * s * s * dims;
    forward = roofline.work(flops, efficiency) + overhead;
    backward =
        roofline.work(kFlashBackwardWork * flops, efficiency * kFlashBackwardEfficiency) + overhead;
  } else {
    const double scores = maps * s * s;
    const double d = dims / 2;
    const double bytes = 2 * (2 * maps * s * d + scores);
    const double product =
        std::max(roofline.work(2 * scores * d, kBatchedGemmEfficiency), roofline.memory(bytes, 0)) +
        overhead;
    forward = 2 * product + roofline.memory(kScoreBytesForward * scores, 1);
    backward = 4 * product + roofline.memory(kScoreBytesBackward * scores, 1);
  }
  sum.forward += forward;
  sum.backward += backward;
  sum.attention_forward += forward;
  sum.attention_backward += backward;
}

void add_projections(const TrainingSpec& spec, const Roofline& roofline, const Shape& shape,
                     Seconds& sum) {
  const std::int64_t tokens = shape.tokens;
  const LatentAttention& latent = spec.model.latent;
  if (latent.key_value_rank == 0) {
    add_gemm(roofline, {tokens, shape.query + shape.key_value, shape.hidden}, sum);
  } else {
    // Down projections stand on every tensor rank; with sequence parallelism each does its tokens.
    const std::int64_t own =
        spec.sequence_parallel ? divided_up(tokens, spec.parallelism.tensor) : tokens;
    if (latent.query_rank > 0)
      add_gemm(roofline, {own, std::int64_t{latent.query_rank}, shape.hidden}, sum);
    add_gemm(roofline, {own, std::int64_t{latent.key_value_rank} + latent.rope_dim, shape.hidden},
             sum);
    add_gemm(roofline,
             {tokens, shape.query, latent.query_rank > 0 ? latent.query_rank : shape.hidden}, sum);
    add_gemm(roofline,
             {tokens, shape.heads * (std::int64_t{latent.key_dim} + latent.value_dim),
              std::int64_t{latent.key_value_rank}},
             sum);
  }
  add_gemm(roofline, {tokens, shape.hidden, shape.value}, sum);
}

/// Tokens that one expert of the busiest rank works on.
std::int64_t tokens_per_expert(const TrainingSpec& spec) {
  const Parallelism& parallelism = spec.parallelism;
  // Ranks that share an expert see each other's tokens.
  const double seen = static_cast<double>(spec.tokens()) * parallelism.expert *
                      parallelism.expert_tensor_ranks() / parallelism.tensor;
  const double mean = seen * spec.model.experts.per_token / spec.model.experts.count;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(mean * expert_imbalance(spec) + 0.5));
}

void add_experts(const TrainingSpec& spec, const Roofline& roofline, const Roofline& plain,
                 const Shape& shape, Seconds& sum) {
  const Experts& experts = spec.model.experts;
  const std::int64_t tokens = shape.tokens;
  const std::int64_t width = spec.model.gated ? 2 : 1;
  if (experts.shared > 0) {
    const std::int64_t ffn =
        divided_up(std::int64_t{experts.ffn} * experts.shared, spec.parallelism.tensor);
    add_gemm(roofline, {tokens, width * ffn, shape.hidden}, sum);
    add_gemm(roofline, {tokens, shape.hidden, ffn}, sum);
  }
  const std::int64_t own =
      spec.sequence_parallel ? divided_up(tokens, spec.parallelism.tensor) : tokens;
  add_gemm(plain, {own, std::int64_t{experts.count}, shape.hidden}, sum);  // the router
  const std::int64_t local = experts.count / spec.parallelism.expert;
  const std::int64_t ffn = divided_up(experts.ffn, spec.parallelism.expert_tensor_ranks());
  const std::int64_t each = tokens_per_expert(spec);
  add_gemm(roofline, {each, width * ffn, shape.hidden, local}, sum);
  add_gemm(roofline, {each, shape.hidden, ffn, local}, sum);
  // Tokens are copied into the experts' order and back, forward and backward; the activation reads
  // the first product (twice as wide when gated) and writes the second's input.
  const auto rows = static_cast<double>(each * local);
  const double permuted = 2 * 2 * 2 * rows * static_cast<double>(shape.hidden);
  const double activated = 2 * rows * static_cast<double>(ffn);
  sum.forward +=
      roofline.memory(permuted + activated * static_cast<double>(width + 1), kExpertKernelsForward);
  sum.backward += roofline.memory(permuted + activated * static_cast<double>(2 * width + 1),
                                  kExpertKernelsBackward);
}

}  // namespace

const std::vector<std::string_view>& precision_words() {
  static const std::vector<std::string_view> kWords{"bf16", "fp16", "fp8", "tf32", "fp32"};
  return kWords;
}

Precision precision_of(std::size_t word) {
  constexpr std::array<Precision, 5> kPrecisions{Precision::bf16, Precision::bf16, Precision::fp8,
                                                 Precision::tf32, Precision::fp32};
  return kPrecisions.at(word);
}

FlopRate peak_of(const GpuSpec& gpu, Precision precision) {
  switch (precision) {
    case Precision::bf16:
      break;
    case Precision::fp8:
      return gpu.peak_fp8;
    case Precision::tf32:
      return gpu.peak_tf32;
    case Precision::fp32:
      return gpu.peak_fp32;
  }
  return gpu.peak_bf16;
}

std::int64_t element_bytes(Precision precision) {
  return precision == Precision::tf32 || precision == Precision::fp32 ? 4 : 2;
}

PrecisionRate rate_of(const GpuSpec& gpu, Precision precision) {
  const bool fp8 = precision == Precision::fp8;
  const auto bytes = static_cast<double>(element_bytes(precision));
  const double efficiency = fp8 ? gpu.gemm_efficiency_fp8 : gpu.gemm_efficiency;
  return {peak_of(gpu, precision).per_s() * efficiency, fp8 ? 1 : bytes, bytes};
}

double Roofline::gemm(const Product& product) const {
  const auto& [m, n, k, count] = product;
  const PrecisionRate rate = rate_of(gpu_, precision_);
  double best = 0;
  for (const Tile& tile : kTiles) {
    const std::int64_t tiles = count * divided_up(m, tile.rows) * divided_up(n, tile.columns);
    const std::int64_t waves = divided_up(tiles, gpu_.multiprocessors);
    const double flops =
        static_cast<double>(waves * gpu_.multiprocessors * tile.rows * tile.columns) * 2 *
        static_cast<double>(k);
    const double seconds = flops / (rate.flops_per_s * gemm_ * tile.efficiency);
    if (best == 0 || seconds < best) best = seconds;
  }
  const double read = static_cast<double>(m) * static_cast<double>(k) +
                      static_cast<double>(k) * static_cast<double>(n);
  const double written = static_cast<double>(m) * static_cast<double>(n);
  const double bytes =
      static_cast<double>(count) * (rate.input_bytes * read + rate.output_bytes * written);
  return std::max(best, memory(bytes, 0)) + in_seconds(gpu_.kernel_overhead);
}

double gemm_seconds(const GpuSpec& gpu, Precision precision, std::int64_t rows,
                    std::int64_t columns, std::int64_t depth) {
  return Roofline(gpu, precision).gemm({rows, columns, depth});
}

double Roofline::memory(double bytes, std::uint32_t count) const {
  return bytes /
             (static_cast<double>(gpu_.memory_bandwidth.bytes_per_s()) * gpu_.memory_efficiency) +
         count * in_seconds(gpu_.kernel_overhead);
}

PassTimes layer_times(const TrainingSpec& spec, const GpuSpec& gpu, std::uint32_t layer) {
  const Roofline roofline(gpu, spec.precision, spec.stack.gemm);
  const Roofline plain(gpu, Precision::bf16, spec.stack.gemm);
  const Shape shape = shape_of(spec);
  Seconds sum;
  add_projections(spec, roofline, shape, sum);
  const bool sparse = spec.model.has_experts(layer);
  if (sparse) {
    add_experts(spec, roofline, plain, shape, sum);
  } else {
    add_gemm(roofline, {shape.tokens, shape.ffn_in, shape.hidden}, sum);
    add_gemm(roofline, {shape.tokens, shape.hidden, shape.ffn}, sum);
  }
  add_attention(spec, roofline, shape, sum);
  // Element-wise bytes of a GPT layer: forward 22h (norms, bias-dropout-add) + (16h of the
  // activation + 16h of the q, k, v split)/t, backward 38h + (40h + 22h)/t; the activation's share
  // goes with the width of the feed-forward block (16h = 4 · 4h; SwiGLU reads two and writes one,
  // and takes no bias), the split's with the width of q, k and v (16h = 16/3 · 3h).
  const auto tokens = static_cast<double>(shape.tokens);
  const double norm_ranks = spec.sequence_parallel ? spec.parallelism.tensor : 1;
  const double h = static_cast<double>(shape.hidden) / norm_ranks;
  const double f = sparse ? 0 : static_cast<double>(shape.ffn);
  const auto qkv = static_cast<double>(shape.query + shape.key_value);
  const double activation_forward = (spec.model.gated ? 6 : 4) * f;
  const double width = static_cast<double>(element_bytes(spec.precision)) / 2;
  sum.forward += roofline.memory(width * tokens * (22 * h + activation_forward + 16.0 / 3.0 * qkv),
                                 kElementwiseKernelsForward);
  sum.backward += roofline.memory(width * tokens * (38 * h + 10 * f + 22.0 / 3.0 * qkv),
                                  kElementwiseKernelsBackward);
  return sum.rounded();
}

PassTimes embedding_times(const TrainingSpec& spec, const GpuSpec& gpu) {
  const Roofline roofline(gpu);
  const double elements = static_cast<double>(spec.tokens()) * spec.model.hidden;
  // Forward reads a row of each table and writes the sum; backward reads the gradient and adds to a
  // row of each table.
  const double tables = spec.model.learned_positions ? 2 : 1;
  return {.forward = from_seconds(roofline.memory(2 * elements * (tables + 1), 2)),
          .backward = from_seconds(roofline.memory(2 * elements * (2 * tables + 1), 2))};
}

PassTimes head_times(const TrainingSpec& spec, const GpuSpec& gpu) {
  const bool wide = element_bytes(spec.precision) == 4;
  const Roofline roofline(gpu, wide ? spec.precision : Precision::bf16, spec.stack.gemm);
  const std::int64_t tokens = spec.tokens();
  const std::int64_t vocabulary = divided_up(spec.model.vocabulary, spec.parallelism.tensor);
  Seconds sum;
  add_gemm(roofline, {tokens, vocabulary, spec.model.hidden}, sum);
  if (spec.logits_rate > FlopRate() && spec.parallelism.tensor == 1) {
    const double seconds = 2.0 * static_cast<double>(tokens) * static_cast<double>(vocabulary) *
                           spec.model.hidden / spec.logits_rate.per_s();
    sum = {seconds, 2 * seconds, seconds, 0, 0};
  }
  const double logits = static_cast<double>(tokens) * static_cast<double>(vocabulary);
  sum.forward += roofline.memory(kLossBytesForward * logits, 4);
  sum.backward += roofline.memory(kLossBytesBackward * logits, 1);
  return sum.rounded();
}

Duration optimizer_time(std::int64_t parameters, const GpuSpec& gpu) {
  return from_seconds(
      Roofline(gpu).memory(kAdamBytes * static_cast<double>(parameters), kAdamKernels));
}

}  // namespace railyard::workload
