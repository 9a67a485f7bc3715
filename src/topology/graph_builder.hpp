// Collects nodes, links and hosts, then freezes them into a Topology (CSR form).
//
// The order of nodes carries meaning for the regular fabrics: hosts are blocks (GPUs, the island
// that begins with the host, NICs) in order, then the switches level by level. Links that leave a
// node are sorted by where they go, parallel links in order of adding.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "railyard/topology/graph.hpp"
#include "railyard/topology/routing.hpp"

namespace railyard::topology {

/// What a cable does in each direction.
struct Cable {
  Bandwidth capacity;
  Duration latency{};
  Tier tier = Tier::leaf;
};

/// What a PathFinder may read: views into the frozen arrays. They stay valid when the Topology
/// moves.
struct GraphView {
  std::span<const NodeKind> kinds;
  std::span<const std::uint32_t> first_out;
  std::span<const Link> links;
  std::span<const NodeId> gpu_nodes;
  std::span<const HostId> host_of_gpu;
  std::span<const NodeId> nic_of_gpu;

  [[nodiscard]] std::span<const Link> out_links(NodeId node) const {
    const std::size_t first = first_out[index(node)];
    return links.subspan(first, first_out[index(node) + 1] - first);
  }
};

class GraphBuilder {
 public:
  GraphBuilder(std::string builder, std::string gpu_kind);

  [[nodiscard]] std::size_t node_count() const { return topology_.kinds_.size(); }
  /// A node inside a regular host: its name is derived.
  NodeId add_block_node(NodeKind kind);
  /// A node with a name of its own. After the first one no block node may follow.
  NodeId add_node(NodeKind kind, std::string name);
  void add_link(const Link& link) { unsorted_.push_back(link); }
  /// `count` parallel cables: two directed links each.
  void add_cable(NodeId a, NodeId b, const Cable& cable, std::uint32_t count = 1);
  /// The host's GPUs and the NIC of each, in order; their kind where fabrics mix them.
  void add_host(LeafId leaf, MinipodId minipod, std::span<const NodeId> gpus,
                std::span<const NodeId> nics, std::string_view gpu_kind = {});
  void set_host_names(std::vector<std::string> names) { topology_.host_names_ = std::move(names); }
  LeafId add_leaf(std::string name);
  MinipodId add_minipod(std::string name);
  void reserve(std::size_t nodes, std::size_t links);

  /// Sorts the links. After this `view()` is valid and nothing may be added.
  void freeze();
  [[nodiscard]] GraphView view() const;
  [[nodiscard]] Topology take(std::unique_ptr<const PathFinder> paths);

 private:
  Topology topology_;
  std::vector<Link> unsorted_;
};

}  // namespace railyard::topology
