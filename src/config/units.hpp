// Quantities with units, parsed exactly. Private to config.
//
// Integers all the way: a decimal number times the unit's ratio is a fraction of 128-bit integers.
// Durations are rounded to the nearest tick and bandwidths to the nearest byte per second; sizes
// must be whole bytes. A quantity that is not zero but would round to zero is refused.
#pragma once

#include <string>
#include <string_view>

#include "railyard/core/time.hpp"
#include "railyard/core/units.hpp"

namespace railyard::config {

/// Parses `text`; empty when good, else what is wrong with it.
[[nodiscard]] std::string parse_quantity(std::string_view text, Bytes& out);
[[nodiscard]] std::string parse_quantity(std::string_view text, Bandwidth& out);
[[nodiscard]] std::string parse_quantity(std::string_view text, Duration& out);
[[nodiscard]] std::string parse_quantity(std::string_view text, FlopRate& out);

/// What a quantity is called, with an example: `a size with a unit, as "25MB" or "1GiB"`.
[[nodiscard]] std::string_view quantity_name(const Bytes&);
[[nodiscard]] std::string_view quantity_name(const Bandwidth&);
[[nodiscard]] std::string_view quantity_name(const Duration&);
[[nodiscard]] std::string_view quantity_name(const FlopRate&);

}  // namespace railyard::config
