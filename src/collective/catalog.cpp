#include <array>

#include "collective/algorithms.hpp"

namespace railyard::collective {

using config::ParameterSpec;
using config::ParameterType;

std::span<const AlgorithmOperations> algorithm_operations() {
  static constexpr std::array<AlgorithmOperations, 4> kTable{{
      {"ring", kRingOperations},
      {"double_binary_tree", kDoubleBinaryTreeOperations},
      {"hierarchical", kHierarchicalOperations},
      {"direct", kDirectOperations},
  }};
  return kTable;
}

std::span<const config::CatalogEntry<AlgorithmFactory>> algorithm_catalog() {
  static const std::vector<config::CatalogEntry<AlgorithmFactory>> kTable{
      {{.name = "ring",
        .summary = "Ring over the group in its order: all_reduce, all_gather, reduce_scatter, "
                   "pipelined broadcast",
        .parameters = {ParameterSpec{
            .name = "broadcast_chunks",
            .type = ParameterType::integer,
            .fallback = "16",
            .help = "Pieces a broadcast is cut into, to pipeline it along the ring",
            .min = 1,
            .max = 65536}}},
       &make_ring},
      {{.name = "double_binary_tree",
        .summary =
            "Two complementary binary trees, each with half of the vector, as NCCL: all_reduce",
        .parameters = {ParameterSpec{
            .name = "chunks",
            .type = ParameterType::integer,
            .fallback = "16",
            .help = "Pieces each half is cut into, to pipeline it along its tree",
            .min = 1,
            .max = 65536}}},
       &make_double_binary_tree},
      {{.name = "hierarchical",
        .summary = "Reduce-scatter inside islands, ring all-reduce between them per local rank, "
                   "all-gather inside: all_reduce",
        .parameters = {}},
       &make_hierarchical},
      {{.name = "direct",
        .summary = "Every rank sends to every other, one after the other: all_to_all, all_gather, "
                   "reduce_scatter",
        .parameters = {}},
       &make_direct},
  };
  return kTable;
}

}  // namespace railyard::collective
