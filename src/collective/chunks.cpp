#include "collective/chunks.hpp"

#include <algorithm>

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
  std::ranges::sort(edges, [](const CoupledEdge& a, const CoupledEdge& b) {
    if (a.source != b.source) return a.source < b.source;
    if (a.destination != b.destination) return a.destination < b.destination;
    return a.size < b.size;
  });
  std::vector<CoupledEdge> out;
  for (const CoupledEdge& edge : edges) {
    if (edge.size == Bytes(0)) continue;
    if (!out.empty() && out.back().source == edge.source &&
        out.back().destination == edge.destination) {
      out.back().size += edge.size;
    } else {
      out.push_back(edge);
    }
  }
  return out;
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
