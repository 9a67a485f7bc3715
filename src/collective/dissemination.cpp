// Dissemination (Hensgen, Finkel, Manber 1988): in round k rank r sends one byte to r + 2^k (mod n)
// when what round k−1 sent it has arrived. After ceil(log₂ n) rounds every rank has heard of every
// other:
//   barrier:  ceil(log₂ n)(α + 1 byte / B)
#include "collective/algorithms.hpp"
#include "collective/chunks.hpp"
#include "railyard/core/check.hpp"

namespace railyard::collective {

namespace {

constexpr Bytes kMessage(1);

class Dissemination final : public Algorithm {
 public:
  std::string refusal(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(shape.ranks() > 0, "a collective of no ranks");
    return refuse_operation("dissemination", kDisseminationOperations, request.operation);
  }

  Schedule schedule(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(refusal(request, shape).empty(), "{}", refusal(request, shape));
    const std::uint32_t n = shape.ranks();
    ScheduleBuilder builder;
    std::vector<std::uint32_t> arrived(n, kNoTransfer);
    for (std::uint32_t k = 0; k < halvings(n); ++k) {
      std::vector<std::uint32_t> now(n, kNoTransfer);
      for (std::uint32_t r = 0; r < n; ++r) {
        const std::uint32_t to = (r + (1U << k)) % n;
        now[to] =
            builder.add({.source = r, .destination = to, .channel = 0, .reduce = true, .step = k},
                        {.offset = Bytes(0), .size = kMessage}, std::span(&arrived[r], 1));
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
    RAILYARD_CHECK(refusal(request, GroupShape::flat(ranks)).empty(), "a barrier only");
    return (alpha + kMessage / rate) * static_cast<std::int64_t>(halvings(ranks));
  }
};

}  // namespace

std::unique_ptr<Algorithm> make_dissemination(const config::Parameters& /*parameters*/) {
  return std::make_unique<Dissemination>();
}

}  // namespace railyard::collective
