// Symbolic execution. A cell holds a chunk and the set of ranks whose contributions it sums up.
// Since no two conflicting accesses may go unordered, one order of the actions stands for all of
// them.
//
// What is ordered: vector clocks over chains (Mattern, "Virtual time and global states of
// distributed systems", 1989). The clock of an action holds, by chain, the last action that is
// complete before it.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <unordered_map>
#include <utility>

#include "collective/files/step_program.hpp"
#include "railyard/core/check.hpp"

namespace railyard::collective {

namespace {

using Bits = std::vector<std::uint64_t>;
using Clock = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // chain → position, by chain

struct Content {
  std::uint32_t chunk = 0;
  std::shared_ptr<const Bits> origins;  ///< none: nothing is there
};

struct Write {
  std::uint32_t action = 0;
  bool adds = false;
};

struct Cell {
  Content content;
  std::vector<Write> writes;         ///< the last that overwrote it, and what was added since
  std::vector<std::uint32_t> reads;  ///< since it was overwritten
};

Clock merged(const Clock& a, const Clock& b) {
  Clock out;
  out.reserve(std::max(a.size(), b.size()));
  auto x = a.begin();
  auto y = b.begin();
  while (x != a.end() || y != b.end()) {
    if (y == b.end() || (x != a.end() && x->first < y->first)) {
      out.push_back(*x++);
    } else if (x == a.end() || y->first < x->first) {
      out.push_back(*y++);
    } else {
      out.emplace_back(x->first, std::max(x->second, y->second));
      ++x;
      ++y;
    }
  }
  return out;
}

void raise(Clock& clock, std::uint32_t chain, std::uint32_t position) {
  const auto at = std::ranges::lower_bound(clock, chain, {}, &Clock::value_type::first);
  if (at == clock.end() || at->first != chain)
    clock.insert(at, {chain, position});
  else
    at->second = std::max(at->second, position);
}

class Execution {
 public:
  Execution(const StepProgram& program, const std::vector<std::vector<std::uint32_t>>& predecessors,
            const Places& places)
      : program_(program),
        predecessors_(predecessors),
        places_(places),
        position_(program.actions.size(), 0),
        users_(program.actions.size(), 0),
        clocks_(program.actions.size()),
        carried_(program.actions.size()),
        chunks_(program.actions.size()),
        length_(program.chains, 0),
        cells_(program.ranks) {
    for (const auto& before : predecessors) {
      for (const std::uint32_t a : before) ++users_[a];
    }
  }

  /// False after the first fault.
  bool run(std::uint32_t a) {
    const Action& action = program_.actions[a];
    position_[a] = length_[action.chain]++;
    Clock clock;
    for (const std::uint32_t before : predecessors_[a]) {
      if (!clocks_[before].empty())
        clock = clock.empty() ? clocks_[before] : merged(clock, clocks_[before]);
      raise(clock, program_.actions[before].chain, position_[before]);
      if (--users_[before] == 0) clocks_[before] = {};
    }
    clocks_[a] = std::move(clock);
    bool good = true;
    if (action.kind == ActionKind::send || action.kind == ActionKind::local) good = read(a);
    if (good && (action.kind == ActionKind::receive || action.kind == ActionKind::local))
      good = write(a);
    if (users_[a] == 0) clocks_[a] = {};
    return good;
  }

  void check_end() {
    std::size_t faults = 0;
    for (std::uint32_t rank = 0; rank < program_.ranks; ++rank) {
      for (const Stretch& stretch : program_.wanted[rank]) {
        for (std::uint32_t i = 0; i < stretch.cells.count; ++i)
          faults += check_end_of(rank, stretch, i, faults) ? 0 : 1;
      }
    }
    if (faults > kNamedMax) {
      places_.fail(kWholeFile,
                   fmt::format("and {} more chunks that are wrong in the end", faults - kNamedMax));
    }
  }

  std::vector<std::vector<std::uint32_t>> take_chunks() { return std::move(chunks_); }

 private:
  static constexpr std::size_t kNamedMax = 5;

  [[nodiscard]] std::shared_ptr<const Bits> set_of(std::uint32_t origin) const {
    Bits bits((program_.ranks + 63) / 64, 0);
    bits[origin / 64] |= std::uint64_t{1} << (origin % 64);
    return std::make_shared<const Bits>(std::move(bits));
  }

  Cell& cell(std::uint32_t rank, std::uint64_t index) {
    const auto [found, inserted] = cells_[rank].try_emplace(index);
    if (!inserted) return found->second;
    for (const Stretch& stretch : program_.start[rank]) {
      const std::uint64_t offset = index - stretch.cells.first;
      if (index < stretch.cells.first || offset >= stretch.cells.count) continue;
      found->second.content = {stretch.first_chunk + static_cast<std::uint32_t>(offset),
                               set_of(stretch.origin)};
    }
    return found->second;
  }

  /// Is `before` complete when `now` begins?
  [[nodiscard]] bool ordered(std::uint32_t before, std::uint32_t now) const {
    if (before == now) return true;
    const std::uint32_t chain = program_.actions[before].chain;
    const Clock& clock = clocks_[now];
    const auto at = std::ranges::lower_bound(clock, chain, {}, &Clock::value_type::first);
    return at != clock.end() && at->first == chain && at->second >= position_[before];
  }

  bool fail(std::uint32_t a, const std::string& message) {
    places_.fail(program_.actions[a].place, message);
    return false;
  }
  bool race(std::uint32_t now, std::uint32_t before, std::string_view does, std::string_view did) {
    const Action& action = program_.actions[now];
    return fail(now,
                fmt::format("{} memory of rank {} that {} {}, and nothing says which comes "
                            "first",
                            does, action.rank, places_.title(program_.actions[before].place), did));
  }

  bool read(std::uint32_t a) {
    const Action& action = program_.actions[a];
    for (std::uint32_t i = 0; i < action.from.count; ++i) {
      Cell& from = cell(action.rank, action.from.first + i);
      for (const Write& write : from.writes) {
        if (!ordered(write.action, a)) return race(a, write.action, "reads", "writes");
      }
      if (!from.content.origins) {
        return fail(
            a, fmt::format("reads memory of rank {} in which there is nothing yet", action.rank));
      }
      from.reads.push_back(a);
      carried_[a].push_back(from.content);
      if (action.kind == ActionKind::send) chunks_[a].push_back(from.content.chunk);
    }
    return true;
  }

  bool write(std::uint32_t a) {
    const Action& action = program_.actions[a];
    const std::uint32_t source = action.kind == ActionKind::receive ? action.partner : a;
    const std::vector<Content> contents = std::exchange(carried_[source], {});
    RAILYARD_CHECK(contents.size() == action.to.count, "{} cells for {}", action.to.count,
                   contents.size());
    for (std::uint32_t i = 0; i < action.to.count; ++i) {
      Cell& to = cell(action.rank, action.to.first + i);
      for (const Write& write : to.writes) {
        const bool both_add = action.reduce && write.adds;
        if (!both_add && !ordered(write.action, a))
          return race(a, write.action, "writes", "writes");
      }
      for (const std::uint32_t reader : to.reads) {
        if (!ordered(reader, a)) return race(a, reader, "writes", "reads");
      }
      if (action.reduce) {
        if (!add(a, to, contents[i])) return false;
        continue;
      }
      to.content = contents[i];
      to.writes = {{a, false}};
      to.reads.clear();
    }
    return true;
  }

  bool add(std::uint32_t a, Cell& to, const Content& what) {
    const std::uint32_t rank = program_.actions[a].rank;
    if (!to.content.origins)
      return fail(a, fmt::format("adds to memory of rank {} in which there is nothing yet", rank));
    if (to.content.chunk != what.chunk) {
      return fail(a, fmt::format("adds chunk {} to chunk {} on rank {}", what.chunk,
                                 to.content.chunk, rank));
    }
    Bits sum = *to.content.origins;
    for (std::size_t w = 0; w < sum.size(); ++w) {
      if (const std::uint64_t twice = sum[w] & (*what.origins)[w]; twice != 0) {
        return fail(a, fmt::format("adds the contribution of rank {} to chunk {} on rank {} a "
                                   "second time",
                                   w * 64 + static_cast<std::size_t>(std::countr_zero(twice)),
                                   what.chunk, rank));
      }
      sum[w] |= (*what.origins)[w];
    }
    to.content.origins = std::make_shared<const Bits>(std::move(sum));
    to.writes.push_back({a, true});
    return true;
  }

  bool check_end_of(std::uint32_t rank, const Stretch& stretch, std::uint32_t i,
                    std::size_t faults) {
    const Content& held = cell(rank, stretch.cells.first + i).content;
    const std::uint32_t chunk = stretch.first_chunk + i;
    std::string fault;
    if (!held.origins) {
      fault = "nothing";
    } else if (held.chunk != chunk) {
      fault = fmt::format("chunk {}", held.chunk);
    } else {
      fault = wrong_origins(*held.origins, stretch.origin);
    }
    if (fault.empty()) return true;
    if (faults < kNamedMax) {
      const bool sum = stretch.origin == kEveryRank;
      places_.fail(kWholeFile,
                   fmt::format("rank {} must end with chunk {} {}, but has {} there", rank, chunk,
                               sum ? std::string("summed over all ranks")
                                   : fmt::format("of rank {}", stretch.origin),
                               fault));
    }
    return false;
  }

  /// What is held in place of the origin (or every rank); empty where it is right.
  [[nodiscard]] std::string wrong_origins(const Bits& held, std::uint32_t origin) const {
    std::vector<std::uint32_t> there;
    std::vector<std::uint32_t> missing;
    for (std::uint32_t r = 0; r < program_.ranks; ++r) {
      const bool has = ((held[r / 64] >> (r % 64)) & 1U) != 0;
      (has ? there : missing).push_back(r);
    }
    if (origin == kEveryRank) {
      if (missing.empty()) return {};
      return fmt::format("the sum without {}", listed(missing));
    }
    if (there.size() == 1 && there.front() == origin) return {};
    return fmt::format("that of {}", listed(there));
  }

  static std::string listed(const std::vector<std::uint32_t>& ranks) {
    constexpr std::size_t kListed = 8;
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    for (std::size_t i = 0; i < ranks.size() && i < kListed; ++i)
      text += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
    if (ranks.size() > kListed) text += fmt::format(" and {} more", ranks.size() - kListed);
    return text;
  }

  const StepProgram& program_;
  const std::vector<std::vector<std::uint32_t>>& predecessors_;
  const Places& places_;
  std::vector<std::uint32_t> position_;  ///< [action] in its chain
  std::vector<std::uint32_t> users_;     ///< [action] that still need its clock
  std::vector<Clock> clocks_;
  std::vector<std::vector<Content>> carried_;  ///< [send] until it is received
  std::vector<std::vector<std::uint32_t>> chunks_;
  std::vector<std::uint32_t> length_;                           ///< [chain] so far
  std::vector<std::unordered_map<std::uint64_t, Cell>> cells_;  ///< [rank], those touched
};

}  // namespace

std::vector<std::vector<std::uint32_t>> execute(
    const StepProgram& program, const std::vector<std::vector<std::uint32_t>>& predecessors,
    const std::vector<std::uint32_t>& order, const Places& places) {
  bool good = true;
  const Places counted{.fail =
                           [&](std::uint32_t place, const std::string& message) {
                             good = false;
                             places.fail(place, message);
                           },
                       .title = places.title};
  Execution execution(program, predecessors, counted);
  for (const std::uint32_t action : order) {
    if (!execution.run(action)) return {};
  }
  execution.check_end();
  if (!good) return {};
  return execution.take_chunks();
}

}  // namespace railyard::collective
