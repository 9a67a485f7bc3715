#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>

#include "railyard/core/check.hpp"
#include "railyard/core/time.hpp"
#include "railyard/core/units.hpp"

namespace {

using namespace std::chrono_literals;
using railyard::Bandwidth;
using railyard::Bytes;
using railyard::Duration;
using railyard::InternalError;
using railyard::to_ticks;

// A tick is 10 ps: 100 in a nanosecond, 10^11 in a second; 800 Gb/s is 10^11 B/s, so one byte takes
// one tick.
TEST_CASE("a tick is the time of one byte at 800 Gb/s") {
  CHECK(Duration(1ns).count() == 100);
  CHECK(Duration(1s).count() == railyard::kTicksPerSecond);
  CHECK(Bytes(1) / Bandwidth(100'000'000'000) == Duration(1));
}

// 1.4 rounds down where a ceiling would give 2; halves go away from zero.
TEST_CASE("real ticks go to the nearest tick, never up") {
  CHECK(to_ticks(0.0).count() == 0);
  CHECK(to_ticks(0.49).count() == 0);
  CHECK(to_ticks(0.5).count() == 1);
  CHECK(to_ticks(1.4).count() == 1);
  CHECK(to_ticks(1.6).count() == 2);
  // The double below 0.5: adding a half and truncating would give 1.
  CHECK(to_ticks(std::nextafter(0.5, 0.0)).count() == 0);
}

// Two ways of computing 3/10 s that differ by one ulp (0.1 + 0.2 and 0.3) are one instant: 3·10^10
// ticks.
TEST_CASE("times that differ by one ulp are one tick") {
  REQUIRE(0.1 + 0.2 != 0.3);
  CHECK(railyard::from_seconds(0.1 + 0.2) == railyard::from_seconds(0.3));
  CHECK(railyard::from_seconds(0.3).count() == 30'000'000'000);
}

TEST_CASE("ticks beyond the clock, negative ones and no numbers are refused") {
  CHECK(to_ticks(std::nextafter(9.2e18, 0.0)).count() > 0);
  CHECK_THROWS_AS(static_cast<void>(to_ticks(9.2e18)), InternalError);
  CHECK_THROWS_AS(static_cast<void>(to_ticks(-1.0)), InternalError);
  CHECK_THROWS_AS(static_cast<void>(to_ticks(std::numeric_limits<double>::infinity())),
                  InternalError);
  CHECK_THROWS_AS(static_cast<void>(to_ticks(std::numeric_limits<double>::quiet_NaN())),
                  InternalError);
}

TEST_CASE("seconds come back from ticks") {
  CHECK(railyard::in_seconds(Duration(150ms)) == 0.15);
  CHECK(railyard::in_seconds(railyard::TimePoint(Duration(2s))) == 2.0);
}

// 25 MB at 50 GB/s (400 Gb/s) take 0.5 ms = 5·10^7 ticks.
TEST_CASE("bytes over bandwidth are a duration") {
  CHECK(Bytes(25'000'000) / Bandwidth(50'000'000'000) == Duration(500us));
  CHECK(Bytes(0) / Bandwidth(1) == Duration(0));
}

// 1 B/s: 10^11 ticks a byte, so 92,000,000 B are 9.2·10^18 ticks, one more than fits, and
// 91,999,999 B fit.
TEST_CASE("a transfer without rate, of negative size or beyond the clock is refused") {
  CHECK((Bytes(91'999'999) / Bandwidth(1)).count() ==
        INT64_C(91'999'999) * railyard::kTicksPerSecond);
  CHECK_THROWS_AS(static_cast<void>(Bytes(92'000'000) / Bandwidth(1)), InternalError);
  CHECK_THROWS_AS(static_cast<void>(Bytes(1) / Bandwidth(0)), InternalError);
  CHECK_THROWS_AS(static_cast<void>(Bytes(1) / Bandwidth(-1)), InternalError);
  CHECK_THROWS_AS(static_cast<void>(Bytes(-1) / Bandwidth(1)), InternalError);
}

// ceil(10/3) = 4: three parts of 4 hold 10, three of 3 do not.
TEST_CASE("parts rounded up hold the whole") {
  CHECK(Bytes(10).divided_up(3) == Bytes(4));
  CHECK(Bytes(9).divided_up(3) == Bytes(3));
  CHECK(Bytes(0).divided_up(3) == Bytes(0));
}

}  // namespace
