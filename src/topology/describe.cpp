#include "railyard/topology/describe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "railyard/core/rng.hpp"
#include "railyard/topology/routing.hpp"

namespace railyard::topology {
namespace {

constexpr std::uint32_t kNoMinipod = 0xffffffff;
constexpr std::size_t kSentencesMax = 10;

/// The minipod of every node: of hosts by definition, of leaves and spines where all that hangs
/// below agrees.
std::vector<std::uint32_t> minipod_of_nodes(const Topology& topology) {
  std::vector<std::uint32_t> out(topology.node_count(), kNoMinipod);
  for (std::size_t gpu = 0; gpu < topology.gpu_count(); ++gpu) {
    const auto id = static_cast<GpuId>(gpu);
    const auto minipod =
        static_cast<std::uint32_t>(index(topology.host(topology.host_of(id)).minipod));
    out[index(topology.gpu_node(id))] = minipod;
    out[index(topology.nic_node(id))] = minipod;
  }
  for (const NodeKind kind : {NodeKind::leaf, NodeKind::spine}) {
    for (std::size_t i = 0; i < topology.node_count(); ++i) {
      if (topology.kind(static_cast<NodeId>(i)) != kind) continue;
      std::uint32_t found = kNoMinipod;
      bool agreed = true;
      for (const Link& link : topology.out_links(static_cast<NodeId>(i))) {
        const std::uint32_t below = out[index(link.to)];
        if (topology.kind(link.to) >= kind || below == kNoMinipod) continue;
        agreed = agreed && (found == kNoMinipod || found == below);
        found = below;
      }
      if (agreed) out[i] = found;
    }
  }
  return out;
}

struct Flow {
  std::int64_t below = 0;
  std::int64_t above = 0;
};

Oversubscription summarise(const std::vector<Flow>& units) {
  Oversubscription out;
  Flow sum;
  for (const Flow& unit : units) {
    if (unit.above == 0 || unit.below == 0) continue;
    const double ratio = static_cast<double>(unit.below) / static_cast<double>(unit.above);
    out.least = sum.above == 0 ? ratio : std::min(out.least, ratio);
    out.most = std::max(out.most, ratio);
    sum.below += unit.below;
    sum.above += unit.above;
  }
  if (sum.above > 0) out.overall = static_cast<double>(sum.below) / static_cast<double>(sum.above);
  return out;
}

void describe_capacity(const Topology& topology, Description& out) {
  const auto minipod_of = minipod_of_nodes(topology);
  std::vector<Flow> leaves(topology.node_count());
  std::vector<Flow> minipods(topology.minipod_count());
  for (const Link& link : topology.links()) {
    TierSummary& tier = out.tiers[static_cast<std::size_t>(link.tier)];
    ++tier.links;
    const NodeKind from = topology.kind(link.from);
    const NodeKind to = topology.kind(link.to);
    if (to <= from) continue;
    tier.capacity = tier.capacity + link.capacity;
    const std::int64_t rate = link.capacity.bytes_per_s();
    const std::uint32_t inside = minipod_of[index(link.from)];
    if (to == NodeKind::leaf) leaves[index(link.to)].below += rate;
    if (from == NodeKind::leaf) leaves[index(link.from)].above += rate;
    if (inside == kNoMinipod) continue;
    if (!is_switch(from) && is_switch(to)) minipods[inside].below += rate;
    if (is_switch(to) && minipod_of[index(link.to)] != inside) minipods[inside].above += rate;
  }
  out.leaf = summarise(leaves);
  out.minipod = summarise(minipods);
  for (const Flow& minipod : minipods) out.uplinks_per_minipod.emplace_back(minipod.above);
}

void describe_bisection(Description& out) {
  std::vector<std::size_t> order(out.hosts_per_minipod.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&out](std::size_t a, std::size_t b) {
    return out.hosts_per_minipod[a] > out.hosts_per_minipod[b];
  });
  std::array<std::uint64_t, 2> hosts{};
  std::array<Bandwidth, 2> uplinks{};
  for (const std::size_t minipod : order) {
    const std::size_t half = hosts[1] < hosts[0] ? 1 : 0;
    hosts[half] += out.hosts_per_minipod[minipod];
    uplinks[half] = uplinks[half] + out.uplinks_per_minipod[minipod];
  }
  out.bisection = std::min(uplinks[0], uplinks[1]);
}

class FirstHop final : public HopChooser {
 public:
  std::uint32_t choose(NodeId, std::uint32_t, std::uint32_t) override { return 0; }
};

std::vector<Count> as_counts(const std::map<std::int64_t, std::uint64_t>& histogram) {
  std::vector<Count> out;
  for (const auto& [value, pairs] : histogram) out.push_back({value, pairs});
  return out;
}

void describe_paths(const Topology& topology, std::uint64_t seed, std::uint64_t pairs,
                    Description& out) {
  if (topology.gpu_count() < 2) return;
  Rng rng = RngStreams(seed).stream("topology.describe");
  std::map<std::int64_t, std::uint64_t> hops;
  std::map<std::int64_t, std::uint64_t> latencies;
  FirstHop first;
  std::vector<LinkId> path;
  for (std::uint64_t i = 0; i < pairs; ++i) {
    const std::uint64_t source = rng.below(topology.gpu_count());
    std::uint64_t destination = rng.below(topology.gpu_count() - 1);
    if (destination >= source) ++destination;
    path.clear();
    topology.paths().path(static_cast<GpuId>(source), static_cast<GpuId>(destination), first, path);
    Duration latency{};
    for (const LinkId link : path) latency += topology.link(link).latency;
    ++hops[static_cast<std::int64_t>(path.size())];
    ++latencies[latency.count()];
  }
  out.sampled_pairs = pairs;
  out.hops = as_counts(hops);
  out.latencies = as_counts(latencies);
}

class Sentences {
 public:
  explicit Sentences(std::vector<std::string>& out) : out_(out) {}
  void add(std::string text) {
    if (count_++ < kSentencesMax) out_.push_back(std::move(text));
  }
  void finish(std::string_view what) {
    if (count_ > kSentencesMax)
      out_.push_back(fmt::format("… and {} more {}", count_ - kSentencesMax, what));
  }

 private:
  std::vector<std::string>& out_;
  std::size_t count_ = 0;
};

using Properties = std::vector<std::tuple<std::int64_t, std::int64_t>>;

Properties properties_between(const Topology& topology, NodeId from, NodeId to) {
  const auto links = topology.out_links(from);
  const auto before = [](const Link& link, NodeId node) { return link.to < node; };
  Properties out;
  for (auto it = std::lower_bound(links.begin(), links.end(), to, before);
       it != links.end() && it->to == to; ++it) {
    out.emplace_back(it->capacity.bytes_per_s(), it->latency.count());
  }
  std::sort(out.begin(), out.end());
  return out;
}

void find_asymmetry(const Topology& topology, std::vector<std::string>& out) {
  Sentences sentences(out);
  for (std::size_t i = 0; i < topology.node_count(); ++i) {
    const auto from = static_cast<NodeId>(i);
    NodeId last = from;
    for (const Link& link : topology.out_links(from)) {
      if (link.to == last) continue;
      last = link.to;
      const auto there = properties_between(topology, from, link.to);
      const auto back = properties_between(topology, link.to, from);
      if (there == back || (!back.empty() && link.to < from)) continue;
      sentences.add(back.empty()
                        ? fmt::format("the link from {} to {} has no link back",
                                      topology.node_name(from), topology.node_name(link.to))
                        : fmt::format("the links between {} and {} differ in number, capacity or "
                                      "latency by direction",
                                      topology.node_name(from), topology.node_name(link.to)));
    }
  }
  sentences.finish("asymmetric links");
}

void find_duplicates(std::vector<std::string> names, std::string_view what,
                     std::vector<std::string>& out) {
  Sentences sentences(out);
  std::sort(names.begin(), names.end());
  for (std::size_t i = 1; i < names.size(); ++i) {
    const bool repeated = names[i] == names[i - 1];
    const bool told = i > 1 && names[i] == names[i - 2];
    if (repeated && !told) sentences.add(fmt::format("duplicate {} name {}", what, names[i]));
  }
  sentences.finish("duplicate names");
}

/// Nodes that are reached from `start` along the links, or against them.
std::vector<bool> reached(const Topology& topology, NodeId start,
                          const std::vector<std::uint32_t>& first,
                          const std::vector<NodeId>& next) {
  std::vector<bool> seen(topology.node_count(), false);
  std::vector<NodeId> open{start};
  seen[index(start)] = true;
  while (!open.empty()) {
    const NodeId at = open.back();
    open.pop_back();
    for (std::uint32_t i = first[index(at)]; i < first[index(at) + 1]; ++i) {
      if (seen[index(next[i])]) continue;
      seen[index(next[i])] = true;
      open.push_back(next[i]);
    }
  }
  return seen;
}

/// Neighbours of every node along (`forward`) or against the links.
void neighbours(const Topology& topology, NodeId Link::*from, NodeId Link::*to,
                std::vector<std::uint32_t>& first, std::vector<NodeId>& next) {
  first.assign(topology.node_count() + 1, 0);
  for (const Link& link : topology.links()) ++first[index(link.*from) + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  next.resize(topology.links().size());
  std::vector<std::uint32_t> at(first.begin(), first.end() - 1);
  for (const Link& link : topology.links()) next[at[index(link.*from)]++] = link.*to;
}

}  // namespace

std::string disconnection(const Topology& topology) {
  if (topology.gpu_count() == 0) return {};
  const NodeId start = topology.gpu_node(GpuId{0});
  std::vector<std::uint32_t> first;
  std::vector<NodeId> next;
  for (const bool forward : {true, false}) {
    neighbours(topology, forward ? &Link::from : &Link::to, forward ? &Link::to : &Link::from,
               first, next);
    const auto seen = reached(topology, start, first, next);
    for (std::size_t gpu = 0; gpu < topology.gpu_count(); ++gpu) {
      const NodeId node = topology.gpu_node(static_cast<GpuId>(gpu));
      if (seen[index(node)]) continue;
      return fmt::format("disconnected: there is no path from {} to {}",
                         topology.node_name(forward ? start : node),
                         topology.node_name(forward ? node : start));
    }
  }
  return {};
}

std::vector<std::string> validate(const Topology& topology) {
  std::vector<std::string> out;
  if (topology.gpu_count() == 0) out.emplace_back("there is no GPU");
  if (auto cut = disconnection(topology); !cut.empty()) out.push_back(std::move(cut));
  find_asymmetry(topology, out);
  std::vector<std::string> nodes;
  std::vector<std::string> hosts;
  std::vector<std::string> leaves;
  std::vector<std::string> minipods;
  for (std::size_t i = 0; i < topology.node_count(); ++i)
    nodes.push_back(topology.node_name(static_cast<NodeId>(i)));
  for (std::size_t i = 0; i < topology.hosts().size(); ++i)
    hosts.push_back(topology.host_name(static_cast<HostId>(i)));
  for (std::size_t i = 0; i < topology.leaf_count(); ++i)
    leaves.push_back(topology.leaf_name(static_cast<LeafId>(i)));
  for (std::size_t i = 0; i < topology.minipod_count(); ++i) {
    minipods.push_back(topology.minipod_name(static_cast<MinipodId>(i)));
  }
  find_duplicates(std::move(nodes), "node", out);
  find_duplicates(std::move(hosts), "host", out);
  find_duplicates(std::move(leaves), "leaf", out);
  find_duplicates(std::move(minipods), "minipod", out);
  return out;
}

Description describe(const Topology& topology, std::uint64_t seed, std::uint64_t pairs) {
  Description out;
  out.builder = topology.builder();
  for (const std::string& kind : topology.gpu_kinds())
    out.gpu_kind += (out.gpu_kind.empty() ? "" : " + ") + kind;
  out.gpus = topology.gpu_count();
  out.hosts = topology.hosts().size();
  out.leaves = topology.leaf_count();
  out.minipods = topology.minipod_count();
  for (std::size_t i = 0; i < topology.node_count(); ++i) {
    ++out.nodes[static_cast<std::size_t>(topology.kind(static_cast<NodeId>(i)))];
  }
  out.hosts_per_minipod.assign(topology.minipod_count(), 0);
  for (const Host& host : topology.hosts()) ++out.hosts_per_minipod[index(host.minipod)];
  describe_capacity(topology, out);
  describe_bisection(out);
  describe_paths(topology, seed, pairs, out);
  return out;
}

}  // namespace railyard::topology
