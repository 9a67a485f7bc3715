// Explicit catalogs of plug-ins (docs/adr/0003).
//
// Each family (topology builders, routings, collective algorithms, policies, ...) has one table of
// entries: name, one-line summary, declared parameters, factory. That one table gives creation,
// "unknown value" errors with the nearest name, `railyard list <family>` and the test that builds
// every entry with its defaults. There is no self-registration.
//
// In JSON an entry is chosen by its name, "ecmp", or by an object, {"name": "ecmp", "queue_pairs":
// 4}.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"
#include "railyard/core/time.hpp"
#include "railyard/core/units.hpp"

namespace railyard::config {

enum class ParameterType : std::uint8_t {
  boolean,
  integer,
  real,
  string,
  choice,
  bytes,
  bandwidth,
  duration,
  path,    ///< of a file, as a string; relative ones as config::decode takes them
  command  ///< a program and its arguments, as a list of strings
};

/// A declared parameter. `fallback` is JSON text as a user would write it ("0.5", "\"pp\"",
/// "\"5min\""); empty = required, "null" = optional without a value.
struct ParameterSpec {
  std::string_view name;
  ParameterType type = ParameterType::real;
  std::string_view fallback{};
  std::string_view help{};
  std::optional<double> min{};
  std::optional<double> max{};
  std::vector<std::string_view> choices{};  ///< for ParameterType::choice
};

/// A program with its arguments, and the folder it runs in: that of the file which names it, the
/// working directory for --set.
struct Command {
  std::vector<std::string> words;
  std::filesystem::path directory;
};

using ParameterValue = std::variant<std::monostate, bool, std::int64_t, double, std::string, Bytes,
                                    Bandwidth, Duration, Command>;

/// Decoded parameter values by name; asking for an undeclared one is an internal error.
class Parameters {
 public:
  template <typename T>
  [[nodiscard]] const T& get(std::string_view name) const {
    const T* value = std::get_if<T>(&at(name));
    RAILYARD_CHECK(value != nullptr, "parameter {} has another type or no value", name);
    return *value;
  }
  /// Was a value given (by the user or by a fallback that is not null)?
  [[nodiscard]] bool has_value(std::string_view name) const {
    return !std::holds_alternative<std::monostate>(at(name));
  }
  /// Did the user write it?
  [[nodiscard]] bool given(std::string_view name) const;
  void set(std::string name, ParameterValue value, bool given);
  /// name=value pairs in declaration-independent (sorted) order, for keys, echoes and digests.
  [[nodiscard]] std::string canonical() const;

 private:
  [[nodiscard]] const ParameterValue& at(std::string_view name) const;
  std::map<std::string, std::pair<ParameterValue, bool>, std::less<>> values_;
};

/// What `list` shows of an entry, whatever its factory makes.
struct EntryDescription {
  std::string_view name;
  std::string_view summary;
  std::vector<ParameterSpec> parameters{};
};

/// A row of a family's table. Factory is a function pointer type.
template <typename Factory>
struct CatalogEntry {
  EntryDescription description;
  Factory create;
};

/// A decoded choice: which entry, with which parameters.
struct Choice {
  std::string name;
  Parameters parameters;
};

/// Decodes "name" or {"name": ..., parameters...} against the entries. On errors records them and
/// returns the first entry with its defaults. `family` names the family in messages ("placement
/// policy").
[[nodiscard]] Choice decode_choice(const Node& node, Errors& errors, std::string_view family,
                                   const std::vector<const EntryDescription*>& entries);
/// An entry with its defaults; checked: it exists and has no required parameter.
[[nodiscard]] Choice default_choice(std::string_view name,
                                    const std::vector<const EntryDescription*>& entries);

template <typename Factory>
[[nodiscard]] std::vector<const EntryDescription*> descriptions(
    std::span<const CatalogEntry<Factory>> table) {
  std::vector<const EntryDescription*> out;
  for (const auto& entry : table) out.push_back(&entry.description);
  return out;
}
template <typename Factory>
[[nodiscard]] const CatalogEntry<Factory>& entry_of(std::span<const CatalogEntry<Factory>> table,
                                                    std::string_view name) {
  for (const auto& entry : table) {
    if (entry.description.name == name) return entry;
  }
  RAILYARD_CHECK(false, "no catalog entry named {}", name);
  return table.front();
}

}  // namespace railyard::config
