#include "railyard/collective/collective.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace railyard::collective {

namespace {
constexpr std::array<std::string_view, kOperations> kOperationNames{
    "all_reduce", "all_gather", "reduce_scatter", "broadcast",
    "all_to_all", "reduce",     "send_recv",      "barrier"};
}  // namespace

std::string_view name(Operation operation) {
  return kOperationNames.at(static_cast<std::size_t>(operation));
}

std::optional<Operation> operation_of(std::string_view name) {
  const auto* const found = std::ranges::find(kOperationNames, name);
  if (found == kOperationNames.end()) return std::nullopt;
  return static_cast<Operation>(found - kOperationNames.begin());
}

std::uint32_t GroupShape::islands() const {
  if (island_of.empty()) return 0;
  return *std::ranges::max_element(island_of) + 1;
}

std::vector<std::vector<std::uint32_t>> GroupShape::members() const {
  std::vector<std::vector<std::uint32_t>> out(islands());
  for (std::uint32_t r = 0; r < ranks(); ++r) out[island_of[r]].push_back(r);
  return out;
}

std::vector<std::uint32_t> GroupShape::ring_order() const {
  if (!ring.empty()) return ring;
  std::vector<std::uint32_t> order(ranks());
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

std::vector<std::vector<std::uint32_t>> GroupShape::members_along_ring() const {
  auto all = members();
  std::vector<std::vector<std::uint32_t>> out;
  for (const std::uint32_t rank : ring_order()) {
    auto& island = all[island_of[rank]];
    if (!island.empty()) out.push_back(std::exchange(island, {}));
  }
  return out;
}

GroupShape GroupShape::flat(std::uint32_t ranks) {
  GroupShape shape;
  shape.island_of.resize(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) shape.island_of[rank] = rank;
  return shape;
}

}  // namespace railyard::collective
