#include "topology/host_ends.hpp"

#include <algorithm>

#include "railyard/core/check.hpp"
#include "topology/stepping.hpp"

namespace railyard::topology {
namespace {

/// Links of `node` into the nodes [first, last), perhaps none.
Hops find_links(const GraphView& view, NodeId node, std::uint32_t first, std::uint32_t last) {
  const auto links = view.out_links(node);
  const auto before = [](const Link& link, std::uint32_t bound) { return index(link.to) < bound; };
  const auto from = std::lower_bound(links.begin(), links.end(), first, before);
  const auto to = std::lower_bound(from, links.end(), last, before);
  return {view.first_out[index(node)] + static_cast<std::uint32_t>(from - links.begin()),
          static_cast<std::uint32_t>(to - from)};
}

Hops find_links(const GraphView& view, NodeId from, NodeId to) {
  const auto target = static_cast<std::uint32_t>(index(to));
  return find_links(view, from, target, target + 1);
}

void append(const Hops& hops, std::vector<std::uint32_t>& out) {
  for (std::uint32_t i = 0; i < hops.count; ++i) out.push_back(hops.first + i);
}

}  // namespace

Hops links_into(const GraphView& view, NodeId node, std::uint32_t first, std::uint32_t last) {
  const Hops hops = find_links(view, node, first, last);
  RAILYARD_CHECK(hops.count > 0, "node {} has no link into nodes {} to {}", index(node), first,
                 last);
  return hops;
}

NodeId take_link(const GraphView& view, NodeId from, NodeId to, std::vector<LinkId>& out) {
  const auto target = static_cast<std::uint32_t>(index(to));
  out.push_back(static_cast<LinkId>(links_into(view, from, target, target + 1).first));
  return to;
}

bool HostEnds::inside(GpuId a, GpuId b) const {
  if (view_.host_of_gpu[index(a)] == view_.host_of_gpu[index(b)]) return true;
  return island(a) == island(b) && is(island(a), NodeKind::nvswitch);
}

void HostEnds::hops_inside(NodeId at, GpuId destination, std::vector<std::uint32_t>& out) const {
  const NodeId last = node(destination);
  const Hops direct = find_links(view_, at, last);
  if (direct.count > 0) return append(direct, out);
  const NodeId first = view_.out_links(at).front().to;
  if (!is(first, NodeKind::gpu)) return append(find_links(view_, at, first), out);
  for (const Link& link : view_.out_links(at)) {
    if (!is(link.to, NodeKind::gpu) || find_links(view_, link.to, last).count == 0) continue;
    out.push_back(static_cast<std::uint32_t>(&link - view_.links.data()));
  }
}

void HostEnds::path_inside(GpuId source, GpuId destination, HopChooser& chooser,
                           std::vector<LinkId>& out) const {
  const NodeId middle = island(source);
  if (!is(middle, NodeKind::gpu)) {
    take_link(view_, node(source), middle, out);
    take_link(view_, middle, node(destination), out);
    return;
  }
  std::uint32_t hop = 0;
  step_path(
      view_, node(source), [&](NodeId at) { return at == node(destination); },
      [&](NodeId at, std::vector<std::uint32_t>& hops) { hops_inside(at, destination, hops); },
      chooser, hop, out);
}

void HostEnds::spread_inside(GpuId source, GpuId destination, std::vector<LinkUse>& out) const {
  step_all<double>(
      view_, node(source), node(destination), 1.0,
      [&](NodeId at, std::vector<std::uint32_t>& hops) { hops_inside(at, destination, hops); },
      [&out](std::uint32_t link, std::size_t count, double at_node) {
        const double share = at_node / static_cast<double>(count);
        out.push_back({static_cast<LinkId>(link), share});
        return share;
      });
}

std::uint64_t HostEnds::count_inside(GpuId source, GpuId destination) const {
  return step_all<std::uint64_t>(
      view_, node(source), node(destination), 1,
      [&](NodeId at, std::vector<std::uint32_t>& hops) { hops_inside(at, destination, hops); },
      [](std::uint32_t, std::size_t, std::uint64_t at_node) { return at_node; });
}

NodeId HostEnds::leave(GpuId source, std::vector<LinkId>& out) const {
  NodeId at = node(source);
  if (at == nic(source)) return at;
  if (is(island(source), NodeKind::pcie_switch)) at = take_link(view_, at, island(source), out);
  return take_link(view_, at, nic(source), out);
}

NodeId HostEnds::leave_through(GpuId source, GpuId relay, std::vector<LinkId>& out) const {
  take_link(view_, node(source), island(source), out);
  take_link(view_, island(source), node(relay), out);
  return take_link(view_, node(relay), nic(relay), out);
}

void HostEnds::enter(GpuId destination, std::vector<LinkId>& out) const {
  NodeId at = nic(destination);
  if (at == node(destination)) return;
  if (is(island(destination), NodeKind::pcie_switch))
    at = take_link(view_, at, island(destination), out);
  take_link(view_, at, node(destination), out);
}

Hops HostEnds::ports(NodeId nic) const {
  const auto links = view_.out_links(nic);
  const auto inner = [this](const Link& link) {
    return view_.kinds[index(link.to)] < NodeKind::leaf;
  };
  const auto first = std::partition_point(links.begin(), links.end(), inner);
  RAILYARD_CHECK(first != links.end(), "NIC {} has no port", index(nic));
  return {view_.first_out[index(nic)] + static_cast<std::uint32_t>(first - links.begin()),
          static_cast<std::uint32_t>(links.end() - first)};
}

}  // namespace railyard::topology
