#include "topology/up_down.hpp"

#include <algorithm>
#include <array>

#include "railyard/core/check.hpp"

namespace railyard::topology {
namespace {

/// Consecutive links: the equal next hops at one node.
struct Hops {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// Where a pair of NICs meets.
struct Climb {
  std::size_t level = 0;                                ///< of the lowest common group
  std::array<std::uint32_t, kLevelsMax> destination{};  ///< the destination's group on each level
};

class UpDownPaths final : public PathFinder {
 public:
  UpDownPaths(const GraphView& view, std::vector<SwitchLevel> levels)
      : view_(view), levels_(std::move(levels)) {
    RAILYARD_CHECK(!levels_.empty() && levels_.size() <= kLevelsMax, "{} switch levels",
                   levels_.size());
  }

  void path(GpuId source, GpuId destination, HopChooser& chooser,
            std::vector<LinkId>& out) const override {
    RAILYARD_CHECK(source != destination, "a path from GPU {} to itself", index(source));
    if (same_host(source, destination)) return inside_host(source, destination, out);
    NodeId at = leave_host(source, out);
    const Climb climb = climb_between(at, leaf_of(view_.nic_of_gpu[index(destination)]));
    std::uint32_t hop = 0;
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
    enter_host(at, destination, out);
  }

  void spread(GpuId source, GpuId destination, std::vector<LinkUse>& out) const override {
    std::vector<LinkId> ends;
    if (same_host(source, destination)) {
      inside_host(source, destination, ends);
      return append_whole(ends, out);
    }
    const NodeId first = leave_host(source, ends);
    append_whole(ends, out);
    const NodeId last = leaf_of(view_.nic_of_gpu[index(destination)]);
    walk<double>(first, climb_between(first, last), 1.0,
                 [&](std::uint32_t link, std::uint32_t count, double at_node) {
                   const double share = at_node / static_cast<double>(count);
                   out.push_back({static_cast<LinkId>(link), share});
                   return share;
                 });
    ends.clear();
    enter_host(last, destination, ends);
    append_whole(ends, out);
  }

  std::uint64_t path_count(GpuId source, GpuId destination) const override {
    if (same_host(source, destination)) return 1;
    std::vector<LinkId> ends;
    const NodeId first = leave_host(source, ends);
    const NodeId last = leaf_of(view_.nic_of_gpu[index(destination)]);
    return walk<std::uint64_t>(
        first, climb_between(first, last), 1,
        [](std::uint32_t, std::uint32_t, std::uint64_t at_node) { return at_node; });
  }

 private:
  [[nodiscard]] bool same_host(GpuId a, GpuId b) const {
    return view_.host_of_gpu[index(a)] == view_.host_of_gpu[index(b)];
  }

  /// Links of `node` into the nodes [first, last).
  [[nodiscard]] Hops into(NodeId node, std::uint32_t first, std::uint32_t last) const {
    const auto links = view_.out_links(node);
    const auto before = [](const Link& link, std::uint32_t bound) {
      return index(link.to) < bound;
    };
    const auto from = std::lower_bound(links.begin(), links.end(), first, before);
    const auto to = std::lower_bound(from, links.end(), last, before);
    RAILYARD_CHECK(from != to, "node {} has no link into nodes {} to {}", index(node), first, last);
    return {view_.first_out[index(node)] + static_cast<std::uint32_t>(from - links.begin()),
            static_cast<std::uint32_t>(to - from)};
  }
  [[nodiscard]] Hops up(NodeId node, std::size_t level) const {
    return into(node, levels_[level + 1].first_node.front(), levels_[level + 1].first_node.back());
  }
  [[nodiscard]] Hops down(NodeId node, std::size_t level, std::uint32_t group) const {
    return into(node, levels_[level].first_node[group], levels_[level].first_node[group + 1]);
  }

  NodeId take(const Hops& hops, std::uint32_t chosen, std::vector<LinkId>& out) const {
    RAILYARD_CHECK(chosen < hops.count, "next hop {} of {}", chosen, hops.count);
    const std::uint32_t link = hops.first + chosen;
    out.push_back(static_cast<LinkId>(link));
    return view_.links[link].to;
  }
  NodeId take_to(NodeId from, NodeId to, std::vector<LinkId>& out) const {
    const auto target = static_cast<std::uint32_t>(index(to));
    return take(into(from, target, target + 1), 0, out);
  }

  /// The island joins the GPUs of a host and, where it is a PCIe switch, also its NICs. It is the
  /// lowest node that any of them links to beside GPUs, so it is the first out-link of a GPU.
  [[nodiscard]] NodeId island(GpuId gpu) const { return view_.out_links(node(gpu)).front().to; }
  [[nodiscard]] NodeId node(GpuId gpu) const { return view_.gpu_nodes[index(gpu)]; }

  void inside_host(GpuId source, GpuId destination, std::vector<LinkId>& out) const {
    const NodeId middle = take_to(node(source), island(source), out);
    take_to(middle, node(destination), out);
  }
  NodeId leave_host(GpuId source, std::vector<LinkId>& out) const {
    const NodeId nic = view_.nic_of_gpu[index(source)];
    NodeId at = node(source);
    if (at == nic) return take_to(at, leaf_of(nic), out);
    if (view_.kinds[index(island(source))] == NodeKind::pcie_switch)
      at = take_to(at, island(source), out);
    at = take_to(at, nic, out);
    return take_to(at, leaf_of(nic), out);
  }
  void enter_host(NodeId leaf, GpuId destination, std::vector<LinkId>& out) const {
    NodeId at = take_to(leaf, view_.nic_of_gpu[index(destination)], out);
    if (at == node(destination)) return;
    if (view_.kinds[index(island(destination))] == NodeKind::pcie_switch) {
      at = take_to(at, island(destination), out);
    }
    take_to(at, node(destination), out);
  }
  /// Switches come after hosts, so a NIC's only link to one is its last.
  [[nodiscard]] NodeId leaf_of(NodeId nic) const { return view_.out_links(nic).back().to; }

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

  static void append_whole(const std::vector<LinkId>& links, std::vector<LinkUse>& out) {
    for (const LinkId link : links) out.push_back({link, 1.0});
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
  std::vector<SwitchLevel> levels_;
};

}  // namespace

std::unique_ptr<const PathFinder> make_up_down_paths(const GraphView& view,
                                                     std::vector<SwitchLevel> levels) {
  return std::make_unique<UpDownPaths>(view, std::move(levels));
}

}  // namespace railyard::topology
