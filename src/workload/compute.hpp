// Compute times of one transformer layer and of the model's two ends, per rank, for one
// micro-batch.
#pragma once

#include "railyard/workload/transformer.hpp"

namespace railyard::workload {

struct PassTimes {
  Duration forward{};
  Duration backward{};  ///< without recomputation
  Duration weight{};    ///< the part of `backward` that only makes gradients of weights
  // Attention kernels, as parts of the above: what ring attention hides behind and what selective
  // recomputation repeats.
  Duration attention_forward{};
  Duration attention_backward{};
};

/// Rows, columns and depth of a product, `count` of them at once (experts).
struct Product {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  std::int64_t count = 1;
};

/// The roofline of one GPU.
class Roofline {
 public:
  /// `gemm`: rate of matrix products over what the GPU's efficiency says (SoftwareStack).
  explicit Roofline(const GpuSpec& gpu, Precision precision = Precision::bf16, double gemm = 1)
      : gpu_(gpu), precision_(precision), gemm_(gemm) {}

  /// Seconds of products in elements of the precision (fp8 reads one byte and writes two). Tiles
  /// fill the multiprocessors in waves and the last wave takes as long as a full one; of the tile
  /// shapes {256×128, 128×256, 128×128, 128×64, 64×64}, which reach {1, 1, 0.93, 0.75, 0.55} of the
  /// GEMM efficiency, the best is taken. Bounded below by memory traffic.
  [[nodiscard]] double gemm(const Product& product) const;
  /// Seconds of `count` kernels that move `bytes` in all.
  [[nodiscard]] double memory(double bytes, std::uint32_t count) const;
  /// Seconds of `flops` at a share of the 2-byte peak, without overhead.
  [[nodiscard]] double work(double flops, double efficiency) const {
    return flops / (gpu_.peak_bf16.per_s() * efficiency);
  }
  [[nodiscard]] const GpuSpec& gpu() const { return gpu_; }

 private:
  const GpuSpec& gpu_;
  Precision precision_;
  double gemm_;
};

/// Rate and bytes of an element of a precision.
struct PrecisionRate {
  double flops_per_s = 0;  ///< with the GEMM efficiency
  double input_bytes = 2;
  double output_bytes = 2;
};
[[nodiscard]] PrecisionRate rate_of(const GpuSpec& gpu, Precision precision);

[[nodiscard]] PassTimes layer_times(const TrainingSpec& spec, const GpuSpec& gpu,
                                    std::uint32_t layer);
[[nodiscard]] PassTimes embedding_times(const TrainingSpec& spec, const GpuSpec& gpu);
/// Logits and loss.
[[nodiscard]] PassTimes head_times(const TrainingSpec& spec, const GpuSpec& gpu);
/// Adam on so many parameters of a rank.
[[nodiscard]] Duration optimizer_time(std::int64_t parameters, const GpuSpec& gpu);

}  // namespace railyard::workload
