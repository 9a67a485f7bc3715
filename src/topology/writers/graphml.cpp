// GraphML (graphml.graphdrawing.org): a directed graph, one edge a link, in order of links. Keys of
// nodes: name, kind, host, minipod (of leaves), nic (of GPUs). Keys of edges:
// bandwidth_bytes_per_s (usable), latency_ps, tier. The reader of the same name reads them back.
#include <fmt/format.h>

#include <iterator>

#include "topology/writers/parts.hpp"

namespace railyard::topology {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += letter;
    }
  }
  return out;
}

constexpr std::string_view kHead = R"(<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="gpu" for="graph" attr.name="gpu" attr.type="string"/>
  <key id="name" for="node" attr.name="name" attr.type="string"/>
  <key id="kind" for="node" attr.name="kind" attr.type="string"/>
  <key id="host" for="node" attr.name="host" attr.type="string"/>
  <key id="minipod" for="node" attr.name="minipod" attr.type="string"/>
  <key id="nic" for="node" attr.name="nic" attr.type="string"/>
  <key id="bandwidth" for="edge" attr.name="bandwidth_bytes_per_s" attr.type="long"/>
  <key id="latency" for="edge" attr.name="latency_ps" attr.type="long"/>
  <key id="tier" for="edge" attr.name="tier" attr.type="string"/>
  <graph edgedefault="directed">
)";

}  // namespace

std::string write_graphml(const Topology& topology) {
  constexpr std::int64_t kPicosecondsPerTick = 1'000'000'000'000 / kTicksPerSecond;
  check_names(topology, "graphml");
  const auto host_of = host_of_nodes(topology, "graphml");
  const auto minipod_of = minipod_of_leaves(topology);
  std::vector<std::string> nic_of(topology.node_count());
  for (std::size_t i = 0; i < topology.gpu_count(); ++i) {
    const auto gpu = static_cast<GpuId>(i);
    if (topology.nic_node(gpu) != topology.gpu_node(gpu))
      nic_of[index(topology.gpu_node(gpu))] = topology.node_name(topology.nic_node(gpu));
  }
  std::string out(kHead);
  const auto put = [&out](std::string_view key, std::string_view value) {
    fmt::format_to(std::back_inserter(out), "<data key=\"{}\">{}</data>", key, escaped(value));
  };
  out += "    ";
  put("gpu", topology.gpu_kind());
  out += '\n';
  for (std::size_t i = 0; i < topology.node_count(); ++i) {
    const auto node = static_cast<NodeId>(i);
    const NodeKind kind = topology.kind(node);
    fmt::format_to(std::back_inserter(out), "    <node id=\"n{}\">", i);
    put("name", topology.node_name(node));
    put("kind", name(kind));
    if (!is_switch(kind)) put("host", topology.host_name(static_cast<HostId>(host_of[i])));
    if (kind == NodeKind::leaf)
      put("minipod", topology.minipod_name(static_cast<MinipodId>(minipod_of[i])));
    if (!nic_of[i].empty()) put("nic", nic_of[i]);
    out += "</node>\n";
  }
  for (const Link& link : topology.links()) {
    fmt::format_to(std::back_inserter(out), "    <edge source=\"n{}\" target=\"n{}\">",
                   index(link.from), index(link.to));
    put("bandwidth", fmt::format("{}", link.capacity.bytes_per_s()));
    put("latency", fmt::format("{}", link.latency.count() * kPicosecondsPerTick));
    put("tier", name(link.tier));
    out += "</edge>\n";
  }
  return out + "  </graph>\n</graphml>\n";
}

}  // namespace railyard::topology
