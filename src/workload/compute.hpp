// Compute times of one transformer layer and of the model's two ends, per rank, for one
// micro-batch.
#pragma once

#include "railyard/workload/transformer.hpp"

namespace railyard::workload {

struct PassTimes {
  Duration forward{};
  Duration backward{};  ///< without recomputation
};

/// The roofline of one GPU.
class Roofline {
 public:
  explicit Roofline(const GpuSpec& gpu) : gpu_(gpu) {}

  /// Seconds of (m × k)·(k × n) in 2-byte elements. Tiles fill the multiprocessors in waves and the
  /// last wave takes as long as a full one; of the tile shapes {256×128, 128×256, 128×128, 128×64,
  /// 64×64}, which reach {1, 1, 0.93, 0.75, 0.55} of the GEMM efficiency, the best is taken.
  /// Bounded below by memory traffic.
  [[nodiscard]] double gemm(std::int64_t m, std::int64_t n, std::int64_t k) const;
  /// Seconds of `count` kernels that move `bytes` in all.
  [[nodiscard]] double memory(double bytes, std::uint32_t count) const;
  /// Seconds of `flops` at a share of the peak, without overhead.
  [[nodiscard]] double work(double flops, double efficiency) const {
    return flops / (gpu_.peak_bf16.per_s() * efficiency);
  }
  [[nodiscard]] const GpuSpec& gpu() const { return gpu_; }

 private:
  const GpuSpec& gpu_;
};

[[nodiscard]] PassTimes layer_times(const TrainingSpec& spec, const GpuSpec& gpu);
[[nodiscard]] PassTimes embedding_times(const TrainingSpec& spec, const GpuSpec& gpu);
/// Logits and loss.
[[nodiscard]] PassTimes head_times(const TrainingSpec& spec, const GpuSpec& gpu);
/// Adam on so many parameters of a rank.
[[nodiscard]] Duration optimizer_time(std::int64_t parameters, const GpuSpec& gpu);

}  // namespace railyard::workload
