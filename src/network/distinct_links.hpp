// The links of a set of routes without those that say nothing of their own.
//
// Two links of equal capacity that every route uses alike (both not at all, or both with the same
// usage) are one constraint: where one is full, so is the other, with the same flows on it. Keeping
// one of them is exact. Under spray this leaves a handful of links of a route of hundreds. Found by
// partition refinement: links start as one class per capacity, and each route splits the classes it
// meets by its usage. Of those left, links that another one dominates go too
// (railyard/network/dominated_links.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "railyard/core/units.hpp"
#include "railyard/network/flow_list.hpp"

namespace railyard::network {

class DistinctLinks {
 public:
  /// Usages below 1 are divided by `spray_efficiency`. `keep_all`: leaves all links in, under their
  /// own numbers, for routes or capacities that change later.
  DistinctLinks(const FlowRoutes& routes, double spray_efficiency, bool keep_all);

  /// Of the links kept, renumbered.
  [[nodiscard]] std::span<const Bandwidth> capacities() const { return capacities_; }
  [[nodiscard]] std::span<const topology::LinkUse> route(std::size_t index) const {
    return {uses_.data() + first_use_[index], first_use_[index + 1] - first_use_[index]};
  }

 private:
  void drop_dominated();

  std::vector<Bandwidth> capacities_;
  std::vector<topology::LinkUse> uses_;
  std::vector<std::uint32_t> first_use_{0};
};

}  // namespace railyard::network
