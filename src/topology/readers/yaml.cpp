#include "topology/readers/yaml.hpp"

#include <fmt/format.h>

namespace railyard::topology {

std::vector<YAML::Node> parse_yaml(const FabricFile& file, config::Errors& errors) {
  try {
    return YAML::LoadAll(file.text);
  } catch (const YAML::Exception& error) {
    const int line = error.mark.is_null() ? 1 : error.mark.line + 1;
    errors.add(fmt::format("{}:{}: is no YAML: {}", file.name, line, error.msg));
  }
  return {};
}

std::string place_of(const FabricFile& file, const YAML::Node& node) {
  const YAML::Mark mark = node.IsDefined() ? node.Mark() : YAML::Mark::null_mark();
  return file.place(mark.is_null() ? 1 : static_cast<std::uint32_t>(mark.line + 1));
}

YAML::Node child_of(const YAML::Node& node, const char* key) {
  if (node.IsDefined() && node.IsMap()) return node[key];
  return YAML::Node(YAML::NodeType::Undefined);
}

std::string text_of(const YAML::Node& node) {
  return node.IsDefined() && node.IsScalar() ? node.Scalar() : std::string();
}

}  // namespace railyard::topology
