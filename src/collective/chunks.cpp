#include "collective/chunks.hpp"

#include <algorithm>
#include <tuple>

#include "collective/algorithms.hpp"
#include "railyard/core/check.hpp"

namespace railyard::collective {

std::vector<Chunk> cut(Chunk whole, std::uint32_t parts) {
  RAILYARD_CHECK(parts > 0 && whole.size.count() >= 0, "cannot cut {} bytes into {} parts",
                 whole.size.count(), parts);
  const std::int64_t small = whole.size.count() / parts;
  const std::int64_t larger = whole.size.count() % parts;
  std::vector<Chunk> out;
  out.reserve(parts);
  Bytes offset = whole.offset;
  for (std::uint32_t i = 0; i < parts; ++i) {
    const Bytes size(small + (i < larger ? 1 : 0));
    out.push_back({.offset = offset, .size = size});
    offset += size;
  }
  return out;
}

std::uint32_t ScheduleBuilder::add(const Edge& edge, Chunk chunk,
                                   std::span<const std::uint32_t> dependencies) {
  if (chunk.size == Bytes(0)) return kNoTransfer;
  Transfer transfer;
  transfer.source = edge.source;
  transfer.destination = edge.destination;
  transfer.channel = edge.channel;
  transfer.size = chunk.size;
  transfer.first_dependency = static_cast<std::uint32_t>(schedule_.dependencies.size());
  transfer.reduce = edge.reduce;
  transfer.offset = chunk.offset;
  transfer.step = edge.step;
  transfer.connection = edge.connection;
  for (const std::uint32_t dependency : dependencies) {
    if (dependency == kNoTransfer) continue;
    RAILYARD_CHECK(dependency < schedule_.transfers.size(), "transfer {} depends on the later {}",
                   schedule_.transfers.size(), dependency);
    schedule_.dependencies.push_back(dependency);
    ++transfer.dependency_count;
  }
  schedule_.transfers.push_back(transfer);
  return static_cast<std::uint32_t>(schedule_.transfers.size() - 1);
}

std::vector<CoupledEdge> merged(std::vector<CoupledEdge> edges) {
  const auto key = [](const CoupledEdge& edge) {
    return std::tuple(edge.source, edge.destination, edge.connection);
  };
  std::ranges::sort(edges, [&key](const CoupledEdge& a, const CoupledEdge& b) {
    return key(a) != key(b) ? key(a) < key(b) : a.size < b.size;
  });
  std::vector<CoupledEdge> out;
  for (const CoupledEdge& edge : edges) {
    if (edge.size == Bytes(0)) continue;
    if (!out.empty() && key(out.back()) == key(edge)) {
      out.back().size += edge.size;
    } else {
      out.push_back(edge);
    }
  }
  return out;
}

Coupled coupled_by_step(const Schedule& schedule, const GroupShape& shape) {
  std::uint32_t steps = 0;
  for (const Transfer& transfer : schedule.transfers) steps = std::max(steps, transfer.step + 1);
  std::vector<std::vector<CoupledEdge>> edges(steps);
  std::vector<bool> crosses(steps, false);
  for (const Transfer& transfer : schedule.transfers) {
    edges[transfer.step].push_back({.source = transfer.source,
                                    .destination = transfer.destination,
                                    .size = transfer.size,
                                    .connection = transfer.connection});
    if (shape.island_of[transfer.source] != shape.island_of[transfer.destination])
      crosses[transfer.step] = true;
  }
  Coupled out;
  for (std::uint32_t s = 0; s < steps; ++s) {
    if (edges[s].empty()) continue;
    out.phases.push_back({.edges = merged(std::move(edges[s])),
                          .latency_steps = 1,
                          .crossing_steps = crosses[s] ? 1U : 0U,
                          .chunk = Bytes(0),
                          .filling = 0,
                          .filling_crossing = 0});
  }
  return out;
}

std::vector<Chunk> destination_chunks(const Request& request, std::uint32_t ranks) {
  const Chunk whole{.offset = Bytes(0), .size = request.size};
  if (request.shares.empty()) return cut(whole, ranks);
  std::int64_t sum = 0;
  for (const std::uint32_t share : request.shares) sum += share;
  std::vector<Chunk> out;
  std::int64_t before = 0;
  const auto bound = [&](std::int64_t weight) {
    // size × weight / sum in parts that fit: rest and weight are at most sum ≤ 2^31.
    const std::int64_t quotient = request.size.count() / sum;
    const std::int64_t rest = request.size.count() % sum;
    return Bytes(quotient * weight + rest * weight / sum);
  };
  for (const std::uint32_t share : request.shares) {
    const Bytes from = bound(before);
    before += share;
    out.push_back({.offset = from, .size = bound(before) - from});
  }
  return out;
}

std::string refuse_shares(std::string_view algorithm, const Request& request, std::uint32_t ranks) {
  if (request.shares.empty()) {
    return request.by_source ? fmt::format("{}: shares by source need shares", algorithm)
                             : std::string();
  }
  if (request.operation != Operation::all_to_all) {
    return fmt::format("{}: shares of destinations belong to all_to_all, not to {}", algorithm,
                       name(request.operation));
  }
  if (request.shares.size() != ranks) {
    return fmt::format("{}: {} shares for {} ranks; give one a rank", algorithm,
                       request.shares.size(), ranks);
  }
  constexpr std::uint64_t kSumMax = std::uint64_t{1} << 31U;
  std::uint64_t sum = 0;
  for (const std::uint32_t share : request.shares) sum += share;
  if (sum == 0 || sum > kSumMax) {
    return fmt::format("{}: the shares add up to {}; expected 1 to {}", algorithm, sum, kSumMax);
  }
  return {};
}

std::string refuse_operation(std::string_view algorithm, std::span<const Operation> supported,
                             Operation wanted) {
  if (std::ranges::find(supported, wanted) != supported.end()) return {};
  std::string does;
  for (const Operation operation : supported) {
    does += does.empty() ? "" : ", ";
    does += name(operation);
  }
  std::string able;
  for (const AlgorithmOperations& other : algorithm_operations()) {
    if (std::ranges::find(other.operations, wanted) == other.operations.end()) continue;
    able += able.empty() ? "" : " or ";
    able += other.algorithm;
  }
  return fmt::format("{} does {} only; for {} use {}", algorithm, does, name(wanted), able);
}

}  // namespace railyard::collective
