// htsim's `.topo`: fat-trees of two or three tiers, in the words of htsim's loader.
#pragma once

#include <string>

#include "railyard/config/document.hpp"
#include "railyard/config/text_lines.hpp"
#include "railyard/topology/graph.hpp"

namespace railyard::topology {

/// Errors are recorded with their line; then an empty topology is returned.
[[nodiscard]] Topology read_htsim(const config::TextLines& lines, const std::string& gpu_kind,
                                  config::Errors& errors);

}  // namespace railyard::topology
