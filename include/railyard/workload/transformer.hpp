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
// their bytes, every kernel costs an overhead on top; a software stack that issues kernels one by
// one bounds a layer from below by its launches. Not modelled: dropout masks' random numbers.
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

/// Mixture of experts: the feed-forward block of a layer is `count` experts of width `ffn`, of
/// which each token visits `per_token`, beside `shared` experts that all tokens visit. The first
/// `dense_layers` layers keep the model's dense block. count 0: none.
struct Experts {
  std::uint32_t count = 0;
  std::uint32_t per_token = 0;
  std::uint32_t ffn = 0;
  std::uint32_t shared = 0;
  std::uint32_t dense_layers = 0;
  friend bool operator==(const Experts&, const Experts&) = default;
};

/// Multi-head latent attention (DeepSeek-V2, §2.1): queries and keys/values pass through low ranks;
/// a key has a part without position (`key_dim`) and a rotary part (`rope_dim`) shared by the
/// heads. query_rank 0: queries are projected at once. key_value_rank 0: ordinary attention.
struct LatentAttention {
  std::uint32_t query_rank = 0;
  std::uint32_t key_value_rank = 0;
  std::uint32_t key_dim = 0;
  std::uint32_t rope_dim = 0;
  std::uint32_t value_dim = 0;
  friend bool operator==(const LatentAttention&, const LatentAttention&) = default;
};

/// A transformer, as a file in workloads/models/. `gated` stands for the Llama family: SwiGLU,
/// RMSNorm, no biases, no dropout; without it the GPT family: GELU, LayerNorm, biases, dropout.
/// Encoders (BERT, ViT) have `causal` false: attention sees all positions.
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
  bool causal = true;
  Experts experts{};
  LatentAttention latent{};
  /// Widths of all queries and of all keys and values of a layer, as the attention kernel sees
  /// them.
  [[nodiscard]] std::uint32_t query_dim() const {
    return latent.key_value_rank > 0 ? latent.key_dim + latent.rope_dim : head_dim;
  }
  [[nodiscard]] std::uint32_t value_dim() const {
    return latent.key_value_rank > 0 ? latent.value_dim : head_dim;
  }
  [[nodiscard]] bool has_experts(std::uint32_t layer) const {
    return experts.count > 0 && layer >= experts.dense_layers;
  }
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
  FlopRate peak_fp8;                  ///< zero: no fp8
  double gemm_efficiency_fp8 = 1;     ///< of peak_fp8, on large matrices
  FlopRate peak_tf32;                 ///< zero: no tf32
  FlopRate peak_fp32;                 ///< outside the tensor cores; zero: not known
  double power_w = 0;                 ///< of the board while it computes; zero: not known
  double idle_power_w = 0;            ///< while it does not; zero: not known
  std::string source;
};

struct Parallelism {
  std::uint32_t tensor = 1;
  std::uint32_t pipeline = 1;
  std::uint32_t data = 1;
  std::uint32_t context = 1;  ///< ranks that share a sequence (ring attention)
  /// Ranks over which the experts are spread. They are ranks of one stage that the other dimensions
  /// already count: consecutive replicas, and with expert_tensor < tensor tensor ranks too (NVIDIA
  /// calls that folding).
  std::uint32_t expert = 1;
  std::uint32_t expert_tensor = 0;   ///< ranks that share an expert; 0: as `tensor`
  std::uint32_t virtual_stages = 1;  ///< model chunks a stage holds, interleaved schedule
  [[nodiscard]] std::uint32_t ranks() const { return tensor * pipeline * data * context; }
  /// Ranks that hold the same dense parameters.
  [[nodiscard]] std::uint32_t replicas() const { return data * context; }
  [[nodiscard]] std::uint32_t expert_tensor_ranks() const {
    return expert_tensor == 0 ? tensor : expert_tensor;
  }
};

enum class Recompute : std::uint8_t {
  none,
  full,      ///< a layer's whole forward pass is repeated in front of its backward pass
  selective  ///< the attention core only (Korthikanti et al., §5)
};

enum class Schedule : std::uint8_t {
  one_forward_one_backward,  ///< interleaved where a stage has several chunks (SC'21, §2.2)
  gpipe,                     ///< all forwards, then all backwards (Huang et al., 2019)
  zero_bubble,  ///< ZB-H1 (Qi et al., 2023, §3.1): 1F1B's memory, weight gradients last
  dual_pipe     ///< DualPipe (DeepSeek-V3 report, §3.2.1): micro-batches from both ends
};

enum class Precision : std::uint8_t {
  bf16,  ///< fp16 alike
  fp8,   ///< products of the layers' matrices in fp8, all else in bf16
  tf32,
  fp32
};

/// The words users write: "bf16", "fp16" (computes as bf16 does), "fp8", "tf32", "fp32".
[[nodiscard]] const std::vector<std::string_view>& precision_words();
[[nodiscard]] Precision precision_of(std::size_t word);
/// Peak rate of matrix products; zero: the GPU has none.
[[nodiscard]] FlopRate peak_of(const GpuSpec& gpu, Precision precision);
/// Bytes of an activation or weight.
[[nodiscard]] std::int64_t element_bytes(Precision precision);

/// Seconds of one matrix product, (rows × depth) · (depth × columns), with its launch: what a GEMM
/// benchmark measures. Tiles and waves as in every pass (docs/model.md).
[[nodiscard]] double gemm_seconds(const GpuSpec& gpu, Precision precision, std::int64_t rows,
                                  std::int64_t columns, std::int64_t depth);

/// What the training framework adds to what the hardware takes. A pass cannot be faster than its
/// operations are launched: about 30 a layer forward, 42 backward, 4 a tensor collective, and as
/// many as a layer's for the model's ends (calibration study, §2; the ends from the same rows).
/// launch zero: kernels are queued ahead (CUDA graphs), nothing waits for the host.
struct SoftwareStack {
  std::string name = "graphs";
  Duration launch{};  ///< host time of one operation
  double gemm = 1;    ///< rate of its matrix products over the GPU's (versions of cuBLAS)
  Duration skew{};    ///< a tensor collective waits so long for ranks that launched it later
  friend bool operator==(const SoftwareStack&, const SoftwareStack&) = default;
};
/// "graphs", or "eager": Megatron-LM and vTrain of 2021 to 2023 on PyTorch, kernels launched one by
/// one (calibration study, §4: 42 to 44 µs an operation, collectives 150 to 290 µs late). nullptr:
/// no such name.
[[nodiscard]] const SoftwareStack* find_stack(std::string_view name);

/// How unevenly tokens choose experts. `weights` has one entry an expert (any scale); empty: even.
struct ExpertLoad {
  std::vector<double> weights;
  double capacity_factor = 0;  ///< an expert drops what exceeds so many times the mean; 0: nothing
};

struct TrainingSpec {
  ModelSpec model;
  Parallelism parallelism;
  std::uint32_t global_batch = 0;  ///< sequences
  std::uint32_t micro_batch = 1;   ///< sequences
  Schedule schedule = Schedule::one_forward_one_backward;
  Recompute recompute = Recompute::none;
  Precision precision = Precision::bf16;
  bool flash_attention = true;
  /// Norms and dropout are split over the tensor ranks along the sequence; all-reduces become
  /// all-gather and reduce-scatter (Korthikanti et al., §4.2.2).
  bool sequence_parallel = false;
  /// Tensor collectives run beside the products they feed or follow, in as many pieces as there are
  /// ranks; the first piece of a gather and the last of a scatter are a rank's own (Transformer
  /// Engine's userbuffers), so what products outlast is hidden.
  bool tensor_overlap = false;
  /// 0: gradients are all-reduced. 1, 2: reduce-scattered, the optimizer works on a share and the
  /// parameters are gathered (2 keeps a share of the gradients only). 3: parameters are gathered
  /// layer by layer in every pass (FSDP), one layer ahead.
  std::uint32_t zero = 0;
  bool overlap_sends = true;         ///< false: a stage waits until what it sends has left
  bool overlap_gradients = true;     ///< reductions start while the last backward pass runs
  bool overlap_parameters = false;   ///< ZeRO 1, 2: gathered while the first forward pass runs
  std::uint32_t gradient_bytes = 2;  ///< per element on the wire: 2 = bf16, 4 = fp32
  /// Per element of the activations and their gradients that stages send each other; 0: as they are
  /// computed. Quantising them is not modelled.
  std::uint32_t send_bytes = 0;
  bool scatter_sends =
      true;  ///< P2P sends are split over the tensor ranks and gathered behind (SC'21 §4.1)
  Bytes gradient_bucket{std::int64_t{256}
                        << 20U};  ///< all-reduce starts when so many gradients are ready
  std::vector<std::uint32_t> layers_per_stage;  ///< of the chunks in order; empty: equal
  ExpertLoad expert_load;
  SoftwareStack stack;
  FlopRate logits_rate;  ///< of the logits' products on one tensor rank; zero: as all products
  collective::Choices collectives;
  [[nodiscard]] std::uint32_t micro_batches() const {
    return global_batch / (micro_batch * parallelism.data);
  }
  /// Model chunks in order: a pipeline's stages, times the virtual stages.
  [[nodiscard]] std::uint32_t chunks() const {
    return parallelism.pipeline * parallelism.virtual_stages;
  }
  /// First layer of a chunk; chunks() gives the number of layers.
  [[nodiscard]] std::uint32_t first_layer(std::uint32_t chunk) const;
  /// Tokens a rank works on in a pass.
  [[nodiscard]] std::int64_t tokens() const {
    return std::int64_t{micro_batch} * model.sequence / parallelism.context;
  }
};

/// Weights of `experts` whose ranks by popularity follow Zipf's law with exponent `skew`, in an
/// order drawn from `seed`; skew 0 is even.
[[nodiscard]] std::vector<double> skewed_load(std::uint32_t experts, double skew,
                                              std::uint64_t seed);

/// Bytes one rank of the fullest stage needs, by part.
struct MemoryUse {
  Bytes parameters;
  Bytes gradients;
  Bytes optimizer;
  Bytes activations;
  [[nodiscard]] Bytes total() const { return parameters + gradients + optimizer + activations; }
};

/// Adam in mixed precision: 2 bytes of weights, `gradient_bytes` of gradients and 12 of fp32 master
/// weights and moments per parameter, of which ZeRO divides the last (1), the last two (2) or all
/// (3) over the replicas. Activations after Korthikanti et al., §4, for the micro-batches that the
/// schedule keeps in flight; the fullest stage is the one whose sum is the largest.
[[nodiscard]] MemoryUse memory_use(const TrainingSpec& spec);

/// Floating-point operations of one iteration over all ranks without recomputation; causal
/// attention counts in full, as in SC'21; experts count as often as tokens visit them. General form
/// 3·B·[l·(2s(h(a+2k)d + adh + (2 or 3)hf) + 4s²ad) + 2shV]; for a = k, ad = h, f = 4h, two
/// matrices it is 72·B·s·l·h²·(1 + s/(6h) +
/// V/(12lh)), Eq. 3 less its recomputation.
[[nodiscard]] double model_flops(const TrainingSpec& spec);

/// Compute time of one micro-batch on one stage, per rank, without communication.
struct StageTimes {
  Duration forward{};
  Duration backward{};  ///< with recomputation where asked
  Duration optimizer{};
};
/// Of all chunks of a stage.
[[nodiscard]] StageTimes stage_times(const TrainingSpec& spec, const GpuSpec& gpu,
                                     std::uint32_t stage);

/// The whole iteration under its schedule. The spec has passed `check_training` (jobs made by rule,
/// see trace_job.hpp, need not fit in memory); checked: layers and batch divide.
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
