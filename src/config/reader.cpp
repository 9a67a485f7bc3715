#include "railyard/config/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/text.hpp"
#include "config/units.hpp"

namespace railyard::config {
namespace {

bool mismatch(const Node& node, Errors& errors, std::string_view wanted) {
  errors.add(node, fmt::format("expected {}, found {}", wanted, described(node)));
  return false;
}

template <typename Quantity>
bool decode_quantity(const Node& node, Errors& errors, Quantity& out) {
  if (!node.is_string()) return mismatch(node, errors, quantity_name(out));
  const std::string why = parse_quantity(node.string(), out);
  if (why.empty()) return true;
  errors.add(node,
             fmt::format("expected {}; {} {}", quantity_name(out), in_quotes(node.string()), why));
  return false;
}

template <typename T>
T decode_and_clamp(const Node& node, Errors& errors, Range<T> range) {
  T value{};
  if (decode(node, errors, value) && (value < range.min || value > range.max)) {
    const bool has_min = range.min > std::numeric_limits<T>::lowest();
    const bool has_max = range.max < std::numeric_limits<T>::max();
    const std::string bounds = has_min && has_max
                                   ? fmt::format("from {} to {}", range.min, range.max)
                               : has_min ? fmt::format("at least {}", range.min)
                                         : fmt::format("at most {}", range.max);
    errors.add(node, fmt::format("must be {}, found {}", bounds, value));
  }
  return std::clamp(value, range.min, range.max);
}

std::size_t choose(const Node& node, Errors& errors, const std::vector<std::string_view>& words,
                   std::size_t fallback) {
  std::string word;
  if (!decode(node, errors, word)) return fallback;
  const auto found = std::find(words.begin(), words.end(), word);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  errors.add(node,
             fmt::format("unknown value {}{}", in_quotes(word), hint(word, words, "it is one of")));
  return fallback;
}

}  // namespace

bool decode(const Node& node, Errors& errors, bool& out) {
  if (node.kind() != Kind::boolean) return mismatch(node, errors, "true or false");
  out = node.boolean();
  return true;
}

bool decode(const Node& node, Errors& errors, std::int64_t& out) {
  if (node.kind() == Kind::integer) {
    out = node.integer();
    return true;
  }
  // 1e6 and 8.0 are integers to a reader of JSON; beyond 2^53 a double no longer says which one.
  constexpr double kExactMax = 9'007'199'254'740'992.0;
  if (node.kind() == Kind::real && std::abs(node.real()) <= kExactMax &&
      std::trunc(node.real()) == node.real()) {
    out = static_cast<std::int64_t>(node.real());
    return true;
  }
  return mismatch(node, errors, "an integer");
}

bool decode(const Node& node, Errors& errors, double& out) {
  if (node.kind() != Kind::integer && node.kind() != Kind::real)
    return mismatch(node, errors, "a number");
  out = node.real();
  return true;
}

bool decode(const Node& node, Errors& errors, std::string& out) {
  if (!node.is_string()) return mismatch(node, errors, "a string");
  out = node.string();
  return true;
}

bool decode(const Node& node, Errors& errors, Bytes& out) {
  return decode_quantity(node, errors, out);
}
bool decode(const Node& node, Errors& errors, Bandwidth& out) {
  return decode_quantity(node, errors, out);
}
bool decode(const Node& node, Errors& errors, Duration& out) {
  return decode_quantity(node, errors, out);
}
bool decode(const Node& node, Errors& errors, FlopRate& out) {
  return decode_quantity(node, errors, out);
}

bool decode(const Node& node, Errors& errors, std::filesystem::path& out) {
  if (!node.is_string() || node.string().empty())
    return mismatch(node, errors, "the path of a file");
  out = (node.directory() / node.string()).lexically_normal();
  return true;
}

Reader::Reader(Node object, Errors& errors) : object_(std::move(object)), errors_(errors) {
  if (object_ && !object_.is_object()) mismatch(object_, errors_, "an object");
}

void Reader::remember(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
}

bool Reader::has(std::string_view key) {
  remember(key);
  return object_ && object_.is_object() && object_.find(key).has_value();
}

std::optional<Node> Reader::child(std::string_view key) {
  remember(key);
  if (!object_ || !object_.is_object()) return std::nullopt;
  return object_.find(key);
}

std::optional<Node> Reader::required_child(std::string_view key) {
  auto found = child(key);
  // Where the object itself is missing or none, that has been said already.
  if (!found && object_ && object_.is_object())
    errors_.add(object_, fmt::format("missing key {}", in_quotes(key)));
  return found;
}

std::size_t Reader::required_choice(std::string_view key,
                                    const std::vector<std::string_view>& words) {
  const auto node = required_child(key);
  return node ? choose(*node, errors_, words, 0) : 0;
}

std::size_t Reader::optional_choice(std::string_view key,
                                    const std::vector<std::string_view>& words,
                                    std::size_t fallback) {
  const auto node = child(key);
  return node ? choose(*node, errors_, words, fallback) : fallback;
}

void Reader::fail(std::string_view key, const std::string& message) {
  const auto found = child(key);
  errors_.add(found ? *found : object_, message);
}

void Reader::finish() {
  if (!object_ || !object_.is_object()) return;
  // A key that is already there is a poor guess for another's misspelling.
  std::vector<std::string_view> absent;
  for (const std::string& key : known_) {
    if (!object_.find(key)) absent.push_back(key);
  }
  const std::vector<std::string_view> all(known_.begin(), known_.end());
  for (std::size_t i = 0; i < object_.size(); ++i) {
    const std::string_view key = object_.key_at(i);
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    const bool near_absent = !nearest(key, absent).empty();
    errors_.add_at_key(object_.at(i),
                       "unknown key" + hint(key, near_absent ? absent : all, "known keys are"));
  }
}

std::int64_t Reader::decode_within(const Node& node, Range<std::int64_t> range) {
  return decode_and_clamp(node, errors_, range);
}

double Reader::decode_within(const Node& node, Range<double> range) {
  return decode_and_clamp(node, errors_, range);
}

}  // namespace railyard::config
