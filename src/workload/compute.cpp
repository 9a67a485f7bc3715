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

struct Shape {
  std::int64_t tokens;
  std::int64_t hidden;
  std::int64_t heads;  // of a rank
  std::int64_t query;  // widths of a rank
  std::int64_t key_value;
  std::int64_t ffn;
  std::int64_t ffn_in;  // columns of the first matrix: twice ffn when gated
};

Shape shape_of(const TrainingSpec& spec) {
  const ModelSpec& m = spec.model;
  const std::int64_t t = spec.parallelism.tensor;
  Shape shape{};
  shape.tokens = std::int64_t{spec.micro_batch} * m.sequence;
  shape.hidden = m.hidden;
  shape.heads = divided_up(m.heads, t);
  shape.query = shape.heads * m.head_dim;
  shape.key_value = 2 * divided_up(m.kv_heads, t) * m.head_dim;
  shape.ffn = divided_up(m.ffn, t);
  shape.ffn_in = shape.ffn * (m.gated ? 2 : 1);
  return shape;
}

/// The GEMM forward and its two of the backward pass: gradients of the input and of the weights.
void add_gemm(const Roofline& roofline, std::int64_t m, std::int64_t n, std::int64_t k,
              double& forward, double& backward) {
  forward += roofline.gemm(m, n, k);
  backward += roofline.gemm(m, k, n) + roofline.gemm(k, n, m);
}

void add_attention(const TrainingSpec& spec, const Roofline& roofline, const Shape& shape,
                   double& forward, double& backward) {
  const double s = spec.model.sequence;
  const double d = spec.model.head_dim;
  const double maps = static_cast<double>(spec.micro_batch) * static_cast<double>(shape.heads);
  const double overhead = in_seconds(roofline.gpu().kernel_overhead);
  if (spec.flash_attention) {
    const double efficiency = roofline.gpu().attention_efficiency;
    const double flops = 0.5 * 4 * maps * s * s * d;  // causal: half of the scores
    forward += roofline.work(flops, efficiency) + overhead;
    backward +=
        roofline.work(kFlashBackwardWork * flops, efficiency * kFlashBackwardEfficiency) + overhead;
    return;
  }
  const double scores = maps * s * s;
  const double bytes = 2 * (2 * maps * s * d + scores);
  const double product =
      std::max(roofline.work(2 * scores * d, kBatchedGemmEfficiency), roofline.memory(bytes, 0)) +
      overhead;
  forward += 2 * product + roofline.memory(kScoreBytesForward * scores, 1);
  backward += 4 * product + roofline.memory(kScoreBytesBackward * scores, 1);
}

}  // namespace

double Roofline::gemm(std::int64_t m, std::int64_t n, std::int64_t k) const {
  double best = 0;
  for (const Tile& tile : kTiles) {
    const std::int64_t tiles = divided_up(m, tile.rows) * divided_up(n, tile.columns);
    const std::int64_t waves = divided_up(tiles, gpu_.multiprocessors);
    const double flops =
        static_cast<double>(waves * gpu_.multiprocessors * tile.rows * tile.columns) * 2 *
        static_cast<double>(k);
    const double seconds = work(flops, gpu_.gemm_efficiency * tile.efficiency);
    if (best == 0 || seconds < best) best = seconds;
  }
  const double bytes = 2 * (static_cast<double>(m) * static_cast<double>(k) +
                            static_cast<double>(k) * static_cast<double>(n) +
                            static_cast<double>(m) * static_cast<double>(n));
  return std::max(best, memory(bytes, 0)) + in_seconds(gpu_.kernel_overhead);
}

double Roofline::memory(double bytes, std::uint32_t count) const {
  return bytes /
             (static_cast<double>(gpu_.memory_bandwidth.bytes_per_s()) * gpu_.memory_efficiency) +
         count * in_seconds(gpu_.kernel_overhead);
}

PassTimes layer_times(const TrainingSpec& spec, const GpuSpec& gpu) {
  const Roofline roofline(gpu);
  const Shape shape = shape_of(spec);
  double forward = 0;
  double backward = 0;
  add_gemm(roofline, shape.tokens, shape.query + shape.key_value, shape.hidden, forward, backward);
  add_gemm(roofline, shape.tokens, shape.hidden, shape.query, forward, backward);
  add_gemm(roofline, shape.tokens, shape.ffn_in, shape.hidden, forward, backward);
  add_gemm(roofline, shape.tokens, shape.hidden, shape.ffn, forward, backward);
  add_attention(spec, roofline, shape, forward, backward);
  // Element-wise bytes of a GPT layer: forward 22h (norms, bias-dropout-add) + (16h of the
  // activation + 16h of the q, k, v split)/t, backward 38h + (40h + 22h)/t; the activation's share
  // goes with the width of the feed-forward block (16h = 4 · 4h; SwiGLU reads two and writes one,
  // and takes no bias), the split's with the width of q, k and v (16h = 16/3 · 3h).
  const auto tokens = static_cast<double>(shape.tokens);
  const auto h = static_cast<double>(shape.hidden);
  const auto f = static_cast<double>(shape.ffn);
  const auto qkv = static_cast<double>(shape.query + shape.key_value);
  const double activation_forward = (spec.model.gated ? 6 : 4) * f;
  forward += roofline.memory(tokens * (22 * h + activation_forward + 16.0 / 3.0 * qkv),
                             kElementwiseKernelsForward);
  backward +=
      roofline.memory(tokens * (38 * h + 10 * f + 22.0 / 3.0 * qkv), kElementwiseKernelsBackward);
  return {.forward = from_seconds(forward), .backward = from_seconds(backward)};
}

PassTimes embedding_times(const TrainingSpec& spec, const GpuSpec& gpu) {
  const Roofline roofline(gpu);
  const double elements =
      static_cast<double>(spec.micro_batch) * spec.model.sequence * spec.model.hidden;
  // Forward reads a row of each table and writes the sum; backward reads the gradient and adds to a
  // row of each table.
  const double tables = spec.model.learned_positions ? 2 : 1;
  return {.forward = from_seconds(roofline.memory(2 * elements * (tables + 1), 2)),
          .backward = from_seconds(roofline.memory(2 * elements * (2 * tables + 1), 2))};
}

PassTimes head_times(const TrainingSpec& spec, const GpuSpec& gpu) {
  const Roofline roofline(gpu);
  const std::int64_t tokens = std::int64_t{spec.micro_batch} * spec.model.sequence;
  const std::int64_t vocabulary = divided_up(spec.model.vocabulary, spec.parallelism.tensor);
  double forward = 0;
  double backward = 0;
  add_gemm(roofline, tokens, vocabulary, spec.model.hidden, forward, backward);
  const double logits = static_cast<double>(tokens) * static_cast<double>(vocabulary);
  forward += roofline.memory(kLossBytesForward * logits, 4);
  backward += roofline.memory(kLossBytesBackward * logits, 1);
  return {.forward = from_seconds(forward), .backward = from_seconds(backward)};
}

Duration optimizer_time(std::int64_t parameters, const GpuSpec& gpu) {
  return from_seconds(
      Roofline(gpu).memory(kAdamBytes * static_cast<double>(parameters), kAdamKernels));
}

}  // namespace railyard::workload
