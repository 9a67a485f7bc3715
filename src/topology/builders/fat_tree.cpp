// fat_tree: k-ary and extended generalised fat-trees, as InfiniBand fabrics are built. Keys, beside
// those of the host (host_plan.hpp):
//
//   k            3 levels of k-port switches: k minipods of k/2 leaves and k/2 spines, k²/4 cores,
//                k³/4 NIC ports. The same as xgft {m: [k/2, k/2, k], w: [1, k/2, k/2]}
//   xgft         instead of k: {m, w, parallel}: XGFT(h; m1 … mh; w1 … wh) of Öhring et al. 1995. A
//                switch of level l has m_l children; a child has w_l parents, each by parallel_l
//                cables (default 1; the PGFT of Zahavi 2010). m1 counts NIC ports of a leaf; a NIC
//                has one cable, so w1 = parallel1 = 1
//   hosts        fewer than the ports allow: the first leaves are filled, all switches stand
//   switch_link  {link} between switches of all levels
//   radix        ports of a switch, checked
//
// Subtrees of level 2 are the minipods; of a two-level tree there is one.
#include <fmt/format.h>

#include <algorithm>

#include "topology/builders.hpp"
#include "topology/host_blocks.hpp"
#include "topology/up_down.hpp"

namespace railyard::topology {
namespace {

constexpr std::uint64_t kNodesMax = 8'000'000;

/// XGFT with parallel cables. Index 0 is level 1, the leaves.
struct Shape {
  std::vector<std::uint64_t> children;
  std::vector<std::uint64_t> parents;
  std::vector<std::uint64_t> parallel;

  [[nodiscard]] std::size_t levels() const { return children.size(); }
  /// Subtrees whose top is level l.
  [[nodiscard]] std::uint64_t groups(std::size_t level) const {
    std::uint64_t count = 1;
    for (std::size_t i = level + 1; i < levels(); ++i) count *= children[i];
    return count;
  }
  /// Switches on top of each of them.
  [[nodiscard]] std::uint64_t width(std::size_t level) const {
    std::uint64_t count = 1;
    for (std::size_t i = 0; i <= level; ++i) count *= parents[i];
    return count;
  }
  [[nodiscard]] std::uint64_t nic_ports() const { return groups(0) * children[0]; }
};

std::vector<std::uint64_t> read_sizes(config::Reader& reader, std::string_view key,
                                      std::size_t size) {
  std::vector<std::int64_t> values;
  std::vector<std::uint64_t> out;
  if (size != 0 && !reader.has(key)) return std::vector<std::uint64_t>(size, 1);
  values = reader.required<std::vector<std::int64_t>>(key);
  if (!reader.has(key)) return out;
  if (values.empty() || values.size() > kLevelsMax) {
    reader.fail(key, fmt::format("expected 1 to {} levels, not {}", kLevelsMax, values.size()));
    return out;
  }
  for (const std::int64_t value : values) {
    if (value < 1 || value > 100'000) {
      reader.fail(key, fmt::format("expected numbers of 1 to 100000, not {}", value));
      return {};
    }
    out.push_back(static_cast<std::uint64_t>(value));
  }
  return out;
}

bool read_xgft(config::Reader& reader, Shape& shape) {
  config::Reader tree(*reader.child("xgft"), reader.errors());
  const std::size_t before = reader.errors().count();
  shape.children = read_sizes(tree, "m", 0);
  shape.parents = read_sizes(tree, "w", 0);
  shape.parallel = read_sizes(tree, "parallel", std::max<std::size_t>(1, shape.children.size()));
  tree.finish();
  if (reader.errors().count() != before) return false;
  for (const auto& [key, size] :
       {std::pair{"w", shape.parents.size()}, std::pair{"parallel", shape.parallel.size()}}) {
    if (size == shape.levels()) continue;
    tree.fail(key, fmt::format("{} levels, but \"m\" has {}", size, shape.levels()));
    return false;
  }
  if (shape.parents[0] != 1)
    tree.fail("w", "the first number must be 1: a NIC has one cable, to one leaf");
  if (shape.parallel[0] != 1)
    tree.fail("parallel", "the first number must be 1: a NIC has one cable");
  return reader.errors().count() == before;
}

bool read_k(config::Reader& reader, Shape& shape) {
  const std::size_t before = reader.errors().count();
  const auto k = reader.required<std::int64_t>("k", config::Range<std::int64_t>{2, 512});
  if (reader.errors().count() != before) return false;
  if (k % 2 != 0) {
    reader.fail("k", fmt::format("must be even: half of the {} ports go up", k));
    return false;
  }
  const auto half = static_cast<std::uint64_t>(k) / 2;
  shape = {{half, half, 2 * half}, {1, half, half}, {1, 1, 1}};
  return true;
}

bool read_shape(config::Reader& reader, Shape& shape) {
  const bool has_tree = reader.has("xgft");
  if (has_tree && reader.has("k")) {
    (void)reader.child("k");
    (void)reader.child("xgft");
    reader.fail("k", "\"xgft\" already says it: give one of the two");
    return false;
  }
  if (!(has_tree ? read_xgft(reader, shape) : read_k(reader, shape))) return false;
  // Checked level by level, so that the product cannot overflow before it is refused.
  std::uint64_t nodes = 1;
  for (std::size_t level = 0; level < shape.levels(); ++level) {
    nodes *= std::max(shape.children[level], shape.parents[level]) * shape.parallel[level];
    if (nodes <= kNodesMax) continue;
    reader.fail(has_tree ? "xgft" : "k", fmt::format("more than {} ports on a level", kNodesMax));
    return false;
  }
  return true;
}

std::uint64_t read_hosts(config::Reader& reader, const Shape& shape, const HostPlan& host,
                         bool& good) {
  good = shape.children[0] % host.nics == 0;
  if (!good) {
    reader.fail("nic", fmt::format("the {} NICs of a host do not divide the {} NIC ports of a leaf",
                                   host.nics, shape.children[0]));
  }
  const auto most = static_cast<std::int64_t>(shape.nic_ports() / host.nics);
  if (!reader.has("hosts") || most < 1) return static_cast<std::uint64_t>(most);
  const auto hosts = reader.required<std::int64_t>("hosts");
  if (hosts < 1 || hosts > most) {
    reader.fail("hosts", fmt::format("expected 1 to {} hosts: {} NIC ports / {} NICs, not {}", most,
                                     shape.nic_ports(), host.nics, hosts));
    good = false;
  }
  return static_cast<std::uint64_t>(std::max<std::int64_t>(hosts, 1));
}

bool check_radix(config::Reader& reader, const Shape& shape) {
  if (!reader.has("radix")) return true;
  const auto radix =
      reader.required<std::int64_t>("radix", config::Range<std::int64_t>{1, 1'000'000});
  for (std::size_t level = 0; level < shape.levels(); ++level) {
    std::uint64_t ports = shape.children[level] * shape.parallel[level];
    if (level + 1 < shape.levels()) ports += shape.parents[level + 1] * shape.parallel[level + 1];
    if (ports <= static_cast<std::uint64_t>(std::max<std::int64_t>(radix, 0))) continue;
    reader.fail("radix",
                fmt::format("a switch of level {} needs {} ports of {}", level + 1, ports, radix));
    return false;
  }
  return true;
}

std::string switch_name(const Shape& shape, std::size_t level, std::uint64_t group,
                        std::uint64_t number) {
  if (level == 0) {
    const std::uint64_t leaves = shape.levels() > 2 ? shape.children[1] : shape.groups(0);
    return fmt::format("minipod-{}/leaf-{}", group / leaves, group % leaves);
  }
  if (level == 1) return fmt::format("minipod-{}/spine-{}", group, number);
  if (shape.levels() == 3) return fmt::format("core-{}", number);
  return fmt::format("level-{}/group-{}/core-{}", level + 1, group, number);
}

void add_hosts(GraphBuilder& graph, const Shape& shape, const HostPlan& host, std::uint64_t hosts,
               std::vector<NodeId>& nics) {
  const std::uint64_t hosts_per_leaf = shape.children[0] / host.nics;
  const std::uint64_t leaves = shape.levels() > 2 ? shape.children[1] : shape.groups(0);
  for (std::uint64_t m = 0; m < shape.groups(0) / leaves; ++m)
    graph.add_minipod(fmt::format("minipod-{}", m));
  for (std::uint64_t leaf = 0; leaf < shape.groups(0); ++leaf)
    graph.add_leaf(switch_name(shape, 0, leaf, 0));
  HostPlans plans;
  plans.kinds = {host};
  HostBlocks blocks(graph, plans);
  for (std::uint64_t h = 0; h < hosts; ++h) {
    const std::uint64_t leaf = h / hosts_per_leaf;
    const auto added = blocks.add(static_cast<LeafId>(leaf), static_cast<MinipodId>(leaf / leaves));
    nics.insert(nics.end(), added.begin(), added.end());
  }
}

std::vector<SwitchLevel> add_switches(GraphBuilder& graph, const Shape& shape) {
  std::vector<SwitchLevel> levels(shape.levels());
  for (std::size_t level = 0; level < shape.levels(); ++level) {
    const NodeKind kind = level == 0   ? NodeKind::leaf
                          : level == 1 ? NodeKind::spine
                                       : NodeKind::core;
    for (std::uint64_t group = 0; group < shape.groups(level); ++group) {
      levels[level].first_node.push_back(static_cast<std::uint32_t>(graph.node_count()));
      for (std::uint64_t j = 0; j < shape.width(level); ++j) {
        graph.add_node(kind, switch_name(shape, level, group, j));
      }
      if (level + 1 == shape.levels()) continue;
      levels[level].parent.push_back(static_cast<std::uint32_t>(group / shape.children[level + 1]));
    }
    levels[level].first_node.push_back(static_cast<std::uint32_t>(graph.node_count()));
  }
  return levels;
}

/// Switch j of a subtree has the parents j + width × t of the subtree above, for each t: a
/// parent's only child switch in a subtree is its own number modulo the width.
void cable_switches(GraphBuilder& graph, const Shape& shape, const std::vector<SwitchLevel>& levels,
                    const LinkSpec& link) {
  for (std::size_t level = 0; level + 1 < shape.levels(); ++level) {
    const Cable cable = link.cable(level == 0 ? Tier::minipod : Tier::core);
    const std::uint64_t width = shape.width(level);
    const auto parallel = static_cast<std::uint32_t>(shape.parallel[level + 1]);
    for (std::uint64_t group = 0; group < shape.groups(level); ++group) {
      const std::uint32_t above = levels[level + 1].first_node[levels[level].parent[group]];
      for (std::uint64_t j = 0; j < width; ++j) {
        for (std::uint64_t t = 0; t < shape.parents[level + 1]; ++t) {
          graph.add_cable(static_cast<NodeId>(levels[level].first_node[group] + j),
                          static_cast<NodeId>(above + j + width * t), cable, parallel);
        }
      }
    }
  }
}

}  // namespace

Topology build_fat_tree(config::Reader& reader) {
  const std::size_t before = reader.errors().count();
  const HostPlan host = read_host_plan(reader);
  const LinkSpec link = required_link(reader, "switch_link");
  Shape shape;
  const bool shaped = read_shape(reader, shape);
  if (!shaped) {
    (void)reader.child("hosts");
    (void)reader.child("radix");
    return {};
  }
  bool good = true;
  const std::uint64_t hosts = read_hosts(reader, shape, host, good);
  if (!check_radix(reader, shape) || !good || reader.errors().count() != before) return {};

  GraphBuilder graph("fat_tree", host.gpu_kind);
  std::vector<NodeId> nics;
  add_hosts(graph, shape, host, hosts, nics);
  auto levels = add_switches(graph, shape);
  const Cable nic_cable = host.nic.cable(Tier::leaf);
  for (std::size_t i = 0; i < nics.size(); ++i) {
    const std::uint32_t leaf = levels[0].first_node[i / shape.children[0]];
    graph.add_cable(nics[i], static_cast<NodeId>(leaf), nic_cable);
  }
  cable_switches(graph, shape, levels, link);
  graph.freeze();
  auto paths = make_up_down_paths(graph.view(), std::move(levels));
  return graph.take(std::move(paths));
}

}  // namespace railyard::topology
