// What a routing that needs the load may ask: how many flows are on each link.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "railyard/core/ids.hpp"
#include "railyard/topology/routing.hpp"

namespace railyard::network {

/// Flows on each link, each counted by its usage, in whole multiples of 2^-20: what leaves takes
/// away exactly what it added.
class LinkLoads final : public topology::LoadView {
 public:
  explicit LinkLoads(std::size_t links) : units_(links, 0) {}

  [[nodiscard]] double flows(LinkId link) const override {
    return static_cast<double>(units_[index(link)]) * kUnit;
  }
  void add(std::span<const topology::LinkUse> links) { count(links, 1); }
  void remove(std::span<const topology::LinkUse> links) { count(links, -1); }

 private:
  static constexpr double kUnit = 0x1p-20;

  void count(std::span<const topology::LinkUse> links, std::int64_t sign) {
    for (const topology::LinkUse& use : links)
      units_[index(use.link)] += sign * std::llround(use.usage / kUnit);
  }

  std::vector<std::int64_t> units_;
};

}  // namespace railyard::network
