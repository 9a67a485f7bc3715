// YAML for the readers: values that know their line. Only readers' .cpp files include it.
#pragma once

#include <yaml-cpp/yaml.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "railyard/topology/fabric_reader.hpp"

namespace railyard::topology {

/// All documents of the file; with the error recorded, none.
[[nodiscard]] std::vector<YAML::Node> parse_yaml(const FabricFile& file, config::Errors& errors);

/// "file:line" of a value.
[[nodiscard]] std::string place_of(const FabricFile& file, const YAML::Node& node);
/// A child of a mapping; an undefined node where there is none, or `node` is no mapping.
[[nodiscard]] YAML::Node child_of(const YAML::Node& node, const char* key);
/// The text of a scalar; empty for anything else.
[[nodiscard]] std::string text_of(const YAML::Node& node);

}  // namespace railyard::topology
