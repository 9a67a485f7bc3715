// Reading JSON files that this program wrote: every complaint names the file and the pointer.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "railyard/report/compare.hpp"

namespace railyard::report {

// Ordered: policies keep the order of the file.
using Json = nlohmann::ordered_json;

/// A value of the file with its pointer, for messages.
class Value {
 public:
  Value(const Json& json, std::string file, std::string pointer)
      : json_(json), file_(std::move(file)), pointer_(std::move(pointer)) {}

  [[nodiscard]] Value at(const std::string& key) const {
    const auto found = json_.is_object() ? json_.find(key) : json_.end();
    if (found == json_.end()) fail(fmt::format("the key \"{}\" is missing", key));
    return {*found, file_, pointer_ + "/" + key};
  }
  [[nodiscard]] bool has(const std::string& key) const {
    return json_.is_object() && json_.find(key) != json_.end();
  }
  [[nodiscard]] std::string text() const {
    if (!json_.is_string()) fail("expected a string");
    return json_.get<std::string>();
  }
  [[nodiscard]] std::optional<double> number() const {
    if (json_.is_null()) return std::nullopt;
    if (!json_.is_number()) fail("expected a number or null");
    return json_.get<double>();
  }
  template <typename Integer>
  [[nodiscard]] std::optional<Integer> integer() const {
    if (json_.is_null()) return std::nullopt;
    if (!json_.is_number_unsigned()) fail("expected a whole number or null");
    return json_.get<Integer>();
  }
  /// Calls with every member (objects) or element (arrays) and its key or index.
  template <typename Use>
  void each(Use use) const {
    if (!json_.is_structured()) fail("expected an object or an array");
    for (const auto& [key, element] : json_.items())
      use(key, Value(element, file_, pointer_ + "/" + key));
  }
  [[nodiscard]] std::vector<std::string> texts() const {
    std::vector<std::string> out;
    each([&out](const std::string&, const Value& element) { out.push_back(element.text()); });
    return out;
  }
  [[nodiscard]] bool is_null() const { return json_.is_null(); }
  /// Of an object or array.
  [[nodiscard]] std::size_t size() const {
    if (!json_.is_structured()) fail("expected an object or an array");
    return json_.size();
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw ResultError(fmt::format("{} {}: {}", file_, pointer_.empty() ? "/" : pointer_, what));
  }

 private:
  const Json& json_;
  std::string file_;
  std::string pointer_;
};

/// The file's text. Throws ResultError when it does not exist, IoError when it cannot be read.
[[nodiscard]] std::string read_text(const std::filesystem::path& path);
/// Throws ResultError when the text is not JSON.
[[nodiscard]] Json parse_json(const std::string& text, const std::string& name);
/// Parts of an attribution, in seconds. Empty for null.
[[nodiscard]] std::optional<metrics::Attribution> read_attribution(const Value& value);
/// Of what its contention is made.
void read_contention(const Value& value, metrics::Attribution& out);
/// "metrics" with the attribution among them.
void read_metrics(const Value& metrics, metrics::PolicyResult& policy);

}  // namespace railyard::report
