// A drawing for dot: every node once, hosts as boxes, cables as edges with their speed and how many
// stand side by side. Links without an equal link back are drawn with an arrow. Not read back.
#include <fmt/format.h>

#include <iterator>

#include "railyard/config/document.hpp"
#include "topology/writers/parts.hpp"

namespace railyard::topology {
namespace {

std::string_view shape(NodeKind kind) {
  switch (kind) {
    case NodeKind::gpu:
      return "box";
    case NodeKind::nic:
      return "cds";
    case NodeKind::nvswitch:
    case NodeKind::pcie_switch:
      return "hexagon";
    default:
      return "ellipse";
  }
}

void write_edges(const Topology& topology, const std::vector<LinkId>& links, bool one_way,
                 std::string& out) {
  for (std::size_t i = 0; i < links.size();) {
    const Link& link = topology.link(links[i]);
    std::size_t count = 1;
    for (; i + count < links.size(); ++count) {
      const Link& next = topology.link(links[i + count]);
      if (next.from != link.from || next.to != link.to || next.capacity != link.capacity) break;
    }
    fmt::format_to(std::back_inserter(out), "  {} -> {} [label=\"{}{}\"{}];\n",
                   config::json_string(topology.node_name(link.from)),
                   config::json_string(topology.node_name(link.to)), bandwidth_text(link.capacity),
                   count > 1 ? fmt::format(" ×{}", count) : std::string(),
                   one_way ? "" : ", dir=none");
    i += count;
  }
}

}  // namespace

std::string write_graphviz(const Topology& topology) {
  const auto host_of = host_of_nodes(topology, "graphviz");
  std::vector<std::vector<NodeId>> inside(topology.hosts().size());
  std::string switches;
  const auto node_line = [&topology](NodeId node, std::string_view indent) {
    return fmt::format("{}{} [shape={}];\n", indent, config::json_string(topology.node_name(node)),
                       shape(topology.kind(node)));
  };
  for (std::size_t i = 0; i < topology.node_count(); ++i) {
    const auto node = static_cast<NodeId>(i);
    if (host_of[i] == kNoHost) {
      switches += node_line(node, "  ");
    } else {
      inside[host_of[i]].push_back(node);
    }
  }
  std::string out = "digraph fabric {\n  rankdir=BT;\n";
  for (std::size_t h = 0; h < inside.size(); ++h) {
    fmt::format_to(std::back_inserter(out), "  subgraph \"cluster_{}\" {{\n    label={};\n", h,
                   config::json_string(topology.host_name(static_cast<HostId>(h))));
    for (const NodeId node : inside[h]) out += node_line(node, "    ");
    out += "  }\n";
  }
  out += switches;
  const CableList list = cables_of(topology);
  write_edges(topology, list.cables, false, out);
  write_edges(topology, list.one_way, true, out);
  return out + "}\n";
}

}  // namespace railyard::topology
