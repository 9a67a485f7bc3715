// Transformer training: model, GPU and parallelism to an iteration DAG, with memory and compute models.
//
// Sources: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", SC'21
// (parallelism, 1F1B, FLOPs, scatter/gather); Korthikanti et al., "Reducing Activation Recomputation in Large Transformer
// Models", MLSys'23 (activation memory). docs/model.md has every equation.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "railyard/config/document.hpp"
#include "railyard/config/reader.hpp"
#include "railyard/core/time.hpp"
#include "railyard/core/units.hpp"
#include "railyard/workload/iteration_dag.hpp"

namespace railyard::workload {

/// A decoder-only transformer, as a file in workloads/models/.
struct ModelSpec {
  std::string name;
  std::uint32_t layers = 0;
  std::uint32_t hidden = 0;
  std::uint32_t heads = 0;
  std::uint32_t kv_heads = 0;    ///< = heads without grouped-query attention
  std::uint32_t head_dim = 0;
  std::uint32_t ffn = 0;         ///< inner width of the feed-forward block
  bool gated = false;            ///< SwiGLU: three matrices in place of two
  std::uint32_t vocabulary = 0;
  std::uint32_t sequence = 0;
  bool tied_embeddings = true;
  bool learned_positions = true;
  [[nodiscard]] double parameters() const;
};

/// A GPU kind. Peaks from data sheets, efficiencies from published micro-benchmarks (never fitted to one training row).
struct GpuSpec {
  std::string name;
  FlopRate peak_bf16;
  Bytes memory;
  Bandwidth memory_bandwidth;
  double gemm_efficiency = 1;        ///< of the peak, on large matrices
  double memory_efficiency = 1;      ///< of the memory bandwidth
  double attention_efficiency = 1;   ///< of the peak, flash attention
  std::uint32_t multiprocessors = 0; ///< for wave quantisation
  Duration kernel_overhead{};        ///< per kernel
  std::string source;
};

struct Parallelism {
  std::uint32_t tensor = 1;
  std::uint32_t pipeline = 1;
  std::uint32_t data = 1;
  [[nodiscard]] std::uint32_t ranks() const { return tensor * pipeline * data; }
};

enum class Recompute : std::uint8_t { none, full };

struct TrainingSpec {
  ModelSpec model;
  Parallelism parallelism;
  std::uint32_t global_batch = 0;   ///< sequences
  std::uint32_t micro_batch = 1;    ///< sequences
  Recompute recompute = Recompute::none;
  bool flash_attention = true;
  std::uint32_t gradient_bytes = 2; ///< per element on the wire: 2 = bf16, 4 = fp32
  bool scatter_sends = true;        ///< P2P sends are split over the tensor ranks and gathered behind (SC'21 §4.1)
  Bytes gradient_bucket{std::int64_t{256} << 20U};  ///< all-reduce starts when so many gradients are ready
  std::string all_reduce = "ring";
  [[nodiscard]] std::uint32_t micro_batches() const { return global_batch / (micro_batch * parallelism.data); }
};

/// Bytes one rank of the fullest stage needs, by part.
struct MemoryUse {
  Bytes parameters;
  Bytes gradients;
  Bytes optimizer;
  Bytes activations;
  [[nodiscard]] Bytes total() const { return parameters + gradients + optimizer + activations; }
};

[[nodiscard]] MemoryUse memory_use(const TrainingSpec& spec);

/// Compute time of one micro-batch on one stage, per rank, without communication.
struct StageTimes {
  Duration forward{};
  Duration backward{};    ///< with recomputation where asked
  Duration optimizer{};
};
[[nodiscard]] StageTimes stage_times(const TrainingSpec& spec, const GpuSpec& gpu, std::uint32_t stage);

/// The whole iteration under 1F1B. Checked: the spec has passed `check_training`.
[[nodiscard]] IterationDag build_iteration(const TrainingSpec& spec, const GpuSpec& gpu);

/// Contradictions of a spec with itself and with the GPU (layers not divisible by stages, heads by tensor ranks, batch by
/// replicas, memory that does not fit, naming the bytes). One sentence each; empty when good.
[[nodiscard]] std::vector<std::string> check_training(const TrainingSpec& spec, const GpuSpec& gpu);

[[nodiscard]] ModelSpec read_model(const config::Node& node, config::Errors& errors);
[[nodiscard]] GpuSpec read_gpu(const config::Node& node, config::Errors& errors);
/// GPU kinds that come with the program; empty name list in the error otherwise.
[[nodiscard]] std::span<const GpuSpec> gpu_catalog();
[[nodiscard]] const GpuSpec* find_gpu(std::string_view name);

}  // namespace railyard::workload
