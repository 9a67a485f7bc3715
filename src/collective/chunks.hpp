// Shared by the algorithms: cutting a vector, collecting transfers with their dependencies, merging
// edges.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "railyard/collective/collective.hpp"

namespace railyard::collective {

/// A piece of the vector.
struct Chunk {
  Bytes offset;
  Bytes size;
};

/// Cuts `whole` into `parts` pieces that differ by at most one byte, the larger ones first.
[[nodiscard]] std::vector<Chunk> cut(Chunk whole, std::uint32_t parts);

/// The first piece that `cut` makes is the largest.
[[nodiscard]] inline Bytes largest_part(Bytes size, std::uint32_t parts) {
  return size.divided_up(parts);
}

/// ceil(log2 n): how often n halves until one is left. n > 0.
[[nodiscard]] constexpr std::uint32_t halvings(std::uint32_t n) {
  return static_cast<std::uint32_t>(std::bit_width(n - 1));
}

inline constexpr std::uint32_t kNoTransfer = UINT32_MAX;

/// Collects transfers. A chunk of no bytes makes no transfer; nothing can depend on it.
class ScheduleBuilder {
 public:
  struct Edge {
    std::uint32_t source = 0;
    std::uint32_t destination = 0;
    std::uint32_t channel = 0;
    bool reduce = false;
    std::uint32_t step = 0;
    std::uint32_t connection = 0;
  };
  /// Returns the transfer's index, or kNoTransfer when the chunk is empty. kNoTransfer among
  /// `dependencies` is skipped.
  std::uint32_t add(const Edge& edge, Chunk chunk, std::span<const std::uint32_t> dependencies);
  [[nodiscard]] Schedule take() { return std::move(schedule_); }

 private:
  Schedule schedule_;
};

/// One edge per connection of an ordered pair with bytes, sorted by source, destination,
/// connection; sizes of equal ones are added.
[[nodiscard]] std::vector<CoupledEdge> merged(std::vector<CoupledEdge> edges);

/// One phase a step: its edges are those of the transfers with this step, its latency one α.
[[nodiscard]] Coupled coupled_by_step(const Schedule& schedule, const GroupShape& shape);

/// What each of n destinations gets of `size`: cut evenly, or by the weights of the request. The
/// bounds of weighted shares are rounded down to bytes.
[[nodiscard]] std::vector<Chunk> destination_chunks(const Request& request, std::uint32_t ranks);

/// What `source` sends `destination` in an all-to-all; `chunks` are those of destination_chunks.
[[nodiscard]] inline Chunk exchanged(const Request& request, const std::vector<Chunk>& chunks,
                                     std::uint32_t source, std::uint32_t destination) {
  if (!request.by_source) return chunks[destination];
  const Bytes each = chunks[source].size;
  return {.offset = each * destination, .size = each};
}

/// Why `request.shares` cannot be used, or empty.
[[nodiscard]] std::string refuse_shares(std::string_view algorithm, const Request& request,
                                        std::uint32_t ranks);

/// "double_binary_tree does all_reduce only; for all_gather use ring or direct", or empty when
/// `supported` holds the operation.
[[nodiscard]] std::string refuse_operation(std::string_view algorithm,
                                           std::span<const Operation> supported, Operation wanted);

}  // namespace railyard::collective
