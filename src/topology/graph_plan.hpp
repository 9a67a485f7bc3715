// A fabric drawn node by node and link by link: what the builder `graph` and the readers of graph
// files collect, and how a Topology is made of it.
//
// Hosts come in order of first mention, their GPUs in order of mention. The NIC that serves a GPU
// is the one it names, else the host's NICs serve its GPUs in order; a GPU of a host without NICs
// is its own. A host's leaf is the first that one of its NICs (or GPUs) has a link to; hosts
// without any (NVLink only) share one of their own. Routes are the paths of fewest hops; neither
// GPUs nor other hosts pass traffic on (shortest_hops.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "railyard/topology/graph.hpp"
#include "topology/graph_builder.hpp"

namespace railyard::topology {

struct PlannedNode {
  std::string name;
  NodeKind kind = NodeKind::gpu;
  std::string host;       ///< of the four kinds that stand in one, else empty
  std::string minipod{};  ///< of a leaf; empty: "minipod-0"
  std::string nic{};      ///< of a GPU: the NIC that serves it, where it names one
};

/// GPUs, NVSwitches, PCIe switches and NICs stand in a host.
[[nodiscard]] constexpr bool inside_host(NodeKind kind) {
  return kind <= NodeKind::nic;
}
/// The tier of a link between two kinds of nodes, where nobody says otherwise.
[[nodiscard]] Tier tier_between(NodeKind a, NodeKind b);
/// The kinds and tiers by name, in order of their values.
[[nodiscard]] const std::vector<std::string_view>& kind_names();
[[nodiscard]] const std::vector<std::string_view>& tier_names();

class GraphPlan {
 public:
  /// Empty when the name is taken.
  std::optional<NodeId> add_node(PlannedNode node);
  [[nodiscard]] std::optional<NodeId> find(std::string_view name) const;
  [[nodiscard]] PlannedNode& node(NodeId id) { return nodes_[index(id)]; }
  [[nodiscard]] const PlannedNode& node(NodeId id) const { return nodes_[index(id)]; }
  [[nodiscard]] std::size_t node_count() const { return nodes_.size(); }
  [[nodiscard]] std::vector<std::string_view> node_names() const;

  void add_link(const Link& link) { links_.push_back(link); }
  /// Both directions, tier by the kinds of the ends.
  void add_cable(NodeId a, NodeId b, Bandwidth capacity, Duration latency);
  [[nodiscard]] const std::vector<Link>& links() const { return links_; }
  /// Gives all links from number `first` on another tier than their ends say.
  void set_tier(std::size_t first, Tier tier) {
    for (std::size_t i = first; i < links_.size(); ++i) links_[i].tier = tier;
  }

  /// Gives the switches between hosts their kinds, tiers and minipods by their distance from hosts:
  /// next to a host a leaf, then spines, the farthest of three or more levels cores. A minipod is
  /// what hangs together without cores. Names minipods "minipod-0", … in order of their leaves.
  void infer_switches();

  /// Sentences: hosts without a GPU, no GPU at all, GPUs served by what is no NIC of their host.
  [[nodiscard]] std::vector<std::string> faults() const;
  /// The fabric. Where two GPUs have no path an empty one, and `cut` names them.
  [[nodiscard]] Topology build(std::string_view builder, const std::string& gpu_kind,
                               std::string& cut) const;

 private:
  struct Host {
    std::string name;
    std::vector<NodeId> gpus;
    std::vector<NodeId> nics;
    std::optional<NodeId> leaf;
  };
  [[nodiscard]] std::vector<Host> hosts_with_leaves() const;
  void add_hosts(GraphBuilder& graph) const;
  [[nodiscard]] NodeId nic_of(const Host& host, std::size_t gpu) const;
  [[nodiscard]] std::vector<std::uint32_t> levels_of_switches() const;
  void name_minipods();

  std::vector<PlannedNode> nodes_;
  std::vector<Host> hosts_;
  std::vector<Link> links_;
  std::map<std::string, NodeId, std::less<>> node_of_;
  std::map<std::string, std::uint32_t, std::less<>> host_of_;
};

}  // namespace railyard::topology
