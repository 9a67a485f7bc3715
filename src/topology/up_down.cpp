#include "topology/up_down.hpp"

#include <algorithm>
#include <array>

#include "railyard/core/check.hpp"
#include "topology/host_ends.hpp"

namespace railyard::topology {
namespace {

/// Where a pair of NICs meets.
struct Climb {
  std::size_t level = 0;                                ///< of the lowest common group
  std::array<std::uint32_t, kLevelsMax> destination{};  ///< the destination's group on each level
};

class UpDownPaths final : public PathFinder {
 public:
  UpDownPaths(const GraphView& view, std::vector<SwitchLevel> levels, Rails rails)
      : view_(view), ends_(view), levels_(std::move(levels)), rails_(rails) {
    RAILYARD_CHECK(!levels_.empty() && levels_.size() <= kLevelsMax, "{} switch levels",
                   levels_.size());
  }

  void path(GpuId source, GpuId destination, HopChooser& chooser,
            std::vector<LinkId>& out) const override {
    RAILYARD_CHECK(source != destination, "a path from GPU {} to itself", index(source));
    if (ends_.inside(source, destination))
      return ends_.path_inside(source, destination, chooser, out);
    const NodeId nic = leave_host(source, destination, out);
    std::uint32_t hop = 0;
    const Hops ports = ends_.ports(nic);
    const std::uint32_t port = ports.count == 1 ? 0 : chooser.choose(nic, hop++, ports.count);
    NodeId at = take(ports, port, out);
    const NodeId last = port_switch(ends_.nic(destination), port);
    const Climb climb = climb_between(at, last);
    for (std::size_t level = 0; level < climb.level; ++level) {
      const Hops hops = up(at, level);
      const std::uint32_t chosen = hops.count == 1 ? 0 : chooser.choose(at, hop++, hops.count);
      at = take(hops, chosen, out);
    }
    for (std::size_t level = climb.level; level-- > 0;) {
      const Hops hops = down(at, level, climb.destination[level]);
      const std::uint32_t chosen = hops.count == 1 ? 0 : chooser.choose_down(at, hop++, hops.count);
      at = take(hops, chosen, out);
    }
    take_link(view_, at, ends_.nic(destination), out);
    ends_.enter(destination, out);
  }

  void spread(GpuId source, GpuId destination, std::vector<LinkUse>& out) const override {
    if (ends_.inside(source, destination)) return ends_.spread_inside(source, destination, out);
    std::vector<LinkId> ends;
    const NodeId nic = leave_host(source, destination, ends);
    append(ends, 1.0, out);
    const Hops ports = ends_.ports(nic);
    for (std::uint32_t port = 0; port < ports.count; ++port) {
      const double part = 1.0 / ports.count;
      const NodeId first = view_.links[ports.first + port].to;
      const NodeId last = port_switch(ends_.nic(destination), port);
      out.push_back({static_cast<LinkId>(ports.first + port), part});
      walk<double>(first, climb_between(first, last), part,
                   [&](std::uint32_t link, std::uint32_t count, double at_node) {
                     const double share = at_node / static_cast<double>(count);
                     out.push_back({static_cast<LinkId>(link), share});
                     return share;
                   });
      ends.clear();
      take_link(view_, last, ends_.nic(destination), ends);
      append(ends, part, out);
    }
    ends.clear();
    ends_.enter(destination, ends);
    append(ends, 1.0, out);
  }

  std::uint64_t path_count(GpuId source, GpuId destination) const override {
    if (ends_.inside(source, destination)) return ends_.count_inside(source, destination);
    std::vector<LinkId> ends;
    const Hops ports = ends_.ports(leave_host(source, destination, ends));
    std::uint64_t count = 0;
    for (std::uint32_t port = 0; port < ports.count; ++port) {
      const NodeId first = view_.links[ports.first + port].to;
      const NodeId last = port_switch(ends_.nic(destination), port);
      count += walk<std::uint64_t>(
          first, climb_between(first, last), 1,
          [](std::uint32_t, std::uint32_t, std::uint64_t at_node) { return at_node; });
    }
    return count;
  }

 private:
  [[nodiscard]] Hops up(NodeId node, std::size_t level) const {
    return links_into(view_, node, levels_[level + 1].first_node.front(),
                      levels_[level + 1].first_node.back());
  }
  [[nodiscard]] Hops down(NodeId node, std::size_t level, std::uint32_t group) const {
    return links_into(view_, node, levels_[level].first_node[group],
                      levels_[level].first_node[group + 1]);
  }

  NodeId take(const Hops& hops, std::uint32_t chosen, std::vector<LinkId>& out) const {
    RAILYARD_CHECK(chosen < hops.count, "next hop {} of {}", chosen, hops.count);
    const std::uint32_t link = hops.first + chosen;
    out.push_back(static_cast<LinkId>(link));
    return view_.links[link].to;
  }

  /// Where rails do not meet, a GPU of the source's host that is on the destination's rail passes
  /// the data on.
  NodeId leave_host(GpuId source, GpuId destination, std::vector<LinkId>& out) const {
    if (!rails_.apart) return ends_.leave(source, out);
    const auto gpus = static_cast<std::uint32_t>(rails_.gpus_per_host);
    const auto from = static_cast<std::uint32_t>(index(source));
    const std::uint32_t there = static_cast<std::uint32_t>(index(destination)) % gpus;
    const auto relay = static_cast<GpuId>(from - from % gpus + there);
    if (ends_.nic(relay) == ends_.nic(source)) return ends_.leave(source, out);
    return ends_.leave_through(source, relay, out);
  }

  /// The switch at a NIC's port; ports of all NICs stand in the same order.
  [[nodiscard]] NodeId port_switch(NodeId nic, std::uint32_t port) const {
    const Hops ports = ends_.ports(nic);
    RAILYARD_CHECK(port < ports.count, "port {} of {}", port, ports.count);
    return view_.links[ports.first + port].to;
  }

  [[nodiscard]] Climb climb_between(NodeId source_leaf, NodeId destination_leaf) const {
    const std::uint32_t base = levels_[0].first_node.front();
    auto source = static_cast<std::uint32_t>(index(source_leaf)) - base;
    auto destination = static_cast<std::uint32_t>(index(destination_leaf)) - base;
    Climb climb;
    climb.destination[0] = destination;
    while (source != destination) {
      RAILYARD_CHECK(climb.level + 1 < levels_.size(), "leaves {} and {} have no common switches",
                     index(source_leaf), index(destination_leaf));
      source = levels_[climb.level].parent[source];
      destination = levels_[climb.level].parent[destination];
      climb.destination[++climb.level] = destination;
    }
    return climb;
  }

  static void append(const std::vector<LinkId>& links, double share, std::vector<LinkUse>& out) {
    for (const LinkId link : links) out.push_back({link, share});
  }

  /// Carries a value from the source leaf to the destination leaf over all equal paths, level by
  /// level. `step(link, count, value at the node)` gives what arrives over one of `count` next
  /// hops; what arrives at a node is summed in link order.
  template <typename Value, typename Step>
  Value walk(NodeId source_leaf, const Climb& climb, Value start, const Step& step) const {
    std::vector<Value> values{start};
    std::vector<Value> next;
    auto first_node = static_cast<std::uint32_t>(index(source_leaf));
    const auto advance = [&](std::uint32_t next_first, std::uint32_t next_last,
                             const auto& hops_at) {
      next.assign(next_last - next_first, Value{});
      for (std::uint32_t i = 0; i < values.size(); ++i) {
        if (values[i] == Value{}) continue;
        const Hops hops = hops_at(static_cast<NodeId>(first_node + i));
        for (std::uint32_t link = hops.first; link < hops.first + hops.count; ++link) {
          next[index(view_.links[link].to) - next_first] += step(link, hops.count, values[i]);
        }
      }
      values.swap(next);
      first_node = next_first;
    };
    for (std::size_t level = 0; level < climb.level; ++level) {
      const auto& above = levels_[level + 1].first_node;
      // The source's group above: the common one at the top, else found from the first up-link.
      const auto target = static_cast<std::uint32_t>(
          index(view_.links[up(static_cast<NodeId>(first_node), level).first].to));
      const auto group = std::upper_bound(above.begin(), above.end(), target) - above.begin() - 1;
      advance(above[static_cast<std::size_t>(group)], above[static_cast<std::size_t>(group) + 1],
              [&](NodeId at) { return up(at, level); });
    }
    for (std::size_t level = climb.level; level-- > 0;) {
      const auto& below = levels_[level].first_node;
      const std::uint32_t group = climb.destination[level];
      advance(below[group], below[group + 1], [&](NodeId at) { return down(at, level, group); });
    }
    RAILYARD_CHECK(values.size() == 1, "the walk ends at {} leaves", values.size());
    return values[0];
  }

  GraphView view_;
  HostEnds ends_;
  std::vector<SwitchLevel> levels_;
  Rails rails_;
};

}  // namespace

std::unique_ptr<const PathFinder> make_up_down_paths(const GraphView& view,
                                                     std::vector<SwitchLevel> levels, Rails rails) {
  return std::make_unique<UpDownPaths>(view, std::move(levels), rails);
}

}  // namespace railyard::topology
