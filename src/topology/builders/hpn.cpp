// hpn: Alibaba's HPN, dual-plane and dual-ToR (Qian et al., "Alibaba HPN: a data center network for
// large language model training", SIGCOMM 2024). A NIC has one port in each plane, on a ToR of its
// own; planes meet nowhere but in the NICs. Rail-optimised: NIC i of the hosts of a segment shares
// the ToRs of rail i. A pod is a minipod, a segment what LeafId counts. Keys, beside those of the
// host (host_plan.hpp; nic is {link} of one port):
//
//   pods                  default 1
//   segments_per_pod, hosts_per_segment
//   planes                ports of a NIC, default 2
//   switch_link           {link} of ToR to aggregation switch
//   aggregations          switches of a pod and plane; every ToR has a cable to each
//   parallel              cables between a ToR and an aggregation switch, default 1
//   cores                 of a plane, with more than one pod: aggregation_uplinks cables of each
//   aggregation_uplinks   aggregation switch go to the cores of its plane in turn, by core_link
//   core_link             default: switch_link
//   radix                 ports of a switch of switch_link's bandwidth, checked. Slower NIC ports
//                         share one
//
// The paper's pod: 15 segments of 128 hosts with 8 NICs of 2 × 200 Gb/s, 16 ToRs a segment, 60
// aggregation switches a plane, 1.067:1 at the ToR and 15:1 above the aggregation.
//
// Routes: the source's NIC takes a port and so a plane; the same rail of the same segment meets in
// the ToR, a pod in the aggregation, pods in the core.
#include <fmt/format.h>

#include <algorithm>

#include "topology/builders.hpp"
#include "topology/flat.hpp"
#include "topology/up_down.hpp"

namespace railyard::topology {
namespace {

struct HpnPlan {
  HostPlans hosts;
  std::uint32_t pods = 1;
  std::uint32_t segments = 1;
  std::uint32_t hosts_per_segment = 1;
  std::uint32_t planes = 2;
  std::uint32_t aggregations = 1;
  std::uint32_t parallel = 1;
  std::uint32_t cores = 0;
  std::uint32_t core_uplinks = 0;
  LinkSpec link;
  LinkSpec core_link;

  [[nodiscard]] std::uint32_t rails() const { return hosts.kinds.front().nics; }
  /// ToRs of a segment and plane stand together: port i of every NIC leads to plane i.
  [[nodiscard]] std::uint32_t tor(std::uint32_t pod, std::uint32_t segment, std::uint32_t plane,
                                  std::uint32_t rail) const {
    return ((pod * segments + segment) * planes + plane) * rails() + rail;
  }
};

void read_cores(config::Reader& reader, HpnPlan& plan) {
  if (plan.pods > 1) {
    plan.cores = required_count(reader, "cores");
    plan.core_uplinks = required_count(reader, "aggregation_uplinks");
    plan.core_link = optional_link(reader, "core_link").value_or(plan.link);
    if (std::uint64_t{plan.aggregations} * plan.core_uplinks < plan.cores)
      reader.fail("cores",
                  fmt::format("{} uplinks of a pod and plane for {} cores: every core must "
                              "reach every pod",
                              plan.aggregations * plan.core_uplinks, plan.cores));
    return;
  }
  for (const std::string_view key : {"cores", "aggregation_uplinks", "core_link"}) {
    if (!reader.has(key)) continue;
    (void)reader.child(key);
    reader.fail(key, "one pod has no core: leave it out");
  }
}

bool check_hpn(config::Reader& reader, const HpnPlan& plan) {
  const double tors = 1.0 * plan.pods * plan.segments * plan.planes * plan.rails();
  const double aggregations = 1.0 * plan.pods * plan.planes * plan.aggregations;
  const double hosts = 1.0 * plan.pods * plan.segments * plan.hosts_per_segment;
  if (!check_size(reader, "segments_per_pod", tors + aggregations + plan.cores,
                  tors * plan.aggregations * plan.parallel + aggregations * plan.core_uplinks +
                      hosts * plan.rails() * plan.planes))
    return false;
  const double speed = static_cast<double>(plan.hosts.kinds.front().nic.bandwidth.bytes_per_s()) /
                       static_cast<double>(plan.link.bandwidth.bytes_per_s());
  const auto tor_ports = static_cast<std::uint64_t>(plan.hosts_per_segment * speed + 0.999999) +
                         std::uint64_t{plan.aggregations} * plan.parallel;
  const std::uint64_t aggregation_ports =
      std::uint64_t{plan.segments} * plan.rails() * plan.parallel + plan.core_uplinks;
  return tor_ports >= aggregation_ports
             ? check_ports(reader, tor_ports, "ToR")
             : check_ports(reader, aggregation_ports, "aggregation switch");
}

/// Hosts, then ToRs; returns the NICs host by host.
std::vector<std::vector<NodeId>> add_hosts(GraphBuilder& graph, const HpnPlan& plan) {
  HostBlocks blocks(graph, plan.hosts);
  std::vector<std::vector<NodeId>> nics;
  for (std::uint32_t pod = 0; pod < plan.pods; ++pod) {
    const MinipodId minipod = graph.add_minipod(fmt::format("pod-{}", pod));
    for (std::uint32_t segment = 0; segment < plan.segments; ++segment) {
      const LeafId leaf = graph.add_leaf(fmt::format("pod-{}/segment-{}", pod, segment));
      for (std::uint32_t i = 0; i < plan.hosts_per_segment; ++i)
        nics.push_back(blocks.add(leaf, minipod));
    }
  }
  return nics;
}

std::vector<SwitchLevel> add_pod_switches(GraphBuilder& graph, const HpnPlan& plan) {
  std::vector<SwitchLevel> levels(plan.cores > 0 ? 3 : 2);
  const auto here = [&graph] { return static_cast<std::uint32_t>(graph.node_count()); };
  const std::uint32_t per_pod = plan.segments * plan.planes * plan.rails();
  for (std::uint32_t tor = 0; tor < plan.pods * per_pod; ++tor) {
    const std::uint32_t rail = tor % plan.rails();
    const std::uint32_t plane = tor / plan.rails() % plan.planes;
    const std::uint32_t pod = tor / per_pod;
    levels[0].first_node.push_back(here());
    levels[0].parent.push_back(pod * plan.planes + plane);
    graph.add_node(NodeKind::leaf,
                   fmt::format("pod-{}/segment-{}/rail-{}/tor-{}", pod,
                               tor / plan.rails() / plan.planes % plan.segments, rail, plane));
  }
  levels[0].first_node.push_back(here());
  for (std::uint32_t set = 0; set < plan.pods * plan.planes; ++set) {
    levels[1].first_node.push_back(here());
    if (plan.cores > 0) levels[1].parent.push_back(set % plan.planes);
    for (std::uint32_t i = 0; i < plan.aggregations; ++i)
      graph.add_node(NodeKind::spine, fmt::format("pod-{}/plane-{}/aggregation-{}",
                                                  set / plan.planes, set % plan.planes, i));
  }
  levels[1].first_node.push_back(here());
  if (plan.cores == 0) return levels;
  for (std::uint32_t plane = 0; plane < plan.planes; ++plane) {
    levels[2].first_node.push_back(here());
    for (std::uint32_t i = 0; i < plan.cores; ++i)
      graph.add_node(NodeKind::core, fmt::format("plane-{}/core-{}", plane, i));
  }
  levels[2].first_node.push_back(here());
  return levels;
}

void cable(GraphBuilder& graph, const HpnPlan& plan, const std::vector<SwitchLevel>& levels,
           const std::vector<std::vector<NodeId>>& nics) {
  const auto node = [](std::uint32_t i) { return static_cast<NodeId>(i); };
  const Cable port = plan.hosts.kinds.front().nic.cable(Tier::leaf);
  for (std::uint32_t host = 0; host < nics.size(); ++host) {
    const std::uint32_t segment = host / plan.hosts_per_segment;
    for (std::uint32_t rail = 0; rail < plan.rails(); ++rail) {
      for (std::uint32_t plane = 0; plane < plan.planes; ++plane)
        graph.add_cable(
            nics[host][rail],
            node(levels[0].first_node.front() +
                 plan.tor(segment / plan.segments, segment % plan.segments, plane, rail)),
            port);
    }
  }
  for (std::uint32_t tor = 0; tor < levels[0].parent.size(); ++tor) {
    const std::uint32_t set = levels[1].first_node[levels[0].parent[tor]];
    for (std::uint32_t i = 0; i < plan.aggregations; ++i)
      graph.add_cable(node(levels[0].first_node[tor]), node(set + i),
                      plan.link.cable(Tier::minipod), plan.parallel);
  }
  for (std::uint32_t set = 0; set < levels[1].parent.size(); ++set) {
    const std::uint32_t core = levels[2].first_node[levels[1].parent[set]];
    for (std::uint32_t u = 0; u < plan.aggregations * plan.core_uplinks; ++u)
      graph.add_cable(node(levels[1].first_node[set] + u / plan.core_uplinks),
                      node(core + u % plan.cores), plan.core_link.cable(Tier::core));
  }
}

}  // namespace

Topology build_hpn(config::Reader& reader) {
  const std::size_t before = reader.errors().count();
  HpnPlan plan;
  plan.hosts.kinds = {read_host_plan(reader)};
  plan.pods = optional_count(reader, "pods", 1);
  plan.segments = required_count(reader, "segments_per_pod");
  plan.hosts_per_segment = required_count(reader, "hosts_per_segment");
  plan.planes = static_cast<std::uint32_t>(
      reader.optional<std::int64_t>("planes", 2, config::Range<std::int64_t>{1, 8}));
  plan.aggregations = required_count(reader, "aggregations");
  plan.parallel = optional_count(reader, "parallel", 1);
  plan.link = required_link(reader, "switch_link");
  read_cores(reader, plan);
  if (reader.errors().count() != before || !check_hpn(reader, plan)) return {};
  GraphBuilder graph("hpn", plan.hosts.kinds.front().gpu_kind);
  const auto nics = add_hosts(graph, plan);
  std::vector<SwitchLevel> levels = add_pod_switches(graph, plan);
  cable(graph, plan, levels, nics);
  graph.freeze();
  auto paths = make_up_down_paths(graph.view(), std::move(levels));
  return graph.take(std::move(paths));
}

}  // namespace railyard::topology
