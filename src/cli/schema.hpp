// JSON Schemas (draft 2020-12) of the files this program reads and writes, made from the catalogs:
// a policy or metric that is
// added to its catalog is in its schema.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace railyard::cli {

[[nodiscard]] std::string topology_schema();
[[nodiscard]] std::string workload_schema();
[[nodiscard]] std::string scenario_schema();
[[nodiscard]] std::string sweep_schema();
[[nodiscard]] std::string collective_schema();
[[nodiscard]] std::string result_schema();

namespace json_schema {

/// A schema is its JSON text. Members of an object with their schemas, those that must be there; no
/// others are allowed.
using Members = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] std::string object(const Members& members,
                                 const std::vector<std::string_view>& required = {});
/// Any names, all values alike.
[[nodiscard]] std::string map_of(std::string_view value, std::size_t least = 0);
[[nodiscard]] std::string array_of(std::string_view element, std::size_t least = 0);
[[nodiscard]] std::string any_of(const std::vector<std::string>& alternatives);
[[nodiscard]] std::string words(const std::vector<std::string_view>& allowed);
[[nodiscard]] std::string integer(std::int64_t least);
[[nodiscard]] std::string number(double least, double most);
[[nodiscard]] std::string text();
[[nodiscard]] std::string boolean();
[[nodiscard]] std::string duration();   ///< "2us"
[[nodiscard]] std::string bandwidth();  ///< "400Gbps"
[[nodiscard]] std::string bytes();      ///< "1GiB"
[[nodiscard]] std::string power();      ///< "700W"
[[nodiscard]] std::string money();      ///< "2.10 USD"
/// A root with its title and draft.
[[nodiscard]] std::string root(std::string_view title, std::string_view schema);

}  // namespace json_schema

}  // namespace railyard::cli
