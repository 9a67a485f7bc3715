#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "collective/files/step_program.hpp"
#include "railyard/core/check.hpp"

namespace railyard::collective {

namespace {

class Waits {
 public:
  Waits(const StepProgram& program, const std::vector<std::vector<std::uint32_t>>& predecessors,
        const std::vector<std::uint32_t>& transfer_of)
      : program_(program),
        predecessors_(predecessors),
        transfer_of_(transfer_of),
        stamp_(program.actions.size(), kNoAction) {}

  /// The transfers that must have arrived before this send, beside those that its channel's order
  /// implies; of one connection, on which messages arrive in order, the last.
  std::vector<std::uint32_t> of(std::uint32_t send) {
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> last;
    std::vector<std::uint32_t> open = predecessors_[send];
    const Action& self = program_.actions[send];
    while (!open.empty()) {
      const std::uint32_t a = open.back();
      open.pop_back();
      if (std::exchange(stamp_[a], send) == send) continue;
      const Action& action = program_.actions[a];
      const bool sends = action.kind == ActionKind::send;
      if (sends && action.rank == self.rank && action.channel == self.channel) continue;
      if ((sends && !action.fused) || action.kind == ActionKind::receive) {
        const Action& from = sends ? action : program_.actions[action.partner];
        std::uint32_t& latest =
            last.try_emplace({from.rank, program_.actions[from.partner].rank, from.channel}, 0)
                .first->second;
        latest = std::max(latest, transfer_of_[sends ? a : action.partner]);
        if (sends) continue;
      }
      for (const std::uint32_t before : predecessors_[a]) {
        if (before != action.partner) open.push_back(before);
      }
    }
    std::vector<std::uint32_t> out;
    for (const auto& [connection, transfer] : last) out.push_back(transfer);
    std::ranges::sort(out);
    return out;
  }

 private:
  const StepProgram& program_;
  const std::vector<std::vector<std::uint32_t>>& predecessors_;
  const std::vector<std::uint32_t>& transfer_of_;
  std::vector<std::uint32_t> stamp_;  ///< [action] the send for which it was seen last
};

}  // namespace

std::vector<FileTransfer> transfers_of(const StepProgram& program,
                                       const std::vector<std::vector<std::uint32_t>>& predecessors,
                                       const std::vector<std::uint32_t>& order,
                                       std::vector<std::vector<std::uint32_t>> chunks) {
  std::vector<std::uint32_t> transfer_of(program.actions.size(), kNoAction);
  std::vector<FileTransfer> out;
  Waits waits(program, predecessors, transfer_of);
  for (const std::uint32_t a : order) {
    const Action& action = program.actions[a];
    if (action.kind != ActionKind::send) continue;
    const Action& receive = program.actions[action.partner];
    transfer_of[a] = static_cast<std::uint32_t>(out.size());
    out.push_back({.source = action.rank,
                   .destination = receive.rank,
                   .channel = action.channel,
                   .connection = action.connection,
                   .reduce = receive.reduce,
                   .chunks = std::move(chunks[a]),
                   .after = waits.of(a)});
  }
  return out;
}

void lay_out_by_chunk(StepProgram& program) {
  const std::uint32_t n = program.ranks;
  const std::uint32_t c = program.chunks;
  const bool owned = chunks_of_ranks(program.operation);
  RAILYARD_CHECK(!owned || c % n == 0, "{} chunks for {} ranks", c, n);
  const std::uint32_t own = owned ? c / n : c;
  program.start.assign(n, {});
  program.wanted.assign(n, {});
  const auto all = [&](std::uint64_t from, std::uint32_t origin) {
    return Stretch{{from, c}, 0, origin};
  };
  const auto part = [&](std::uint32_t owner, std::uint32_t origin) {
    return Stretch{{std::uint64_t{owner} * own, own}, owner * own, origin};
  };
  for (std::uint32_t r = 0; r < n; ++r) {
    switch (program.operation) {
      case Operation::all_gather:
        program.start[r] = {part(r, r)};
        for (std::uint32_t o = 0; o < n; ++o) program.wanted[r].push_back(part(o, o));
        break;
      case Operation::broadcast:
        if (r == 0) program.start[r] = {all(0, 0)};
        program.wanted[r] = {all(0, 0)};
        break;
      case Operation::all_to_all:
        program.start[r] = {all(std::uint64_t{r} * c, r)};
        for (std::uint32_t o = 0; o < n; ++o) {
          Stretch mine = part(r, o);
          mine.cells.first += std::uint64_t{o} * c;
          program.wanted[r].push_back(mine);
        }
        break;
      default:  // all_reduce, reduce_scatter, reduce
        program.start[r] = {all(0, r)};
        if (program.operation == Operation::reduce_scatter)
          program.wanted[r] = {part(r, kEveryRank)};
        else if (program.operation == Operation::all_reduce || r == 0)
          program.wanted[r] = {all(0, kEveryRank)};
    }
  }
}

std::vector<FileTransfer> checked_transfers(const StepProgram& program, const Places& places) {
  if (program.actions.empty()) {
    places.fail(kWholeFile, "has no steps");
    return {};
  }
  constexpr std::uint64_t kMovesMax = std::uint64_t{1} << 22U;
  std::uint64_t moves = 0;
  for (const Action& action : program.actions) moves += action.from.count;
  if (moves > kMovesMax) {
    places.fail(kWholeFile, fmt::format("the steps move {} chunks; more than {} are not checked",
                                        moves, kMovesMax));
    return {};
  }
  const auto predecessors = predecessors_of(program);
  const std::vector<std::uint32_t> order = order_of(program, predecessors, places);
  if (order.empty()) return {};
  auto chunks = execute(program, predecessors, order, places);
  if (chunks.empty()) return {};
  return transfers_of(program, predecessors, order, std::move(chunks));
}

}  // namespace railyard::collective
