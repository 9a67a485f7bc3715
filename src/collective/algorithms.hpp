// The algorithms' factories and the operations each supports, one place for the catalog and for the
// refusals.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "railyard/collective/collective.hpp"

namespace railyard::collective {

[[nodiscard]] std::unique_ptr<Algorithm> make_ring(const config::Parameters& parameters);
[[nodiscard]] std::unique_ptr<Algorithm> make_double_binary_tree(
    const config::Parameters& parameters);
[[nodiscard]] std::unique_ptr<Algorithm> make_hierarchical(const config::Parameters& parameters);
[[nodiscard]] std::unique_ptr<Algorithm> make_direct(const config::Parameters& parameters);
[[nodiscard]] std::unique_ptr<Algorithm> make_pairwise(const config::Parameters& parameters);
[[nodiscard]] std::unique_ptr<Algorithm> make_recursive_halving_doubling(
    const config::Parameters& parameters);
[[nodiscard]] std::unique_ptr<Algorithm> make_pat(const config::Parameters& parameters);
[[nodiscard]] std::unique_ptr<Algorithm> make_nvls(const config::Parameters& parameters);
[[nodiscard]] std::unique_ptr<Algorithm> make_nvls_tree(const config::Parameters& parameters);
[[nodiscard]] std::unique_ptr<Algorithm> make_binomial_tree(const config::Parameters& parameters);
[[nodiscard]] std::unique_ptr<Algorithm> make_dissemination(const config::Parameters& parameters);

/// What an algorithm supports.
struct AlgorithmOperations {
  std::string_view algorithm;
  std::span<const Operation> operations;
};

inline constexpr Operation kRingOperations[] = {Operation::all_reduce, Operation::all_gather,
                                                Operation::reduce_scatter, Operation::broadcast,
                                                Operation::reduce};
inline constexpr Operation kDoubleBinaryTreeOperations[] = {Operation::all_reduce};
inline constexpr Operation kHierarchicalOperations[] = {Operation::all_reduce};
inline constexpr Operation kDirectOperations[] = {Operation::all_to_all, Operation::all_gather,
                                                  Operation::reduce_scatter, Operation::send_recv};
inline constexpr Operation kPairwiseOperations[] = {Operation::all_to_all};
inline constexpr Operation kHalvingDoublingOperations[] = {
    Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter};
inline constexpr Operation kPatOperations[] = {Operation::all_gather, Operation::reduce_scatter};
inline constexpr Operation kNvlsOperations[] = {Operation::all_reduce, Operation::all_gather,
                                                Operation::reduce_scatter};
inline constexpr Operation kNvlsTreeOperations[] = {Operation::all_reduce};
inline constexpr Operation kBinomialTreeOperations[] = {Operation::broadcast, Operation::reduce};
inline constexpr Operation kDisseminationOperations[] = {Operation::barrier};

/// In catalog order.
[[nodiscard]] std::span<const AlgorithmOperations> algorithm_operations();

}  // namespace railyard::collective
