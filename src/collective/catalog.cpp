#include <array>

#include "collective/algorithms.hpp"

namespace railyard::collective {

using config::ParameterSpec;
using config::ParameterType;

std::span<const AlgorithmOperations> algorithm_operations() {
  static constexpr std::array<AlgorithmOperations, 11> kTable{{
      {"ring", kRingOperations},
      {"double_binary_tree", kDoubleBinaryTreeOperations},
      {"hierarchical", kHierarchicalOperations},
      {"direct", kDirectOperations},
      {"pairwise", kPairwiseOperations},
      {"recursive_halving_doubling", kHalvingDoublingOperations},
      {"pat", kPatOperations},
      {"nvls", kNvlsOperations},
      {"nvls_tree", kNvlsTreeOperations},
      {"binomial_tree", kBinomialTreeOperations},
      {"dissemination", kDisseminationOperations},
  }};
  return kTable;
}

namespace {

ParameterSpec count(std::string_view name, std::string_view fallback, std::string_view help,
                    double max = 65536) {
  return {.name = name,
          .type = ParameterType::integer,
          .fallback = fallback,
          .help = help,
          .min = 1,
          .max = max};
}

constexpr double kChannelsMax = 64;

}  // namespace

std::span<const config::CatalogEntry<AlgorithmFactory>> algorithm_catalog() {
  static const std::vector<config::CatalogEntry<AlgorithmFactory>> kTable{
      {{.name = "ring",
        .summary = "Ring over the group in its order: all_reduce, all_gather, reduce_scatter, "
                   "pipelined broadcast and reduce",
        .parameters = {count("broadcast_chunks", "16",
                             "Pieces a broadcast or reduce is cut into, to pipeline it along the "
                             "ring"),
                       count("channels", "1",
                             "Rings at once, each beginning at another rank of every island",
                             kChannelsMax)}},
       &make_ring},
      {{.name = "double_binary_tree",
        .summary =
            "Two complementary binary trees, each with half of the vector, as NCCL: all_reduce",
        .parameters = {count("chunks", "16",
                             "Pieces each half is cut into, to pipeline it along its tree"),
                       count("channels", "1",
                             "Pairs of trees at once, each beginning at another rank of every "
                             "island",
                             kChannelsMax)}},
       &make_double_binary_tree},
      {{.name = "hierarchical",
        .summary = "Reduce-scatter inside islands, ring all-reduce between them per local rank, "
                   "all-gather inside: all_reduce",
        .parameters = {}},
       &make_hierarchical},
      {{.name = "direct",
        .summary = "Every rank sends to every other without waiting: all_to_all, all_gather, "
                   "reduce_scatter, send_recv",
        .parameters = {count("at_once", "1", "Destinations a rank sends to at a time"),
                       count("channels", "1", "Connections a send_recv is split over",
                             kChannelsMax)}},
       &make_direct},
      {{.name = "pairwise",
        .summary = "Every rank exchanges with one other at a time, in n-1 steps: all_to_all",
        .parameters = {}},
       &make_pairwise},
      {{.name = "recursive_halving_doubling",
        .summary = "Exchanges with ranks at distance n/2, n/4, ..., any group size: all_reduce, "
                   "all_gather, reduce_scatter",
        .parameters = {}},
       &make_recursive_halving_doubling},
      {{.name = "pat",
        .summary = "Parallel aggregated trees, log2(n) steps, as NCCL: all_gather, reduce_scatter",
        .parameters = {}},
       &make_pat},
      {{.name = "nvls",
        .summary = "Reduction and multicast in the switches of one NVLink island: all_reduce, "
                   "all_gather, reduce_scatter",
        .parameters = {count("chunks", "16",
                             "Pieces a rank's slice is cut into, to overlap reading "
                             "and writing")}},
       &make_nvls},
      {{.name = "nvls_tree",
        .summary = "NVLS inside islands, double binary trees between them: all_reduce",
        .parameters = {count("chunks", "16",
                             "Pieces each half of a slice is cut into, to pipeline it")}},
       &make_nvls_tree},
      {{.name = "binomial_tree",
        .summary = "Doubles the ranks that have the vector in every step: broadcast, reduce",
        .parameters = {}},
       &make_binomial_tree},
      {{.name = "dissemination",
        .summary = "One byte to the rank at distance 1, 2, 4, ...: barrier",
        .parameters = {}},
       &make_dissemination},
  };
  return kTable;
}

}  // namespace railyard::collective
