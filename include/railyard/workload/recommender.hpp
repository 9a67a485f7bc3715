// Recommendation models as workloads, {"kind": "recommender", …}: DLRM (Naumov et al., 2019).
//
// Hybrid parallel as in the paper, §4: the multilayer perceptrons are replicated on all ranks, the
// embedding tables are spread over them, cut along their columns so that every rank holds the same
// width. One iteration on a batch B over n ranks:
//   forward   every rank looks its columns up for all B samples, an all-to-all brings each rank
//             the columns of its own B/n samples; beside it the bottom perceptron runs; then the
//             pairwise products of features, and the top perceptron
//   backward  the top perceptron, whose gradients are all-reduced meanwhile; an all-to-all takes
//             the gradients of the embeddings back, beside the bottom perceptron's backward pass;
//             the embeddings are updated and the bottom's gradients all-reduced
// Lookups and updates move their bytes at the GPU's memory rate, products follow the roofline.
// Not modelled: skewed popularity of rows, caches, the data loader.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "railyard/config/document.hpp"
#include "railyard/workload/transformer.hpp"

namespace railyard::workload {

struct RecommenderSpec {
  std::string name;
  std::uint32_t tables = 0;
  std::uint32_t embedding_dim = 0;
  std::uint32_t pooling = 1;              ///< rows looked up a table and sample, and summed
  std::int64_t rows = 0;                  ///< of all tables together
  std::uint32_t dense_features = 0;       ///< width of the bottom perceptron's input
  std::vector<std::uint32_t> bottom;      ///< widths of its layers; the last one is embedding_dim
  std::vector<std::uint32_t> top;         ///< widths of the top perceptron's layers
  Precision precision = Precision::tf32;  ///< of its products; embeddings and gradients are fp32
};

[[nodiscard]] RecommenderSpec read_recommender(const config::Node& node, config::Errors& errors);
/// Contradictions, one sentence each; empty when good. `batch`: samples of an iteration over all
/// ranks.
[[nodiscard]] std::vector<std::string> check_recommender(const RecommenderSpec& spec,
                                                         std::uint32_t ranks, std::uint32_t batch,
                                                         const GpuSpec& gpu);
/// All ranks are one actor. `tokens` of the DAG are samples.
[[nodiscard]] IterationDag build_recommender(const RecommenderSpec& spec, std::uint32_t ranks,
                                             std::uint32_t batch, const GpuSpec& gpu);

}  // namespace railyard::workload
