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

/// Does rank r hold bytes of its own of this element before the operation?
bool has_at_start(Operation operation, std::uint32_t rank, std::uint32_t owner) {
  if (operation == Operation::all_gather) return owner == rank;
  return operation != Operation::broadcast || rank == 0;
}

/// Who must have contributed to rank r's copy in the end; empty where it does not matter.
std::vector<std::uint32_t> wanted_at(Operation operation, std::uint32_t rank, std::uint32_t owner,
                                     std::uint32_t n) {
  if (operation == Operation::reduce_scatter && owner != rank) return {};
  if (operation == Operation::reduce && rank != 0) return {};
  std::vector<std::uint32_t> wanted(n, 1);  // every rank, once
  if (operation == Operation::all_gather || operation == Operation::broadcast) {
    wanted.assign(n, 0);
    wanted[operation == Operation::broadcast ? 0 : owner] = 1;
  }
  return wanted;
}

/// How often the element must have gone from one rank to another of an exchange.
std::uint32_t deliveries_wanted(Operation operation, std::uint32_t from, std::uint32_t to,
                                std::uint32_t owner, std::uint32_t n) {
  if (operation == Operation::send_recv) return n > 1 && to == (from + 1) % n ? 1 : 0;
  return to == owner && to != from ? 1 : 0;
}

void check_semantics(const collective::Algorithm& algorithm, Operation operation, std::int64_t size,
                     const GroupShape& shape, std::uint64_t seed) {
  const std::uint32_t n = shape.ranks();
  if (operation == Operation::barrier) size = 1;
  const collective::Schedule schedule = algorithm.schedule({operation, Bytes(size)}, shape);
  const std::vector<std::int64_t> edges = boundaries(schedule, size, n);
  const std::size_t elements = edges.size() - 1;
  Contributions start(n + shape.islands(), std::vector(elements, std::vector<std::uint32_t>(n, 0)));
  for (std::uint32_t r = 0; r < n; ++r) {
    for (std::size_t e = 0; e < elements; ++e)
      start[r][e][r] = has_at_start(operation, r, owner_of(edges[e], size, n)) ? 1 : 0;
  }
  const SymbolicRun run = run_symbolically(schedule, edges, start, seed);
  std::uint32_t wrong = 0;
  for (std::uint32_t r = 0; r < n; ++r) {
    for (std::size_t e = 0; e < elements; ++e) {
      const std::uint32_t owner = owner_of(edges[e], size, n);
      const auto& held = run.contributions[r][e];
      if (operation == Operation::all_to_all || operation == Operation::send_recv) {
        for (std::uint32_t to = 0; to < n; ++to) {
          wrong +=
              run.deliveries[r][to][e] == deliveries_wanted(operation, r, to, owner, n) ? 0 : 1;
        }
      } else if (operation == Operation::barrier) {  // heard of everybody, once or more
        wrong += std::ranges::count(held, 0U) == 0 ? 0 : 1;
      } else {
        const std::vector<std::uint32_t> wanted = wanted_at(operation, r, owner, n);
        wrong += wanted.empty() || held == wanted ? 0 : 1;
      }
    }
  }
  CHECK(wrong == 0);
}

void check_all_operations(std::string_view name, const GroupShape& shape, std::int64_t size,
                          std::uint64_t seeds, std::int64_t channels = 1) {
  const auto algorithm = make_algorithm(name, 3, channels);
  for (std::size_t o = 0; o < collective::kOperations; ++o) {
    const auto operation = collective::operation_at(o);
    if (!algorithm->refusal({operation, Bytes(1)}, shape).empty()) continue;
    CAPTURE(name);
    CAPTURE(o);
    CAPTURE(shape.ranks());
    CAPTURE(size);
    for (std::uint64_t seed = 1; seed <= seeds; ++seed)
      check_semantics(*algorithm, operation, size, shape, seed);
  }
}

}  // namespace

TEST_CASE(
    "every algorithm leaves every rank with what its operation promises, for any group size") {
  for (const auto& entry : collective::algorithm_catalog()) {
    for (std::uint32_t n = 1; n <= 17; ++n) {
      for (const std::int64_t size : {2, 5, 1000, 5041}) {
        check_all_operations(entry.description.name, GroupShape::flat(n), size, 2);
        check_all_operations(entry.description.name, islands_of(n, n), size, 2);
      }
    }
    for (const std::uint32_t n : {24U, 31U, 32U, 33U, 48U})
      check_all_operations(entry.description.name, islands_of(8, n), 20'011, 1);
  }
}

TEST_CASE("groups with islands are served as well, in any order of their ranks") {
  const std::vector<std::vector<std::uint32_t>> shapes{{0, 0, 0},          {0, 0, 1, 1},
                                                       {0, 1, 0, 1},       {0, 0, 1, 1, 2, 2},
                                                       {0, 1, 2, 2, 1, 0}, {0, 0, 0, 0, 1, 1, 1, 1},
                                                       {0, 0, 0, 1, 1, 2}};
  for (const auto& entry : collective::algorithm_catalog()) {
    for (const auto& islands : shapes) {
      for (const std::int64_t size : {1, 7, 4099}) {
        for (const std::int64_t channels : {1, 2, 3})
          check_all_operations(entry.description.name, GroupShape{islands}, size, 4, channels);
      }
    }
  }
}

// Rank d gets S·w_d/Σw of every rank: all bytes between the bounds of its share, once, from each
// other rank; a share of 0 gets nothing.
TEST_CASE("an all-to-all-v gives every rank its share") {
  for (const std::string_view name : {"direct", "pairwise"}) {
    for (std::uint32_t n = 1; n <= 17; ++n) {
      Request request{Operation::all_to_all, Bytes(10'007), {}};
      std::uint64_t sum = 0;
      for (std::uint32_t r = 0; r < n; ++r) {
        request.shares.push_back(r == 0 ? 1 : r * r % 7);
        sum += request.shares.back();
      }
      const GroupShape shape = GroupShape::flat(n);
      const auto schedule = make_algorithm(name)->schedule(request, shape);
      std::vector<std::int64_t> bounds{0};
      std::uint64_t before = 0;
      for (const std::uint32_t share : request.shares) {
        before += share;
        bounds.push_back(static_cast<std::int64_t>(10'007 * before / sum));
      }
      std::vector<std::uint32_t> messages(std::size_t{n} * n, 0);
      for (const auto& transfer : schedule.transfers) {
        ++messages[std::size_t{transfer.source} * n + transfer.destination];
        CHECK(transfer.offset.count() == bounds[transfer.destination]);
        CHECK((transfer.offset + transfer.size).count() == bounds[transfer.destination + 1]);
      }
      for (std::uint32_t from = 0; from < n; ++from) {
        for (std::uint32_t to = 0; to < n; ++to) {
          const bool any = from != to && bounds[to] < bounds[to + 1];
          CHECK(messages[std::size_t{from} * n + to] == (any ? 1 : 0));
        }
      }
    }
  }
}

// The way back: rank r sends the r-th share of S to each, so every rank gets S less what it kept,
// and what went out unequal comes in unequal.
TEST_CASE("an all-to-all-v by source brings every rank the whole") {
  for (const std::string_view name : {"direct", "pairwise"}) {
    for (std::uint32_t n = 2; n <= 9; ++n) {
      Request request{Operation::all_to_all, Bytes(10'007), {}, false};
      for (std::uint32_t r = 0; r < n; ++r) request.shares.push_back(r * r % 7 + 1);
      const GroupShape shape = GroupShape::flat(n);
      const auto there = make_algorithm(name)->schedule(request, shape);
      request.by_source = true;
      const auto back = make_algorithm(name)->schedule(request, shape);
      std::vector<std::int64_t> sent(std::size_t{n} * n, 0);
      for (const auto& transfer : there.transfers)
        sent[std::size_t{transfer.source} * n + transfer.destination] += transfer.size.count();
      for (const auto& transfer : back.transfers)
        sent[std::size_t{transfer.destination} * n + transfer.source] -= transfer.size.count();
      CHECK(sent == std::vector<std::int64_t>(sent.size(), 0));
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
