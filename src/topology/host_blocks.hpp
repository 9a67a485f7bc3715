// The hosts of a fabric in order: how builders read them, and how they become nodes and cables.
//
// Either all hosts are alike (the keys of host_plan.hpp beside the builder's own), or
//
//   host_groups  [{hosts, gpu, gpus_per_host, nvlink, pcie, nic}, …]: so many hosts of each kind,
//                in order. GPU and NIC generations may differ, and the numbers of GPUs and NICs.
//                Together they are the hosts that the fabric has
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "topology/host_plan.hpp"

namespace railyard::topology {

struct HostPlans {
  std::vector<HostPlan> kinds{1};
  std::vector<std::uint64_t> ends;  ///< one past the last host of each kind; empty: all alike

  [[nodiscard]] const HostPlan& of(std::size_t host) const;
  [[nodiscard]] bool alike() const { return ends.empty(); }
  /// NICs of the host that has most.
  [[nodiscard]] std::uint32_t most_nics() const;
};

[[nodiscard]] HostPlans read_hosts(config::Reader& reader);
/// The JSON keys that read_hosts reads.
inline constexpr std::string_view kHostsKeys[] = {"gpu",  "gpus_per_host", "nvlink",
                                                  "pcie", "nic",           "host_groups"};

/// Records an error unless the host groups hold exactly `hosts` hosts.
bool check_hosts(config::Reader& reader, const HostPlans& plans, std::uint64_t hosts);

/// Adds host after host to a graph.
class HostBlocks {
 public:
  HostBlocks(GraphBuilder& graph, const HostPlans& plans) : graph_(graph), plans_(plans) {}
  /// Nodes and inner cables of the next host; returns its NICs.
  std::vector<NodeId> add(LeafId leaf, MinipodId minipod);

 private:
  struct Island {
    NodeId node{};
    const HostPlan* kind = nullptr;
    MinipodId minipod{};
    std::uint32_t hosts = 0;
  };
  NodeId island_of_next(const HostPlan& plan, MinipodId minipod);
  void cable_gpus(const HostPlan& plan, const std::vector<NodeId>& gpus, NodeId island);

  GraphBuilder& graph_;
  const HostPlans& plans_;
  std::size_t host_ = 0;
  Island island_;
};

}  // namespace railyard::topology
