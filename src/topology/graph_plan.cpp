#include "topology/graph_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "topology/shortest_hops.hpp"

namespace railyard::topology {

const std::vector<std::string_view>& kind_names() {
  static const std::vector<std::string_view> names{
      name(NodeKind::gpu), name(NodeKind::nvswitch), name(NodeKind::pcie_switch),
      name(NodeKind::nic), name(NodeKind::leaf),     name(NodeKind::spine),
      name(NodeKind::core)};
  return names;
}

const std::vector<std::string_view>& tier_names() {
  static const std::vector<std::string_view> names{name(Tier::nvlink), name(Tier::host),
                                                   name(Tier::leaf), name(Tier::minipod),
                                                   name(Tier::core)};
  return names;
}

Tier tier_between(NodeKind a, NodeKind b) {
  const NodeKind low = std::min(a, b);
  const NodeKind high = std::max(a, b);
  if (high <= NodeKind::nvswitch) return Tier::nvlink;
  if (high <= NodeKind::nic) return Tier::host;
  if (low <= NodeKind::nic) return Tier::leaf;
  return high == NodeKind::core ? Tier::core : Tier::minipod;
}

std::optional<NodeId> GraphPlan::add_node(PlannedNode node) {
  const auto id = static_cast<NodeId>(nodes_.size());
  if (!node_of_.try_emplace(node.name, id).second) return std::nullopt;
  if (inside_host(node.kind)) {
    const auto [it, added] =
        host_of_.try_emplace(node.host, static_cast<std::uint32_t>(hosts_.size()));
    if (added) hosts_.push_back({node.host, {}, {}, std::nullopt});
    Host& host = hosts_[it->second];
    if (node.kind == NodeKind::gpu) host.gpus.push_back(id);
    if (node.kind == NodeKind::nic) host.nics.push_back(id);
  }
  nodes_.push_back(std::move(node));
  return id;
}

std::optional<NodeId> GraphPlan::find(std::string_view name) const {
  const auto it = node_of_.find(name);
  return it == node_of_.end() ? std::nullopt : std::optional(it->second);
}

std::vector<std::string_view> GraphPlan::node_names() const {
  std::vector<std::string_view> out;
  for (const PlannedNode& node : nodes_) out.push_back(node.name);
  return out;
}

void GraphPlan::add_cable(NodeId a, NodeId b, Bandwidth capacity, Duration latency) {
  const Tier tier = tier_between(node(a).kind, node(b).kind);
  links_.push_back({a, b, capacity, latency, tier});
  links_.push_back({b, a, capacity, latency, tier});
}

std::vector<std::string> GraphPlan::faults() const {
  std::vector<std::string> out;
  bool any_gpu = false;
  for (const Host& host : hosts_) {
    any_gpu = any_gpu || !host.gpus.empty();
    if (host.gpus.empty()) out.push_back(fmt::format("host \"{}\" has no GPU", host.name));
  }
  if (!any_gpu) out.emplace_back("there is no GPU");
  for (const PlannedNode& gpu : nodes_) {
    if (gpu.nic.empty()) continue;
    const auto nic = find(gpu.nic);
    if (nic && node(*nic).kind == NodeKind::nic && node(*nic).host == gpu.host) continue;
    out.push_back(fmt::format("{} names \"{}\", which is no NIC of host \"{}\"", gpu.name, gpu.nic,
                              gpu.host));
  }
  return out;
}

/// Hops of every switch from the nearest host: 1 for leaves; 0 for what nothing joins to a host.
std::vector<std::uint32_t> GraphPlan::levels_of_switches() const {
  std::vector<std::vector<NodeId>> next(nodes_.size());
  for (const Link& link : links_) next[index(link.from)].push_back(link.to);
  std::vector<std::uint32_t> level(nodes_.size(), 0);
  std::vector<NodeId> open;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (inside_host(nodes_[i].kind)) open.push_back(static_cast<NodeId>(i));
  }
  for (std::uint32_t distance = 1; !open.empty(); ++distance) {
    std::vector<NodeId> found;
    for (const NodeId at : open) {
      for (const NodeId to : next[index(at)]) {
        if (inside_host(node(to).kind) || level[index(to)] != 0) continue;
        level[index(to)] = distance;
        found.push_back(to);
      }
    }
    open = std::move(found);
  }
  return level;
}

void GraphPlan::infer_switches() {
  const std::vector<std::uint32_t> level = levels_of_switches();
  const std::uint32_t top = level.empty() ? 0 : *std::max_element(level.begin(), level.end());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    PlannedNode& node = nodes_[i];
    if (inside_host(node.kind)) continue;
    node.kind = level[i] <= 1                ? NodeKind::leaf
                : level[i] == top && top > 2 ? NodeKind::core
                                             : NodeKind::spine;
  }
  for (Link& link : links_) link.tier = tier_between(node(link.from).kind, node(link.to).kind);
  name_minipods();
}

void GraphPlan::name_minipods() {
  std::vector<std::vector<NodeId>> next(nodes_.size());
  const auto below_core = [this](NodeId id) {
    return node(id).kind == NodeKind::leaf || node(id).kind == NodeKind::spine;
  };
  for (const Link& link : links_) {
    if (below_core(link.from) && below_core(link.to)) next[index(link.from)].push_back(link.to);
  }
  std::vector<bool> seen(nodes_.size(), false);
  std::size_t minipods = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].kind != NodeKind::leaf || seen[i]) continue;
    const std::string name = fmt::format("minipod-{}", minipods++);
    std::vector<NodeId> open{static_cast<NodeId>(i)};
    seen[i] = true;
    while (!open.empty()) {
      const NodeId at = open.back();
      open.pop_back();
      if (node(at).kind == NodeKind::leaf) node(at).minipod = name;
      for (const NodeId to : next[index(at)]) {
        if (seen[index(to)]) continue;
        seen[index(to)] = true;
        open.push_back(to);
      }
    }
  }
}

NodeId GraphPlan::nic_of(const Host& host, std::size_t gpu) const {
  if (const auto named = find(node(host.gpus[gpu]).nic)) return *named;
  if (host.nics.empty()) return host.gpus[gpu];
  return host.nics[gpu * host.nics.size() / host.gpus.size()];
}

std::vector<GraphPlan::Host> GraphPlan::hosts_with_leaves() const {
  std::vector<Host> out = hosts_;
  for (const Link& link : links_) {
    const PlannedNode& from = node(link.from);
    if (!inside_host(from.kind) || node(link.to).kind != NodeKind::leaf) continue;
    auto& leaf = out[host_of_.find(from.host)->second].leaf;
    if (!leaf) leaf = link.to;
  }
  return out;
}

void GraphPlan::add_hosts(GraphBuilder& graph) const {
  std::map<std::string, MinipodId, std::less<>> minipods;
  std::map<NodeId, std::pair<LeafId, MinipodId>> leaves;
  const auto minipod_named = [&](const std::string& text) {
    const auto it = minipods.find(text);
    return it != minipods.end() ? it->second
                                : minipods.emplace(text, graph.add_minipod(text)).first->second;
  };
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].kind != NodeKind::leaf) continue;
    const std::string& minipod = nodes_[i].minipod;
    leaves.emplace(static_cast<NodeId>(i),
                   std::pair{graph.add_leaf(nodes_[i].name),
                             minipod_named(minipod.empty() ? "minipod-0" : minipod)});
  }
  std::optional<std::pair<LeafId, MinipodId>> none;
  std::vector<std::string> names;
  for (const Host& host : hosts_with_leaves()) {
    if (!host.leaf && !none)
      none = std::pair{graph.add_leaf("no leaf"), minipod_named("minipod-0")};
    const auto [leaf, minipod] = host.leaf ? leaves.at(*host.leaf) : *none;
    std::vector<NodeId> nics;
    for (std::size_t gpu = 0; gpu < host.gpus.size(); ++gpu) nics.push_back(nic_of(host, gpu));
    graph.add_host(leaf, minipod, host.gpus, nics);
    names.push_back(host.name);
  }
  graph.set_host_names(std::move(names));
}

Topology GraphPlan::build(std::string_view builder, const std::string& gpu_kind,
                          std::string& cut) const {
  GraphBuilder graph(std::string(builder), gpu_kind);
  std::vector<std::uint32_t> host_of_node;
  for (const PlannedNode& node : nodes_) {
    graph.add_node(node.kind, node.name);
    host_of_node.push_back(inside_host(node.kind) ? host_of_.find(node.host)->second
                                                  : kOutsideHosts);
  }
  for (const Link& link : links_) graph.add_link(link);
  add_hosts(graph);
  graph.freeze();
  auto paths = make_shortest_hop_paths(graph.view(), std::move(host_of_node));
  if (const auto pair = paths->unreachable()) {
    const GraphView view = graph.view();
    cut = fmt::format("disconnected: there is no path from {} to {}",
                      node(view.gpu_nodes[index(pair->first)]).name,
                      node(view.gpu_nodes[index(pair->second)]).name);
    return {};
  }
  return graph.take(std::move(paths));
}

}  // namespace railyard::topology
