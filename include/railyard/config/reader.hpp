// Typed decoding of objects: every key is asked for once, every unread key is an error.
//
//   Reader reader(node, errors);
//   link.capacity = reader.required<Bandwidth>("bandwidth");
//   link.latency = reader.optional<Duration>("latency", 500ns);
//   reader.finish();                                   // unknown keys are reported here, with the
//   nearest known one
//
// Quantities carry their unit in the text: "400Gbps", "50GB/s", "2us", "1GiB", "5min", "312Tflops".
// A bare number where a quantity is wanted is an error that names the fix. Where a value is wrong
// the error is recorded and a default-constructed value returned, so that one pass reports
// everything.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "railyard/config/document.hpp"
#include "railyard/core/time.hpp"
#include "railyard/core/units.hpp"

namespace railyard::config {

/// Decoders: false (and an error recorded) when the node does not hold such a value.
bool decode(const Node& node, Errors& errors, bool& out);
bool decode(const Node& node, Errors& errors, std::int64_t& out);
bool decode(const Node& node, Errors& errors, double& out);
bool decode(const Node& node, Errors& errors, std::string& out);
bool decode(const Node& node, Errors& errors,
            Bytes& out);  ///< "25MB" = 25e6, "1GiB" = 2^30, "512B"
bool decode(const Node& node, Errors& errors,
            Bandwidth& out);  ///< "400Gbps" (bits), "300GB/s" (bytes); must be positive
bool decode(const Node& node, Errors& errors,
            Duration& out);  ///< "10ns" "2us" "3ms" "1s" "5min" "2h" "30d"; not negative
bool decode(const Node& node, Errors& errors, FlopRate& out);  ///< "312Tflops"; must be positive
/// A path: relative ones are taken relative to node.directory().
bool decode(const Node& node, Errors& errors, std::filesystem::path& out);

template <typename T>
bool decode(const Node& node, Errors& errors, std::vector<T>& out) {
  out.clear();
  if (!node.is_array()) {
    errors.add(node, "expected an array");
    return false;
  }
  bool good = true;
  for (std::size_t i = 0; i < node.size(); ++i) {
    T element{};
    good = decode(node.at(i), errors, element) && good;
    out.push_back(std::move(element));
  }
  return good;
}

/// Parses a quantity without a document, for command-line options. Empty when `text` is not one.
[[nodiscard]] std::optional<Duration> parse_duration(std::string_view text);
[[nodiscard]] std::optional<Bytes> parse_bytes(std::string_view text);
[[nodiscard]] std::optional<Bandwidth> parse_bandwidth(std::string_view text);
[[nodiscard]] std::optional<FlopRate> parse_flop_rate(std::string_view text);

/// Inclusive bounds for integers and reals.
template <typename T>
struct Range {
  T min = std::numeric_limits<T>::lowest();
  T max = std::numeric_limits<T>::max();
};

class Reader {
 public:
  /// Reads `object`; an error is recorded when it is none.
  Reader(Node object, Errors& errors);

  [[nodiscard]] const Node& node() const { return object_; }
  [[nodiscard]] Errors& errors() { return errors_; }
  [[nodiscard]] bool has(std::string_view key);

  /// The child, marked as read; empty when absent. `required_child` records an error when absent.
  [[nodiscard]] std::optional<Node> child(std::string_view key);
  [[nodiscard]] std::optional<Node> required_child(std::string_view key);

  template <typename T>
  [[nodiscard]] T required(std::string_view key) {
    T value{};
    if (const auto node = required_child(key)) decode(*node, errors_, value);
    return value;
  }
  template <typename T>
  [[nodiscard]] std::optional<T> maybe(std::string_view key) {
    const auto node = child(key);
    if (!node) return std::nullopt;
    T value{};
    if (!decode(*node, errors_, value)) return std::nullopt;
    return value;
  }
  template <typename T>
  [[nodiscard]] T optional(std::string_view key, T fallback) {
    const auto value = maybe<T>(key);
    return value ? *value : fallback;
  }
  /// Integers and reals within bounds; the error names the bounds, and the value returned then lies
  /// within them.
  template <typename T>
  [[nodiscard]] T required(std::string_view key, Range<T> range) {
    const auto node = required_child(key);
    return node ? decode_within(*node, range) : std::clamp(T{}, range.min, range.max);
  }
  template <typename T>
  [[nodiscard]] T optional(std::string_view key, T fallback, Range<T> range) {
    const auto node = child(key);
    return node ? decode_within(*node, range) : fallback;
  }
  /// One of the given words; returns its index. The error names the nearest.
  [[nodiscard]] std::size_t required_choice(std::string_view key,
                                            const std::vector<std::string_view>& words);
  [[nodiscard]] std::size_t optional_choice(std::string_view key,
                                            const std::vector<std::string_view>& words,
                                            std::size_t fallback);

  /// Records an error at the child if present, else at the object.
  void fail(std::string_view key, const std::string& message);
  /// Reports keys that nobody asked for. Call once, after all reads.
  void finish();

 private:
  std::int64_t decode_within(const Node& node, Range<std::int64_t> range);
  double decode_within(const Node& node, Range<double> range);
  void remember(std::string_view key);

  Node object_;
  Errors& errors_;
  std::vector<std::string> known_;  ///< keys asked for, for the nearest-name hint
};

}  // namespace railyard::config
