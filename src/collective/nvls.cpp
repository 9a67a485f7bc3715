// NVLS: reduction and multicast in the NVSwitches of one island (NVLink SHARP; NCCL since 2.17).
//
// Rank r owns slice r. It reads the slice through the switch, which fetches it from all n ranks and
// adds it up on the way (multimem.ld_reduce), and writes the sum back through the switch, which
// copies it to all (multimem.st). Per rank and direction S bytes as one of n and S/n as owner;
// every slice is cut into k pieces, read in turn and written behind each other. A piece has three
// hops behind its reading, at half the rate, because each shares its link with other pieces:
//   all_reduce:                  4α + (1 + 1/n)·S/B + 6·S/(nkB)
//   all_gather, reduce_scatter:  2α + S/B + S/(nkB), the writing or the reading half
// An all_reduce therefore has a bus bandwidth of 2(n−1)/(n+1) of what a GPU moves, 1.56 at n = 8,
// where a ring has 1.
#include <algorithm>

#include "collective/algorithms.hpp"
#include "collective/chunks.hpp"
#include "railyard/core/check.hpp"

namespace railyard::collective {

namespace {

/// The owner's chunk is known at the reducer or at the owner: what may be read of it, in transfers.
using WaitList = std::vector<std::uint32_t>;

class Nvls final : public Algorithm {
 public:
  explicit Nvls(std::uint32_t chunks) : chunks_(chunks) {}

  std::string refusal(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(shape.ranks() > 0, "a collective of no ranks");
    const std::string operation = refuse_operation("nvls", kNvlsOperations, request.operation);
    if (!operation.empty() || shape.islands() == 1) return operation;
    return fmt::format(
        "nvls reduces in the switches of one NVLink island, but the group's {} ranks sit on {}; "
        "use "
        "nvls_tree or ring",
        shape.ranks(), shape.islands());
  }

  Schedule schedule(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(refusal(request, shape).empty(), "{}", refusal(request, shape));
    const std::uint32_t n = shape.ranks();
    ScheduleBuilder builder;
    if (n == 1) return builder.take();
    const std::vector<Chunk> slices = cut({.offset = Bytes(0), .size = request.size}, n);
    for (std::uint32_t c = 0; c < chunks_; ++c) {
      for (std::uint32_t owner = 0; owner < n; ++owner) {
        const Chunk chunk = cut(slices[owner], chunks_)[c];
        WaitList sum;
        if (request.operation != Operation::all_gather)
          sum.push_back(read(builder, shape, owner, chunk));
        if (request.operation != Operation::reduce_scatter)
          write(builder, shape, owner, chunk, sum);
      }
    }
    return builder.take();
  }

  Coupled coupled(const Request& request, const GroupShape& shape) const override {
    RAILYARD_CHECK(refusal(request, shape).empty(), "{}", refusal(request, shape));
    const std::uint32_t n = shape.ranks();
    if (n == 1) return {};
    const std::vector<Chunk> slices = cut({.offset = Bytes(0), .size = request.size}, n);
    const bool reads = request.operation != Operation::all_gather;
    const bool writes = request.operation != Operation::reduce_scatter;
    CoupledPhase out;
    for (std::uint32_t r = 0; r < n; ++r) {
      const Bytes own = slices[r].size;
      const Bytes up = (reads ? request.size : Bytes(0)) + (writes ? own : Bytes(0));
      const Bytes down = (writes ? request.size : Bytes(0)) + (reads ? own : Bytes(0));
      out.edges.push_back({r, shape.reducer(0), up});
      out.edges.push_back({shape.reducer(0), r, down});
    }
    out.edges = merged(std::move(out.edges));
    out.latency_steps = reads && writes ? 4 : 2;
    out.chunk = piece(request, n);
    out.filling = reads && writes ? 6 : 1;
    return {.phases = {std::move(out)}};
  }

  /// On one island in place of a flat group.
  Duration closed_form(const Request& request, std::uint32_t ranks, Duration alpha,
                       Bandwidth rate) const override {
    if (ranks == 1) return Duration(0);
    const bool both = request.operation == Operation::all_reduce;
    const double share = both ? 1.0 + 1.0 / ranks : 1.0;
    const double bytes = static_cast<double>(request.size.count()) * share +
                         static_cast<double>(piece(request, ranks).count()) * (both ? 6 : 1);
    return alpha * (both ? 4 : 2) + from_seconds(bytes / static_cast<double>(rate.bytes_per_s()));
  }

 private:
  [[nodiscard]] Bytes piece(const Request& request, std::uint32_t ranks) const {
    return largest_part(largest_part(request.size, ranks), chunks_);
  }

  /// All ranks send their copy, the switch adds and answers the owner.
  static std::uint32_t read(ScheduleBuilder& builder, const GroupShape& shape, std::uint32_t owner,
                            Chunk chunk) {
    WaitList copies;
    for (std::uint32_t r = 0; r < shape.ranks(); ++r) {
      copies.push_back(builder.add(
          {.source = r, .destination = shape.reducer(0), .channel = 0, .reduce = true}, chunk, {}));
    }
    return builder.add(
        {.source = shape.reducer(0), .destination = owner, .channel = owner, .reduce = false},
        chunk, copies);
  }

  static void write(ScheduleBuilder& builder, const GroupShape& shape, std::uint32_t owner,
                    Chunk chunk, const WaitList& sum) {
    const std::uint32_t n = shape.ranks();
    const std::uint32_t up = builder.add(
        {.source = owner, .destination = shape.reducer(0), .channel = 1, .reduce = false}, chunk,
        sum);
    for (std::uint32_t r = 0; r < n; ++r) {
      builder.add({.source = shape.reducer(0), .destination = r, .channel = n + r, .reduce = false},
                  chunk, std::span(&up, 1));
    }
  }

  std::uint32_t chunks_;
};

}  // namespace

std::unique_ptr<Algorithm> make_nvls(const config::Parameters& parameters) {
  return std::make_unique<Nvls>(static_cast<std::uint32_t>(parameters.get<std::int64_t>("chunks")));
}

}  // namespace railyard::collective
