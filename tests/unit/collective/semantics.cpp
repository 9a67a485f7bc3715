// Schedules are executed on symbols with random transfer times: what counts is who contributed to
// which element.
#include <doctest/doctest.h>

#include "support/collective_executor.hpp"
#include "unit/collective/algorithms.hpp"

namespace railyard::test {

using collective::GroupShape;
using collective::Operation;
using collective::Request;

namespace {

/// The rank whose chunk of n byte-balanced chunks holds the byte.
std::uint32_t owner_of(std::int64_t byte, std::int64_t size, std::uint32_t n) {
  for (std::uint32_t i = 0; i < n; ++i) {
    if (byte < size / n * (i + 1) + std::min<std::int64_t>(i + 1, size % n)) return i;
  }
  return n;
}

void check_semantics(const collective::Algorithm& algorithm, Operation operation, std::int64_t size,
                     const GroupShape& shape, std::uint64_t seed) {
  const std::uint32_t n = shape.ranks();
  const collective::Schedule schedule = algorithm.schedule({operation, Bytes(size)}, shape);
  const std::vector<std::int64_t> edges = boundaries(schedule, size, n);
  const std::size_t elements = edges.size() - 1;
  Contributions start(n, std::vector(elements, std::vector<std::uint32_t>(n, 0)));
  for (std::uint32_t r = 0; r < n; ++r) {
    for (std::size_t e = 0; e < elements; ++e) {
      const bool gathers = operation == Operation::all_gather;
      const bool has =
          gathers ? owner_of(edges[e], size, n) == r : operation != Operation::broadcast || r == 0;
      if (has) start[r][e][r] = 1;
    }
  }
  const SymbolicRun run = run_symbolically(schedule, edges, start, seed);
  std::uint32_t wrong = 0;
  for (std::uint32_t r = 0; r < n; ++r) {
    for (std::size_t e = 0; e < elements; ++e) {
      const std::uint32_t owner = owner_of(edges[e], size, n);
      if (operation == Operation::all_to_all) {
        for (std::uint32_t to = 0; to < n; ++to) {
          wrong += run.deliveries[r][to][e] == (to == owner && to != r ? 1U : 0U) ? 0 : 1;
        }
        continue;
      }
      if (operation == Operation::reduce_scatter && owner != r) continue;
      std::vector<std::uint32_t> wanted(n, 1);  // every rank, once
      if (operation == Operation::all_gather || operation == Operation::broadcast) {
        wanted.assign(n, 0);
        wanted[operation == Operation::broadcast ? 0 : owner] = 1;
      }
      wrong += run.contributions[r][e] == wanted ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("every algorithm leaves every rank with what its operation promises") {
  for (const auto& entry : collective::algorithm_catalog()) {
    const auto algorithm = make_algorithm(entry.description.name, 3);
    for (std::uint8_t o = 0; o < 5; ++o) {
      const auto operation = static_cast<Operation>(o);
      for (std::uint32_t n = 1; n <= 9; ++n) {
        const GroupShape shape = GroupShape::flat(n);
        if (!algorithm->refusal({operation, Bytes(1)}, shape).empty()) continue;
        for (const std::int64_t size :
             {std::int64_t{2}, std::int64_t{5}, std::int64_t{1000}, std::int64_t{5041}}) {
          CAPTURE(entry.description.name);
          CAPTURE(n);
          CAPTURE(size);
          for (std::uint64_t seed = 1; seed <= 5; ++seed)
            check_semantics(*algorithm, operation, size, shape, seed);
        }
      }
    }
  }
}

TEST_CASE("groups with islands are served as well, in any order of their ranks") {
  const std::vector<std::vector<std::uint32_t>> shapes{{0, 0, 0},          {0, 0, 1, 1},
                                                       {0, 1, 0, 1},       {0, 0, 1, 1, 2, 2},
                                                       {0, 1, 2, 2, 1, 0}, {0, 0, 0, 0, 1, 1, 1, 1},
                                                       {0, 0, 0, 1, 1, 2}};
  for (const std::string_view name : {"ring", "double_binary_tree", "hierarchical"}) {
    const auto algorithm = make_algorithm(name, 4);
    for (const auto& islands : shapes) {
      const GroupShape shape{islands};
      if (!algorithm->refusal({Operation::all_reduce, Bytes(1)}, shape).empty()) continue;
      for (const std::int64_t size : {std::int64_t{1}, std::int64_t{7}, std::int64_t{4099}}) {
        CAPTURE(name);
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
          check_semantics(*algorithm, Operation::all_reduce, size, shape, seed);
        }
      }
    }
  }
}

// The checker must be able to fail: without its dependencies a ring sends sums that are not
// complete.
TEST_CASE("the symbolic executor sees a missing dependency") {
  const auto ring = make_algorithm("ring");
  collective::Schedule schedule =
      ring->schedule({Operation::all_reduce, Bytes(400)}, GroupShape::flat(4));
  for (auto& transfer : schedule.transfers) transfer.dependency_count = 0;
  const auto edges = boundaries(schedule, 400, 4);
  Contributions start(4, std::vector(edges.size() - 1, std::vector<std::uint32_t>(4, 0)));
  for (std::uint32_t r = 0; r < 4; ++r) {
    for (auto& element : start[r]) element[r] = 1;
  }
  std::uint32_t wrong = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const SymbolicRun run = run_symbolically(schedule, edges, start, seed);
    for (const auto& rank : run.contributions) {
      for (const auto& element : rank) wrong += element == std::vector<std::uint32_t>(4, 1) ? 0 : 1;
    }
  }
  CHECK(wrong > 0);
}

}  // namespace railyard::test
