#include "topology/readers/yaml.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <sstream>

namespace railyard::topology {
namespace {

/// Takes no notice of anything.
class Deaf final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

/// yaml-cpp 0.7 takes some broken text for documents without end: no more than have a separator.
bool has_end(const std::string& text) {
  std::size_t separators = 1;
  for (std::size_t at = 0; at < text.size(); at = std::min(text.find('\n', at), text.size()) + 1) {
    const std::string_view line = std::string_view(text).substr(at, 3);
    separators += line == "---" || line == "..." ? 1 : 0;
  }
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Deaf deaf;
  for (std::size_t documents = 0; parser.HandleNextDocument(deaf); ++documents) {
    if (documents >= separators) return false;
  }
  return true;
}

}  // namespace

std::vector<YAML::Node> parse_yaml(const FabricFile& file, config::Errors& errors) {
  try {
    if (has_end(file.text)) return YAML::LoadAll(file.text);
    errors.add(fmt::format("{}: is no YAML: text follows what should end it", file.name));
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
