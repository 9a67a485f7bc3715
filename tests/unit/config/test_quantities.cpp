#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "railyard/config/reader.hpp"
#include "unit/config/messages.hpp"

namespace {

using namespace std::chrono_literals;
using railyard::Bandwidth;
using railyard::Bytes;
using railyard::Duration;
using railyard::FlopRate;
using railyard::config::Errors;
using railyard::config::parse_bandwidth;
using railyard::config::parse_bytes;
using railyard::config::parse_duration;
using railyard::config::parse_flop_rate;
using railyard::test::complaint;
using railyard::test::document;

/// What decoding the JSON value `text` as a quantity complains about, without place.
template <typename Quantity>
std::string refusal(const std::string& text) {
  Errors errors;
  Quantity out{};
  const bool good = decode(document("[" + text + "]").root().at(0), errors, out);
  CHECK(good == errors.empty());
  const std::string line = complaint(errors);
  const std::string place = "scenarios/x.json:1:2 /0: ";
  return line.rfind(place, 0) == 0 ? line.substr(place.size()) : line;
}

// SI prefixes are powers of 1,000, IEC prefixes powers of 1,024.
TEST_CASE("sizes are whole bytes, in SI and IEC units") {
  CHECK(parse_bytes("0B") == Bytes(0));
  CHECK(parse_bytes("512B") == Bytes(512));
  CHECK(parse_bytes("25MB") == Bytes(25'000'000));
  CHECK(parse_bytes("80GB") == Bytes(80'000'000'000));
  CHECK(parse_bytes("4KiB") == Bytes(4 * 1024));
  CHECK(parse_bytes("1GiB") == Bytes(INT64_C(1) << 30));
  CHECK(parse_bytes("1.5 MiB") == Bytes(3 * 512 * 1024));
  CHECK(parse_bytes("1e3kB") == Bytes(1'000'000));
  CHECK(parse_bytes("0.0005MB") == Bytes(500));
}

// 2^63 − 1 bytes is the last size; 8,192 PiB = 2^63 is the first too large.
TEST_CASE("sizes are bounded and must be whole") {
  CHECK(parse_bytes("9223372036854775.807kB") == std::nullopt);  // more digits than are kept
  CHECK(parse_bytes("8191PiB") == Bytes(INT64_C(8191) << 50));
  CHECK(parse_bytes("8192PiB") == std::nullopt);
  CHECK(parse_bytes("1e400B") == std::nullopt);
  CHECK(parse_bytes("1.5KiB") == Bytes(1536));
  CHECK(parse_bytes("0.1KiB") == std::nullopt);
  CHECK(parse_bytes("1e-400B") == std::nullopt);
}

// 400 Gb/s are 400/8 · 10^9 = 50 · 10^9 bytes a second.
TEST_CASE("bandwidths are in bits or in bytes, and the unit says which") {
  CHECK(parse_bandwidth("400Gbps") == Bandwidth(50'000'000'000));
  CHECK(parse_bandwidth("400Gb/s") == Bandwidth(50'000'000'000));
  CHECK(parse_bandwidth("400GB/s") == Bandwidth(400'000'000'000));
  CHECK(parse_bandwidth("3.35TB/s") == Bandwidth(3'350'000'000'000));
  CHECK(parse_bandwidth("1GiB/s") == Bandwidth(INT64_C(1) << 30));
  CHECK(parse_bandwidth("0.8Tbps") == Bandwidth(100'000'000'000));
}

// In bytes a second: 1 bps is 1/8, rounds to zero and is refused; 4 bps is a half, rounds to 1.
TEST_CASE("a bandwidth that rounds to zero is refused, the next is not") {
  CHECK(parse_bandwidth("4bps") == Bandwidth(1));
  CHECK(parse_bandwidth("3bps") == std::nullopt);
}

// Ticks are 10 ps: 1 ns is 100, 1 day 86,400 · 10^11.
TEST_CASE("durations are exact in ticks, however long") {
  CHECK(parse_duration("0s") == Duration(0));
  CHECK(parse_duration("10ns") == Duration(10ns));
  CHECK(parse_duration("2us") == Duration(2us));
  CHECK(parse_duration("3ms") == Duration(3ms));
  CHECK(parse_duration("5min") == Duration(5min));
  CHECK(parse_duration("2h") == Duration(2h));
  CHECK(parse_duration("30d") == Duration(720h));
  CHECK(parse_duration("1.5e-6s") == Duration(1500ns));
  CHECK(parse_duration("0.00001ms") == Duration(10ns));
  // 2^53 + 1 ticks, which no double holds.
  CHECK(parse_duration("90071992547409.93ns") == Duration(INT64_C(9'007'199'254'740'993)));
}

// 5 ps is half a tick and rounds to one; 4 ps rounds to none and is refused. 15 ps is one and a
// half: two.
TEST_CASE("a duration goes to the nearest tick and never silently to zero") {
  CHECK(parse_duration("4ps") == std::nullopt);
  CHECK(parse_duration("5ps") == Duration(1));
  CHECK(parse_duration("14ps") == Duration(1));
  CHECK(parse_duration("15ps") == Duration(2));
}

// The clock ends at 9.2·10^18 ticks = 92,000,000 s.
TEST_CASE("a duration beyond the clock is refused, the last on it is not") {
  CHECK(parse_duration("92000000s") == railyard::kHorizonMax);
  CHECK(parse_duration("92000000.00000000001s") == std::nullopt);
  CHECK(parse_duration("1065d") == std::nullopt);
}

TEST_CASE("rates of computing are real numbers") {
  CHECK(parse_flop_rate("312Tflops") == FlopRate(312e12));
  CHECK(parse_flop_rate("989.5TFLOPS") == FlopRate(989.5e12));
  CHECK(parse_flop_rate("1Pflops") == FlopRate(1e15));
  CHECK(parse_flop_rate("0Tflops") == std::nullopt);
  CHECK(parse_flop_rate("-1Tflops") == std::nullopt);
  CHECK(parse_flop_rate("1e400Tflops") == std::nullopt);
}

TEST_CASE("texts that are no quantities are refused") {
  for (const char* text : {"", " ", "s", "1", "1 ", "-", ".", ".s", "1..2s", "1e", "1  s", "1s ",
                           " 1s", "0x1s", "1S", "infs", "nans"}) {
    CAPTURE(text);
    CHECK(parse_duration(text) == std::nullopt);
  }
}

TEST_CASE("a bare number is refused with the way to write it") {
  CHECK(refusal<Bandwidth>("400") ==
        "expected a bandwidth with a unit, as \"400Gbps\" (bits) or \"50GB/s\" (bytes), found the "
        "number 400");
  CHECK(refusal<Duration>("0") ==
        "expected a duration with a unit, as \"2us\", \"5min\" or \"30d\", found the number 0");
  CHECK(refusal<Bytes>("1.5") ==
        "expected a size with a unit, as \"25MB\" or \"1GiB\", found the number 1.5");
  CHECK(refusal<FlopRate>("\"312\"") ==
        "expected a rate with a unit, as \"312Tflops\"; \"312\" has no unit");
}

TEST_CASE("negative and zero quantities are refused where they mean nothing") {
  const std::string bandwidth =
      "expected a bandwidth with a unit, as \"400Gbps\" (bits) or \"50GB/s\" (bytes); ";
  CHECK(refusal<Bandwidth>("\"0Gbps\"") == bandwidth + "\"0Gbps\" must be positive");
  CHECK(refusal<Bandwidth>("\"-1Gbps\"") == bandwidth + "\"-1Gbps\" must not be negative");
  CHECK(refusal<Duration>("\"-1s\"") ==
        "expected a duration with a unit, as \"2us\", \"5min\" or \"30d\"; \"-1s\" must not be "
        "negative");
  CHECK(refusal<Bytes>("\"-1B\"") ==
        "expected a size with a unit, as \"25MB\" or \"1GiB\"; \"-1B\" must not be negative");
  CHECK(refusal<Bytes>("\"0B\"").empty());
  CHECK(refusal<Duration>("\"0s\"").empty());
}

TEST_CASE("an unknown unit is answered by the nearest one, and bits are not taken for bytes") {
  const std::string bandwidth =
      "expected a bandwidth with a unit, as \"400Gbps\" (bits) or \"50GB/s\" (bytes); ";
  CHECK(refusal<Bandwidth>("\"400gbps\"") ==
        bandwidth + "\"400gbps\" has the unknown unit \"gbps\"; did you mean \"Gbps\"?");
  CHECK(refusal<Bandwidth>("\"50GBps\"") == bandwidth +
                                                "\"50GBps\" has the unknown unit \"GBps\"; write "
                                                "\"GB/s\" for bytes or \"Gbps\" for bits");
  CHECK(refusal<Duration>("\"5 minutes\"") ==
        "expected a duration with a unit, as \"2us\", \"5min\" or \"30d\"; \"5 minutes\" has the "
        "unknown unit "
        "\"minutes\"; units are \"ps\", \"ns\", \"us\", \"ms\", \"s\", \"min\", \"h\", \"d\"");
}

TEST_CASE("what does not fit is refused with the reason") {
  const std::string size = "expected a size with a unit, as \"25MB\" or \"1GiB\"; ";
  CHECK(refusal<Bytes>("\"0.5B\"") == size + "\"0.5B\" is not a whole number of bytes");
  CHECK(refusal<Bytes>("\"1e30B\"") ==
        size + "\"1e30B\" is too large; the limit is 9223372036854775807 bytes");
  CHECK(refusal<Duration>("\"2000d\"") ==
        "expected a duration with a unit, as \"2us\", \"5min\" or \"30d\"; \"2000d\" is beyond the "
        "clock, which ends at 1,064 days");
}

}  // namespace
