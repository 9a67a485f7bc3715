#include "topology/shortest_hops.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <functional>

#include "railyard/core/check.hpp"
#include "topology/stepping.hpp"

namespace railyard::topology {
namespace {

/// Links turned round, so that a search from a destination finds the distance of every node to it.
using Reversed = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
/// Hops are kept in 16 bits: a distance to every GPU from every node is most of the memory.
constexpr std::uint16_t kHopsFar = 0xffff;

class ShortestPaths final : public ShortestHopPaths {
 public:
  ShortestPaths(const GraphView& view, std::vector<std::uint32_t> host_of_node)
      : view_(view), host_of_node_(std::move(host_of_node)), reversed_(view.kinds.size()) {
    for (const Link& link : view_.links)
      boost::add_edge(index(link.to), index(link.from), reversed_);
    searches_.reserve(view_.gpu_nodes.size());
    for (std::size_t gpu = 0; gpu < view_.gpu_nodes.size(); ++gpu)
      searches_.push_back(search(static_cast<GpuId>(gpu)));
  }

  void path(GpuId source, GpuId destination, HopChooser& chooser,
            std::vector<LinkId>& out) const override {
    RAILYARD_CHECK(source != destination, "a path from GPU {} to itself", index(source));
    const auto arrived = [last = node(destination)](NodeId at) { return at == last; };
    const auto next = [this, destination](NodeId at, std::vector<std::uint32_t>& hops) {
      next_hops(at, destination, hops);
    };
    std::uint32_t hop = 0;
    step_path(view_, node(source), arrived, next, chooser, hop, out);
  }

  void spread(GpuId source, GpuId destination, std::vector<LinkUse>& out) const override {
    walk<double>(source, destination, 1.0,
                 [&out](std::uint32_t link, std::size_t count, double at_node) {
                   const double share = at_node / static_cast<double>(count);
                   out.push_back({static_cast<LinkId>(link), share});
                   return share;
                 });
  }

  std::uint64_t path_count(GpuId source, GpuId destination) const override {
    return walk<std::uint64_t>(
        source, destination, 1,
        [](std::uint32_t, std::size_t, std::uint64_t at_node) { return at_node; });
  }

  std::optional<std::pair<GpuId, GpuId>> unreachable() const override {
    for (std::size_t to = 0; to < view_.gpu_nodes.size(); ++to) {
      const auto destination = static_cast<GpuId>(to);
      const auto& distances = searches_[to].distances;
      for (std::size_t from = 0; from < view_.gpu_nodes.size(); ++from) {
        const auto source = static_cast<GpuId>(from);
        if (distances[index(node(source))] == kHopsFar) return std::pair{source, destination};
      }
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] NodeId node(GpuId gpu) const { return view_.gpu_nodes[index(gpu)]; }

  /// What is known about a destination.
  struct Search {
    std::vector<std::uint16_t> distances;  ///< of every node
    /// Its host's NICs may be entered from inside the host: its GPUs have no other way to each
    /// other.
    bool through_nics = false;
  };

  [[nodiscard]] bool usable(NodeId from, NodeId to, NodeId destination, bool through_nics) const {
    if (to == destination) return true;
    if (view_.kinds[index(to)] == NodeKind::gpu) return false;
    const std::uint32_t host = host_of_node_[index(to)];
    const bool at_home = host == host_of_node_[index(destination)];
    if (host == kOutsideHosts) return true;
    if (host != host_of_node_[index(from)]) return at_home;
    return !at_home || through_nics || view_.kinds[index(to)] != NodeKind::nic;
  }

  [[nodiscard]] std::vector<std::uint16_t> distances(NodeId last, bool through_nics) const {
    using Edge = Reversed::edge_descriptor;
    const std::function<bool(const Edge&)> keep = [this, last, through_nics](const Edge& edge) {
      return usable(static_cast<NodeId>(edge.m_target), static_cast<NodeId>(edge.m_source), last,
                    through_nics);
    };
    const boost::filtered_graph<Reversed, std::function<bool(const Edge&)>> graph(reversed_, keep);
    std::vector<std::uint32_t> hops(view_.kinds.size(), kHopsFar);
    hops[index(last)] = 0;
    boost::breadth_first_search(graph, index(last),
                                boost::visitor(boost::make_bfs_visitor(
                                    boost::record_distances(hops.data(), boost::on_tree_edge()))));
    std::vector<std::uint16_t> out;
    out.reserve(hops.size());
    for (const std::uint32_t hop : hops) {
      RAILYARD_CHECK(hop <= kHopsFar, "a path of {} hops; at most {} are supported", hop,
                     kHopsFar - 1);
      out.push_back(static_cast<std::uint16_t>(hop));
    }
    return out;
  }

  [[nodiscard]] Search search(GpuId destination) const {
    const NodeId last = node(destination);
    Search out{distances(last, false), false};
    for (std::size_t gpu = 0; gpu < view_.gpu_nodes.size(); ++gpu) {
      if (view_.host_of_gpu[gpu] != view_.host_of_gpu[index(destination)]) continue;
      if (out.distances[index(view_.gpu_nodes[gpu])] == kHopsFar)
        return {distances(last, true), true};
    }
    return out;
  }

  void next_hops(NodeId at, GpuId destination, std::vector<std::uint32_t>& out) const {
    const auto& [distances, through_nics] = searches_[index(destination)];
    const std::uint32_t first = view_.first_out[index(at)];
    const auto links = view_.out_links(at);
    const std::uint16_t inside = nearest_inside(at, destination);
    for (std::uint32_t i = 0; i < links.size(); ++i) {
      const std::uint16_t there = distances[index(links[i].to)];
      if (inside != kHopsFar ? there != inside || !same_host(links[i].to, node(destination))
                             : there == kHopsFar || there + 1 != distances[index(at)])
        continue;
      if (usable(at, links[i].to, node(destination), through_nics)) out.push_back(first + i);
    }
  }

  [[nodiscard]] bool same_host(NodeId a, NodeId b) const {
    return host_of_node_[index(a)] == host_of_node_[index(b)];
  }

  /// GPUs of one host stay inside it where they can, even when a switch outside is as near: the
  /// least distance of what follows `at` inside the host, or kHopsFar.
  [[nodiscard]] std::uint16_t nearest_inside(NodeId at, GpuId destination) const {
    if (view_.kinds[index(at)] != NodeKind::gpu || !same_host(at, node(destination)))
      return kHopsFar;
    const auto& [distances, through_nics] = searches_[index(destination)];
    std::uint16_t out = kHopsFar;
    for (const Link& link : view_.out_links(at)) {
      const bool stays = same_host(link.to, node(destination)) &&
                         usable(at, link.to, node(destination), through_nics);
      if (stays) out = std::min(out, distances[index(link.to)]);
    }
    return out;
  }

  /// Carries a value from GPU to GPU over all equal paths.
  template <typename Value, typename Step>
  Value walk(GpuId source, GpuId destination, Value start, const Step& step) const {
    const auto next = [this, destination](NodeId at, std::vector<std::uint32_t>& hops) {
      next_hops(at, destination, hops);
    };
    return step_all(view_, node(source), node(destination), start, next, step);
  }

  GraphView view_;
  std::vector<std::uint32_t> host_of_node_;
  Reversed reversed_;
  std::vector<Search> searches_;  ///< by destination
};

}  // namespace

std::unique_ptr<ShortestHopPaths> make_shortest_hop_paths(const GraphView& view,
                                                          std::vector<std::uint32_t> host_of_node) {
  return std::make_unique<ShortestPaths>(view, std::move(host_of_node));
}

}  // namespace railyard::topology
