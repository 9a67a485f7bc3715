#include "topology/leveled_paths.hpp"

#include <algorithm>

#include "railyard/core/check.hpp"
#include "topology/stepping.hpp"

namespace railyard::topology {
namespace {

constexpr std::uint8_t kFar = 0xff;
constexpr std::uint32_t kNone = 0xffffffff;

class Paths final : public LeveledPaths {
 public:
  Paths(const GraphView& view, std::vector<std::uint8_t> level)
      : view_(view), level_(std::move(level)) {
    number_switches();
    attach_gpus();
    for (const NodeId leaf : leaves_) search(leaf);
  }

  void path(GpuId source, GpuId destination, HopChooser& chooser,
            std::vector<LinkId>& out) const override {
    RAILYARD_CHECK(source != destination, "a path from GPU {} to itself", index(source));
    if (same_host(source, destination)) return inside_host(source, destination, out);
    leave_host(source, out);
    const std::uint32_t row = row_of(destination);
    const NodeId last = leaf_of(destination);
    NodeId at = leaf_of(source);
    std::vector<std::uint32_t> hops;
    for (std::uint32_t hop = 0; at != last;) {
      hops.clear();
      next_hops(at, row, hops);
      RAILYARD_CHECK(!hops.empty(), "no way on from node {} to GPU {}", index(at),
                     index(destination));
      const auto count = static_cast<std::uint32_t>(hops.size());
      std::uint32_t chosen = 0;
      if (count > 1) {
        const bool falls = level_[index(view_.links[hops[0]].to)] < level_[index(at)];
        chosen = falls ? chooser.choose_down(at, hop, count) : chooser.choose(at, hop, count);
        ++hop;
      }
      RAILYARD_CHECK(chosen < count, "next hop {} of {}", chosen, count);
      out.push_back(static_cast<LinkId>(hops[chosen]));
      at = view_.links[hops[chosen]].to;
    }
    enter_host(destination, out);
  }

  void spread(GpuId source, GpuId destination, std::vector<LinkUse>& out) const override {
    std::vector<LinkId> ends;
    if (same_host(source, destination)) {
      inside_host(source, destination, ends);
      return append_whole(ends, out);
    }
    leave_host(source, ends);
    append_whole(ends, out);
    walk<double>(source, destination, 1.0,
                 [&out](std::uint32_t link, std::size_t count, double at_node) {
                   const double share = at_node / static_cast<double>(count);
                   out.push_back({static_cast<LinkId>(link), share});
                   return share;
                 });
    ends.clear();
    enter_host(destination, ends);
    append_whole(ends, out);
  }

  std::uint64_t path_count(GpuId source, GpuId destination) const override {
    if (same_host(source, destination)) return 1;
    return walk<std::uint64_t>(
        source, destination, 1,
        [](std::uint32_t, std::size_t, std::uint64_t at_node) { return at_node; });
  }

  std::optional<std::pair<NodeId, NodeId>> unreachable() const override {
    for (std::uint32_t row = 0; row < leaves_.size(); ++row) {
      for (const NodeId leaf : leaves_) {
        if (hops(row, leaf) == kFar) return std::pair{leaf, leaves_[row]};
      }
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] bool is_switch(NodeId node) const {
    return topology::is_switch(view_.kinds[index(node)]);
  }

  void number_switches() {
    switch_number_.assign(view_.kinds.size(), kNone);
    row_of_leaf_.assign(view_.kinds.size(), kNone);
    for (std::size_t i = 0; i < view_.kinds.size(); ++i) {
      if (!is_switch(static_cast<NodeId>(i))) continue;
      switch_number_[i] = static_cast<std::uint32_t>(switches_.size());
      switches_.push_back(static_cast<NodeId>(i));
    }
    for (const NodeId node : switches_) {
      for (const Link& link : view_.out_links(node)) {
        if (!is_switch(link.to)) continue;
        RAILYARD_CHECK(level_[index(node)] < kFar && level_[index(link.to)] < kFar,
                       "a switch without a level");
        const int step = level_[index(link.to)] - level_[index(node)];
        layered_ = layered_ && (step == 1 || step == -1);
      }
    }
  }

  void attach_gpus() {
    ends_.resize(view_.gpu_nodes.size());
    for (std::size_t gpu = 0; gpu < ends_.size(); ++gpu) {
      Ends& ends = ends_[gpu];
      const NodeId nic = view_.nic_of_gpu[gpu];
      for (const Link& link : view_.out_links(view_.gpu_nodes[gpu])) {
        const NodeKind kind = view_.kinds[index(link.to)];
        if (kind == NodeKind::nvswitch || kind == NodeKind::pcie_switch) ends.island = link.to;
      }
      for (const Link& link : view_.out_links(nic)) {
        if (is_switch(link.to)) ends.leaf = link.to;
      }
      RAILYARD_CHECK(is_switch(ends.leaf), "NIC {} is on no switch", index(nic));
      std::uint32_t& row = row_of_leaf_[index(ends.leaf)];
      if (row == kNone) {
        row = static_cast<std::uint32_t>(leaves_.size());
        leaves_.push_back(ends.leaf);
      }
    }
    hops_.assign(leaves_.size() * switches_.size(), kFar);
    climbs_.assign(leaves_.size(), false);
  }

  [[nodiscard]] std::uint8_t hops(std::uint32_t row, NodeId node) const {
    return hops_[row * switches_.size() + switch_number_[index(node)]];
  }
  std::uint8_t& hops(std::uint32_t row, NodeId node) {
    return hops_[row * switches_.size() + switch_number_[index(node)]];
  }

  void search(NodeId leaf) {
    const std::uint32_t row = row_of_leaf_[index(leaf)];
    if (layered_) {
      search_up_down(leaf, row);
      climbs_[row] = std::all_of(leaves_.begin(), leaves_.end(),
                                 [&](NodeId other) { return hops(row, other) != kFar; });
      if (climbs_[row]) return;
      for (const NodeId node : switches_) hops(row, node) = kFar;
    }
    std::vector<NodeId> open{leaf};
    hops(row, leaf) = 0;
    for (std::size_t i = 0; i < open.size(); ++i) visit(open[i], row, open, false);
  }

  /// Reaches the neighbours of a switch that a path to the leaf may come from.
  void visit(NodeId node, std::uint32_t row, std::vector<NodeId>& open, bool only_up) {
    const auto next = static_cast<std::uint8_t>(hops(row, node) + 1);
    if (next == kFar) return;  // too far to count is unreachable
    for (const Link& link : view_.out_links(node)) {
      if (!is_switch(link.to) || hops(row, link.to) != kFar) continue;
      if (only_up && level_[index(link.to)] < level_[index(node)]) continue;
      hops(row, link.to) = next;
      open.push_back(link.to);
    }
  }

  /// First the switches that reach the leaf by falling only; then, from above to below, those that
  /// have to climb first.
  void search_up_down(NodeId leaf, std::uint32_t row) {
    std::vector<NodeId> falling{leaf};
    hops(row, leaf) = 0;
    for (std::size_t i = 0; i < falling.size(); ++i) visit(falling[i], row, falling, true);
    for (const NodeId node : from_the_top()) {
      if (hops(row, node) != kFar) continue;
      std::uint8_t best = kFar;
      for (const Link& link : view_.out_links(node)) {
        if (!is_switch(link.to) || level_[index(link.to)] < level_[index(node)]) continue;
        best = std::min(best, hops(row, link.to));
      }
      if (best + 1 < kFar) hops(row, node) = static_cast<std::uint8_t>(best + 1);
    }
  }

  const std::vector<NodeId>& from_the_top() {
    if (descending_.empty()) {
      descending_ = switches_;
      std::stable_sort(descending_.begin(), descending_.end(),
                       [&](NodeId a, NodeId b) { return level_[index(a)] > level_[index(b)]; });
    }
    return descending_;
  }

  void next_hops(NodeId at, std::uint32_t row, std::vector<std::uint32_t>& out) const {
    const std::uint8_t here = hops(row, at);
    // In a layered fabric a switch falls towards a leaf exactly when it is as many hops away as
    // levels above.
    const bool falls = here == level_[index(at)];
    const std::uint32_t first = view_.first_out[index(at)];
    const auto links = view_.out_links(at);
    for (std::uint32_t i = 0; i < links.size(); ++i) {
      if (!is_switch(links[i].to) || hops(row, links[i].to) + 1 != here) continue;
      if (climbs_[row] && (level_[index(links[i].to)] < level_[index(at)]) != falls) continue;
      out.push_back(first + i);
    }
  }

  [[nodiscard]] bool same_host(GpuId a, GpuId b) const {
    return view_.host_of_gpu[index(a)] == view_.host_of_gpu[index(b)];
  }
  [[nodiscard]] NodeId node(GpuId gpu) const { return view_.gpu_nodes[index(gpu)]; }
  [[nodiscard]] NodeId nic(GpuId gpu) const { return view_.nic_of_gpu[index(gpu)]; }
  [[nodiscard]] NodeId leaf_of(GpuId gpu) const { return ends_[index(gpu)].leaf; }
  [[nodiscard]] std::uint32_t row_of(GpuId gpu) const {
    return row_of_leaf_[index(ends_[index(gpu)].leaf)];
  }

  /// The link between two neighbours; false where there is none.
  bool take(NodeId from, NodeId to, std::vector<LinkId>& out) const {
    const auto links = view_.out_links(from);
    const auto at = std::lower_bound(links.begin(), links.end(), to,
                                     [](const Link& link, NodeId node) { return link.to < node; });
    if (at == links.end() || at->to != to) return false;
    out.push_back(
        static_cast<LinkId>(view_.first_out[index(from)] +
                            static_cast<std::uint32_t>(std::distance(links.begin(), at))));
    return true;
  }
  void must_take(NodeId from, NodeId to, std::vector<LinkId>& out) const {
    const bool found = take(from, to, out);
    RAILYARD_CHECK(found, "there is no link from node {} to {}", index(from), index(to));
  }
  void inside_host(GpuId source, GpuId destination, std::vector<LinkId>& out) const {
    const NodeId island = ends_[index(source)].island;
    must_take(node(source), island, out);
    must_take(island, node(destination), out);
  }
  void leave_host(GpuId source, std::vector<LinkId>& out) const {
    if (!take(node(source), nic(source), out)) {
      must_take(node(source), ends_[index(source)].island, out);
      must_take(ends_[index(source)].island, nic(source), out);
    }
    must_take(nic(source), leaf_of(source), out);
  }
  void enter_host(GpuId destination, std::vector<LinkId>& out) const {
    must_take(leaf_of(destination), nic(destination), out);
    if (take(nic(destination), node(destination), out)) return;
    must_take(nic(destination), ends_[index(destination)].island, out);
    must_take(ends_[index(destination)].island, node(destination), out);
  }
  static void append_whole(const std::vector<LinkId>& links, std::vector<LinkUse>& out) {
    for (const LinkId link : links) out.push_back({link, 1.0});
  }

  /// Carries a value from the source's leaf to the destination's over all equal paths.
  template <typename Value, typename Step>
  Value walk(GpuId source, GpuId destination, Value start, const Step& step) const {
    const auto next = [this, row = row_of(destination)](
                          NodeId at, std::vector<std::uint32_t>& out) { next_hops(at, row, out); };
    return step_all(view_, leaf_of(source), leaf_of(destination), start, next, step);
  }

  struct Ends {
    NodeId island{};
    NodeId leaf{};
  };

  GraphView view_;
  std::vector<std::uint8_t> level_;
  bool layered_ = true;  ///< every link between switches joins neighbouring levels
  std::vector<NodeId> switches_;
  std::vector<NodeId> descending_;  ///< switches by level, highest first
  std::vector<std::uint32_t> switch_number_;
  std::vector<Ends> ends_;  ///< by GPU
  std::vector<NodeId> leaves_;
  std::vector<std::uint32_t> row_of_leaf_;
  std::vector<std::uint8_t> hops_;  ///< from every switch to leaf r at [r × switches + number]
  std::vector<bool> climbs_;        ///< by leaf: paths to it climb, then fall
};

}  // namespace

std::unique_ptr<LeveledPaths> make_leveled_paths(const GraphView& view,
                                                 std::vector<std::uint8_t> level) {
  return std::make_unique<Paths>(view, std::move(level));
}

}  // namespace railyard::topology
