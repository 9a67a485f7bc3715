// Double binary tree (Sanders, Speck, Träff 2009; NCCL since 2.4): two binary trees over the ranks,
// each reduces half of the vector to its root and broadcasts it down again. The inner ranks of one
// tree are leaves of the other.
//
// Trees as in NCCL (src/graph/trees.cc): the in-order binary tree in which a rank's level is its
// lowest set bit and rank 0 is the root above all; the second tree is the mirror image for an even
// number of ranks, the first one shifted by one rank for an odd number. Depth d, in edges from the
// root to the lowest leaf, is ceil(log2 n). Where an island holds several ranks the trees join
// islands, and the ranks of an island form a chain below its head: first rank first in one tree,
// last rank first in the other (NCCL's chains inside a node), so that the two trees enter an island
// at different ranks.
//
// B is what one rank sends and, at the same time, receives per second, over all its edges. Each
// half is cut into k chunks of S/(2k). In one pipeline step of the reduction a rank receives at
// most two chunks (two children in one tree, or one in each) and sends at most two (a parent in
// each), so a step takes at most α + S/(kB); reducing takes d+k−1 steps and broadcasting as many:
//   T ≤ 2(d+k−1)(α + S/(kB))        closed_form(): an upper bound on a flat group
//   T ≥ 2(n−1)/n · S/B              every all-reduce
//   T ≥ 2d(α + S/(2kB))             the first chunk, up and down the deepest branch
// The schedule does better than the upper bound, because chunks travel down while others still
// travel up.
#include <algorithm>
#include <array>
#include <bit>

#include "collective/algorithms.hpp"
#include "collective/chunks.hpp"
#include "railyard/core/check.hpp"

namespace railyard::collective {

namespace {

constexpr std::uint32_t kNobody = UINT32_MAX;

struct Tree {
  std::vector<std::uint32_t> parent;                 ///< kNobody at the root
  std::vector<std::vector<std::uint32_t>> children;  ///< in order of rank
  std::vector<std::uint32_t> top_down;               ///< parents before children
  std::uint32_t depth = 0;
};

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

Tree make_tree(const GroupShape& shape, std::uint32_t which) {
  const std::uint32_t islands = shape.islands();
  std::vector<std::vector<std::uint32_t>> members(islands);
  for (std::uint32_t r = 0; r < shape.ranks(); ++r) members[shape.island_of[r]].push_back(r);
  if (which == 1) {
    for (auto& chain : members) std::ranges::reverse(chain);
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
  for (std::size_t i = 0; i < tree.top_down.size(); ++i) {
    const std::uint32_t r = tree.top_down[i];
    for (const std::uint32_t child : tree.children[r]) {
      level[child] = level[r] + 1;
      tree.depth = std::max(tree.depth, level[child]);
      tree.top_down.push_back(child);
    }
  }
  return tree;
}

class DoubleBinaryTree final : public Algorithm {
 public:
  explicit DoubleBinaryTree(std::uint32_t chunks) : chunks_(chunks) {}

  std::string refusal(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(shape.ranks() > 0, "a collective of no ranks");
    return refuse_operation("double_binary_tree", kDoubleBinaryTreeOperations, request.operation);
  }

  Schedule schedule(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(refusal(request, shape).empty(), "{}", refusal(request, shape));
    ScheduleBuilder builder;
    const std::array<Tree, 2> trees{make_tree(shape, 0), make_tree(shape, 1)};
    const std::vector<Chunk> halves = cut({.offset = Bytes(0), .size = request.size}, 2);
    const std::array<std::vector<Chunk>, 2> pieces{cut(halves[0], chunks_),
                                                   cut(halves[1], chunks_)};
    for (std::uint32_t c = 0; c < chunks_; ++c) {
      for (std::uint32_t t = 0; t < 2; ++t) add_chunk(builder, trees[t], t, pieces[t][c]);
    }
    return builder.take();
  }

  Coupled coupled(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(refusal(request, shape).empty(), "{}", refusal(request, shape));
    Coupled out;
    if (shape.ranks() == 1) return out;
    const std::vector<Chunk> halves = cut({.offset = Bytes(0), .size = request.size}, 2);
    std::vector<CoupledEdge> edges;
    std::uint32_t depth = 0;
    for (std::uint32_t t = 0; t < 2; ++t) {
      const Tree tree = make_tree(shape, t);
      depth = std::max(depth, tree.depth);
      for (std::uint32_t r = 0; r < shape.ranks(); ++r) {
        if (tree.parent[r] == kNobody) continue;
        edges.push_back({r, tree.parent[r], halves[t].size});
        edges.push_back({tree.parent[r], r, halves[t].size});
      }
    }
    out.edges = merged(std::move(edges));
    out.latency_steps = 2 * (depth + chunks_ - 1);
    out.fill = static_cast<double>(depth - 1) / chunks_;
    return out;
  }

  Duration closed_form(const Request& request, std::uint32_t ranks, Duration alpha,
                       Bandwidth rate) const override {
    RAILYARD_CHECK(refusal(request, GroupShape::flat(ranks)).empty(), "the tree cannot do this");
    if (ranks == 1) return Duration(0);
    const auto depth = static_cast<std::uint32_t>(std::bit_width(ranks - 1));  // ceil(log2 n)
    const Duration step = alpha + largest_part(request.size, chunks_) / rate;
    return step * static_cast<std::int64_t>(2 * (depth + chunks_ - 1));
  }

 private:
  /// One chunk up and down one tree. Every edge is a channel of its own, so that a rank's sends
  /// share its rate, as NCCL's threads for the parent and for each child do.
  static void add_chunk(ScheduleBuilder& builder, const Tree& tree, std::uint32_t which,
                        Chunk chunk) {
    const std::uint32_t channels = static_cast<std::uint32_t>(tree.parent.size()) + 1;
    const std::uint32_t first_channel = which * channels;
    std::vector<std::vector<std::uint32_t>> arrived(tree.parent.size());
    for (std::size_t i = tree.top_down.size(); i-- > 1;) {
      const std::uint32_t r = tree.top_down[i];
      const std::uint32_t up = tree.parent[r];
      arrived[up].push_back(
          builder.add({.source = r, .destination = up, .channel = first_channel, .reduce = true},
                      chunk, arrived[r]));
    }
    for (const std::uint32_t r : tree.top_down) {
      std::uint32_t place = 0;
      for (const std::uint32_t child : tree.children[r]) {
        ++place;
        const std::uint32_t down = builder.add(
            {.source = r, .destination = child, .channel = first_channel + place, .reduce = false},
            chunk, arrived[r]);
        arrived[child].assign(1, down);
      }
    }
  }

  std::uint32_t chunks_;
};

}  // namespace

std::unique_ptr<Algorithm> make_double_binary_tree(const config::Parameters& parameters) {
  return std::make_unique<DoubleBinaryTree>(
      static_cast<std::uint32_t>(parameters.get<std::int64_t>("chunks")));
}

}  // namespace railyard::collective
