// Paths of fabrics whose closed form is a rule from switch to switch: dragonfly, torus, full mesh.
//
// A GPU leaves by its NIC to the one switch that this hangs on; from there a fabric says which
// links lead one hop nearer to the destination's switch. Detours (Valiant) lead through a waypoint.
#pragma once

#include <vector>

#include "railyard/topology/routing.hpp"
#include "topology/host_ends.hpp"

namespace railyard::topology {

class SwitchPaths : public PathFinder {
 public:
  void path(GpuId source, GpuId destination, HopChooser& chooser,
            std::vector<LinkId>& out) const override;
  void spread(GpuId source, GpuId destination, std::vector<LinkUse>& out) const override;
  [[nodiscard]] std::uint64_t path_count(GpuId source, GpuId destination) const override;
  [[nodiscard]] std::uint32_t detours(GpuId source, GpuId destination) const override;
  void detour(GpuId source, GpuId destination, std::uint32_t number, HopChooser& chooser,
              std::vector<LinkId>& out) const override;

 protected:
  explicit SwitchPaths(const GraphView& view) : view_(view), ends_(view) {}

  /// Appends the links of `at` that lead one hop nearer to switch `to`; at != to. All paths to it
  /// are equally long.
  virtual void next_hops(NodeId at, NodeId to, std::vector<std::uint32_t>& out) const = 0;
  /// Number of waypoints between two different switches.
  [[nodiscard]] virtual std::uint32_t waypoints(NodeId from, NodeId to) const = 0;
  /// Is `at` in waypoint `number` of the pair (from, to)?
  [[nodiscard]] virtual bool at_waypoint(NodeId at, NodeId from, NodeId to,
                                         std::uint32_t number) const = 0;
  /// Appends the links that lead one hop nearer to the waypoint.
  virtual void hops_to_waypoint(NodeId at, NodeId from, NodeId to, std::uint32_t number,
                                std::vector<std::uint32_t>& out) const = 0;

  /// Appends all links between two switches.
  void links_between(NodeId from, NodeId to, std::vector<std::uint32_t>& out) const;

 private:
  GraphView view_;
  HostEnds ends_;
};

/// Number `i` of 0, 1, … without `a` and `b`, which differ.
[[nodiscard]] inline std::uint32_t skipping(std::uint32_t i, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t low = a < b ? a : b;
  const std::uint32_t high = a < b ? b : a;
  if (i >= low) ++i;
  if (i >= high) ++i;
  return i;
}

}  // namespace railyard::topology
