// The actions of `railyard topology`, which share their command line.
#pragma once

#include <string>

#include "command_line.hpp"
#include "railyard/topology/graph.hpp"

namespace railyard::cli {

/// Any fabric description, with the changes of --set.
[[nodiscard]] topology::Topology read_topology(const CommandLine& line, const std::string& path);

void show_topology(const CommandLine& line, const topology::Topology& fabric);
void show_bandwidth(const CommandLine& line, const topology::Topology& fabric);
void show_bottlenecks(const CommandLine& line, const topology::Topology& fabric);
void convert_topology(const CommandLine& line, const topology::Topology& fabric);

}  // namespace railyard::cli
