// Builders make a Topology from a JSON description: {"builder": "clos", …}.
//
// `topology_catalog` lists them (clos, fat_tree, graph, lingjun_csv, rail_optimized) with the keys
// each reads; what the keys mean stands at the top of src/topology/builders/<name>.cpp and of
// src/topology/host_plan.hpp. "description" and "source" are free text in all. A description that
// contradicts itself, or a fabric with a pair of GPUs without a path, is refused with its place.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "railyard/config/document.hpp"
#include "railyard/config/reader.hpp"
#include "railyard/topology/graph.hpp"

namespace railyard::topology {

/// Builds the topology described by `node`: an object, or the path of a file that holds one.
/// Errors are recorded; then an empty topology is returned.
[[nodiscard]] Topology build(const config::Node& node, config::Errors& errors);

/// The fabric that a file describes: our JSON, or htsim's `.topo`. Errors are recorded; then an
/// empty topology is returned. Throws ConfigError (missing file) or IoError (unreadable).
[[nodiscard]] Topology build_file(const std::filesystem::path& path, config::Errors& errors);

/// `list topologies`: name, one-line summary and the JSON keys a builder reads.
struct BuilderEntry {
  std::string_view name;
  std::string_view summary;
  std::vector<std::string_view> keys;
  Topology (*build)(config::Reader& reader);
};
[[nodiscard]] std::span<const BuilderEntry> topology_catalog();

}  // namespace railyard::topology
