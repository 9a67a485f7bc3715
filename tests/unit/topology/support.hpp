// What the topology tests share: build from text, and collect what a wrong text is refused with.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "railyard/config/document.hpp"
#include "railyard/topology/builder.hpp"
#include "railyard/topology/routing.hpp"
#include "railyard/topology/writer.hpp"
#include "support/shared_data.hpp"

namespace railyard::topology::test {

[[nodiscard]] inline Topology build_text(std::string_view text) {
  const config::Document document = config::Document::parse_text(text, "test.json");
  config::Errors errors;
  Topology topology = build(document.root(), errors);
  errors.throw_if_any();
  return topology;
}

/// As the writer of that name puts it.
[[nodiscard]] inline std::string written(const Topology& topology, std::string_view format) {
  for (const WriterEntry& writer : writer_catalog()) {
    if (writer.name == format) return writer.write(topology);
  }
  throw std::logic_error("no writer " + std::string(format));
}

[[nodiscard]] inline Topology build_file(const std::string& name) {
  const config::Document document =
      config::Document::parse_file(railyard::test::source_dir() / "topologies" / name);
  config::Errors errors;
  Topology topology = build(document.root(), errors);
  errors.throw_if_any();
  return topology;
}

/// All error lines, one after the other; empty when the text is accepted.
[[nodiscard]] inline std::string refusal(std::string_view text) {
  try {
    (void)build_text(text);
  } catch (const config::ConfigError& error) {
    return error.what();
  }
  return {};
}

[[nodiscard]] inline bool refused_with(std::string_view text, std::string_view words) {
  const std::string message = refusal(text);
  if (message.find(words) != std::string::npos) return true;
  std::printf("refused with: %s\n", message.c_str());
  return false;
}

[[nodiscard]] inline std::size_t count_kind(const Topology& topology, NodeKind kind) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < topology.node_count(); ++i) {
    count += topology.kind(static_cast<NodeId>(i)) == kind ? 1 : 0;
  }
  return count;
}

[[nodiscard]] inline std::size_t count_tier(const Topology& topology, Tier tier) {
  std::size_t count = 0;
  for (const Link& link : topology.links()) count += link.tier == tier ? 1 : 0;
  return count;
}

[[nodiscard]] inline std::unique_ptr<Routing> make_routing(const Topology& topology,
                                                           std::string_view text) {
  const config::Document document = config::Document::parse_text(text, "routing.json");
  config::Errors errors;
  const auto choice = config::decode_choice(document.root(), errors, "routing",
                                            config::descriptions(routing_catalog()));
  errors.throw_if_any();
  return config::entry_of(routing_catalog(), choice.name).create(topology, choice.parameters);
}

/// `text` with the first `from` replaced by `to`.
[[nodiscard]] inline std::string replaced(std::string text, std::string_view from,
                                          std::string_view to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos)
    throw std::logic_error("the test's text has no " + std::string(from));
  return text.replace(at, from.size(), to);
}

}  // namespace railyard::topology::test
