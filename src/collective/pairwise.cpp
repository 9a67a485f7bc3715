// Pairwise exchange (Thakur, Rabenseifner, Gropp 2005, §all-to-all): n−1 steps in which every rank
// exchanges with one other, r XOR s where n is a power of two, else it sends to r+s and receives
// from r−s. A message starts when its sender and its receiver have what the step before sent them
// (MPI's rendezvous), so no two senders meet at a receiver:
//   all_to_all, equal shares:  (n−1)(α + S/(nB))
// With unequal shares every rank sends S·w_d/Σw to rank d, and every step is as long as its largest
// message: for shifts all n messages occur in each step, so (n−1)(α + S·max w/(Σw·B)); so does the
// way back (Request::by_source).
#include <algorithm>
#include <array>
#include <bit>

#include "collective/algorithms.hpp"
#include "collective/chunks.hpp"
#include "railyard/core/check.hpp"

namespace railyard::collective {

namespace {

class Pairwise final : public Algorithm {
 public:
  std::string refusal(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(shape.ranks() > 0, "a collective of no ranks");
    const std::string operation =
        refuse_operation("pairwise", kPairwiseOperations, request.operation);
    return operation.empty() ? refuse_shares("pairwise", request, shape.ranks()) : operation;
  }

  Schedule schedule(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(refusal(request, shape).empty(), "{}", refusal(request, shape));
    const std::uint32_t n = shape.ranks();
    const std::vector<Chunk> chunks = destination_chunks(request, n);
    ScheduleBuilder builder;
    // A message of no bytes is not sent: then a rank still waits for what arrived last.
    std::vector<std::uint32_t> arrived(n, kNoTransfer);
    for (std::uint32_t s = 1; s < n; ++s) {
      std::vector<std::uint32_t> now = arrived;
      for (std::uint32_t r = 0; r < n; ++r) {
        const std::uint32_t to = std::has_single_bit(n) ? r ^ s : (r + s) % n;
        const std::uint32_t sent = builder.add(
            {.source = r, .destination = to, .channel = 0, .reduce = false, .step = s - 1},
            exchanged(request, chunks, r, to), std::array{arrived[r], arrived[to]});
        if (sent != kNoTransfer) now[to] = sent;
      }
      arrived = std::move(now);
    }
    return builder.take();
  }

  Coupled coupled(const Request& request, const GroupShape& shape) const override {
    return coupled_by_step(schedule(request, shape), shape);
  }

  Duration closed_form(const Request& request, std::uint32_t ranks, Duration alpha,
                       Bandwidth rate) const override {
    RAILYARD_CHECK(refusal(request, GroupShape::flat(ranks)).empty(),
                   "pairwise exchange cannot do this");
    Bytes largest;
    for (const Chunk& chunk : destination_chunks(request, ranks))
      largest = std::max(largest, chunk.size);
    return (alpha + largest / rate) * static_cast<std::int64_t>(ranks - 1);
  }
};

}  // namespace

std::unique_ptr<Algorithm> make_pairwise(const config::Parameters& /*parameters*/) {
  return std::make_unique<Pairwise>();
}

}  // namespace railyard::collective
