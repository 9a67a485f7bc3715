// What tells two things apart by whom they meet: a hash of a multiset.
#pragma once

#include <bit>
#include <compare>
#include <cstdint>

#include "railyard/core/rng.hpp"

namespace railyard::training {

/// Wide enough that no two of a run are taken for one. The order of additions does not matter.
struct Colour {
  std::uint64_t first = 0;
  std::uint64_t second = 0;

  void add(std::uint64_t what, std::uint64_t how_much) {
    first += mix64(mix64(what) ^ how_much);
    second += mix64(mix64(what + 0x5eed) + std::rotl(how_much, 32));
  }
  void add(std::uint64_t what, double how_much) {
    add(what, std::bit_cast<std::uint64_t>(how_much));
  }
  void add(const Colour& what, double how_much) {
    const auto bits = std::bit_cast<std::uint64_t>(how_much);
    first += mix64(what.first ^ mix64(bits));
    second += mix64(what.second + mix64(bits + 0x5eed));
  }
  auto operator<=>(const Colour&) const = default;
};

}  // namespace railyard::training
