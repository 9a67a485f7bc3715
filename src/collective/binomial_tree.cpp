// The binomial tree: in step k of a broadcast every rank r < 2^k that has the vector sends it to
// r + 2^k; a reduction runs the same steps backwards. Whole vectors, so for short ones:
//   broadcast, reduce:  at most ceil(log₂ n)(α + S/B), and that where n is a power of two; else no
//   rank waits for all the α, because the root sends on while its last message arrives
#include "collective/algorithms.hpp"
#include "collective/chunks.hpp"
#include "railyard/core/check.hpp"

namespace railyard::collective {

namespace {

class BinomialTree final : public Algorithm {
 public:
  std::string refusal(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(shape.ranks() > 0, "a collective of no ranks");
    return refuse_operation("binomial_tree", kBinomialTreeOperations, request.operation);
  }

  Schedule schedule(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(refusal(request, shape).empty(), "{}", refusal(request, shape));
    const std::uint32_t n = shape.ranks();
    const std::uint32_t steps = halvings(n);
    const bool reduces = request.operation == Operation::reduce;
    ScheduleBuilder builder;
    std::vector<std::vector<std::uint32_t>> arrived(n);
    for (std::uint32_t s = 0; s < steps; ++s) {
      const std::uint32_t distance = 1U << (reduces ? steps - 1 - s : s);
      for (std::uint32_t r = 0; r < distance && r + distance < n; ++r) {
        const std::uint32_t from = reduces ? r + distance : r;
        const std::uint32_t to = reduces ? r : r + distance;
        const std::uint32_t sent = builder.add(
            {.source = from, .destination = to, .channel = 0, .reduce = reduces, .step = s},
            {.offset = Bytes(0), .size = request.size}, arrived[from]);
        arrived[to].push_back(sent);
      }
    }
    return builder.take();
  }

  Coupled coupled(const Request& request, const GroupShape& shape) const override {
    return coupled_by_step(schedule(request, shape), shape);
  }

  Duration closed_form(const Request& request, std::uint32_t ranks, Duration alpha,
                       Bandwidth rate) const override {
    RAILYARD_CHECK(refusal(request, GroupShape::flat(ranks)).empty(),
                   "the binomial tree cannot do this");
    return (alpha + request.size / rate) * static_cast<std::int64_t>(halvings(ranks));
  }
};

}  // namespace

std::unique_ptr<Algorithm> make_binomial_tree(const config::Parameters& /*parameters*/) {
  return std::make_unique<BinomialTree>();
}

}  // namespace railyard::collective
