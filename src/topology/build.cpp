#include <fmt/format.h>

#include <string>
#include <vector>

#include "railyard/topology/builder.hpp"
#include "railyard/topology/describe.hpp"
#include "railyard/topology/fabric_reader.hpp"

namespace railyard::topology {
namespace {

const BuilderEntry* find_builder(std::string_view name) {
  for (const BuilderEntry& entry : topology_catalog()) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

void refuse_builder(config::Reader& reader, const std::string& name) {
  std::vector<std::string_view> names;
  for (const BuilderEntry& entry : topology_catalog()) names.push_back(entry.name);
  const std::string_view near = config::nearest(name, names);
  std::string all;
  for (const std::string_view each : names)
    all += fmt::format("{}\"{}\"", all.empty() ? "" : ", ", each);
  reader.fail("builder",
              near.empty()
                  ? fmt::format("unknown builder \"{}\"; there are {}", name, all)
                  : fmt::format("unknown builder \"{}\"; did you mean \"{}\"?", name, near));
}

Topology build_object(const config::Node& node, config::Errors& errors) {
  const std::size_t before = errors.count();
  config::Reader reader(node, errors);
  if (!node.is_object()) return {};
  // Free text for people: what the fabric is, and where its numbers come from.
  (void)reader.maybe<std::string>("description");
  (void)reader.maybe<std::string>("source");
  const auto name = reader.required<std::string>("builder");
  if (!reader.has("builder") || errors.count() != before) return {};
  const BuilderEntry* entry = find_builder(name);
  if (entry == nullptr) {
    refuse_builder(reader, name);
    return {};
  }
  Topology topology = entry->build(reader);
  reader.finish();
  if (errors.count() != before) return {};
  if (const std::string cut = disconnection(topology); !cut.empty()) {
    errors.add(node, cut);
    return {};
  }
  return topology;
}

}  // namespace

Topology build(const config::Node& node, config::Errors& errors) {
  if (!node.is_string()) return build_object(node, errors);
  const config::Node description = resolve_description(node, errors);
  return description ? build_object(description, errors) : Topology();
}

Topology build_file(const std::filesystem::path& path, config::Errors& errors) {
  return build_object(describe_file(path).root(), errors);
}

}  // namespace railyard::topology
