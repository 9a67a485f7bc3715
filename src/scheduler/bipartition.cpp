#include "scheduler/bipartition.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "railyard/core/check.hpp"

namespace railyard::scheduler {

namespace {

/// One pass over all vertices.
class Pass {
 public:
  Pass(std::span<const WeightedEdge> edges, SideBounds bounds, std::vector<bool>& second)
      : bounds_(bounds), second_(second), neighbours_(second.size()), gain_(second.size(), 0) {
    for (const WeightedEdge& edge : edges) {
      neighbours_[edge.a].emplace_back(edge.b, edge.weight);
      neighbours_[edge.b].emplace_back(edge.a, edge.weight);
    }
    for (std::uint32_t v = 0; v < second.size(); ++v) {
      for (const auto& [other, weight] : neighbours_[v]) {
        gain_[v] += second[v] == second[other] ? -weight : weight;
      }
      if (!second[v]) ++first_size_;
      open_[second[v] ? 1 : 0].emplace(-gain_[v], v);
    }
  }

  /// The gain of its best moment, to which it returns; 0 where it found none.
  std::int64_t run() {
    std::int64_t gained = 0;
    std::int64_t best = 0;
    std::size_t best_moves = 0;
    std::vector<std::uint32_t> moves;
    while (const auto vertex = next()) {
      gained += gain_[*vertex];
      moves.push_back(*vertex);
      move(*vertex);
      const bool inside = first_size_ >= bounds_.least && first_size_ <= bounds_.most;
      if (inside && gained > best) {
        best = gained;
        best_moves = moves.size();
      }
    }
    for (std::size_t m = best_moves; m < moves.size(); ++m) second_[moves[m]] = !second_[moves[m]];
    return best;
  }

 private:
  using Open = std::set<std::pair<std::int64_t, std::uint32_t>>;  ///< -gain, vertex

  /// The open vertex that gains most by a move that the bounds allow.
  [[nodiscard]] std::optional<std::uint32_t> next() const {
    const bool may_leave_first = first_size_ + 1 > bounds_.least && first_size_ > 0;
    const bool may_leave_second = first_size_ <= bounds_.most;
    const Open::value_type* best = nullptr;
    for (const int side : {0, 1}) {
      if (open_[side].empty() || !(side == 0 ? may_leave_first : may_leave_second)) continue;
      if (best == nullptr || *open_[side].begin() < *best) best = &*open_[side].begin();
    }
    return best == nullptr ? std::nullopt : std::optional(best->second);
  }

  void move(std::uint32_t vertex) {
    const bool from_second = second_[vertex];
    open_[from_second ? 1 : 0].erase({-gain_[vertex], vertex});
    second_[vertex] = !from_second;
    first_size_ = from_second ? first_size_ + 1 : first_size_ - 1;
    for (const auto& [other, weight] : neighbours_[vertex]) {
      Open& open = open_[second_[other] ? 1 : 0];
      const bool was_open = open.erase({-gain_[other], other}) > 0;
      gain_[other] += second_[other] == second_[vertex] ? -2 * weight : 2 * weight;
      if (was_open) open.emplace(-gain_[other], other);
    }
  }

  SideBounds bounds_;
  std::vector<bool>& second_;
  std::vector<std::vector<std::pair<std::uint32_t, std::int64_t>>> neighbours_;
  std::vector<std::int64_t> gain_;  ///< of changing sides
  Open open_[2];
  std::size_t first_size_ = 0;
};

}  // namespace

std::int64_t cut_of(std::span<const WeightedEdge> edges, const std::vector<bool>& second) {
  std::int64_t cut = 0;
  for (const WeightedEdge& edge : edges) {
    if (second[edge.a] != second[edge.b]) cut += edge.weight;
  }
  return cut;
}

void improve_cut(std::span<const WeightedEdge> edges, SideBounds bounds,
                 std::vector<bool>& second) {
  const auto first = static_cast<std::size_t>(std::ranges::count(second, false));
  RAILYARD_CHECK(first >= bounds.least && first <= bounds.most, "{} vertices, {} to {} wanted",
                 first, bounds.least, bounds.most);
  while (Pass(edges, bounds, second).run() > 0) {
  }
}

}  // namespace railyard::scheduler
