// Walking along equal next hops towards a node: one path, or all of them at once.
//
// `next_hops(at, out)` appends the links that lead one hop nearer to the goal; all paths from a
// node to the goal must be equally long.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "railyard/core/check.hpp"
#include "railyard/topology/routing.hpp"
#include "topology/graph_builder.hpp"

namespace railyard::topology {

inline double joined(double a, double b) {
  return a + b;
}
/// Numbers of paths grow beyond 64 bits on large tori: they stop at the largest.
inline std::uint64_t joined(std::uint64_t a, std::uint64_t b) {
  return b > std::numeric_limits<std::uint64_t>::max() - a
             ? std::numeric_limits<std::uint64_t>::max()
             : a + b;
}

/// Appends one path from `at` to the first node for which `arrived` holds, and returns that node.
/// `hop` counts the choices.
template <typename Arrived, typename NextHops>
NodeId step_path(const GraphView& view, NodeId at, const Arrived& arrived,
                 const NextHops& next_hops, HopChooser& chooser, std::uint32_t& hop,
                 std::vector<LinkId>& out) {
  std::vector<std::uint32_t> hops;
  while (!arrived(at)) {
    hops.clear();
    next_hops(at, hops);
    RAILYARD_CHECK(!hops.empty(), "no way on from node {}", index(at));
    const auto count = static_cast<std::uint32_t>(hops.size());
    const std::uint32_t chosen = count == 1 ? 0 : chooser.choose(at, hop++, count);
    RAILYARD_CHECK(chosen < count, "next hop {} of {}", chosen, count);
    out.push_back(static_cast<LinkId>(hops[chosen]));
    at = view.links[hops[chosen]].to;
  }
  return at;
}

/// Carries a value from `from` to `to` over all equal paths, hop by hop; nodes of a hop in order of
/// their numbers. `step(link, count, value at the node)` gives what arrives over one of `count`
/// links. Returns what arrives at `to`.
template <typename Value, typename NextHops, typename Step>
Value step_all(const GraphView& view, NodeId from, NodeId to, Value start,
               const NextHops& next_hops, const Step& step) {
  std::vector<std::pair<NodeId, Value>> values{{from, start}};
  std::vector<std::pair<NodeId, Value>> next;
  std::vector<std::uint32_t> hops;
  while (values.front().first != to) {
    next.clear();
    for (const auto& [at, value] : values) {
      hops.clear();
      next_hops(at, hops);
      RAILYARD_CHECK(!hops.empty(), "no way on from node {} to node {}", index(at), index(to));
      for (const std::uint32_t link : hops)
        next.emplace_back(view.links[link].to, step(link, hops.size(), value));
    }
    std::stable_sort(next.begin(), next.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    values.clear();
    for (const auto& [at, value] : next) {
      if (values.empty() || values.back().first != at) {
        values.emplace_back(at, value);
      } else {
        values.back().second = joined(values.back().second, value);
      }
    }
  }
  RAILYARD_CHECK(values.size() == 1, "paths of different length to node {}", index(to));
  return values.front().second;
}

}  // namespace railyard::topology
