#include "config/units.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "config/text.hpp"
#include "railyard/config/reader.hpp"

namespace railyard::config {
namespace {

__extension__ using Wide = __int128;

/// A unit is `times / over` base units: bytes, bytes per second, ticks.
struct Unit {
  std::string_view name;
  std::int64_t times;
  std::int64_t over = 1;
};

constexpr std::int64_t kKilo = 1'000;
constexpr std::int64_t kMega = 1'000'000;
constexpr std::int64_t kGiga = 1'000'000'000;
constexpr std::int64_t kTera = 1'000'000'000'000;
constexpr std::int64_t kPeta = 1'000'000'000'000'000;
constexpr std::int64_t kKibi = INT64_C(1) << 10;
constexpr std::int64_t kMebi = INT64_C(1) << 20;
constexpr std::int64_t kGibi = INT64_C(1) << 30;
constexpr std::int64_t kTebi = INT64_C(1) << 40;
constexpr std::int64_t kPebi = INT64_C(1) << 50;

constexpr std::array kByteUnits = {Unit{"B", 1},       Unit{"kB", kKilo},  Unit{"KB", kKilo},
                                   Unit{"MB", kMega},  Unit{"GB", kGiga},  Unit{"TB", kTera},
                                   Unit{"PB", kPeta},  Unit{"KiB", kKibi}, Unit{"MiB", kMebi},
                                   Unit{"GiB", kGibi}, Unit{"TiB", kTebi}, Unit{"PiB", kPebi}};

constexpr std::array kBandwidthUnits = {
    Unit{"bps", 1, 8},      Unit{"kbps", kKilo, 8}, Unit{"Kbps", kKilo, 8}, Unit{"Mbps", kMega, 8},
    Unit{"Gbps", kGiga, 8}, Unit{"Tbps", kTera, 8}, Unit{"b/s", 1, 8},      Unit{"kb/s", kKilo, 8},
    Unit{"Kb/s", kKilo, 8}, Unit{"Mb/s", kMega, 8}, Unit{"Gb/s", kGiga, 8}, Unit{"Tb/s", kTera, 8},
    Unit{"B/s", 1},         Unit{"kB/s", kKilo},    Unit{"KB/s", kKilo},    Unit{"MB/s", kMega},
    Unit{"GB/s", kGiga},    Unit{"TB/s", kTera},    Unit{"KiB/s", kKibi},   Unit{"MiB/s", kMebi},
    Unit{"GiB/s", kGibi},   Unit{"TiB/s", kTebi}};

constexpr std::array kDurationUnits = {Unit{"ps", 1, 10},
                                       Unit{"ns", kTicksPerSecond / kGiga},
                                       Unit{"us", kTicksPerSecond / kMega},
                                       Unit{"ms", kTicksPerSecond / kKilo},
                                       Unit{"s", kTicksPerSecond},
                                       Unit{"min", 60 * kTicksPerSecond},
                                       Unit{"h", 3'600 * kTicksPerSecond},
                                       Unit{"d", 86'400 * kTicksPerSecond}};

constexpr std::array kFlopRateUnits = {
    Unit{"flops", 1},      Unit{"Mflops", kMega}, Unit{"Gflops", kGiga}, Unit{"Tflops", kTera},
    Unit{"Pflops", kPeta}, Unit{"FLOPS", 1},      Unit{"MFLOPS", kMega}, Unit{"GFLOPS", kGiga},
    Unit{"TFLOPS", kTera}, Unit{"PFLOPS", kPeta}};

/// A decimal number: digits · 10^exponent.
struct Decimal {
  bool negative = false;
  std::int64_t digits = 0;
  int exponent = 0;
  std::string_view text;  ///< as written
};

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

/// Takes a decimal number off the front of `text`. The reason where it cannot.
std::string take_decimal(std::string_view& text, Decimal& out) {
  const std::string_view whole = text;
  std::size_t at = 0;
  const auto front = [&] { return at < whole.size() ? whole[at] : '\0'; };
  if (front() == '-' || front() == '+') out.negative = whole[at++] == '-';
  std::size_t digits_seen = 0;
  bool after_point = false;
  int pending_zeros = 0;  // zeros that count only when another digit follows
  constexpr std::int64_t kRoom = std::numeric_limits<std::int64_t>::max() / 10 - 9;
  for (; is_digit(front()) || (front() == '.' && !after_point); ++at) {
    if (front() == '.') {
      after_point = true;
      continue;
    }
    ++digits_seen;
    if (after_point) --out.exponent;
    if (front() == '0') {
      if (out.digits != 0) ++pending_zeros;
      continue;
    }
    for (; pending_zeros >= 0; --pending_zeros) {
      if (out.digits > kRoom) return "has too many digits";
      out.digits *= 10;
    }
    pending_zeros = 0;
    out.digits += front() - '0';
  }
  if (digits_seen == 0) return "does not begin with a number";
  out.exponent += pending_zeros;
  // An exponent, but not a unit that begins with e.
  if (front() == 'e' || front() == 'E') {
    const bool has_sign = at + 1 < whole.size() && (whole[at + 1] == '-' || whole[at + 1] == '+');
    const std::size_t first = at + (has_sign ? 2 : 1);
    if (first < whole.size() && is_digit(whole[first])) {
      int exponent = 0;
      for (at = first; is_digit(front()); ++at) {
        exponent = exponent < 1'000 ? exponent * 10 + (front() - '0') : exponent;
      }
      out.exponent += has_sign && whole[first - 1] == '-' ? -exponent : exponent;
    }
  }
  out.text = whole.substr(0, at);
  text.remove_prefix(at);
  return {};
}

/// Number and unit of a text. The reason where it has none.
std::string split(std::string_view text, std::span<const Unit> units, Decimal& number,
                  const Unit*& unit) {
  std::string_view rest = text;
  if (std::string why = take_decimal(rest, number); !why.empty()) return why;
  if (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  if (rest.empty()) return "has no unit";
  for (const Unit& candidate : units) {
    if (candidate.name == rest) {
      unit = &candidate;
      return number.negative && number.digits != 0 ? "must not be negative" : "";
    }
  }
  if (rest.ends_with("Bps")) {
    const std::string_view prefix = rest.substr(0, rest.size() - 3);
    return fmt::format("has the unknown unit {}; write \"{}B/s\" for bytes or \"{}bps\" for bits",
                       in_quotes(rest), prefix, prefix);
  }
  std::vector<std::string_view> names;
  for (const Unit& candidate : units) names.push_back(candidate.name);
  return fmt::format("has the unknown unit {}{}", in_quotes(rest), hint(rest, names, "units are"));
}

enum class Rounding : std::uint8_t { none, nearest };

/// The quantity in base units, at most `max`. The reason where it does not fit.
std::string in_base_units(const Decimal& number, const Unit& unit, Rounding rounding,
                          std::int64_t max, std::string_view base, std::int64_t& out) {
  if (number.digits == 0) {
    out = 0;
    return {};
  }
  Wide above = static_cast<Wide>(number.digits) * unit.times;  // below 2^63 · 2^53
  Wide below = unit.over;
  const Wide limit = static_cast<Wide>(max) * 16;
  for (int i = 0; i < number.exponent; ++i) {
    if (above > limit) break;
    above *= 10;
  }
  for (int i = 0; i > number.exponent; --i) {
    // Common factors first, so that the fraction stays small; 10^37 below is smaller than any base
    // unit.
    if (above % 10 == 0) {
      above /= 10;
    } else if (below < std::numeric_limits<Wide>::max() / 100) {
      below *= 10;
    } else {
      return fmt::format("is smaller than the smallest {}", base);
    }
  }
  const Wide whole = above / below;
  const Wide rest = above % below;
  if (rest != 0 && rounding == Rounding::none)
    return fmt::format("is not a whole number of {}s", base);
  const Wide rounded = whole + (rest >= below - rest ? 1 : 0);
  if (rounded == 0) return fmt::format("is smaller than the smallest {}", base);
  if (rounded > max) return fmt::format("is too large; the limit is {} {}s", max, base);
  out = static_cast<std::int64_t>(rounded);
  return {};
}

template <typename Quantity>
std::optional<Quantity> parsed(std::string_view text) {
  Quantity out{};
  if (!parse_quantity(text, out).empty()) return std::nullopt;
  return out;
}

}  // namespace

std::string parse_quantity(std::string_view text, Bytes& out) {
  Decimal number;
  const Unit* unit = nullptr;
  if (std::string why = split(text, kByteUnits, number, unit); !why.empty()) return why;
  std::int64_t count = 0;
  std::string why = in_base_units(number, *unit, Rounding::none,
                                  std::numeric_limits<std::int64_t>::max(), "byte", count);
  if (why.empty()) out = Bytes(count);
  return why;
}

std::string parse_quantity(std::string_view text, Bandwidth& out) {
  Decimal number;
  const Unit* unit = nullptr;
  if (std::string why = split(text, kBandwidthUnits, number, unit); !why.empty()) return why;
  if (number.digits == 0) return "must be positive";
  std::int64_t bytes_per_s = 0;
  std::string why =
      in_base_units(number, *unit, Rounding::nearest, std::numeric_limits<std::int64_t>::max(),
                    "byte per second", bytes_per_s);
  if (why.empty()) out = Bandwidth(bytes_per_s);
  return why;
}

std::string parse_quantity(std::string_view text, Duration& out) {
  Decimal number;
  const Unit* unit = nullptr;
  if (std::string why = split(text, kDurationUnits, number, unit); !why.empty()) return why;
  std::int64_t ticks = 0;
  std::string why =
      in_base_units(number, *unit, Rounding::nearest, kHorizonMax.count(), "tick of 10 ps", ticks);
  if (why.starts_with("is too large")) why = "is beyond the clock, which ends at 1,064 days";
  if (why.empty()) out = Duration(ticks);
  return why;
}

std::string parse_quantity(std::string_view text, FlopRate& out) {
  Decimal number;
  const Unit* unit = nullptr;
  if (std::string why = split(text, kFlopRateUnits, number, unit); !why.empty()) return why;
  if (number.digits == 0) return "must be positive";
  double value = 0;
  const char* begin = number.text.data();
  const auto [end, fault] = std::from_chars(begin, begin + number.text.size(), value);
  value *= static_cast<double>(unit->times);
  if (fault != std::errc{} || end == begin || !std::isfinite(value) || value <= 0) {
    return "does not fit a floating-point number";
  }
  out = FlopRate(value);
  return {};
}

std::string_view quantity_name(const Bytes&) {
  return "a size with a unit, as \"25MB\" or \"1GiB\"";
}
std::string_view quantity_name(const Bandwidth&) {
  return "a bandwidth with a unit, as \"400Gbps\" (bits) or \"50GB/s\" (bytes)";
}
std::string_view quantity_name(const Duration&) {
  return "a duration with a unit, as \"2us\", \"5min\" or \"30d\"";
}
std::string_view quantity_name(const FlopRate&) {
  return "a rate with a unit, as \"312Tflops\"";
}

std::optional<Duration> parse_duration(std::string_view text) {
  return parsed<Duration>(text);
}
std::optional<Bytes> parse_bytes(std::string_view text) {
  return parsed<Bytes>(text);
}
std::optional<Bandwidth> parse_bandwidth(std::string_view text) {
  return parsed<Bandwidth>(text);
}
std::optional<FlopRate> parse_flop_rate(std::string_view text) {
  return parsed<FlopRate>(text);
}

}  // namespace railyard::config
