// graph: any fabric, node by node and link by link. Keys:
//
//   gpu    name of the GPU kind
//   nodes  [{name, kind, host, minipod}]: kind gpu, nvswitch, pcie_switch, nic, leaf, spine, core.
//          Nodes of the first four kinds stand in a host and name it; a leaf may name its minipod
//          (default "minipod-0")
//   links  [{from, to, bandwidth, efficiency = 1, latency = "0s", count = 1, one_way = false,
//          tier}]: a cable, or with one_way one direction only. tier defaults to what the kinds of
//          its ends say
//
// Hosts come in order of first mention, their GPUs in order of mention. A host's leaf is the first
// that one of its NICs (or GPUs) has a link to. Routes are the paths of fewest hops; neither GPUs
// nor other hosts pass traffic on (shortest_hops.hpp). Every GPU must reach every other.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "topology/builders.hpp"
#include "topology/host_plan.hpp"
#include "topology/shortest_hops.hpp"

namespace railyard::topology {
namespace {

constexpr std::uint32_t kNoHost = kOutsideHosts;

bool inside_host(NodeKind kind) {
  return kind <= NodeKind::nic;
}

struct PlannedNode {
  std::string name;
  NodeKind kind = NodeKind::gpu;
  std::uint32_t host = kNoHost;
  std::string minipod;
};

struct PlannedHost {
  std::string name;
  std::vector<NodeId> gpus;
  std::vector<NodeId> nics;  ///< of each GPU
  std::optional<std::uint32_t> leaf;
};

struct Plan {
  std::vector<PlannedNode> nodes;
  std::vector<PlannedHost> hosts;
  std::vector<Link> links;
  std::map<std::string, std::uint32_t, std::less<>> node_of;
};

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

std::uint32_t host_number(Plan& plan, const std::string& host) {
  for (std::uint32_t i = 0; i < plan.hosts.size(); ++i) {
    if (plan.hosts[i].name == host) return i;
  }
  plan.hosts.push_back({host, {}, {}, std::nullopt});
  return static_cast<std::uint32_t>(plan.hosts.size() - 1);
}

void read_node(const config::Node& node, config::Errors& errors, Plan& plan) {
  config::Reader reader(node, errors);
  PlannedNode out;
  out.name = reader.required<std::string>("name");
  out.kind = static_cast<NodeKind>(reader.required_choice("kind", kind_names()));
  if (inside_host(out.kind)) {
    const auto host = reader.required<std::string>("host");
    if (reader.has("host")) out.host = host_number(plan, host);
  } else if (out.kind == NodeKind::leaf) {
    out.minipod = reader.optional<std::string>("minipod", "minipod-0");
  }
  reader.finish();
  const auto id = static_cast<std::uint32_t>(plan.nodes.size());
  if (!plan.node_of.try_emplace(out.name, id).second) {
    reader.fail("name", fmt::format("duplicate node \"{}\"", out.name));
  }
  if (out.kind == NodeKind::gpu && out.host != kNoHost)
    plan.hosts[out.host].gpus.push_back(static_cast<NodeId>(id));
  plan.nodes.push_back(std::move(out));
}

Tier tier_between(NodeKind a, NodeKind b) {
  const NodeKind low = std::min(a, b);
  const NodeKind high = std::max(a, b);
  if (high <= NodeKind::nvswitch) return Tier::nvlink;
  if (high <= NodeKind::nic) return Tier::host;
  if (low <= NodeKind::nic) return Tier::leaf;
  return high == NodeKind::core ? Tier::core : Tier::minipod;
}

std::optional<NodeId> read_end(config::Reader& reader, std::string_view key, const Plan& plan) {
  const auto text = reader.required<std::string>(key);
  if (!reader.has(key)) return std::nullopt;
  const auto it = plan.node_of.find(text);
  if (it != plan.node_of.end()) return static_cast<NodeId>(it->second);
  std::vector<std::string_view> names;
  for (const PlannedNode& node : plan.nodes) names.push_back(node.name);
  const std::string_view near = config::nearest(text, names);
  reader.fail(key, near.empty()
                       ? fmt::format("there is no node \"{}\"", text)
                       : fmt::format("there is no node \"{}\"; did you mean \"{}\"?", text, near));
  return std::nullopt;
}

struct LinkContext {
  Plan* plan;
  std::optional<NodeId> from;
  std::optional<NodeId> to;
  std::int64_t count = 1;
  bool one_way = false;
  std::optional<Tier> tier;
};

void read_ends(config::Reader& reader, void* opaque) {
  auto& context = *static_cast<LinkContext*>(opaque);
  context.from = read_end(reader, "from", *context.plan);
  context.to = read_end(reader, "to", *context.plan);
  context.count = reader.optional<std::int64_t>("count", 1, config::Range<std::int64_t>{1, 4096});
  context.one_way = reader.optional<bool>("one_way", false);
  if (reader.has("tier"))
    context.tier = static_cast<Tier>(reader.required_choice("tier", tier_names()));
  if (context.from && context.from == context.to) reader.fail("to", "a link from a node to itself");
}

void read_graph_link(const config::Node& node, config::Errors& errors, Plan& plan) {
  const std::size_t before = errors.count();
  LinkContext context{.plan = &plan, .from = {}, .to = {}, .tier = {}};
  const LinkSpec spec = read_link(node, errors, &read_ends, &context);
  if (errors.count() != before || !context.from || !context.to) return;
  const NodeId from = *context.from;
  const NodeId to = *context.to;
  const Tier tier =
      context.tier.value_or(tier_between(plan.nodes[index(from)].kind, plan.nodes[index(to)].kind));
  for (std::int64_t i = 0; i < context.count; ++i) {
    plan.links.push_back({from, to, spec.capacity(), spec.latency, tier});
    if (!context.one_way) plan.links.push_back({to, from, spec.capacity(), spec.latency, tier});
  }
}

/// The NIC that serves GPU i of n: by number, among the host's NICs in order; the GPU itself when
/// there is none.
void attach_nics(Plan& plan) {
  std::vector<std::vector<NodeId>> nics(plan.hosts.size());
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    if (plan.nodes[i].kind == NodeKind::nic)
      nics[plan.nodes[i].host].push_back(static_cast<NodeId>(i));
  }
  for (std::size_t h = 0; h < plan.hosts.size(); ++h) {
    PlannedHost& host = plan.hosts[h];
    for (std::size_t i = 0; i < host.gpus.size(); ++i) {
      host.nics.push_back(nics[h].empty() ? host.gpus[i]
                                          : nics[h][i * nics[h].size() / host.gpus.size()]);
    }
  }
}

void attach_leaves(Plan& plan) {
  for (const Link& link : plan.links) {
    const PlannedNode& from = plan.nodes[index(link.from)];
    if (from.host == kNoHost || plan.nodes[index(link.to)].kind != NodeKind::leaf) continue;
    auto& leaf = plan.hosts[from.host].leaf;
    if (!leaf) leaf = static_cast<std::uint32_t>(index(link.to));
  }
}

Plan read_plan(config::Reader& reader) {
  Plan plan;
  for (const std::string_view key : {"nodes", "links"}) {
    const auto list = reader.required_child(key);
    if (!list) continue;
    if (!list->is_array()) {
      reader.fail(key, "expected an array");
      continue;
    }
    for (std::size_t i = 0; i < list->size(); ++i) {
      if (key == "nodes") read_node(list->at(i), reader.errors(), plan);
      if (key == "links") read_graph_link(list->at(i), reader.errors(), plan);
    }
  }
  bool any_gpu = false;
  for (const PlannedHost& host : plan.hosts) {
    any_gpu = any_gpu || !host.gpus.empty();
    if (host.gpus.empty()) reader.fail("nodes", fmt::format("host \"{}\" has no GPU", host.name));
  }
  if (!any_gpu) reader.fail("nodes", "there is no GPU");
  attach_nics(plan);
  attach_leaves(plan);
  return plan;
}

/// Leaves and minipods in order of mention. Hosts without a leaf (NVLink only) share one of their
/// own.
void add_hosts(GraphBuilder& graph, const Plan& plan) {
  std::map<std::string, MinipodId, std::less<>> minipods;
  std::map<std::uint32_t, std::pair<LeafId, MinipodId>> leaves;
  const auto minipod_named = [&](const std::string& text) {
    const auto it = minipods.find(text);
    return it != minipods.end() ? it->second
                                : minipods.emplace(text, graph.add_minipod(text)).first->second;
  };
  for (std::uint32_t i = 0; i < plan.nodes.size(); ++i) {
    const PlannedNode& node = plan.nodes[i];
    if (node.kind == NodeKind::leaf)
      leaves.emplace(i, std::pair{graph.add_leaf(node.name), minipod_named(node.minipod)});
  }
  std::optional<std::pair<LeafId, MinipodId>> none;
  std::vector<std::string> names;
  for (const PlannedHost& host : plan.hosts) {
    if (!host.leaf && !none)
      none = std::pair{graph.add_leaf("no leaf"), minipod_named("minipod-0")};
    const auto [leaf, minipod] = host.leaf ? leaves.at(*host.leaf) : *none;
    graph.add_host(leaf, minipod, host.gpus, host.nics);
    names.push_back(host.name);
  }
  graph.set_host_names(std::move(names));
}

}  // namespace

Topology build_graph(config::Reader& reader) {
  const std::size_t before = reader.errors().count();
  const auto gpu_kind = reader.required<std::string>("gpu");
  const Plan plan = read_plan(reader);
  if (reader.errors().count() != before) return {};
  GraphBuilder graph("graph", gpu_kind);
  std::vector<std::uint32_t> host_of_node;
  for (const PlannedNode& node : plan.nodes) {
    graph.add_node(node.kind, node.name);
    host_of_node.push_back(node.host);
  }
  for (const Link& link : plan.links) graph.add_link(link);
  add_hosts(graph, plan);
  graph.freeze();
  auto paths = make_shortest_hop_paths(graph.view(), std::move(host_of_node));
  if (const auto cut = paths->unreachable()) {
    reader.fail("links",
                fmt::format("disconnected: there is no path from {} to {}",
                            plan.nodes[index(graph.view().gpu_nodes[index(cut->first)])].name,
                            plan.nodes[index(graph.view().gpu_nodes[index(cut->second)])].name));
    return {};
  }
  return graph.take(std::move(paths));
}

}  // namespace railyard::topology
