#include "railyard/config/prices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "config/text.hpp"

namespace railyard::config {
namespace {

/// Number at the front of `text`, which keeps what follows it and a space. The reason where there
/// is none.
std::string take_number(std::string_view& text, double& out) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (fault != std::errc{}) return "does not begin with a number";
  if (!std::isfinite(out)) return "does not fit a floating-point number";
  if (out < 0) return "must not be negative";
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return text.empty() ? "has no unit" : "";
}

std::string parse(std::string_view text, Power& out) {
  constexpr std::array<std::pair<std::string_view, double>, 3> kUnits{
      {{"W", 1}, {"kW", 1e3}, {"MW", 1e6}}};
  double number = 0;
  if (std::string why = take_number(text, number); !why.empty()) return why;
  for (const auto& [name, size] : kUnits) {
    if (name != text) continue;
    out.watts = number * size;
    return {};
  }
  return fmt::format("has the unknown unit {}; units are \"W\", \"kW\" and \"MW\"",
                     in_quotes(text));
}

std::string parse(std::string_view text, Money& out) {
  double number = 0;
  if (std::string why = take_number(text, number); !why.empty()) return why;
  const bool capitals =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  if (text.size() != 3 || !capitals) {
    return fmt::format("has the unit {}, which is no currency of three capital letters",
                       in_quotes(text));
  }
  out = {number, std::string(text)};
  return {};
}

template <typename Quantity>
bool decode_text(const Node& node, Errors& errors, std::string_view wanted, Quantity& out) {
  if (!node.is_string()) {
    errors.add(node, fmt::format("expected {}, found {}", wanted, described(node)));
    return false;
  }
  const std::string why = parse(node.string(), out);
  if (why.empty()) return true;
  errors.add(node, fmt::format("expected {}; {} {}", wanted, in_quotes(node.string()), why));
  return false;
}

}  // namespace

bool decode(const Node& node, Errors& errors, Power& out) {
  return decode_text(node, errors, "a power with a unit, as \"700W\" or \"1.2kW\"", out);
}

bool decode(const Node& node, Errors& errors, Money& out) {
  return decode_text(node, errors, "a sum with its currency, as \"2.10 USD\"", out);
}

}  // namespace railyard::config
