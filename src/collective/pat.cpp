// PAT, parallel aggregated trees (Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter
// operations at scale", arXiv 2506.20252; NCCL since 2.23), with buffers for full aggregation.
//
// Every chunk q travels down a binomial tree of its own, rooted at rank q and equal for all roots
// up to a shift: the rank at offset o from q gets the chunk in the step of o's lowest set bit, from
// offset o − bit. An all-gather takes the farthest step first, so that the long ways are travelled
// while there is least to carry: with bits 2^(K−1) … 1, K = ceil(log₂ n), a rank sends one chunk,
// then two, four and so on, and truncated trees serve any n. What a rank sends in one step goes to
// one other rank as one message (the chunks are transfers side by side). A reduce-scatter runs the
// trees upwards and backwards.
//   all_gather, reduce_scatter:  at most Kα + (n−1)/n · S/B; own chunks need not wait for α
#include "collective/algorithms.hpp"
#include "collective/chunks.hpp"
#include "railyard/core/check.hpp"

namespace railyard::collective {

namespace {

class Pat final : public Algorithm {
 public:
  std::string refusal(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(shape.ranks() > 0, "a collective of no ranks");
    return refuse_operation("pat", kPatOperations, request.operation);
  }

  Schedule schedule(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(refusal(request, shape).empty(), "{}", refusal(request, shape));
    const std::uint32_t n = shape.ranks();
    const std::uint32_t steps = halvings(n);
    const bool reduces = request.operation == Operation::reduce_scatter;
    const std::vector<Chunk> chunks = cut({.offset = Bytes(0), .size = request.size}, n);
    ScheduleBuilder builder;
    // [offset in the tree][root]: what the rank there has received of the root's chunk.
    std::vector<std::vector<std::vector<std::uint32_t>>> arrived(
        n, std::vector<std::vector<std::uint32_t>>(n));
    for (std::uint32_t s = 0; s < steps; ++s) {
      const std::uint32_t bit = 1U << (reduces ? s : steps - 1 - s);
      std::uint32_t place = 0;
      for (std::uint32_t near = 0; near + bit < n; near += 2 * bit, ++place) {
        const std::uint32_t from = reduces ? near + bit : near;
        const std::uint32_t to = reduces ? near : near + bit;
        for (std::uint32_t root = 0; root < n; ++root) {
          const std::uint32_t sent = builder.add({.source = (root + from) % n,
                                                  .destination = (root + to) % n,
                                                  .channel = place,
                                                  .reduce = reduces,
                                                  .step = s},
                                                 chunks[root], arrived[from][root]);
          arrived[to][root].push_back(sent);
        }
      }
    }
    return builder.take();
  }

  Coupled coupled(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(refusal(request, shape).empty(), "{}", refusal(request, shape));
    return coupled_by_step(schedule(request, shape), shape);
  }

  Duration closed_form(const Request& request, std::uint32_t ranks, Duration alpha,
                       Bandwidth rate) const override {
    RAILYARD_CHECK(refusal(request, GroupShape::flat(ranks)).empty(), "PAT cannot do this");
    return alpha * static_cast<std::int64_t>(halvings(ranks)) +
           largest_part(request.size, ranks) / rate * static_cast<std::int64_t>(ranks - 1);
  }
};

}  // namespace

std::unique_ptr<Algorithm> make_pat(const config::Parameters& /*parameters*/) {
  return std::make_unique<Pat>();
}

}  // namespace railyard::collective
