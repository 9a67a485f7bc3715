// Direct exchange: every rank sends to every other, without waiting for what arrives: in step s = 1
// … n−1 rank r sends to r+s and receives from r−s (mod n), so that on a flat network every step is
// a permutation and no rank is met by two senders at once. `at_once` steps are under way at a time
// (NCCL's grouped sends on several channels); 1: one after the other.
//   all_to_all, all_gather, reduce_scatter:  α + (n−1)·S/(nB)
// The α of one message passes while the next is sent. Unequal shares (all-to-all-v): every rank
// sends S·w_d/Σw to rank d, so the rank with the most is what all wait for; on the way back
// (Request::by_source) it is the one that sends most.
// send_recv: rank r sends S to r+1 over `channels` connections, which hash apart.
#include <algorithm>

#include "collective/algorithms.hpp"
#include "collective/chunks.hpp"
#include "railyard/core/check.hpp"

namespace railyard::collective {

namespace {

class Direct final : public Algorithm {
 public:
  Direct(std::uint32_t at_once, std::uint32_t channels) : at_once_(at_once), channels_(channels) {}

  std::string refusal(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(shape.ranks() > 0, "a collective of no ranks");
    const std::string operation = refuse_operation("direct", kDirectOperations, request.operation);
    return operation.empty() ? refuse_shares("direct", request, shape.ranks()) : operation;
  }

  Schedule schedule(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(refusal(request, shape).empty(), "{}", refusal(request, shape));
    const std::uint32_t n = shape.ranks();
    ScheduleBuilder builder;
    if (request.operation == Operation::send_recv) {
      for (std::uint32_t r = 0; n > 1 && r < n; ++r) add_message(builder, request, r, (r + 1) % n);
      return builder.take();
    }
    const std::vector<Chunk> chunks = destination_chunks(request, n);
    for (std::uint32_t s = 1; s < n; ++s) {
      for (std::uint32_t r = 0; r < n; ++r) {
        const std::uint32_t to = (r + s) % n;
        builder.add({.source = r,
                     .destination = to,
                     .channel = (s - 1) % at_once_,
                     .reduce = request.operation == Operation::reduce_scatter},
                    message(request, chunks, r, to), {});
      }
    }
    return builder.take();
  }

  Coupled coupled(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(refusal(request, shape).empty(), "{}", refusal(request, shape));
    const std::uint32_t n = shape.ranks();
    if (n == 1) return {};
    const std::vector<Chunk> chunks = destination_chunks(request, n);
    CoupledPhase out;
    std::vector<CoupledEdge> edges;
    for (std::uint32_t r = 0; r < n; ++r) {
      for (std::uint32_t to = 0; to < n; ++to) {
        const bool next = to == (r + 1) % n;
        if (to == r || (request.operation == Operation::send_recv && !next)) continue;
        if (shape.island_of[r] != shape.island_of[to]) out.crossing_steps = 1;
        if (request.operation == Operation::send_recv) {
          const auto parts = cut({.offset = Bytes(0), .size = request.size}, channels_);
          for (std::uint32_t c = 0; c < channels_; ++c) edges.push_back({r, to, parts[c].size, c});
        } else {
          edges.push_back({r, to, message(request, chunks, r, to).size});
        }
      }
    }
    out.edges = merged(std::move(edges));
    out.latency_steps = 1;
    return {.phases = {std::move(out)}};
  }

  Duration closed_form(const Request& request, std::uint32_t ranks, Duration alpha,
                       Bandwidth rate) const override {
    RAILYARD_CHECK(refusal(request, GroupShape::flat(ranks)).empty(),
                   "direct exchange cannot do this");
    if (ranks == 1) return Duration(0);
    if (request.operation == Operation::send_recv) return alpha + request.size / rate;
    Bytes largest;
    for (const Chunk& chunk : destination_chunks(request, ranks))
      largest = std::max(largest, chunk.size);
    return alpha + largest / rate * static_cast<std::int64_t>(ranks - 1);
  }

 private:
  /// all_gather sends what the sender has, the others what the receiver shall have.
  static Chunk message(const Request& request, const std::vector<Chunk>& chunks, std::uint32_t from,
                       std::uint32_t to) {
    if (request.operation == Operation::all_gather) return chunks[from];
    return exchanged(request, chunks, from, to);
  }

  void add_message(ScheduleBuilder& builder, const Request& request, std::uint32_t from,
                   std::uint32_t to) const {
    const std::vector<Chunk> parts = cut({.offset = Bytes(0), .size = request.size}, channels_);
    for (std::uint32_t c = 0; c < channels_; ++c) {
      builder.add(
          {.source = from, .destination = to, .channel = c, .reduce = false, .connection = c},
          parts[c], {});
    }
  }

  std::uint32_t at_once_;
  std::uint32_t channels_;
};

}  // namespace

std::unique_ptr<Algorithm> make_direct(const config::Parameters& parameters) {
  return std::make_unique<Direct>(
      static_cast<std::uint32_t>(parameters.get<std::int64_t>("at_once")),
      static_cast<std::uint32_t>(parameters.get<std::int64_t>("channels")));
}

}  // namespace railyard::collective
