// A row of named fields, whatever file it comes from.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "railyard/config/document.hpp"

namespace railyard::study {

/// Scalars and lists of numbers. Null and empty cells are missing fields.
using Value = std::variant<bool, double, std::string, std::vector<double>>;

/// A number, true or false, or the text itself.
[[nodiscard]] Value value_of(const std::string& text);

class Record {
 public:
  explicit Record(std::string place) : place_(std::move(place)) {}
  void set(const std::string& field, Value value) { fields_[field] = std::move(value); }
  /// Fields of `defaults` that this record lacks.
  void inherit(const Record& defaults);
  [[nodiscard]] bool has(const std::string& field) const { return fields_.contains(field); }
  /// Whole number from 0; an error where it is none.
  [[nodiscard]] std::optional<std::uint32_t> count(const std::string& field,
                                                   config::Errors& errors) const;
  [[nodiscard]] std::optional<double> number(const std::string& field,
                                             config::Errors& errors) const;
  [[nodiscard]] std::optional<bool> flag(const std::string& field, config::Errors& errors) const;
  /// Numbers are printed.
  [[nodiscard]] std::optional<std::string> text(const std::string& field) const;
  [[nodiscard]] std::vector<double> list(const std::string& field, config::Errors& errors) const;
  void fail(const std::string& field, config::Errors& errors, const std::string& what) const;
  [[nodiscard]] const std::string& place() const { return place_; }

 private:
  std::string place_;
  std::map<std::string, Value> fields_;
};

[[nodiscard]] bool is_csv(const std::filesystem::path& path);
/// All rows: {"rows"} or {"records"}, and a CSV file.
[[nodiscard]] std::vector<Record> json_records(const config::Document& document,
                                               config::Errors& errors);
[[nodiscard]] std::vector<Record> csv_records(const std::filesystem::path& path,
                                              config::Errors& errors);

}  // namespace railyard::study
