// The steps of match(): which operations of different ranks are one and the same.
#pragma once

#include <cstdint>
#include <vector>

#include "railyard/workload/trace.hpp"

namespace railyard::workload {

inline constexpr std::uint32_t kNoUnit = UINT32_MAX;

/// An operation that all its ranks do together: a computation, a send, a receive, a collective.
struct TraceUnit {
  std::uint32_t rank = 0;           ///< of its first operation
  std::uint32_t operation = 0;      ///< of that rank
  std::uint32_t next = kNoUnit;     ///< collective: the one after it in its group
  std::uint32_t partner = kNoUnit;  ///< send: its receive; receive: its send
};

/// Every operation's unit; throws where the ranks do not fit together.
struct MatchedTrace {
  const Trace* trace = nullptr;
  AbsentRanks absent = AbsentRanks::refuse;
  std::vector<std::uint64_t> first;    ///< by rank: of its operations in unit_of
  std::vector<std::uint32_t> unit_of;  ///< by operation
  std::vector<TraceUnit> units;
  /// The operations of a unit, CSR over `members`, as positions in unit_of.
  std::vector<std::uint64_t> first_member;
  std::vector<std::uint64_t> members;
  std::vector<std::uint32_t> rank_of;  ///< by operation

  [[nodiscard]] const TraceOperation& operation(std::uint64_t position) const {
    const std::uint32_t rank = rank_of[position];
    return trace->ranks[rank].operations[position - first[rank]];
  }
  [[nodiscard]] const TraceOperation& operation(const TraceUnit& unit) const {
    return trace->ranks[unit.rank].operations[unit.operation];
  }
  [[nodiscard]] std::string describe(const TraceUnit& unit) const {
    return trace->describe(unit.rank, unit.operation);
  }
};
[[nodiscard]] MatchedTrace match_operations(const Trace& trace, AbsentRanks absent);

/// Units in an order that agrees with all dependencies: of those free to go the first of the file.
/// Throws with the circle where there is none.
[[nodiscard]] std::vector<std::uint32_t> order_units(const MatchedTrace& matched);

}  // namespace railyard::workload
