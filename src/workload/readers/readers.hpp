// The readers behind the catalog, and what they have in common.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "railyard/workload/trace_reader.hpp"

namespace railyard::workload {

[[nodiscard]] Trace read_chakra(std::span<const TraceFile> files, const config::Parameters& terms);
[[nodiscard]] bool is_chakra(std::string_view head);
[[nodiscard]] Trace read_chakra_json(std::span<const TraceFile> files,
                                     const config::Parameters& terms);
[[nodiscard]] bool is_chakra_json(std::string_view head);
[[nodiscard]] Trace read_goal(std::span<const TraceFile> files, const config::Parameters& terms);
[[nodiscard]] bool is_goal(std::string_view head);
[[nodiscard]] Trace read_simai_workload(std::span<const TraceFile> files,
                                        const config::Parameters& terms);
[[nodiscard]] bool is_simai_workload(std::string_view head);
[[nodiscard]] Trace read_kineto(std::span<const TraceFile> files, const config::Parameters& terms);
[[nodiscard]] bool is_kineto(std::string_view head);

inline constexpr std::uint32_t kTraceRanksMax = 1U << 20U;
inline constexpr std::int64_t kTraceBytesMax = std::int64_t{1} << 42U;

/// Throws ConfigError "place: …": a time is negative or beyond the clock.
[[noreturn]] void refuse_time(double value, const std::string& place);
/// A time as a file states it, in ticks per unit. `place()` is asked where it is refused.
template <typename Place>
[[nodiscard]] Duration trace_time(double value, double ticks_per_unit, const Place& place) {
  const double ticks = value * ticks_per_unit;
  if (!(ticks >= 0) || ticks > static_cast<double>(kHorizonMax.count()))
    refuse_time(value, place());
  return to_ticks(ticks);
}
inline constexpr double kTicksPerNanosecond = 100;
inline constexpr double kTicksPerMicrosecond = 100'000;

/// Groups by name and members. "world" is all ranks of the trace, whose number is known at the end.
class TraceGroups {
 public:
  /// The group of this name and these ranks (none: the world). One name may mean several groups.
  std::uint32_t add(std::string_view name, std::vector<Rank> ranks);
  /// Fills the world with `ranks` ranks; throws where a group holds a rank beyond them.
  [[nodiscard]] std::vector<TraceGroup> finish(std::uint32_t ranks, const std::string& trace);
  void expect(std::uint32_t rank) { ranks_named_ = std::max(ranks_named_, rank + 1); }
  /// The largest rank named, plus one.
  [[nodiscard]] std::uint32_t ranks_named() const { return ranks_named_; }

 private:
  std::vector<TraceGroup> groups_;
  std::map<std::pair<std::string, std::vector<Rank>>, std::uint32_t, std::less<>> index_;
  std::uint32_t ranks_named_ = 0;
};

/// The number of ranks of a trace: `ranks` of the terms if given, else what the files name. Throws
/// where a file lies beyond, or two are of one rank.
[[nodiscard]] std::uint32_t count_ranks(std::span<const TraceFile> files,
                                        const config::Parameters& terms, std::uint32_t named);

/// What PyTorch calls a collective ("allreduce", "_allgather_base", "all_to_allv", "send"), in
/// whatever spelling. `is_wait`: a call that moves nothing.
struct TorchCall {
  std::optional<TraceKind> kind;
  collective::Operation operation = collective::Operation::all_reduce;
  bool is_wait = false;
};
[[nodiscard]] TorchCall torch_call(std::string_view name);
/// Bytes of an element of a dtype as PyTorch prints it ("BFloat16"); 0: unknown.
[[nodiscard]] std::int64_t torch_dtype_bytes(std::string_view dtype);

/// "t" of "dir/t.0.et" and "dir/t.1.et": what to call the trace in messages.
[[nodiscard]] std::string trace_name(std::span<const TraceFile> files);

}  // namespace railyard::workload
