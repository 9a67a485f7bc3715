#include "study/record.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "railyard/config/csv.hpp"

namespace railyard::study {

void Record::inherit(const Record& defaults) {
  for (const auto& [field, value] : defaults.fields_) fields_.try_emplace(field, value);
}

void Record::fail(const std::string& field, config::Errors& errors, const std::string& what) const {
  errors.add(fmt::format("{}: \"{}\": {}", place_, field, what));
}

std::optional<double> Record::number(const std::string& field, config::Errors& errors) const {
  const auto found = fields_.find(field);
  if (found == fields_.end()) return std::nullopt;
  if (const double* value = std::get_if<double>(&found->second)) return *value;
  fail(field, errors, "expected a number");
  return std::nullopt;
}

std::optional<std::uint32_t> Record::count(const std::string& field, config::Errors& errors) const {
  const auto value = number(field, errors);
  if (!value) return std::nullopt;
  if (*value >= 0 && *value <= 1e9 && *value == std::floor(*value))
    return static_cast<std::uint32_t>(*value);
  fail(field, errors, "expected a whole number from 0");
  return std::nullopt;
}

std::optional<bool> Record::flag(const std::string& field, config::Errors& errors) const {
  const auto found = fields_.find(field);
  if (found == fields_.end()) return std::nullopt;
  if (const bool* value = std::get_if<bool>(&found->second)) return *value;
  const auto word = text(field);
  if (word == "true" || word == "True" || word == "1") return true;
  if (word == "false" || word == "False" || word == "0") return false;
  fail(field, errors, "expected true or false");
  return std::nullopt;
}

std::optional<std::string> Record::text(const std::string& field) const {
  const auto found = fields_.find(field);
  if (found == fields_.end()) return std::nullopt;
  if (const auto* value = std::get_if<std::string>(&found->second)) return *value;
  if (const double* value = std::get_if<double>(&found->second)) return fmt::format("{}", *value);
  if (const bool* value = std::get_if<bool>(&found->second)) return *value ? "true" : "false";
  return std::nullopt;
}

std::vector<double> Record::list(const std::string& field, config::Errors& errors) const {
  const auto found = fields_.find(field);
  if (found == fields_.end()) return {};
  if (const auto* value = std::get_if<std::vector<double>>(&found->second)) return *value;
  fail(field, errors, "expected a list of numbers");
  return {};
}

namespace {

void set_from(Record& record, const std::string& field, const config::Node& node,
              config::Errors& errors) {
  switch (node.kind()) {
    case config::Kind::null:
      return;
    case config::Kind::boolean:
      record.set(field, node.boolean());
      return;
    case config::Kind::integer:
      record.set(field, static_cast<double>(node.integer()));
      return;
    case config::Kind::real:
      record.set(field, node.real());
      return;
    case config::Kind::string:
      record.set(field, node.string());
      return;
    default:
      break;
  }
  std::vector<double> values;
  if (node.is_array() && config::decode(node, errors, values)) record.set(field, values);
}

Record record_of(const config::Node& node, const std::vector<std::string>& columns,
                 config::Errors& errors) {
  Record record(node.place());
  if (node.is_object()) {
    for (std::size_t i = 0; i < node.size(); ++i)
      set_from(record, std::string(node.key_at(i)), node.at(i), errors);
  } else if (node.is_array() && node.size() == columns.size()) {
    for (std::size_t i = 0; i < columns.size(); ++i)
      set_from(record, columns[i], node.at(i), errors);
  } else {
    errors.add(
        node, fmt::format("expected an object, or an array of the {} \"columns\"", columns.size()));
  }
  return record;
}

}  // namespace

bool is_csv(const std::filesystem::path& path) {
  return path.extension() == ".csv";
}

std::vector<Record> json_records(const config::Document& document, config::Errors& errors) {
  const config::Node root = document.root();
  std::vector<Record> records;
  const auto child = [&](std::string_view key) {
    return root.is_object() ? root.find(key) : std::nullopt;
  };
  const auto given = child("rows") ? child("rows") : child("records");
  const config::Node rows = given ? *given : root;
  if (!rows.is_array()) {
    errors.add(root, "expected {\"rows\": […]}, {\"records\": […]} or an array of rows");
    return records;
  }
  std::vector<std::string> columns;
  if (const auto names = child("columns")) config::decode(*names, errors, columns);
  Record defaults("");
  if (const auto node = child("defaults")) defaults = record_of(*node, {}, errors);
  if (const auto table = child("table"); table && table->is_string())
    defaults.set("table", table->string());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    records.push_back(record_of(rows.at(i), columns, errors));
    records.back().inherit(defaults);
  }
  return records;
}

namespace {

/// vTrain's ground truth: one column more or less, names of its own.
const std::map<std::string, std::string, std::less<>>& vtrain_names() {
  static const std::map<std::string, std::string, std::less<>> kNames{
      {"# GPUs", "gpus"},
      {"global batch", "global_batch"},
      {"micro batch", "micro_batch"},
      {"hidden size", "hidden"},
      {"attention heads", "heads"},
      {"# layers", "layers"},
      {"sequence length", "seq"},
      {"tensor parallelism", "tp"},
      {"data parallelism", "dp"},
      {"pipeline parallelism", "pp"}};
  return kNames;
}

}  // namespace

Value value_of(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() + text.size()) return value;
  if (text == "true" || text == "false") return text == "true";
  return text;
}

std::vector<Record> csv_records(const std::filesystem::path& path, config::Errors& errors) {
  config::Csv csv = config::Csv::parse_file(path);
  std::vector<config::CsvColumn> columns;
  bool vtrain = false;
  for (const std::string& name : std::vector<std::string>(csv.columns())) {
    columns.push_back(csv.required(name, errors));
    vtrain = vtrain || name == "iteration time (ms)";
  }
  std::vector<Record> records;
  for (std::size_t row = 0; row < csv.rows(); ++row) {
    Record record(csv.place(row));
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const std::string& name = csv.columns()[c];
      if (csv.is_empty(row, columns[c])) continue;
      const Value value = value_of(std::string(csv.text(row, columns[c])));
      const auto known = vtrain_names().find(name);
      if (vtrain && name == "iteration time (ms)") {
        const double* milliseconds = std::get_if<double>(&value);
        if (milliseconds == nullptr) csv.fail(row, columns[c], errors, "expected a number");
        record.set("value", milliseconds == nullptr ? 0 : *milliseconds / 1000);
        record.set("metric", std::string("step_s"));
      } else {
        record.set(vtrain && known != vtrain_names().end() ? known->second : name, value);
      }
    }
    if (vtrain) {
      record.set("id", fmt::format("vtrain_{}", row + 1));
      record.set("table", std::string("vtrain"));
    }
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace railyard::study
