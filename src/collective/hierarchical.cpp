// Hierarchical all-reduce over I islands of g ranks each:
//   1. reduce-scatter on a ring inside each island: local rank j ends with the island's sum of
//   slice j (1/g of the vector)
//   2. ring all-reduce of slice j over the islands, between the ranks of local index j, all j at
//   once
//   3. all-gather on the ring inside each island
// Phases follow one another per rank:  2(g−1)(α₁ + S/(gB₁)) + 2(I−1)(α₂ + S/(gIB₂)), index 1
// inside, 2 between islands. Each rank alone on its island (closed_form's flat group): the ring.
#include <algorithm>

#include "collective/algorithms.hpp"
#include "collective/chunks.hpp"
#include "railyard/core/check.hpp"

namespace railyard::collective {

namespace {

using Members = std::vector<std::vector<std::uint32_t>>;  // [island][local index] → rank
using Received =
    std::vector<std::vector<std::uint32_t>>;  // [rank] → transfers its next phase waits for

/// Phases 1 and 3: ring steps inside every island. Rank j starts with slice j − shift.
void ring_inside(ScheduleBuilder& builder, const Members& members, const std::vector<Chunk>& slices,
                 bool reduce, Received& received) {
  const auto g = static_cast<std::uint32_t>(slices.size());
  for (const auto& island : members) {
    std::vector<std::uint32_t> before(g, kNoTransfer);
    for (std::uint32_t s = 0; s + 1 < g; ++s) {
      std::vector<std::uint32_t> now(g, kNoTransfer);
      for (std::uint32_t j = 0; j < g; ++j) {
        const std::uint32_t slice = (j + 2 * g - (reduce ? 1 : 0) - s) % g;
        std::vector<std::uint32_t> dependencies{before[j]};
        if (!reduce && s == 0) dependencies = received[island[j]];
        now[(j + 1) % g] = builder.add({.source = island[j],
                                        .destination = island[(j + 1) % g],
                                        .channel = 0,
                                        .reduce = reduce},
                                       slices[slice], dependencies);
      }
      before = std::move(now);
    }
    if (!reduce) continue;
    for (std::uint32_t j = 0; j < g; ++j) received[island[j]].assign(1, before[j]);
  }
}

/// Phase 2: ring all-reduce of slice j over the islands, for every j.
void ring_between(ScheduleBuilder& builder, const Members& members,
                  const std::vector<Chunk>& slices, Received& received) {
  const auto islands = static_cast<std::uint32_t>(members.size());
  for (std::uint32_t j = 0; j < slices.size(); ++j) {
    const std::vector<Chunk> pieces = cut(slices[j], islands);
    std::vector<std::uint32_t> before(islands, kNoTransfer);
    std::vector<std::vector<std::uint32_t>> stored(islands);
    for (std::uint32_t s = 0; s + 2 < 2 * islands; ++s) {
      std::vector<std::uint32_t> now(islands, kNoTransfer);
      for (std::uint32_t i = 0; i < islands; ++i) {
        const std::uint32_t next = (i + 1) % islands;
        std::vector<std::uint32_t> dependencies{before[i]};
        if (s < islands) {  // what is sent contains the island's own sum
          const auto& own = received[members[i][j]];
          dependencies.insert(dependencies.end(), own.begin(), own.end());
        }
        now[next] = builder.add({.source = members[i][j],
                                 .destination = members[next][j],
                                 .channel = 0,
                                 .reduce = s + 1 < islands},
                                pieces[(i + 2 * islands - s % islands) % islands], dependencies);
        if (s + 2 >= islands) stored[next].push_back(now[next]);
      }
      before = std::move(now);
    }
    for (std::uint32_t i = 0; i < islands; ++i) {
      auto& waits = received[members[i][j]];
      waits.insert(waits.end(), stored[i].begin(), stored[i].end());
    }
  }
}

/// What island i sends in the ring all-reduce of a slice: all pieces twice, less the one it keeps
/// when reducing (i + 1) and the one it never passes on when distributing (i + 2).
Bytes around_twice(const Chunk& slice, std::uint32_t islands, std::uint32_t i) {
  const std::vector<Chunk> pieces = cut(slice, islands);
  return slice.size * 2 - pieces[(i + 1) % islands].size - pieces[(i + 2) % islands].size;
}

class Hierarchical final : public Algorithm {
 public:
  std::string refusal(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(shape.ranks() > 0, "a collective of no ranks");
    const std::string operation =
        refuse_operation("hierarchical", kHierarchicalOperations, request.operation);
    if (!operation.empty()) return operation;
    const Members members = shape.members();
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (members[i].size() != members[0].size()) {
        return fmt::format(
            "hierarchical needs islands of equal size, but island 0 holds {} ranks of the group "
            "and island {} holds {}; use "
            "ring or double_binary_tree",
            members[0].size(), i, members[i].size());
      }
    }
    return {};
  }

  Schedule schedule(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(refusal(request, shape).empty(), "{}", refusal(request, shape));
    const Members members = shape.members_along_ring();
    const std::vector<Chunk> slices = cut({.offset = Bytes(0), .size = request.size},
                                          static_cast<std::uint32_t>(members[0].size()));
    ScheduleBuilder builder;
    Received received(shape.ranks());
    ring_inside(builder, members, slices, true, received);
    ring_between(builder, members, slices, received);
    ring_inside(builder, members, slices, false, received);
    return builder.take();
  }

  Coupled coupled(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(refusal(request, shape).empty(), "{}", refusal(request, shape));
    const Members members = shape.members_along_ring();
    const auto g = static_cast<std::uint32_t>(members[0].size());
    const auto islands = static_cast<std::uint32_t>(members.size());
    const std::vector<Chunk> slices = cut({.offset = Bytes(0), .size = request.size}, g);
    std::vector<CoupledEdge> reducing;
    std::vector<CoupledEdge> gathering;
    std::vector<CoupledEdge> between;
    for (std::uint32_t i = 0; i < islands; ++i) {
      for (std::uint32_t j = 0; j < g; ++j) {
        const std::uint32_t next = members[i][(j + 1) % g];
        // Local rank j keeps its slice when reducing and gets it from j + 1 last when gathering.
        reducing.push_back({members[i][j], next, request.size - slices[j].size});
        gathering.push_back({members[i][j], next, request.size - slices[(j + 1) % g].size});
        between.push_back(
            {members[i][j], members[(i + 1) % islands][j], around_twice(slices[j], islands, i)});
      }
    }
    Coupled out;
    if (g > 1) out.phases.push_back({merged(std::move(reducing)), g - 1, 0, {}, 0, 0});
    if (islands > 1) {
      out.phases.push_back(
          {merged(std::move(between)), 2 * (islands - 1), 2 * (islands - 1), {}, 0, 0});
    }
    if (g > 1) out.phases.push_back({merged(std::move(gathering)), g - 1, 0, {}, 0, 0});
    return out;
  }

  Duration closed_form(const Request& request, std::uint32_t ranks, Duration alpha,
                       Bandwidth rate) const override {
    RAILYARD_CHECK(refusal(request, GroupShape::flat(ranks)).empty(),
                   "the hierarchical algorithm cannot do this");
    return (alpha + largest_part(request.size, ranks) / rate) *
           static_cast<std::int64_t>(2 * (ranks - 1));
  }
};

}  // namespace

std::unique_ptr<Algorithm> make_hierarchical(const config::Parameters& /*parameters*/) {
  return std::make_unique<Hierarchical>();
}

}  // namespace railyard::collective
