// Routes of running flows in one array. Private to the network.
//
// Blocks have a power-of-two size and are reused by size, so that a steady state allocates nothing.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace railyard::network {

/// One link of a flow's route.
struct Hop {
  std::uint32_t link = 0;
  std::uint32_t position = 0;  ///< of the flow in the link's list
  double usage = 0;
  std::uint64_t load =
      0;               ///< share of the link's capacity that the flow alone can take, see kFullLoad
  bool bound = false;  ///< the link is a bottleneck of the flow
};

class HopPool {
 public:
  /// First index of a block for `count` > 0 hops.
  [[nodiscard]] std::uint32_t allocate(std::uint32_t count) {
    const std::uint32_t size = std::bit_ceil(count);
    std::vector<std::uint32_t>& free = free_[static_cast<std::size_t>(std::countr_zero(size))];
    if (!free.empty()) {
      const std::uint32_t first = free.back();
      free.pop_back();
      return first;
    }
    const auto first = static_cast<std::uint32_t>(hops_.size());
    hops_.resize(hops_.size() + size);
    return first;
  }

  void release(std::uint32_t first, std::uint32_t count) {
    free_[static_cast<std::size_t>(std::countr_zero(std::bit_ceil(count)))].push_back(first);
  }

  [[nodiscard]] Hop& operator[](std::uint32_t index) { return hops_[index]; }
  [[nodiscard]] const Hop& operator[](std::uint32_t index) const { return hops_[index]; }

 private:
  std::vector<Hop> hops_;
  std::array<std::vector<std::uint32_t>, 33> free_;  ///< by log2 of the block size
};

}  // namespace railyard::network
