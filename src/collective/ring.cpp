// The ring: rank r sends to r+1 (mod n) only, in the group's order (GroupShape::ring).
//
// all_reduce: 2(n−1) steps; in step s rank r sends chunk (r−s) mod n. The first n−1 steps reduce,
// the others distribute. One formula serves both halves because after n−1 steps rank r holds the
// sum of chunk r+1 = r−(n−1). Each step costs α + S/(nB):   2(n−1)(α + S/(nB))   (Patarasuk and
// Yuan, "Bandwidth optimal all-reduce algorithms", 2009). all_gather and reduce_scatter are its
// halves. broadcast (from rank 0) pipelines k chunks along the path 0 → 1 → … → n−1: (n−1)α +
// (n−2+k)·S/(kB); reduce (to rank 0) the same along n−1 → … → 0.
//
// With c channels the vector is cut into c parts, and each goes around a ring of its own at the
// same time. Ring i walks every island from its i-th rank on, and every second island backwards, so
// that it enters an island on the rail on which it left the one before, and c = ranks per island
// rings use every NIC once in either direction (NCCL's channels on rail-optimised fabrics).
#include <algorithm>

#include "collective/algorithms.hpp"
#include "collective/chunks.hpp"
#include "railyard/core/check.hpp"

namespace railyard::collective {

namespace {

using Order = std::vector<std::uint32_t>;  // [position on the ring] → rank

/// The ring of channel `channel`. One channel alone: the group's order of its ring.
Order ring_order(const GroupShape& shape, std::uint32_t channel, std::uint32_t channels) {
  if (channels == 1) return shape.ring_order();
  Order order;
  const auto members = shape.members_along_ring();
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::size_t g = members[i].size();
    for (std::size_t j = 0; j < g; ++j) {
      const std::size_t step = i % 2 == 0 ? j : 2 * g - 1 - j;
      order.push_back(members[i][(channel + step) % g]);
    }
  }
  return order;
}

/// The most edges between islands that `hops` hops in a row along the ring can take.
std::uint32_t crossings(const GroupShape& shape, const Order& order, std::uint32_t hops) {
  const std::size_t n = order.size();
  const auto crosses = [&](std::size_t p) {
    return shape.island_of[order[p % n]] != shape.island_of[order[(p + 1) % n]] ? 1U : 0U;
  };
  std::uint32_t around = 0;
  for (std::size_t p = 0; p < n; ++p) around += crosses(p);
  const std::size_t rest = hops % n;
  std::uint32_t window = 0;
  for (std::size_t p = 0; p < rest; ++p) window += crosses(p);
  std::uint32_t most = window;
  for (std::size_t p = 0; p < n; ++p) {
    window += crosses(p + rest);
    window -= crosses(p);
    most = std::max(most, window);
  }
  return static_cast<std::uint32_t>(hops / n) * around + most;
}

class Ring final : public Algorithm {
 public:
  Ring(std::uint32_t broadcast_chunks, std::uint32_t channels)
      : broadcast_chunks_(broadcast_chunks), channels_(channels) {}

  std::string refusal(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(shape.ranks() > 0, "a collective of no ranks");
    return refuse_operation("ring", kRingOperations, request.operation);
  }

  Schedule schedule(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(refusal(request, shape).empty(), "{}", refusal(request, shape));
    ScheduleBuilder builder;
    for (std::uint32_t c = 0; c < channels_; ++c) {
      const Order order = ring_order(shape, c, channels_);
      if (along_path(request.operation)) {
        add_path(builder, request, order, c);
      } else {
        add_ring(builder, request, order, c);
      }
    }
    return builder.take();
  }

  Coupled coupled(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(refusal(request, shape).empty(), "{}", refusal(request, shape));
    const std::uint32_t n = shape.ranks();
    if (n == 1) return {};
    CoupledPhase out;
    std::vector<CoupledEdge> edges;
    for (std::uint32_t c = 0; c < channels_; ++c) {
      const Order order = ring_order(shape, c, channels_);
      if (along_path(request.operation)) {
        const Order path = path_of(request.operation, order);
        const Bytes size = cut({.offset = Bytes(0), .size = request.size}, channels_)[c].size;
        for (std::uint32_t p = 0; p + 1 < n; ++p) edges.push_back({path[p], path[p + 1], size});
        out.latency_steps = n - 1;
        out.chunk = largest_part(size, broadcast_chunks_);
        std::uint32_t crossing = 0;
        for (std::uint32_t p = 0; p + 1 < n; ++p)
          crossing += shape.island_of[path[p]] != shape.island_of[path[p + 1]] ? 1 : 0;
        // One hop, a slowest one, is what the edges count.
        out.filling_crossing = crossing > 0 ? crossing - 1 : 0;
        out.filling = n - 1 - crossing - (crossing > 0 ? 0 : 1);
      } else {
        const std::vector<Chunk> chunks = parts_of(request.size, order, c);
        const Steps steps = steps_of(request.operation, n);
        for (std::uint32_t p = 0; p < n; ++p) {
          Bytes bytes;
          for (std::uint32_t s = 0; s < steps.count; ++s)
            bytes += chunks[chunk_of(steps, p, s, n)].size;
          edges.push_back({order[p], order[(p + 1) % n], bytes});
        }
        out.latency_steps = steps.count;
      }
      out.crossing_steps = std::max(out.crossing_steps, crossings(shape, order, out.latency_steps));
    }
    out.edges = merged(std::move(edges));
    return {.phases = {std::move(out)}};
  }

  Duration closed_form(const Request& request, std::uint32_t ranks, Duration alpha,
                       Bandwidth rate) const override {
    RAILYARD_CHECK(refusal(request, GroupShape::flat(ranks)).empty(), "the ring cannot do this");
    if (ranks == 1) return Duration(0);
    if (along_path(request.operation)) {
      const Duration chunk = largest_part(request.size, broadcast_chunks_) / rate;
      return alpha * static_cast<std::int64_t>(ranks - 1) +
             chunk * static_cast<std::int64_t>(ranks - 2 + broadcast_chunks_);
    }
    const Duration step = alpha + largest_part(request.size, ranks) / rate;
    return step * static_cast<std::int64_t>(steps_of(request.operation, ranks).count);
  }

 private:
  struct Steps {
    std::uint32_t count = 0;
    std::uint32_t reducing = 0;  ///< the first so many steps add, the others store
    std::uint32_t shift = 0;     ///< position p starts with chunk p − shift
  };

  static bool along_path(Operation operation) {
    return operation == Operation::broadcast || operation == Operation::reduce;
  }

  static Steps steps_of(Operation operation, std::uint32_t n) {
    if (operation == Operation::all_reduce)
      return {.count = 2 * (n - 1), .reducing = n - 1, .shift = 0};
    if (operation == Operation::all_gather) return {.count = n - 1, .reducing = 0, .shift = 0};
    return {.count = n - 1, .reducing = n - 1, .shift = 1};  // so that rank r ends with chunk r
  }

  static std::uint32_t chunk_of(const Steps& steps, std::uint32_t position, std::uint32_t step,
                                std::uint32_t n) {
    return (position + 2 * n - steps.shift - step % n) % n;
  }

  /// This channel's part of every rank's chunk, by position on the ring.
  [[nodiscard]] std::vector<Chunk> parts_of(Bytes size, const Order& order,
                                            std::uint32_t channel) const {
    const auto n = static_cast<std::uint32_t>(order.size());
    const std::vector<Chunk> chunks = cut({.offset = Bytes(0), .size = size}, n);
    std::vector<Chunk> out;
    for (const std::uint32_t rank : order) {
      out.push_back(channels_ == 1 ? chunks[rank] : cut(chunks[rank], channels_)[channel]);
    }
    return out;
  }

  /// From rank 0 around the ring, or around it to rank 0.
  static Order path_of(Operation operation, const Order& order) {
    Order path = order;
    std::rotate(path.begin(), std::find(path.begin(), path.end(), 0U), path.end());
    if (operation == Operation::reduce) std::ranges::reverse(path);
    return path;
  }

  void add_ring(ScheduleBuilder& builder, const Request& request, const Order& order,
                std::uint32_t channel) const {
    const auto n = static_cast<std::uint32_t>(order.size());
    const std::vector<Chunk> chunks = parts_of(request.size, order, channel);
    const Steps steps = steps_of(request.operation, n);
    std::vector<std::uint32_t> before(n, kNoTransfer);  // the last transfer that each received
    for (std::uint32_t s = 0; s < steps.count; ++s) {
      std::vector<std::uint32_t> now(n, kNoTransfer);
      for (std::uint32_t p = 0; p < n; ++p) {
        const std::uint32_t next = (p + 1) % n;
        now[next] = builder.add({.source = order[p],
                                 .destination = order[next],
                                 .channel = channel,
                                 .reduce = s < steps.reducing},
                                chunks[chunk_of(steps, p, s, n)], std::span(&before[p], 1));
      }
      before = std::move(now);
    }
  }

  void add_path(ScheduleBuilder& builder, const Request& request, const Order& order,
                std::uint32_t channel) const {
    const Order path = path_of(request.operation, order);
    const Chunk part = cut({.offset = Bytes(0), .size = request.size}, channels_)[channel];
    for (const Chunk& chunk : cut(part, broadcast_chunks_)) {
      std::uint32_t before = kNoTransfer;
      for (std::size_t p = 0; p + 1 < path.size(); ++p) {
        before = builder.add({.source = path[p],
                              .destination = path[p + 1],
                              .channel = channel,
                              .reduce = request.operation == Operation::reduce},
                             chunk, std::span(&before, 1));
      }
    }
  }

  std::uint32_t broadcast_chunks_;
  std::uint32_t channels_;
};

}  // namespace

std::unique_ptr<Algorithm> make_ring(const config::Parameters& parameters) {
  return std::make_unique<Ring>(
      static_cast<std::uint32_t>(parameters.get<std::int64_t>("broadcast_chunks")),
      static_cast<std::uint32_t>(parameters.get<std::int64_t>("channels")));
}

}  // namespace railyard::collective
