// The ends of a path: inside a host or island, from a GPU out to its NIC, and from a NIC in.
//
// What HostBlocks builds: a GPU links to its island (the NVSwitch or PCIe switch, the lowest node
// among its neighbours) or to other GPUs of its host, and to its NIC; a NIC links to switches,
// which come after all hosts, and back.
#pragma once

#include <vector>

#include "railyard/topology/routing.hpp"
#include "topology/graph_builder.hpp"

namespace railyard::topology {

/// Consecutive links: the equal next hops at one node.
struct Hops {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// Links of `node` into the nodes [first, last); there must be some.
[[nodiscard]] Hops links_into(const GraphView& view, NodeId node, std::uint32_t first,
                              std::uint32_t last);
/// Appends the first link from one node to another and returns the latter.
NodeId take_link(const GraphView& view, NodeId from, NodeId to, std::vector<LinkId>& out);

class HostEnds {
 public:
  explicit HostEnds(const GraphView& view) : view_(view) {}

  /// Do two GPUs talk without leaving the host, or the island that it shares?
  [[nodiscard]] bool inside(GpuId a, GpuId b) const;
  void path_inside(GpuId source, GpuId destination, HopChooser& chooser,
                   std::vector<LinkId>& out) const;
  void spread_inside(GpuId source, GpuId destination, std::vector<LinkUse>& out) const;
  [[nodiscard]] std::uint64_t count_inside(GpuId source, GpuId destination) const;

  /// Appends the links from a GPU to its NIC, and returns the NIC.
  NodeId leave(GpuId source, std::vector<LinkId>& out) const;
  /// The same with a GPU on the way: over the island to `relay`, and to the NIC of that.
  NodeId leave_through(GpuId source, GpuId relay, std::vector<LinkId>& out) const;
  /// Appends the links from a GPU's NIC to it.
  void enter(GpuId destination, std::vector<LinkId>& out) const;

  [[nodiscard]] NodeId node(GpuId gpu) const { return view_.gpu_nodes[index(gpu)]; }
  [[nodiscard]] NodeId nic(GpuId gpu) const { return view_.nic_of_gpu[index(gpu)]; }
  /// Links of a NIC to switches: its ports. They are its last.
  [[nodiscard]] Hops ports(NodeId nic) const;
  /// The switch of a NIC with one port.
  [[nodiscard]] NodeId switch_of(NodeId nic) const { return view_.out_links(nic).back().to; }

 private:
  [[nodiscard]] NodeId island(GpuId gpu) const { return view_.out_links(node(gpu)).front().to; }
  [[nodiscard]] bool is(NodeId node, NodeKind kind) const {
    return view_.kinds[index(node)] == kind;
  }
  void hops_inside(NodeId at, GpuId destination, std::vector<std::uint32_t>& out) const;

  GraphView view_;
};

}  // namespace railyard::topology
