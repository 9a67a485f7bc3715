// Integers instead of rounded reals for rates, weights and work. Private to the network.
//
//   Level   rate of a flow of share 1, in units of 2^-16 byte/s (15 µB/s; at most 70 TB/s)
//   Weight  usage × share, what one unit of level takes of a link, in units of 2^-44
//   Load    Level × Weight, in units of 2^-60 byte/s: used and free parts of a capacity
//   Work    Level × ticks: what is left of a flow of share 1
//
// Sums and products of these are exact, so that nothing depends on the order of flows, links or
// events, and nothing drifts. The only rounding is the division that gives a level (down, so that a
// link is never filled over its capacity) and the tick in which a flow ends (to the nearest).
#pragma once

#include <cmath>
#include <cstdint>

#include "railyard/core/check.hpp"
#include "railyard/core/time.hpp"

namespace railyard::network {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

using Level = std::int64_t;
using Weight = std::int64_t;
using Load = Int128;
using Work = Int128;

inline constexpr int kLevelBits = 16;
inline constexpr int kWeightBits = 44;
inline constexpr Level kLevelMax = Level{1} << 62;
/// Of all flows on a link together, so that sums of weights stay below 2^63.
inline constexpr Weight kWeightMax = Weight{1} << 62;
inline constexpr Weight kWholeWeight = Weight{1} << kWeightBits;
/// Work of one byte of a flow of share 1.
inline constexpr std::int64_t kWorkPerByte = kTicksPerSecond << kLevelBits;

inline Load load_of_capacity(std::int64_t bytes_per_s) {
  return static_cast<Load>(bytes_per_s) << (kLevelBits + kWeightBits);
}
/// The nearest weight, at least one unit.
inline Weight weight_of(double usage) {
  const auto weight =
      static_cast<Weight>(std::nearbyint(usage * static_cast<double>(kWholeWeight)));
  return weight > 0 ? weight : 1;
}
inline Load load_of(Level level, Weight weight) {
  return static_cast<Load>(level) * weight;
}
/// Quicker than the compiler's own conversion; rounded twice, so only good for estimates.
inline double roughly(Int128 value) {
  return static_cast<double>(static_cast<std::int64_t>(value >> 64)) * 0x1p64 +
         static_cast<double>(static_cast<std::uint64_t>(value));
}
/// Floor of a quotient below 2^62 of a value >= 0 and a divisor > 0: estimated, then mended, which
/// takes a third of the time of a 128-bit division.
inline std::int64_t quotient(Int128 value, std::int64_t divisor) {
  const auto by = static_cast<double>(divisor);
  auto result = static_cast<std::int64_t>(roughly(value) / by);
  Int128 rest = value - static_cast<Int128>(result) * divisor;
  const auto step = static_cast<std::int64_t>(roughly(rest) / by);
  result += step;
  rest -= static_cast<Int128>(step) * divisor;
  for (; rest < 0; rest += divisor) --result;
  for (; rest >= divisor; rest -= divisor) ++result;
  return result;
}

/// The highest level that `weight` > 0 may have in `free`; 0 where nothing is free.
inline Level level_in(Load free, Weight weight) {
  if (free <= 0) return 0;
  if (free >= load_of(kLevelMax, weight)) return kLevelMax;
  return quotient(free, weight);
}
/// Levels this close are one level: the divisions before may have rounded by that much. 4e-12
/// relative and 64 units, hundreds of times what was ever seen, and far below any real difference.
inline Level tie(Level level) {
  return (level >> 38) + 64;
}

inline Work work_of(std::int64_t bytes, double share) {
  if (share == 1.0) return static_cast<Work>(bytes) * kWorkPerByte;
  const auto per_byte = (static_cast<Work>(kWorkPerByte) << kWeightBits) / weight_of(share);
  return static_cast<Work>(bytes) * per_byte;
}
inline double bytes_of(Work work, double share) {
  return static_cast<double>(work) * share / static_cast<double>(kWorkPerByte);
}
inline double bytes_per_s_of(Level level, double share) {
  return std::ldexp(static_cast<double>(level), -kLevelBits) * share;
}

/// The tick, to the nearest, in which a flow at `level` > 0 ends that had `left` to do at `since`.
/// INT64_MAX: beyond the clock, unless its rate changes.
inline std::int64_t end_of(Work left, Level level, std::int64_t since) {
  const Work late = left - level / 2 + level - 1;
  if (late < level) return since;
  if (late >= (static_cast<Work>(level) << 61)) return INT64_MAX;
  return since + quotient(late, level);
}

}  // namespace railyard::network
