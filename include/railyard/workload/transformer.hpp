// Transformer training: model, GPU and parallelism to an iteration DAG, with memory and compute
// models.
//
// Sources: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using
// Megatron-LM", SC'21 (parallelism, 1F1B, FLOPs, scatter/gather); Korthikanti et al., "Reducing
// Activation Recomputation in Large Transformer Models", MLSys'23 (activation memory).
// docs/model.md has every equation.
//
// Compute is a roofline: each GEMM takes max(flops / (peak · gemm_efficiency), bytes / (bandwidth ·
// memory_efficiency)) with the last wave of tiles as long as a full one, element-wise kernels take
// their bytes, every kernel costs an overhead on top. Not modelled: the CPU's launch bound (it
// decides for layers below about 3 ms, small hidden sizes and micro-batches; those come out too
// fast), sequence parallelism, interleaved stages, optimizer sharding (ZeRO), dropout masks' random
// numbers.
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

/// A decoder-only transformer, as a file in workloads/models/. `gated` stands for the Llama family:
/// SwiGLU, RMSNorm, no biases, no dropout; without it the GPT family: GELU, LayerNorm, biases,
/// dropout.
struct ModelSpec {
  std::string name;
  std::uint32_t layers = 0;
  std::uint32_t hidden = 0;
  std::uint32_t heads = 0;
  std::uint32_t kv_heads = 0;  ///< = heads without grouped-query attention
  std::uint32_t head_dim = 0;
  std::uint32_t ffn = 0;  ///< inner width of the feed-forward block
  bool gated = false;     ///< SwiGLU: three matrices in place of two
  std::uint32_t vocabulary = 0;
  std::uint32_t sequence = 0;
  bool tied_embeddings = true;
  bool learned_positions = true;
  /// All trainable parameters, exact. GPT family: 12lh²(1 + 13/(12h) + (V+s)/(12lh)) + 2h (SC'21
  /// Eq. 2 and the last norm).
  [[nodiscard]] double parameters() const;
  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

/// A GPU kind. Peaks from data sheets; efficiencies from published micro-benchmarks where there are
/// some, else from a calibration over whole tables of published training runs. gpu_catalog.cpp says
/// which is which; none is fitted to a single row.
struct GpuSpec {
  std::string name;
  FlopRate peak_bf16;
  Bytes memory;
  Bandwidth memory_bandwidth;
  double gemm_efficiency = 1;         ///< of the peak, on large matrices
  double memory_efficiency = 1;       ///< of the memory bandwidth
  double attention_efficiency = 1;    ///< of the peak, flash attention
  std::uint32_t multiprocessors = 0;  ///< for wave quantisation
  Duration kernel_overhead{};         ///< per kernel
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
  std::uint32_t global_batch = 0;  ///< sequences
  std::uint32_t micro_batch = 1;   ///< sequences
  Recompute recompute = Recompute::none;
  bool flash_attention = true;
  std::uint32_t gradient_bytes = 2;  ///< per element on the wire: 2 = bf16, 4 = fp32
  bool scatter_sends =
      true;  ///< P2P sends are split over the tensor ranks and gathered behind (SC'21 §4.1)
  Bytes gradient_bucket{std::int64_t{256}
                        << 20U};  ///< all-reduce starts when so many gradients are ready
  std::string all_reduce = "ring";
  [[nodiscard]] std::uint32_t micro_batches() const {
    return global_batch / (micro_batch * parallelism.data);
  }
};

/// Bytes one rank of the fullest stage needs, by part.
struct MemoryUse {
  Bytes parameters;
  Bytes gradients;
  Bytes optimizer;
  Bytes activations;
  [[nodiscard]] Bytes total() const { return parameters + gradients + optimizer + activations; }
};

/// Adam in mixed precision, nothing sharded over data replicas: 2 bytes of weights,
/// `gradient_bytes` of gradients and 12 of fp32 master weights and moments per parameter.
/// Activations after Korthikanti et al., §4 (no sequence parallelism), for the min(p − stage, m)
/// micro-batches that 1F1B keeps in flight; the fullest stage is the one whose sum is the largest.
[[nodiscard]] MemoryUse memory_use(const TrainingSpec& spec);

/// Floating-point operations of one iteration over all ranks without recomputation; causal
/// attention counts in full, as in SC'21. General form 3·B·[l·(2s(h(a+2k)d + adh + (2 or 3)hf) +
/// 4s²ad) + 2shV]; for a = k, ad = h, f = 4h, two matrices it is 72·B·s·l·h²·(1 + s/(6h) +
/// V/(12lh)), Eq. 3 less its recomputation.
[[nodiscard]] double model_flops(const TrainingSpec& spec);

/// Compute time of one micro-batch on one stage, per rank, without communication.
struct StageTimes {
  Duration forward{};
  Duration backward{};  ///< with recomputation where asked
  Duration optimizer{};
};
[[nodiscard]] StageTimes stage_times(const TrainingSpec& spec, const GpuSpec& gpu,
                                     std::uint32_t stage);

/// The whole iteration under 1F1B. The spec has passed `check_training` (jobs made by rule, see
/// trace_job.hpp, need not fit in memory); checked: layers and batch divide.
[[nodiscard]] IterationDag build_iteration(const TrainingSpec& spec, const GpuSpec& gpu);

/// Contradictions of a spec with itself and with the GPU (layers not divisible by stages, heads by
/// tensor ranks, batch by replicas, memory that does not fit, naming the bytes). One sentence each;
/// empty when good.
[[nodiscard]] std::vector<std::string> check_training(const TrainingSpec& spec, const GpuSpec& gpu);

/// Reads {"kind": "transformer", …}. Defaults: kv_heads = heads, head_dim = hidden / heads, ffn = 4
/// · hidden.
[[nodiscard]] ModelSpec read_model(const config::Node& node, config::Errors& errors);
/// Reads the name of a catalog entry, or an object with the fields of GpuSpec, where "base" names
/// an entry that fills the rest.
[[nodiscard]] GpuSpec read_gpu(const config::Node& node, config::Errors& errors);
/// GPU kinds that come with the program; empty name list in the error otherwise.
[[nodiscard]] std::span<const GpuSpec> gpu_catalog();
[[nodiscard]] const GpuSpec* find_gpu(std::string_view name);

}  // namespace railyard::workload
