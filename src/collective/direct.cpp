// Direct exchange: in step s = 1 … n−1 rank r sends to r+s and receives from r−s (mod n), so that
// every step is a permutation and no rank is met by two senders at once. Steps follow one another
// per sender, without waiting for what arrives, as NCCL's grouped sends on one channel: (n−1)(α +
// S/(nB)).
#include "collective/algorithms.hpp"
#include "collective/chunks.hpp"
#include "railyard/core/check.hpp"

namespace railyard::collective {

namespace {

class Direct final : public Algorithm {
 public:
  std::string refusal(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(shape.ranks() > 0, "a collective of no ranks");
    return refuse_operation("direct", kDirectOperations, request.operation);
  }

  Schedule schedule(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(refusal(request, shape).empty(), "{}", refusal(request, shape));
    const std::uint32_t n = shape.ranks();
    const std::vector<Chunk> chunks = cut({.offset = Bytes(0), .size = request.size}, n);
    ScheduleBuilder builder;
    for (std::uint32_t s = 1; s < n; ++s) {
      for (std::uint32_t r = 0; r < n; ++r) {
        const std::uint32_t to = (r + s) % n;
        builder.add({.source = r,
                     .destination = to,
                     .channel = 0,
                     .reduce = request.operation == Operation::reduce_scatter},
                    chunks[chunk_of(request.operation, r, to)], {});
      }
    }
    return builder.take();
  }

  Coupled coupled(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(refusal(request, shape).empty(), "{}", refusal(request, shape));
    const std::uint32_t n = shape.ranks();
    const std::vector<Chunk> chunks = cut({.offset = Bytes(0), .size = request.size}, n);
    std::vector<CoupledEdge> edges;
    for (std::uint32_t r = 0; r < n; ++r) {
      for (std::uint32_t to = 0; to < n; ++to) {
        if (to != r) edges.push_back({r, to, chunks[chunk_of(request.operation, r, to)].size});
      }
    }
    return {.edges = merged(std::move(edges)), .latency_steps = n - 1, .fill = 0};
  }

  Duration closed_form(const Request& request, std::uint32_t ranks, Duration alpha,
                       Bandwidth rate) const override {
    RAILYARD_CHECK(refusal(request, GroupShape::flat(ranks)).empty(),
                   "direct exchange cannot do this");
    return (alpha + largest_part(request.size, ranks) / rate) *
           static_cast<std::int64_t>(ranks - 1);
  }

 private:
  /// all_gather sends what the sender has, the others what the receiver shall have.
  static std::uint32_t chunk_of(Operation operation, std::uint32_t from, std::uint32_t to) {
    return operation == Operation::all_gather ? from : to;
  }
};

}  // namespace

std::unique_ptr<Algorithm> make_direct(const config::Parameters& /*parameters*/) {
  return std::make_unique<Direct>();
}

}  // namespace railyard::collective
