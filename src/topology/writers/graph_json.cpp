// Our own JSON, node by node: what the builder `graph` reads. Capacities are written as they count,
// after protocol efficiency.
#include <fmt/format.h>

#include <iterator>

#include "railyard/config/document.hpp"
#include "topology/graph_plan.hpp"
#include "topology/writers/parts.hpp"

namespace railyard::topology {
namespace {

class Writer {
 public:
  explicit Writer(const Topology& topology)
      : topology_(topology),
        host_of_(host_of_nodes(topology, "json")),
        minipod_of_(minipod_of_leaves(topology)),
        nic_of_(topology.node_count()) {
    std::vector<std::vector<NodeId>> nics(topology.hosts().size());
    for (std::size_t i = 0; i < topology.node_count(); ++i) {
      if (topology.kind(static_cast<NodeId>(i)) == NodeKind::nic)
        nics[host_of_[i]].push_back(static_cast<NodeId>(i));
    }
    for (std::size_t h = 0; h < nics.size(); ++h) {
      const Host& host = topology.hosts()[h];
      if (has_default_nics(topology, host, nics[h])) continue;
      for (std::size_t i = 0; i < host.gpus; ++i) {
        const auto gpu = static_cast<GpuId>(index(host.first_gpu) + i);
        nic_of_[index(topology.gpu_node(gpu))] = topology.node_name(topology.nic_node(gpu));
      }
    }
  }

  std::string write() {
    put("{{\n  \"builder\": \"graph\",\n  \"gpu\": {},\n  \"nodes\": [",
        config::json_string(topology_.gpu_kind()));
    for (std::size_t i = 0; i < topology_.node_count(); ++i) {
      put("{}\n    ", i == 0 ? "" : ",");
      write_node(static_cast<NodeId>(i));
    }
    put("\n  ],\n  \"links\": [");
    const CableList list = cables_of(topology_);
    write_links(list.cables, false);
    write_links(list.one_way, true);
    put("\n  ]\n}}\n");
    return std::move(out_);
  }

 private:
  template <typename... T>
  void put(fmt::format_string<T...> text, T&&... values) {
    fmt::format_to(std::back_inserter(out_), text, std::forward<T>(values)...);
  }
  [[nodiscard]] std::string quoted_name(NodeId node) const {
    return config::json_string(topology_.node_name(node));
  }

  void write_node(NodeId node) {
    const NodeKind kind = topology_.kind(node);
    put("{{\"name\": {}, \"kind\": \"{}\"", quoted_name(node), name(kind));
    if (!is_switch(kind)) {
      put(", \"host\": {}",
          config::json_string(topology_.host_name(static_cast<HostId>(host_of_[index(node)]))));
    }
    if (!nic_of_[index(node)].empty())
      put(", \"nic\": {}", config::json_string(nic_of_[index(node)]));
    if (kind == NodeKind::leaf) {
      const auto minipod = static_cast<MinipodId>(minipod_of_[index(node)]);
      put(", \"minipod\": {}", config::json_string(topology_.minipod_name(minipod)));
    }
    out_ += '}';
  }

  /// Runs of parallel links that are alike share a line.
  void write_links(const std::vector<LinkId>& links, bool one_way) {
    for (std::size_t i = 0; i < links.size();) {
      const Link& link = topology_.link(links[i]);
      std::size_t count = 1;
      while (i + count < links.size() && alike(link, topology_.link(links[i + count]))) ++count;
      put("{}\n    {{\"from\": {}, \"to\": {}, \"bandwidth\": \"{}\"", any_link_ ? "," : "",
          quoted_name(link.from), quoted_name(link.to), bandwidth_text(link.capacity));
      if (link.latency > Duration{}) put(", \"latency\": \"{}\"", duration_text(link.latency));
      if (count > 1) put(", \"count\": {}", count);
      if (one_way) put(", \"one_way\": true");
      if (link.tier != tier_between(topology_.kind(link.from), topology_.kind(link.to)))
        put(", \"tier\": \"{}\"", name(link.tier));
      out_ += '}';
      any_link_ = true;
      i += count;
    }
  }

  static bool alike(const Link& a, const Link& b) {
    return a.from == b.from && a.to == b.to && a.capacity == b.capacity && a.latency == b.latency &&
           a.tier == b.tier;
  }

  const Topology& topology_;
  std::vector<std::uint32_t> host_of_;
  std::vector<std::uint32_t> minipod_of_;
  std::vector<std::string> nic_of_;  ///< of GPUs whose NIC is not the one they would get
  std::string out_;
  bool any_link_ = false;
};

}  // namespace

std::string write_graph_json(const Topology& topology) {
  check_names(topology, "json");
  return Writer(topology).write();
}

}  // namespace railyard::topology
