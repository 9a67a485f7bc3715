// Fiduccia and Mattheyses' improvement of a cut (DAC 1982): vertices change sides one by one, each
// once a pass, the one whose move gains most first, also where a move loses; the best moment of the
// pass stays. Passes go on until one gains nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace railyard::scheduler {

struct WeightedEdge {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::int64_t weight = 0;
};

/// How many vertices the first side may have.
struct SideBounds {
  std::size_t least = 0;
  std::size_t most = 0;
};

/// Sum of the weights of edges between the sides.
[[nodiscard]] std::int64_t cut_of(std::span<const WeightedEdge> edges,
                                  const std::vector<bool>& second);

/// Moves vertices between the first side and the second (`second[v]`) and never ends with a larger
/// cut. Checked: it starts within the bounds, where it ends too; within a pass it may step over
/// them by one vertex, or sides of fixed size could not change at all. Ties go by number.
void improve_cut(std::span<const WeightedEdge> edges, SideBounds bounds, std::vector<bool>& second);

}  // namespace railyard::scheduler
