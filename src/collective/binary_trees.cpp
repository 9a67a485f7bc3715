#include "collective/binary_trees.hpp"

#include <algorithm>

#include "railyard/core/check.hpp"

namespace railyard::collective {

namespace {

/// NCCL's in-order tree over n places: the parent of place i.
std::uint32_t parent_in_order(std::uint32_t i, std::uint32_t n) {
  if (i == 0) return kNobody;
  const std::uint32_t bit = i & (~i + 1);  // lowest set bit
  const std::uint32_t up = (i ^ bit) | (bit << 1U);
  return up < n ? up : i ^ bit;
}

/// Place of island i in tree 0 or 1, and back.
std::uint32_t place_of(std::uint32_t i, std::uint32_t n, std::uint32_t tree) {
  if (tree == 0) return i;
  return n % 2 == 0 ? n - 1 - i : (i + n - 1) % n;
}
std::uint32_t at_place(std::uint32_t place, std::uint32_t n, std::uint32_t tree) {
  if (tree == 0) return place;
  return n % 2 == 0 ? n - 1 - place : (place + 1) % n;
}

}  // namespace

Tree make_tree(const GroupShape& shape, TreeKind kind) {
  const std::uint32_t which = kind.which;
  const std::uint32_t islands = shape.islands();
  std::vector<std::vector<std::uint32_t>> members = shape.members();
  for (auto& chain : members) {
    const auto first = static_cast<std::ptrdiff_t>(kind.rotation % chain.size());
    std::rotate(chain.begin(), chain.begin() + first, chain.end());
    if (which == 1) std::ranges::reverse(chain);
  }
  Tree tree;
  tree.parent.assign(shape.ranks(), kNobody);
  tree.children.resize(shape.ranks());
  for (std::uint32_t i = 0; i < islands; ++i) {
    const std::uint32_t up = parent_in_order(place_of(i, islands, which), islands);
    if (up != kNobody)
      tree.parent[members[i].front()] = members[at_place(up, islands, which)].front();
    for (std::size_t j = 1; j < members[i].size(); ++j)
      tree.parent[members[i][j]] = members[i][j - 1];
  }
  for (std::uint32_t r = 0; r < shape.ranks(); ++r) {
    if (tree.parent[r] == kNobody) {
      tree.top_down.push_back(r);
    } else {
      tree.children[tree.parent[r]].push_back(r);
    }
  }
  RAILYARD_CHECK(tree.top_down.size() == 1, "a tree with {} roots", tree.top_down.size());
  std::vector<std::uint32_t> level(shape.ranks(), 0);
  std::vector<std::uint32_t> crossed(shape.ranks(), 0);
  for (std::size_t i = 0; i < tree.top_down.size(); ++i) {
    const std::uint32_t r = tree.top_down[i];
    for (const std::uint32_t child : tree.children[r]) {
      level[child] = level[r] + 1;
      tree.depth = std::max(tree.depth, level[child]);
      crossed[child] = crossed[r] + (shape.island_of[r] != shape.island_of[child] ? 1U : 0U);
      tree.crossings = std::max(tree.crossings, crossed[child]);
      tree.top_down.push_back(child);
    }
  }
  return tree;
}

}  // namespace railyard::collective
