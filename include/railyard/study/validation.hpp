// Published measurements of training steps against the simulator: `railyard validate`.
//
// A row is one measured configuration. Files of rows (validation/*.json, or a user's) hold
//   {"table": …, "source": …, "defaults": {field: value}, "rows": [{field: value}, …]}
// or, shorter, "columns": [field, …] and rows that are arrays; {"records": […]} and CSV files with
// the same columns, and vTrain's CSV, are read too. Fields (as in the shared data's core table):
//   id, table, model; layers, hidden, heads, kv_heads, head_dim, ffn, vocab, seq; family gpt (GELU,
//   biases, learned positions, tied embeddings), squared (two matrices, none of these) or llama
//   (SwiGLU); global_batch, micro_batch; tp, pp, vp, cp, ep, etp, dp; zero 0-3; seq_parallel;
//   recompute none|selective|full; precision; attention flash|unfused; stack graphs|eager,
//   stack_gemm, stack_launch_us, stack_skew_us; logits_tflops;
//   overlap_sends, overlap_gradients, overlap_parameters, tensor_overlap; gradient_bytes;
//   layers_per_stage; experts, experts_per_token, expert_ffn, shared_experts, dense_layers; latent
//   [query rank, key/value
//   rank, key, rope, value dims]; gpu, gpus, gpus_per_host, network "8x200Gb …", nic_share,
//   ring_channels (0: NCCL's choice of algorithm);
//   metric step_s | tflops_per_gpu(96Bslh2 formula) | tokens_per_s_per_gpu; value; note;
//   not_simulated: why such a row is only listed.
// A field that is missing is derived where it follows from others, else the row is not simulated
// and says which.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "railyard/config/document.hpp"
#include "railyard/workload/transformer.hpp"

namespace railyard::study {

/// The machines a row was measured on.
struct Cluster {
  std::string gpu;
  std::uint32_t gpus = 0;
  std::uint32_t gpus_per_host = 8;
  std::uint32_t nics_per_host = 8;
  Bandwidth nic;            ///< nominal, one port and direction
  double nic_share = 0.96;  ///< usable share of a NIC's rate
};

struct ValidationRow {
  std::string id;
  std::string table;
  std::string metric;
  std::optional<double> published;
  std::string note;
  std::string not_simulated;  ///< empty: it can be
  workload::TrainingSpec spec;
  Cluster cluster;
};

struct ValidationResult {
  std::string id;
  std::string table;
  std::string metric;
  std::optional<double> published;
  std::optional<double> simulated;
  std::string note;
  [[nodiscard]] std::optional<double> error_percent() const {
    if (!simulated || !published) return std::nullopt;
    return 100 * (*simulated / *published - 1);
  }
};

/// Mean absolute error and 95th percentile (nearest rank) of the simulated rows of a table.
struct ValidationSummary {
  std::string table;
  std::size_t rows = 0;
  std::size_t simulated = 0;
  double mape_percent = 0;
  double median_percent = 0;
  double p95_percent = 0;
};

/// Fields set in every row, as text.
using Changes = std::vector<std::pair<std::string, std::string>>;

/// What can be simulated by itself: a row, or rows of collectives that share a fabric.
struct Measurement {
  std::string table;
  std::function<std::vector<ValidationResult>()> simulate;
};
/// All that a file of rows or of collectives (collective_rows.hpp) holds, in its order. Throws as
/// read_validation_rows does; `changes` are of rows.
[[nodiscard]] std::vector<Measurement> read_measurements(const std::filesystem::path& path,
                                                         const Changes& changes = {});

/// Throws ConfigError naming the place of what is wrong.
[[nodiscard]] std::vector<ValidationRow> read_validation_rows(const std::filesystem::path& path,
                                                              const Changes& changes = {});
[[nodiscard]] std::vector<ValidationRow> read_validation_rows(const config::Document& document,
                                                              const Changes& changes);

/// One iteration in its steady state on a fabric of the row's cluster without oversubscription.
[[nodiscard]] ValidationResult simulate(const ValidationRow& row);

/// By table, in order of first appearance, and "overall" last.
[[nodiscard]] std::vector<ValidationSummary> summarise(
    const std::vector<ValidationResult>& results);

}  // namespace railyard::study
