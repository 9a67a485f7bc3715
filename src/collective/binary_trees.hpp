// Binary trees over the ranks of a group: two whose inner ranks are each other's leaves (Sanders,
// Speck, Träff 2009; NCCL since 2.4).
//
// Trees as in NCCL (src/graph/trees.cc): the in-order binary tree in which a rank's level is its
// lowest set bit and rank 0 is the root above all; the second tree is the mirror image for an even
// number of ranks, the first one shifted by one rank for an odd number. Depth d, in edges from the
// root to the lowest leaf, is ceil(log2 n). Where an island holds several ranks the trees join
// islands, and the ranks of an island form a chain below its head: first rank first in one tree,
// last rank first in the other (NCCL's chains inside a node), so that the two trees enter an island
// at different ranks. Further pairs of trees begin the chain at other ranks, so that other NICs
// carry them.
#pragma once

#include <cstdint>
#include <vector>

#include "railyard/collective/collective.hpp"

namespace railyard::collective {

inline constexpr std::uint32_t kNobody = UINT32_MAX;

struct Tree {
  std::vector<std::uint32_t> parent;                 ///< kNobody at the root
  std::vector<std::vector<std::uint32_t>> children;  ///< in order of rank
  std::vector<std::uint32_t> top_down;               ///< parents before children
  std::uint32_t depth = 0;
  std::uint32_t crossings = 0;  ///< edges between islands on the way from the root to a leaf
};

/// Which tree: 0 or 1 of the pair, and how many ranks further on each island's chain begins.
struct TreeKind {
  std::uint32_t which = 0;
  std::uint32_t rotation = 0;
};
[[nodiscard]] Tree make_tree(const GroupShape& shape, TreeKind kind);

}  // namespace railyard::collective
