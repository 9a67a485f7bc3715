// The ring: rank r sends to r+1 (mod n) only, in the group's order.
//
// all_reduce: 2(n−1) steps; in step s rank r sends chunk (r−s) mod n. The first n−1 steps reduce,
// the others distribute. One formula serves both halves because after n−1 steps rank r holds the
// sum of chunk r+1 = r−(n−1). Each step costs α + S/(nB):   2(n−1)(α + S/(nB))   (Patarasuk and
// Yuan, "Bandwidth optimal all-reduce algorithms", 2009). all_gather and reduce_scatter are its
// halves. broadcast (from rank 0) pipelines k chunks along the path 0 → 1 → … → n−1: (n−2+k)(α +
// S/(kB)).
#include <algorithm>

#include "collective/algorithms.hpp"
#include "collective/chunks.hpp"
#include "railyard/core/check.hpp"

namespace railyard::collective {

namespace {

class Ring final : public Algorithm {
 public:
  explicit Ring(std::uint32_t broadcast_chunks) : broadcast_chunks_(broadcast_chunks) {}

  std::string refusal(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(shape.ranks() > 0, "a collective of no ranks");
    return refuse_operation("ring", kRingOperations, request.operation);
  }

  Schedule schedule(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(refusal(request, shape).empty(), "{}", refusal(request, shape));
    if (request.operation == Operation::broadcast) return broadcast(request.size, shape.ranks());
    const std::uint32_t n = shape.ranks();
    const std::vector<Chunk> chunks = cut({.offset = Bytes(0), .size = request.size}, n);
    const Steps steps = steps_of(request.operation, n);
    ScheduleBuilder builder;
    std::vector<std::uint32_t> before(n, kNoTransfer);  // the last transfer that each rank received
    for (std::uint32_t s = 0; s < steps.count; ++s) {
      std::vector<std::uint32_t> now(n, kNoTransfer);
      for (std::uint32_t r = 0; r < n; ++r) {
        const std::uint32_t next = (r + 1) % n;
        now[next] = builder.add(
            {.source = r, .destination = next, .channel = 0, .reduce = s < steps.reducing},
            chunks[chunk_of(steps, r, s, n)], std::span(&before[r], 1));
      }
      before = std::move(now);
    }
    return builder.take();
  }

  Coupled coupled(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(refusal(request, shape).empty(), "{}", refusal(request, shape));
    const std::uint32_t n = shape.ranks();
    Coupled out;
    if (n == 1) return out;
    std::vector<CoupledEdge> edges;
    if (request.operation == Operation::broadcast) {
      for (std::uint32_t r = 0; r + 1 < n; ++r) edges.push_back({r, r + 1, request.size});
      out.latency_steps = n - 2 + broadcast_chunks_;
      out.fill = static_cast<double>(n - 2) / broadcast_chunks_;
    } else {
      const std::vector<Chunk> chunks = cut({.offset = Bytes(0), .size = request.size}, n);
      const Steps steps = steps_of(request.operation, n);
      for (std::uint32_t r = 0; r < n; ++r) {
        Bytes bytes;
        for (std::uint32_t s = 0; s < steps.count; ++s)
          bytes += chunks[chunk_of(steps, r, s, n)].size;
        edges.push_back({r, (r + 1) % n, bytes});
      }
      out.latency_steps = steps.count;
    }
    out.edges = merged(std::move(edges));
    return out;
  }

  Duration closed_form(const Request& request, std::uint32_t ranks, Duration alpha,
                       Bandwidth rate) const override {
    RAILYARD_CHECK(refusal(request, GroupShape::flat(ranks)).empty(), "the ring cannot do this");
    if (ranks == 1) return Duration(0);
    if (request.operation == Operation::broadcast) {
      const Duration step = alpha + largest_part(request.size, broadcast_chunks_) / rate;
      return step * static_cast<std::int64_t>(ranks - 2 + broadcast_chunks_);
    }
    const Duration step = alpha + largest_part(request.size, ranks) / rate;
    return step * static_cast<std::int64_t>(steps_of(request.operation, ranks).count);
  }

 private:
  struct Steps {
    std::uint32_t count = 0;
    std::uint32_t reducing = 0;  ///< the first so many steps add, the others store
    std::uint32_t shift = 0;     ///< rank r starts with chunk r − shift
  };

  static Steps steps_of(Operation operation, std::uint32_t n) {
    if (operation == Operation::all_reduce)
      return {.count = 2 * (n - 1), .reducing = n - 1, .shift = 0};
    if (operation == Operation::all_gather) return {.count = n - 1, .reducing = 0, .shift = 0};
    return {.count = n - 1, .reducing = n - 1, .shift = 1};  // so that rank r ends with chunk r
  }

  static std::uint32_t chunk_of(const Steps& steps, std::uint32_t rank, std::uint32_t step,
                                std::uint32_t n) {
    return (rank + 2 * n - steps.shift - step % n) % n;
  }

  Schedule broadcast(Bytes size, std::uint32_t n) const {
    ScheduleBuilder builder;
    for (const Chunk& chunk : cut({.offset = Bytes(0), .size = size}, broadcast_chunks_)) {
      std::uint32_t before = kNoTransfer;
      for (std::uint32_t r = 0; r + 1 < n; ++r) {
        before = builder.add({.source = r, .destination = r + 1, .channel = 0, .reduce = false},
                             chunk, std::span(&before, 1));
      }
    }
    return builder.take();
  }

  std::uint32_t broadcast_chunks_;
};

}  // namespace

std::unique_ptr<Algorithm> make_ring(const config::Parameters& parameters) {
  return std::make_unique<Ring>(
      static_cast<std::uint32_t>(parameters.get<std::int64_t>("broadcast_chunks")));
}

}  // namespace railyard::collective
