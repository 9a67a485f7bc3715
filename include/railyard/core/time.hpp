// Simulated time: an integer clock of 10 ps ticks.
//
// One tick is the time one byte needs at 800 Gb/s. Picoseconds overflow int64 after 106 days and
// production job traces run for six months; nanoseconds round a 291.27 ns NVLink chunk by 0.1 %,
// the same way thousands of times. See docs/adr/0001.
//
// Invariants: time never goes back; a value is always exact in ticks. Rounding from real numbers
// happens in one function, `to_ticks`, to the nearest tick (never up: rounding up splits exact ties
// that differ by one ulp).
#pragma once

#include <chrono>
#include <cstdint>
#include <ratio>

namespace railyard {

using Duration = std::chrono::duration<std::int64_t, std::ratio<1, 100'000'000'000>>;

/// A tag for simulated time points. It has no now(): the simulation owns its clock.
struct SimClock {
  using duration = Duration;
  using rep = Duration::rep;
  using period = Duration::period;
  using time_point = std::chrono::time_point<SimClock, Duration>;
  static constexpr bool is_steady = true;
};

using TimePoint = SimClock::time_point;

inline constexpr std::int64_t kTicksPerSecond = 100'000'000'000;

/// Horizons beyond this are refused: 1,067 days are the range of the clock.
inline constexpr Duration kHorizonMax{INT64_C(92'000'000'000'000) * 100'000};

/// The one rounding function: real-valued ticks to the nearest tick. Checked: NaN, negative and
/// out-of-range values are internal errors.
[[nodiscard]] Duration to_ticks(double ticks);

/// Real-valued seconds to the nearest tick.
[[nodiscard]] inline Duration from_seconds(double seconds) {
  return to_ticks(seconds * static_cast<double>(kTicksPerSecond));
}

/// Seconds as a double: for results and displays, never for event times.
[[nodiscard]] constexpr double in_seconds(Duration duration) {
  return static_cast<double>(duration.count()) / static_cast<double>(kTicksPerSecond);
}
[[nodiscard]] constexpr double in_seconds(TimePoint time) {
  return in_seconds(time.time_since_epoch());
}

}  // namespace railyard
