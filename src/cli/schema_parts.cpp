#include <fmt/format.h>

#include <algorithm>

#include "railyard/config/document.hpp"
#include "schema.hpp"

namespace railyard::cli::json_schema {

namespace {

/// A number and one of the units, with nothing but spaces between.
std::string quantity(std::string_view units) {
  return fmt::format(R"({{"type": "string", "pattern": "^[0-9.]+([eE][+-]?[0-9]+)? *({})$"}})",
                     units);
}

}  // namespace

std::string object(const Members& members, const std::vector<std::string_view>& required) {
  std::vector<std::string> parts;
  for (const auto& [name, schema] : members)
    parts.push_back(fmt::format("{}: {}", config::json_string(name), schema));
  std::vector<std::string> names;
  for (const std::string_view name : required) names.push_back(config::json_string(name));
  return fmt::format(
      R"({{"type": "object", "properties": {{{}}}, "required": [{}], "additionalProperties": false}})",
      fmt::join(parts, ", "), fmt::join(names, ", "));
}

std::string map_of(std::string_view value, std::size_t least) {
  return fmt::format(R"({{"type": "object", "additionalProperties": {}, "minProperties": {}}})",
                     value, least);
}

std::string array_of(std::string_view element, std::size_t least) {
  return fmt::format(R"({{"type": "array", "items": {}, "minItems": {}}})", element, least);
}

std::string any_of(const std::vector<std::string>& alternatives) {
  return fmt::format(R"({{"anyOf": [{}]}})", fmt::join(alternatives, ", "));
}

std::string words(const std::vector<std::string_view>& allowed) {
  std::vector<std::string> names;
  for (const std::string_view word : allowed) names.push_back(config::json_string(word));
  return fmt::format(R"({{"enum": [{}]}})", fmt::join(names, ", "));
}

std::string integer(std::int64_t least) {
  return fmt::format(R"({{"type": "integer", "minimum": {}}})", least);
}

std::string number(double least, double most) {
  return fmt::format(R"({{"type": "number", "minimum": {}, "maximum": {}}})", least, most);
}

std::string text() {
  return R"({"type": "string"})";
}
std::string boolean() {
  return R"({"type": "boolean"})";
}
std::string duration() {
  return quantity("ps|ns|us|ms|s|min|h|d");
}
std::string bandwidth() {
  return quantity("[kKMGT]?(bps|b/s|B/s)|[KMGT]iB/s");
}
std::string bytes() {
  return quantity("[kKMGTP]?B|[KMGTP]iB");
}

std::string power() {
  return quantity("W|kW|MW");
}
std::string money() {
  return quantity("[A-Z]{3}");
}

std::string root(std::string_view title, std::string_view schema) {
  return fmt::format(
             R"({{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": {}, {})",
             config::json_string(title), schema.substr(1)) +
         '\n';
}

}  // namespace railyard::cli::json_schema
