// Connections between GPUs, and between a GPU and the switches of its island, bound to links once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "railyard/training/program.hpp"

namespace railyard::training {

class RouteBinder {
 public:
  /// `label` separates the connections of jobs in the routing hash.
  RouteBinder(Program& program, const topology::Topology& topology,
              const topology::Routing& routing, std::uint64_t label);

  /// Index into Program::edges. `connection`: others of the same two GPUs hash apart.
  std::uint32_t edge_of(GpuId source, GpuId destination, std::uint32_t connection = 0);
  /// The link from a GPU to the NVSwitch that reduces for its island, or back; empty where it has
  /// none.
  std::optional<std::uint32_t> reducer_edge(GpuId gpu, bool upwards);

  /// Fixed cost of one message over an edge: the protocol's and the wires'.
  [[nodiscard]] Duration message_latency(const Edge& edge,
                                         const collective::TransferLatency& protocol) const;
  /// Transfer time over an idle route.
  [[nodiscard]] Duration alone_on(std::uint32_t route, Bytes size) const;

  /// Collects usages of links; add_route makes a route of what was collected since the last one.
  void add_usage(std::uint32_t edge, double share);
  std::uint32_t add_route();

 private:
  using Key = std::tuple<GpuId, GpuId, std::uint32_t>;

  std::uint32_t new_edge(const Edge& ends, BoundRoute route);
  void close_parts();

  Program& program_;
  const topology::Topology& topology_;
  const topology::Routing& routing_;
  std::uint64_t label_;
  topology::Route scratch_;
  std::vector<double> usage_;  ///< per link, of the route being put together
  std::vector<LinkId> touched_;
  std::vector<LoadRoutes::Part> pending_;  ///< of that route, where routes depend on the load
  std::map<Key, std::uint32_t> edges_;
  std::map<std::pair<GpuId, bool>, std::uint32_t> reducer_edges_;
};

}  // namespace railyard::training
