// The fabric: GPUs, NVLink islands, NICs and switch tiers as a directed graph, frozen after
// building.
//
// A host holds GPUs (joined by an NVLink island, which may span several hosts of a rack) and NICs
// (joined to GPUs by PCIe). Hosts hang on leaves; leaves belong to minipods (also called pods,
// groups or scalable units); minipods are joined by the core. A cable is two directed links.
// Invariants: GPUs of a host are consecutive, hosts are in order; links are grouped by their source
// node (CSR); names are unique. Not modelled here: load, time, ranks and jobs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "railyard/core/ids.hpp"
#include "railyard/core/time.hpp"
#include "railyard/core/units.hpp"

namespace railyard::topology {

enum class NodeKind : std::uint8_t { gpu, nvswitch, pcie_switch, nic, leaf, spine, core };

/// The level of a link, and of a route by its highest link. Traffic shares are counted by it.
enum class Tier : std::uint8_t {
  nvlink,   ///< GPU to NVSwitch or GPU to GPU inside an island
  host,     ///< PCIe inside a host
  leaf,     ///< NIC to leaf switch
  minipod,  ///< leaf to minipod spine
  core      ///< minipod spine to core
};
inline constexpr std::size_t kTiers = 5;
[[nodiscard]] std::string_view name(Tier tier);
[[nodiscard]] std::string_view name(NodeKind kind);
/// Of the network: what stands outside hosts.
[[nodiscard]] constexpr bool is_switch(NodeKind kind) {
  return kind >= NodeKind::leaf;
}

struct Link {
  NodeId from{};
  NodeId to{};
  Bandwidth capacity;  ///< usable: physical bandwidth × the stated protocol efficiency
  Duration latency{};
  Tier tier = Tier::leaf;
  /// Of `from`, where it is known (fabrics that were read): forwarding tables name ports. Else 0.
  std::uint16_t port = 0;
};

struct Host {
  GpuId first_gpu{};
  std::uint32_t gpus = 0;
  /// Of its first NIC; on rail-optimised fabrics all hosts of a scalable unit share the value.
  LeafId leaf{};
  MinipodId minipod{};
  std::uint32_t gpu_kind = 0;  ///< index into Topology::gpu_kinds()
};

class PathFinder;

/// Frozen graph. Built by a GraphBuilder (src/topology), read by everybody.
class Topology {
 public:
  Topology();
  Topology(Topology&&) noexcept;
  Topology& operator=(Topology&&) noexcept;
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;
  ~Topology();

  [[nodiscard]] std::size_t node_count() const { return kinds_.size(); }
  [[nodiscard]] NodeKind kind(NodeId node) const { return kinds_[index(node)]; }
  [[nodiscard]] std::string node_name(NodeId node) const;
  [[nodiscard]] std::span<const Link> links() const { return links_; }
  [[nodiscard]] const Link& link(LinkId id) const { return links_[index(id)]; }
  /// "from->to#k" (k only for parallel links).
  [[nodiscard]] std::string link_name(LinkId id) const;
  /// Links that leave a node: ids first … first + count − 1.
  [[nodiscard]] std::span<const Link> out_links(NodeId node) const;
  [[nodiscard]] LinkId first_out_link(NodeId node) const {
    return static_cast<LinkId>(first_out_[index(node)]);
  }

  [[nodiscard]] std::span<const Host> hosts() const { return hosts_; }
  [[nodiscard]] const Host& host(HostId id) const { return hosts_[index(id)]; }
  [[nodiscard]] std::string host_name(HostId id) const;
  [[nodiscard]] std::size_t gpu_count() const { return gpu_nodes_.size(); }
  [[nodiscard]] NodeId gpu_node(GpuId gpu) const { return gpu_nodes_[index(gpu)]; }
  [[nodiscard]] HostId host_of(GpuId gpu) const { return host_of_gpu_[index(gpu)]; }
  /// The NIC that serves a GPU; the GPU itself where it has none (arbitrary graphs only).
  [[nodiscard]] NodeId nic_node(GpuId gpu) const { return nic_of_gpu_[index(gpu)]; }
  [[nodiscard]] std::size_t leaf_count() const { return leaf_names_.size(); }
  [[nodiscard]] std::size_t minipod_count() const { return minipod_names_.size(); }
  [[nodiscard]] const std::string& leaf_name(LeafId id) const { return leaf_names_[index(id)]; }
  [[nodiscard]] const std::string& minipod_name(MinipodId id) const {
    return minipod_names_[index(id)];
  }
  /// Name of the GPU kind ("A100-80"), a key of workload's GPU catalog; of mixed fabrics that of
  /// the first host.
  [[nodiscard]] const std::string& gpu_kind() const { return gpu_kinds_.front(); }
  /// All kinds, each once: one but for mixed fabrics. Host::gpu_kind counts them.
  [[nodiscard]] std::span<const std::string> gpu_kinds() const { return gpu_kinds_; }
  /// Which builder or reader made it ("clos", "fat_tree", …).
  [[nodiscard]] const std::string& builder() const { return builder_; }
  /// Equal-cost shortest paths between GPUs.
  [[nodiscard]] const PathFinder& paths() const { return *paths_; }

 private:
  friend class GraphBuilder;
  std::vector<NodeKind> kinds_;
  std::vector<std::uint32_t> first_out_;  ///< node_count + 1 entries
  std::vector<Link> links_;
  std::vector<Host> hosts_;
  std::vector<NodeId> gpu_nodes_;
  std::vector<HostId> host_of_gpu_;
  std::vector<NodeId> nic_of_gpu_;
  /// Hosts of regular fabrics are blocks of nodes (GPUs, the island that begins there, NICs), whose
  /// names are derived; node_names_ holds the names of the nodes from first_named_node_ on.
  std::uint32_t first_named_node_ = 0;
  std::vector<std::string> node_names_;
  std::vector<std::string> host_names_;  ///< empty: "host-<index>"
  std::vector<std::string> leaf_names_;
  std::vector<std::string> minipod_names_;
  std::vector<std::string> gpu_kinds_{std::string()};
  std::string builder_;
  std::unique_ptr<const PathFinder> paths_;
};

}  // namespace railyard::topology
