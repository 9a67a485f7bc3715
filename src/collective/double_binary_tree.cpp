// Double binary tree (Sanders, Speck, Träff 2009; NCCL since 2.4): two binary trees over the ranks,
// each reduces half of the vector to its root and broadcasts it down again. The inner ranks of one
// tree are leaves of the other; binary_trees.hpp says which trees. With c channels the vector is
// cut into c parts with a pair of trees each, which begin in every island at another rank.
//
// B is what one rank sends and, at the same time, receives per second, over all its edges. Each
// half is cut into k chunks of S/(2k). In one pipeline step of the reduction a rank receives at
// most two chunks (two children in one tree, or one in each) and sends at most two (a parent in
// each), so a step takes at most S/(kB); reducing takes d+k−1 steps and broadcasting as many, and
// the first chunk meets α at each of its 2d hops:
//   T ≤ 2dα + 2(d+k−1)·S/(kB)       closed_form(): an upper bound on a flat group
//   T ≥ 2(n−1)/n · S/B              every all-reduce
//   T ≥ 2d(α + S/(2kB))             the first chunk, up and down the deepest branch
// The schedule does better than the upper bound, because chunks travel down while others still
// travel up.
#include <algorithm>
#include <array>
#include "collective/algorithms.hpp"
#include "collective/binary_trees.hpp"
#include "collective/chunks.hpp"
#include "railyard/core/check.hpp"

namespace railyard::collective {

namespace {

class DoubleBinaryTree final : public Algorithm {
 public:
  DoubleBinaryTree(std::uint32_t chunks, std::uint32_t channels)
      : chunks_(chunks), channels_(channels) {}

  std::string refusal(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(shape.ranks() > 0, "a collective of no ranks");
    return refuse_operation("double_binary_tree", kDoubleBinaryTreeOperations, request.operation);
  }

  Schedule schedule(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(refusal(request, shape).empty(), "{}", refusal(request, shape));
    ScheduleBuilder builder;
    const std::vector<Chunk> halves = halves_of(request.size);
    for (std::uint32_t h = 0; h < halves.size(); ++h) {
      const Tree tree = make_tree(shape, {.which = h % 2, .rotation = h / 2});
      for (const Chunk& chunk : cut(halves[h], chunks_)) add_chunk(builder, tree, h, chunk);
    }
    return builder.take();
  }

  Coupled coupled(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(refusal(request, shape).empty(), "{}", refusal(request, shape));
    if (shape.ranks() == 1) return {};
    CoupledPhase out;
    const std::vector<Chunk> halves = halves_of(request.size);
    std::vector<CoupledEdge> edges;
    std::uint32_t depth = 0;
    for (std::uint32_t h = 0; h < halves.size(); ++h) {
      const Tree tree = make_tree(shape, {.which = h % 2, .rotation = h / 2});
      depth = std::max(depth, tree.depth);
      out.crossing_steps = std::max(out.crossing_steps, 2 * tree.crossings);
      for (std::uint32_t r = 0; r < shape.ranks(); ++r) {
        if (tree.parent[r] == kNobody) continue;
        edges.push_back({r, tree.parent[r], halves[h].size});
        edges.push_back({tree.parent[r], r, halves[h].size});
      }
    }
    out.edges = merged(std::move(edges));
    out.latency_steps = 2 * depth;
    // The first chunk goes up to the root and down again; where an island has two children, both
    // send at once. One hop is what the edges count.
    const std::uint32_t crossing = out.crossing_steps;
    const std::uint32_t share = shape.islands() > 2 ? 2 : 1;
    out.chunk = largest_part(halves.front().size, chunks_);
    out.filling_crossing = crossing > 0 ? (crossing - 1) * share : 0;
    out.filling = 2 * depth - crossing - (crossing > 0 ? 0 : 2);
    return {.phases = {std::move(out)}};
  }

  Duration closed_form(const Request& request, std::uint32_t ranks, Duration alpha,
                       Bandwidth rate) const override {
    RAILYARD_CHECK(refusal(request, GroupShape::flat(ranks)).empty(), "the tree cannot do this");
    if (ranks == 1) return Duration(0);
    const std::uint32_t depth = halvings(ranks);
    const Duration chunk = largest_part(request.size, chunks_) / rate;
    return alpha * static_cast<std::int64_t>(2 * depth) +
           chunk * static_cast<std::int64_t>(2 * (depth + chunks_ - 1));
  }

 private:
  [[nodiscard]] std::vector<Chunk> halves_of(Bytes size) const {
    return cut({.offset = Bytes(0), .size = size}, 2 * channels_);
  }

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
  std::uint32_t channels_;
};

}  // namespace

std::unique_ptr<Algorithm> make_double_binary_tree(const config::Parameters& parameters) {
  return std::make_unique<DoubleBinaryTree>(
      static_cast<std::uint32_t>(parameters.get<std::int64_t>("chunks")),
      static_cast<std::uint32_t>(parameters.get<std::int64_t>("channels")));
}

}  // namespace railyard::collective
