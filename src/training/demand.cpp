#include "demand.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "activity_flows.hpp"

namespace railyard::training {
namespace {

/// The tightest link that every flow of an end point crosses whole: among the links up to the leaf,
/// seen from the source or from the destination. It is the port whose rate bounds them all.
template <typename Iterator>
LinkId port_of(Iterator first, Iterator last, const topology::Topology& topology) {
  LinkId port = first->link;
  for (auto use = first; use != last; ++use) {
    const topology::Link& link = topology.link(use->link);
    if (use->usage < 1.0 || link.tier > topology::Tier::leaf) break;
    if (link.capacity < topology.link(port).capacity) port = use->link;
  }
  return port;
}

/// Sum over the ports of what each can put on a link: its rate × its largest usage of it.
std::vector<double> sum_over_ports(const Program& program, const topology::Topology& topology,
                                   const std::vector<LinkId>& port_of_edge) {
  std::vector<std::uint32_t> order(program.edges.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(port_of_edge[a], a) < std::pair(port_of_edge[b], b);
  });
  std::vector<double> sum(topology.links().size(), 0.0);
  std::vector<double> most(topology.links().size(), 0.0);
  std::vector<LinkId> touched;
  std::vector<topology::LinkUse> choices;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const LinkId port = port_of_edge[order[i]];
    for (const topology::LinkUse& use : may_use(program, program.edges[order[i]], choices)) {
      double& usage = most[index(use.link)];
      if (usage == 0.0) touched.push_back(use.link);
      usage = std::max(usage, use.usage);
    }
    if (i + 1 < order.size() && port_of_edge[order[i + 1]] == port) continue;
    const auto rate = static_cast<double>(topology.link(port).capacity.bytes_per_s());
    for (const LinkId link : touched) {
      sum[index(link)] += rate * most[index(link)];
      most[index(link)] = 0.0;
    }
    touched.clear();
  }
  return sum;
}

}  // namespace

std::span<const topology::LinkUse> may_use(const Program& program, const Edge& edge,
                                           std::vector<topology::LinkUse>& scratch) {
  if (!program.by_load || edge.tier == topology::Tier::nvlink)
    return program.routes[edge.route].links;
  scratch.clear();
  program.by_load->routing->choices({edge.source, edge.destination, edge.label}, scratch);
  return scratch;
}

void find_demand(Program& program, const topology::Topology& topology) {
  std::vector<LinkId> out;
  std::vector<LinkId> in;
  for (const Edge& edge : program.edges) {
    const auto& links = program.routes[edge.route].links;
    out.push_back(port_of(links.begin(), links.end(), topology));
    in.push_back(port_of(links.rbegin(), links.rend(), topology));
  }
  const std::vector<double> by_source = sum_over_ports(program, topology, out);
  const std::vector<double> by_destination = sum_over_ports(program, topology, in);
  std::vector<bool> is_port(topology.links().size(), false);
  for (const LinkId port : out) is_port[index(port)] = true;
  for (const LinkId port : in) is_port[index(port)] = true;
  for (std::uint32_t l = 0; l < by_source.size(); ++l) {
    if (by_source[l] == 0.0) continue;
    program.demand.push_back(
        LinkDemand{static_cast<LinkId>(l), std::min(by_source[l], by_destination[l]), is_port[l]});
  }
}

double busy_gpu_ticks(const Program& program) {
  double sum = 0;
  for (const workload::Task& task : program.dag->tasks) {
    if (task.kind != workload::TaskKind::compute) continue;
    sum += static_cast<double>(task.duration.count()) *
           static_cast<double>(program.dag->actors[task.actor].size());
  }
  return sum;
}

double fullest_link_ticks(const Program& program, const topology::Topology& topology) {
  std::vector<double> bytes(topology.links().size(), 0.0);
  const auto carry = [&](const BoundFlow& flow) {
    for (const topology::LinkUse& use : program.routes[flow.route].links) {
      bytes[index(use.link)] += use.usage * static_cast<double>(flow.size.count());
    }
  };
  for (const std::uint32_t at : program.activity_of_task) {
    if (at == 0 || program.activities[at - 1].timed) continue;
    for_each_flow(program, program.activities[at - 1], carry);
  }
  double most = 0;
  for (std::size_t link = 0; link < bytes.size(); ++link) {
    const auto rate = static_cast<double>(topology.links()[link].capacity.bytes_per_s());
    most = std::max(most, bytes[link] / rate);
  }
  return most * static_cast<double>(kTicksPerSecond);
}

}  // namespace railyard::training
