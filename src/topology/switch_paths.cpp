#include "topology/switch_paths.hpp"

#include "railyard/core/check.hpp"
#include "topology/stepping.hpp"

namespace railyard::topology {

void SwitchPaths::path(GpuId source, GpuId destination, HopChooser& chooser,
                       std::vector<LinkId>& out) const {
  RAILYARD_CHECK(source != destination, "a path from GPU {} to itself", index(source));
  if (ends_.inside(source, destination))
    return ends_.path_inside(source, destination, chooser, out);
  const NodeId nic = ends_.leave(source, out);
  const NodeId last = ends_.switch_of(ends_.nic(destination));
  const NodeId first = take_link(view_, nic, ends_.switch_of(nic), out);
  std::uint32_t hop = 0;
  step_path(
      view_, first, [last](NodeId at) { return at == last; },
      [&](NodeId at, std::vector<std::uint32_t>& hops) { next_hops(at, last, hops); }, chooser, hop,
      out);
  take_link(view_, last, ends_.nic(destination), out);
  ends_.enter(destination, out);
}

void SwitchPaths::spread(GpuId source, GpuId destination, std::vector<LinkUse>& out) const {
  if (ends_.inside(source, destination)) return ends_.spread_inside(source, destination, out);
  std::vector<LinkId> ends;
  const NodeId nic = ends_.leave(source, ends);
  const NodeId last = ends_.switch_of(ends_.nic(destination));
  const NodeId first = take_link(view_, nic, ends_.switch_of(nic), ends);
  for (const LinkId link : ends) out.push_back({link, 1.0});
  step_all<double>(
      view_, first, last, 1.0,
      [&](NodeId at, std::vector<std::uint32_t>& hops) { next_hops(at, last, hops); },
      [&out](std::uint32_t link, std::size_t count, double at_node) {
        const double share = at_node / static_cast<double>(count);
        out.push_back({static_cast<LinkId>(link), share});
        return share;
      });
  ends.clear();
  take_link(view_, last, ends_.nic(destination), ends);
  ends_.enter(destination, ends);
  for (const LinkId link : ends) out.push_back({link, 1.0});
}

std::uint64_t SwitchPaths::path_count(GpuId source, GpuId destination) const {
  if (ends_.inside(source, destination)) return ends_.count_inside(source, destination);
  const NodeId first = ends_.switch_of(ends_.nic(source));
  const NodeId last = ends_.switch_of(ends_.nic(destination));
  return step_all<std::uint64_t>(
      view_, first, last, 1,
      [&](NodeId at, std::vector<std::uint32_t>& hops) { next_hops(at, last, hops); },
      [](std::uint32_t, std::size_t, std::uint64_t at_node) { return at_node; });
}

std::uint32_t SwitchPaths::detours(GpuId source, GpuId destination) const {
  if (ends_.inside(source, destination)) return 0;
  const NodeId first = ends_.switch_of(ends_.nic(source));
  const NodeId last = ends_.switch_of(ends_.nic(destination));
  return first == last ? 0 : waypoints(first, last);
}

void SwitchPaths::detour(GpuId source, GpuId destination, std::uint32_t number, HopChooser& chooser,
                         std::vector<LinkId>& out) const {
  RAILYARD_CHECK(number < detours(source, destination), "detour {} of {}", number,
                 detours(source, destination));
  const NodeId nic = ends_.leave(source, out);
  const NodeId first = take_link(view_, nic, ends_.switch_of(nic), out);
  const NodeId last = ends_.switch_of(ends_.nic(destination));
  std::uint32_t hop = 0;
  const NodeId middle = step_path(
      view_, first, [&](NodeId at) { return at_waypoint(at, first, last, number); },
      [&](NodeId at, std::vector<std::uint32_t>& hops) {
        hops_to_waypoint(at, first, last, number, hops);
      },
      chooser, hop, out);
  step_path(
      view_, middle, [last](NodeId at) { return at == last; },
      [&](NodeId at, std::vector<std::uint32_t>& hops) { next_hops(at, last, hops); }, chooser, hop,
      out);
  take_link(view_, last, ends_.nic(destination), out);
  ends_.enter(destination, out);
}

void SwitchPaths::links_between(NodeId from, NodeId to, std::vector<std::uint32_t>& out) const {
  const auto target = static_cast<std::uint32_t>(index(to));
  const Hops hops = links_into(view_, from, target, target + 1);
  for (std::uint32_t i = 0; i < hops.count; ++i) out.push_back(hops.first + i);
}

}  // namespace railyard::topology
