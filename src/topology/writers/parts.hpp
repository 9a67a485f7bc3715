// What the writers have in common: the host that every node stands in, quantities as text, and the
// fabric between hosts for formats that know no NICs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "railyard/topology/graph.hpp"

namespace railyard::topology {

/// The writers of the catalog, a file each.
[[nodiscard]] std::string write_graph_json(const Topology& topology);
[[nodiscard]] std::string write_graphml(const Topology& topology);
[[nodiscard]] std::string write_graphviz(const Topology& topology);
[[nodiscard]] std::string write_host(const Topology& topology);
[[nodiscard]] std::string write_htsim(const Topology& topology);
[[nodiscard]] std::string write_simai(const Topology& topology);
[[nodiscard]] std::string write_slurm(const Topology& topology);

/// Throws ConfigError "format: what".
[[noreturn]] void cannot_say(std::string_view format, const std::string& what);

/// The host of every node, by index; kNoHost for switches. Throws ConfigError where a node inside
/// hosts joins two of them or none.
inline constexpr std::uint32_t kNoHost = 0xffffffff;
[[nodiscard]] std::vector<std::uint32_t> host_of_nodes(const Topology& topology,
                                                       std::string_view format);

/// Throws ConfigError where a name of a node, host or minipod is no UTF-8 text, or holds control
/// characters: JSON and XML cannot carry it.
void check_names(const Topology& topology, std::string_view format);

/// The minipod of every leaf switch, by node: that of its hosts. Of a leaf without hosts: 0.
[[nodiscard]] std::vector<std::uint32_t> minipod_of_leaves(const Topology& topology);

/// The NIC of a GPU where hosts' NICs serve its GPUs in order (graph_plan.hpp).
[[nodiscard]] bool has_default_nics(const Topology& topology, const Host& host,
                                    const std::vector<NodeId>& nics);

/// Exact: "400Gbps" where it is whole, else bytes: "1B/s". "500ns", else picoseconds.
[[nodiscard]] std::string bandwidth_text(Bandwidth bandwidth);
[[nodiscard]] std::string duration_text(Duration duration);

/// Cables: links that have an equal link back, each once, from the lower node; and the links that
/// have none. Parallel ones stand together in order.
struct CableList {
  std::vector<LinkId> cables;
  std::vector<LinkId> one_way;
};
[[nodiscard]] CableList cables_of(const Topology& topology);

/// A port of a host as formats without NICs see it: from the GPU over its NIC into the fabric.
struct HostPort {
  NodeId gpu{};
  NodeId leaf{};
  Bandwidth capacity;  ///< the least on the way
  Duration latency{};  ///< the sum
};
/// The ports of all GPUs in order. Throws ConfigError where two GPUs share a NIC, where a NIC that
/// is not its GPU has several cables into the fabric, or where links of the way stand side by side.
[[nodiscard]] std::vector<HostPort> host_ports(const Topology& topology, std::string_view format);

}  // namespace railyard::topology
