// NVLS inside islands, double binary trees between them (NCCL's NVLSTree): all_reduce.
//
// Of I islands with g ranks each, local rank j (the head of slice j, S/g bytes) reads its slice
// through the island's switch, which adds it up; the heads j of all islands all-reduce it over a
// pair of binary trees, half of the slice on each (binary_trees.hpp); each head writes the sum back
// through its switch to all. Every half is cut into k chunks that follow one another through all of
// this. Per rank S(1 + 1/g) bytes each way on NVLink, and on its NIC at most 2S/g:
//   4α₁ + 2dα₂ + max((1 + 1/g)S/B₁, 2S/(gB₂))·(1 + d/k), d = ceil(log₂ I), index 1 inside, 2
// between
#include <algorithm>

#include "collective/algorithms.hpp"
#include "collective/binary_trees.hpp"
#include "collective/chunks.hpp"
#include "railyard/core/check.hpp"

namespace railyard::collective {

namespace {

using Members = std::vector<std::vector<std::uint32_t>>;  // [island][local index] → rank

/// One chunk of one half of slice `head`, through all islands.
class ChunkBuilder {
 public:
  ChunkBuilder(ScheduleBuilder& builder, const GroupShape& shape, const Members& members,
               const Tree& tree)
      : builder_(builder), shape_(shape), members_(members), tree_(tree) {}

  void add(std::uint32_t head, std::uint32_t which, Chunk chunk) {
    // Each rank's sends of a slice's half share no channel with others.
    base_ = (2 * head + which) * (shape_.ranks() + 4);
    std::vector<std::vector<std::uint32_t>> sums(members_.size());
    for (std::uint32_t i = 0; i < members_.size(); ++i) sums[i].push_back(read(i, head, chunk));
    const std::vector<std::vector<std::uint32_t>> reads = sums;
    for (std::size_t p = tree_.top_down.size(); p-- > 1;) {
      const std::uint32_t island = tree_.top_down[p];
      const std::uint32_t up = tree_.parent[island];
      // The parent must hold its own island's sum before it can add another's.
      std::vector<std::uint32_t> waits = sums[island];
      waits.insert(waits.end(), reads[up].begin(), reads[up].end());
      sums[up].push_back(send(members_[island][head], members_[up][head],
                              {.channel = 1, .reduce = true}, chunk, waits));
    }
    for (const std::uint32_t island : tree_.top_down) {
      std::uint32_t place = 2;
      for (const std::uint32_t child : tree_.children[island]) {
        const std::uint32_t down = send(members_[island][head], members_[child][head],
                                        {.channel = place++, .reduce = false}, chunk, sums[island]);
        sums[child].assign(1, down);
      }
      write(island, head, chunk, sums[island]);
    }
  }

 private:
  struct Kind {
    std::uint32_t channel = 0;
    bool reduce = false;
  };
  std::uint32_t send(std::uint32_t from, std::uint32_t to, Kind kind, Chunk chunk,
                     std::span<const std::uint32_t> waits) {
    return builder_.add(
        {.source = from, .destination = to, .channel = base_ + kind.channel, .reduce = kind.reduce},
        chunk, waits);
  }

  std::uint32_t read(std::uint32_t island, std::uint32_t head, Chunk chunk) {
    std::vector<std::uint32_t> copies;
    for (const std::uint32_t rank : members_[island])
      copies.push_back(
          send(rank, shape_.reducer(island), {.channel = 0, .reduce = true}, chunk, {}));
    return send(shape_.reducer(island), members_[island][head], {.channel = 0, .reduce = false},
                chunk, copies);
  }

  void write(std::uint32_t island, std::uint32_t head, Chunk chunk,
             const std::vector<std::uint32_t>& waits) {
    const std::uint32_t up = send(members_[island][head], shape_.reducer(island),
                                  {.channel = 3 + shape_.ranks(), .reduce = false}, chunk, waits);
    std::uint32_t place = 1;
    for (const std::uint32_t rank : members_[island]) {
      send(shape_.reducer(island), rank, {.channel = place++, .reduce = false}, chunk,
           std::span(&up, 1));
    }
  }

  ScheduleBuilder& builder_;
  const GroupShape& shape_;
  const Members& members_;
  const Tree& tree_;
  std::uint32_t base_ = 0;
};

class NvlsTree final : public Algorithm {
 public:
  explicit NvlsTree(std::uint32_t chunks) : chunks_(chunks) {}

  std::string refusal(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(shape.ranks() > 0, "a collective of no ranks");
    const std::string operation =
        refuse_operation("nvls_tree", kNvlsTreeOperations, request.operation);
    if (!operation.empty()) return operation;
    const Members members = shape.members();
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (members[i].size() == members[0].size()) continue;
      return fmt::format(
          "nvls_tree needs islands of equal size, but island 0 holds {} ranks of the group and "
          "island {} holds {}; use ring or double_binary_tree",
          members[0].size(), i, members[i].size());
    }
    return {};
  }

  Schedule schedule(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(refusal(request, shape).empty(), "{}", refusal(request, shape));
    ScheduleBuilder builder;
    if (shape.ranks() == 1) return builder.take();
    const Members members = shape.members();
    const GroupShape heads = GroupShape::flat(shape.islands());
    const Tree trees[] = {make_tree(heads, {.which = 0}), make_tree(heads, {.which = 1})};
    const auto g = static_cast<std::uint32_t>(members[0].size());
    const std::vector<Chunk> slices = cut({.offset = Bytes(0), .size = request.size}, g);
    for (std::uint32_t c = 0; c < chunks_; ++c) {
      for (std::uint32_t head = 0; head < g; ++head) {
        const std::vector<Chunk> halves = cut(slices[head], 2);
        for (std::uint32_t t = 0; t < 2; ++t)
          ChunkBuilder(builder, shape, members, trees[t]).add(head, t, cut(halves[t], chunks_)[c]);
      }
    }
    return builder.take();
  }

  Coupled coupled(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(refusal(request, shape).empty(), "{}", refusal(request, shape));
    if (shape.ranks() == 1) return {};
    const Members members = shape.members();
    const GroupShape heads = GroupShape::flat(shape.islands());
    const auto g = static_cast<std::uint32_t>(members[0].size());
    const std::vector<Chunk> slices = cut({.offset = Bytes(0), .size = request.size}, g);
    CoupledPhase out;
    std::uint32_t depth = 0;
    for (std::uint32_t t = 0; t < 2; ++t) {
      const Tree tree = make_tree(heads, {.which = t});
      depth = std::max(depth, tree.depth);
      for (std::uint32_t i = 0; i < members.size(); ++i) {
        if (tree.parent[i] == kNobody) continue;
        for (std::uint32_t head = 0; head < g; ++head) {
          const Bytes half = cut(slices[head], 2)[t].size;
          out.edges.push_back({members[i][head], members[tree.parent[i]][head], half});
          out.edges.push_back({members[tree.parent[i]][head], members[i][head], half});
        }
      }
    }
    for (std::uint32_t i = 0; i < members.size(); ++i) {
      for (std::uint32_t head = 0; head < g; ++head) {
        const Bytes bytes = request.size + slices[head].size;
        out.edges.push_back({members[i][head], shape.reducer(i), bytes});
        out.edges.push_back({shape.reducer(i), members[i][head], bytes});
      }
    }
    out.edges = merged(std::move(out.edges));
    out.latency_steps = 4 + 2 * depth;
    out.crossing_steps = 2 * depth;
    // A chunk of a half goes up and down the tree; an inner island serves two children at once.
    const std::uint32_t share = members.size() > 2 ? 2 : 1;
    out.chunk = largest_part(slices.front().size.divided_up(2), chunks_);
    out.filling_crossing = depth > 0 ? (2 * depth - 1) * share : 0;
    out.filling = 4 * g;
    return {.phases = {std::move(out)}};
  }

  /// Every rank an island of its own, NVLink and network at one rate: 2S to and from the switch and
  /// at most 2S in the trees share it.
  Duration closed_form(const Request& request, std::uint32_t ranks, Duration alpha,
                       Bandwidth rate) const override {
    if (ranks == 1) return Duration(0);
    const std::uint32_t depth = make_tree(GroupShape::flat(ranks), {}).depth;
    const double bytes = 4.0 * static_cast<double>(request.size.count()) *
                         (1.0 + static_cast<double>(depth) / chunks_);
    return alpha * static_cast<std::int64_t>(4 + 2 * depth) +
           from_seconds(bytes / static_cast<double>(rate.bytes_per_s()));
  }

 private:
  std::uint32_t chunks_;
};

}  // namespace

std::unique_ptr<Algorithm> make_nvls_tree(const config::Parameters& parameters) {
  return std::make_unique<NvlsTree>(
      static_cast<std::uint32_t>(parameters.get<std::int64_t>("chunks")));
}

}  // namespace railyard::collective
