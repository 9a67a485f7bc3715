// Writers: a fabric in the words of other programs (`railyard topology convert`).
//
// A writer says everything that the format can hold, and refuses by name what it cannot: it never
// leaves out a link or changes a number in silence. Reading back what `graph`, `graphml`, `simai`
// or `htsim` wrote gives the same hosts, switches, links, capacities and latencies.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "railyard/topology/graph.hpp"

namespace railyard::topology {

/// `list writers`: one row per format.
struct WriterEntry {
  std::string_view name;  ///< after `--to`
  std::string_view summary;
  /// The file's text. Throws ConfigError with the node or link that the format cannot express.
  std::string (*write)(const Topology& topology);
};
[[nodiscard]] std::span<const WriterEntry> writer_catalog();

}  // namespace railyard::topology
