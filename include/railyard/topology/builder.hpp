// Builders make a Topology from a JSON description: {"builder": "clos", …} (path or inline object
// in a scenario).
//
// Families: `topology_catalog` lists the builders (clos, fat_tree, rail_optimized, graph) with
// their parameters. A description that contradicts itself is refused with the place of the
// contradiction.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "railyard/config/document.hpp"
#include "railyard/config/reader.hpp"
#include "railyard/topology/graph.hpp"

namespace railyard::topology {

/// Builds the topology described by `node`. Errors are recorded; then an empty topology is
/// returned.
[[nodiscard]] Topology build(const config::Node& node, config::Errors& errors);

/// `list topologies`: name, one-line summary and the JSON keys a builder reads.
struct BuilderEntry {
  std::string_view name;
  std::string_view summary;
  std::vector<std::string_view> keys;
  Topology (*build)(config::Reader& reader);
};
[[nodiscard]] std::span<const BuilderEntry> topology_catalog();

}  // namespace railyard::topology
