// Recursive halving and doubling (Thakur, Rabenseifner, Gropp, "Optimization of collective
// communication operations in MPICH", 2005): reduce-scatter by halving (exchange half of what is
// left with the rank at distance p/2, p/4, …, 1), all-gather by doubling, all-reduce by both.
//
// p is the largest power of two not above n. The e = n − p ranks left over are served by the usual
// steps before and after: of the first 2e ranks each odd one gives what it has to the even one
// before it, sits out, and gets its result from it in the end. Core member v is rank 2v for v < e,
// else v + e.
//   all_reduce, n = p:   2 log₂(n) α + 2(n−1)/n · S/B
//   all_reduce, n > p:   the same of p ranks, and 2(α + S/B) for the step before and the one after
// all_gather and reduce_scatter work on the chunks of the members, so that rank r gives or gets
// chunk r; where n > p some members have two of them and the largest exchange of a step counts.
#include <algorithm>
#include <bit>

#include "collective/algorithms.hpp"
#include "collective/chunks.hpp"
#include "railyard/core/check.hpp"

namespace railyard::collective {

namespace {

/// The power of two of ranks at the core, and the ranks beyond.
struct Core {
  std::uint32_t size = 1;
  std::uint32_t extra = 0;
  explicit Core(std::uint32_t ranks) : size(std::bit_floor(ranks)), extra(ranks - size) {}
  [[nodiscard]] std::uint32_t rank_of(std::uint32_t member) const {
    return member < extra ? 2 * member : member + extra;
  }
};

/// Where each member's part of the vector begins; one more entry for the end.
std::vector<Bytes> bounds_of(const Request& request, std::uint32_t ranks, const Core& core) {
  const bool by_rank = request.operation != Operation::all_reduce;
  const std::vector<Chunk> chunks =
      cut({.offset = Bytes(0), .size = request.size}, by_rank ? ranks : core.size);
  std::vector<Bytes> bounds;
  for (std::uint32_t v = 0; v < core.size; ++v)
    bounds.push_back(chunks[by_rank ? core.rank_of(v) : v].offset);
  bounds.push_back(request.size);
  return bounds;
}

/// The parts of `count` members from `first` on.
Chunk range_of(const std::vector<Bytes>& bounds, std::uint32_t first, std::uint32_t count) {
  return {.offset = bounds[first], .size = bounds[first + count] - bounds[first]};
}

class Builder {
 public:
  Builder(const Request& request, std::uint32_t ranks)
      : request_(request),
        ranks_(ranks),
        core_(ranks),
        bounds_(bounds_of(request, ranks, core_)),
        received_(core_.size) {}

  Schedule build() {
    const bool reduces = request_.operation != Operation::all_gather;
    const bool gathers = request_.operation != Operation::reduce_scatter;
    before(reduces);
    if (reduces) {
      for (std::uint32_t distance = core_.size / 2; distance > 0; distance /= 2)
        exchange(distance, true);
    }
    if (gathers) {
      for (std::uint32_t distance = 1; distance < core_.size; distance *= 2)
        exchange(distance, false);
    }
    after();
    return builder_.take();
  }

 private:
  [[nodiscard]] Chunk own_chunk(std::uint32_t rank) const {
    return cut({.offset = Bytes(0), .size = request_.size}, ranks_)[rank];
  }

  /// What an extra rank hands in: its vector, or in an all-gather its chunk.
  void before(bool reduces) {
    for (std::uint32_t v = 0; v < core_.extra; ++v) {
      const std::uint32_t odd = 2 * v + 1;
      const Chunk what =
          reduces ? Chunk{.offset = Bytes(0), .size = request_.size} : own_chunk(odd);
      remember(
          v, builder_.add(
                 {.source = odd, .destination = 2 * v, .channel = 0, .reduce = reduces, .step = 0},
                 what, {}));
    }
  }

  /// Members at `distance` exchange: halving sends the other's half of the block that both share,
  /// doubling sends one's own block. Both must have finished the step before, as who still receives
  /// from an extra rank does not take part yet (MPI's rendezvous).
  void exchange(std::uint32_t distance, bool reduces) {
    ++step_;
    std::vector<std::uint32_t> now(core_.size, kNoTransfer);
    for (std::uint32_t v = 0; v < core_.size; ++v) {
      const std::uint32_t other = v ^ distance;
      const std::uint32_t block = (reduces ? other : v) / distance * distance;
      std::vector<std::uint32_t> both = received_[v];
      both.insert(both.end(), received_[other].begin(), received_[other].end());
      now[other] = builder_.add({.source = core_.rank_of(v),
                                 .destination = core_.rank_of(other),
                                 .channel = 0,
                                 .reduce = reduces,
                                 .step = step_},
                                range_of(bounds_, block, distance), both);
    }
    for (std::uint32_t v = 0; v < core_.size; ++v) remember(v, now[v]);
  }

  void after() {
    for (std::uint32_t v = 0; v < core_.extra; ++v) {
      const std::uint32_t odd = 2 * v + 1;
      const Chunk what = request_.operation == Operation::reduce_scatter
                             ? own_chunk(odd)
                             : Chunk{.offset = Bytes(0), .size = request_.size};
      builder_.add(
          {.source = 2 * v, .destination = odd, .channel = 0, .reduce = false, .step = step_ + 1},
          what, received_[v]);
    }
  }

  void remember(std::uint32_t member, std::uint32_t transfer) {
    if (transfer != kNoTransfer) received_[member].push_back(transfer);
  }

  const Request& request_;
  std::uint32_t ranks_;
  Core core_;
  std::vector<Bytes> bounds_;
  std::vector<std::vector<std::uint32_t>> received_;  ///< by each member so far
  ScheduleBuilder builder_;
  std::uint32_t step_ = 0;  ///< 0 is the step before
};

/// The largest exchange of the step at `distance`.
Bytes largest_exchange(const std::vector<Bytes>& bounds, std::uint32_t distance) {
  Bytes most;
  for (std::uint32_t first = 0; first + distance < bounds.size(); first += distance)
    most = std::max(most, range_of(bounds, first, distance).size);
  return most;
}

class RecursiveHalvingDoubling final : public Algorithm {
 public:
  std::string refusal(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(shape.ranks() > 0, "a collective of no ranks");
    return refuse_operation("recursive_halving_doubling", kHalvingDoublingOperations,
                            request.operation);
  }

  Schedule schedule(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(refusal(request, shape).empty(), "{}", refusal(request, shape));
    return Builder(request, shape.ranks()).build();
  }

  Coupled coupled(const Request& request, const GroupShape& shape) const override {
    return coupled_by_step(schedule(request, shape), shape);
  }

  Duration closed_form(const Request& request, std::uint32_t ranks, Duration alpha,
                       Bandwidth rate) const override {
    RAILYARD_CHECK(refusal(request, GroupShape::flat(ranks)).empty(),
                   "recursive halving and doubling cannot do this");
    Duration time{};
    for (const Bytes size : phases_of(request, ranks)) time += alpha + size / rate;
    return time;
  }

 private:
  /// The largest message of each step.
  static std::vector<Bytes> phases_of(const Request& request, std::uint32_t ranks) {
    const Core core(ranks);
    const std::vector<Bytes> bounds = bounds_of(request, ranks, core);
    const bool reduces = request.operation != Operation::all_gather;
    const bool gathers = request.operation != Operation::reduce_scatter;
    const Bytes chunk = largest_part(request.size, ranks);
    std::vector<Bytes> phases;
    if (core.extra > 0) phases.push_back(reduces ? request.size : chunk);
    for (std::uint32_t distance = core.size / 2; reduces && distance > 0; distance /= 2)
      phases.push_back(largest_exchange(bounds, distance));
    for (std::uint32_t distance = 1; gathers && distance < core.size; distance *= 2)
      phases.push_back(largest_exchange(bounds, distance));
    if (core.extra > 0) phases.push_back(gathers ? request.size : chunk);
    return phases;
  }
};

}  // namespace

std::unique_ptr<Algorithm> make_recursive_halving_doubling(
    const config::Parameters& /*parameters*/) {
  return std::make_unique<RecursiveHalvingDoubling>();
}

}  // namespace railyard::collective
