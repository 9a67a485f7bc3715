// Dual recursive bipartitioning: the cut against an exhaustive search, the mapping against what
// follows by hand.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>

#include "railyard/core/rng.hpp"
#include "railyard/scheduler/placement.hpp"
#include "scheduler/bipartition.hpp"
#include "small_cluster.hpp"

namespace railyard::scheduler {
namespace {

constexpr std::uint32_t kVertices = 10;

std::vector<WeightedEdge> random_graph(Rng& rng) {
  std::vector<WeightedEdge> edges;
  for (std::uint32_t a = 0; a < kVertices; ++a) {
    for (std::uint32_t b = a + 1; b < kVertices; ++b) {
      if (rng.below(10) < 4) {
        edges.push_back({a, b, 1 + static_cast<std::int64_t>(rng.below(9))});
      }
    }
  }
  return edges;
}

/// The smallest cut of all bipartitions within the bounds.
std::int64_t least_cut(const std::vector<WeightedEdge>& edges, SideBounds bounds) {
  std::int64_t least = -1;
  for (std::uint32_t mask = 0; mask < 1U << kVertices; ++mask) {
    const auto first = kVertices - static_cast<std::uint32_t>(std::popcount(mask));
    if (first < bounds.least || first > bounds.most) continue;
    std::vector<bool> second;
    for (std::uint32_t v = 0; v < kVertices; ++v) second.push_back((mask >> v & 1U) != 0);
    const std::int64_t cut = cut_of(edges, second);
    if (least < 0 || cut < least) least = cut;
  }
  return least;
}

}  // namespace

// A heuristic: on graphs of ten vertices it ends within the bounds, never worse than it began,
// never better than the best of all 1,024 bipartitions, and mostly there. Asked again it finds
// nothing.
TEST_CASE("Fiduccia and Mattheyses' cuts stay within bounds and mostly are the smallest") {
  Rng rng(3);
  int smallest = 0;
  constexpr int kGraphs = 400;
  for (int g = 0; g < kGraphs; ++g) {
    const auto edges = random_graph(rng);
    const std::size_t least = 2 + rng.below(4);
    const SideBounds bounds{least, least + rng.below(3)};
    std::vector<bool> second(kVertices, true);
    std::fill_n(second.begin(), bounds.least, false);
    const std::int64_t before = cut_of(edges, second);
    improve_cut(edges, bounds, second);
    const std::int64_t after = cut_of(edges, second);
    const auto first = static_cast<std::size_t>(std::ranges::count(second, false));
    REQUIRE((first >= bounds.least && first <= bounds.most));
    REQUIRE(after <= before);
    const std::int64_t best = least_cut(edges, bounds);
    REQUIRE(after >= best);
    if (after == best) ++smallest;
    auto again = second;
    improve_cut(edges, bounds, again);
    REQUIRE(cut_of(edges, again) == after);
  }
  MESSAGE(smallest << " of " << kGraphs << " cuts are the smallest");
  CHECK(smallest >= kGraphs * 3 / 4);
}

// Two minipods of four free hosts; four pipelines of two stages. Cutting between pipelines cuts two
// edges of each of two rings, 4 alpha; between stages it cuts four pipelines, 4 (1 - alpha). So
// pipelines stay whole below 1/2 and data-parallel groups above, in either rank order.
TEST_CASE("bipartition keeps together what talks most") {
  const auto topology = test::cluster({.hosts_per_minipod = {4, 4}, .hosts_per_leaf = 2});
  const Inventory inventory(topology);
  const GangShape gang{.gpus = 64, .tensor = 8, .pipeline = 2, .data = 4};
  for (const char* order : {"pp_fastest", "dp_fastest"}) {
    CAPTURE(order);
    const auto spread = [&](const char* alpha) {
      const auto policy = test::policy(fmt::format(
          R"({{"name": "bipartition", "alpha": {}, "rank_order": "{}"}})", alpha, order));
      const auto placement = policy->place(gang, inventory, Rng(1));
      REQUIRE(placement.has_value());
      return spread_of(*placement, gang, topology);
    };
    CHECK(spread("0.1").pp_max == 1);
    CHECK(spread("0.1").dp_max == 2);
    CHECK(spread("0.9").dp_max == 1);
    CHECK(spread("0.9").pp_max == 2);
  }
}

// 6 + 5 + 3 free hosts, a gang of eight: the emptiest two minipods hold it, and no host of the
// third is taken. A gang of five goes where it leaves nothing.
TEST_CASE("bipartition takes the emptiest minipods, as few as hold the gang") {
  const auto topology = test::cluster({.hosts_per_minipod = {6, 5, 3}, .hosts_per_leaf = 3});
  const auto policy = test::policy("\"bipartition\"");
  const GangShape eight{.gpus = 64, .tensor = 8, .pipeline = 1, .data = 8};
  const auto placement = policy->place(eight, Inventory(topology), Rng(1));
  REQUIRE(placement.has_value());
  for (const HostSlot& slot : placement->slots) CHECK(index(topology.host(slot.host).minipod) < 2);
  const GangShape five{.gpus = 40, .tensor = 8, .pipeline = 1, .data = 5};
  const auto tight = policy->place(five, Inventory(topology), Rng(1));
  REQUIRE(tight.has_value());
  for (const HostSlot& slot : tight->slots) CHECK(index(topology.host(slot.host).minipod) == 1);
}

}  // namespace railyard::scheduler
