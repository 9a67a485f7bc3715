#include "topology/host_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "railyard/core/check.hpp"

namespace railyard::topology {
namespace {

constexpr std::int64_t kHostsMax = 1'000'000;

/// NVLinks between GPUs a < b of a DGX-1 with V100s; six leave each GPU.
std::uint32_t cube_mesh_links(std::uint32_t a, std::uint32_t b) {
  if (b - a == 4) return a % 4 < 2 ? 2 : 1;
  if (a / 4 != b / 4) return 0;
  const std::uint32_t low = a % 4;
  const std::uint32_t high = b % 4;
  const bool twice = (low == 0 && high == 3) || (low == 1 && high == 2) || (low == 2 && high == 3);
  return twice ? 2 : 1;
}

HostPlans read_groups(const config::Node& list, config::Errors& errors) {
  HostPlans out;
  out.kinds.clear();
  if (!list.is_array() || list.size() == 0) {
    errors.add(list, "expected at least one group of hosts");
    return {};
  }
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    config::Reader reader(list.at(i), errors);
    end += static_cast<std::uint64_t>(
        reader.required<std::int64_t>("hosts", config::Range<std::int64_t>{1, kHostsMax}));
    out.ends.push_back(end);
    out.kinds.push_back(read_host_plan(reader));
    reader.finish();
  }
  return out;
}

}  // namespace

const HostPlan& HostPlans::of(std::size_t host) const {
  if (ends.empty()) return kinds.front();
  const auto kind = std::upper_bound(ends.begin(), ends.end(), host) - ends.begin();
  RAILYARD_CHECK(static_cast<std::size_t>(kind) < kinds.size(), "host {} of {}", host, ends.back());
  return kinds[static_cast<std::size_t>(kind)];
}

std::uint32_t HostPlans::most_nics() const {
  std::uint32_t most = 0;
  for (const HostPlan& kind : kinds) most = std::max(most, kind.nics);
  return most;
}

HostPlans read_hosts(config::Reader& reader) {
  const auto groups = reader.child("host_groups");
  if (!groups) {
    HostPlans out;
    out.kinds = {read_host_plan(reader)};
    return out;
  }
  for (const std::string_view key : kHostKeys) {
    if (!reader.has(key)) continue;
    (void)reader.child(key);
    reader.fail(key, "\"host_groups\" says it for each group: give one of the two");
  }
  return read_groups(*groups, reader.errors());
}

bool check_hosts(config::Reader& reader, const HostPlans& plans, std::uint64_t hosts) {
  if (plans.alike() || plans.ends.back() == hosts) return true;
  reader.fail("host_groups", fmt::format("the groups hold {} hosts, but the fabric has {}",
                                         plans.ends.back(), hosts));
  return false;
}

NodeId HostBlocks::island_of_next(const HostPlan& plan, MinipodId minipod) {
  const bool goes_on = island_.kind == &plan && island_.minipod == minipod && plan.nvlink &&
                       island_.hosts < plan.hosts_per_island;
  if (!goes_on) {
    const NodeId node =
        graph_.add_block_node(plan.nvlink ? NodeKind::nvswitch : NodeKind::pcie_switch);
    island_ = {node, &plan, minipod, 0};
  }
  ++island_.hosts;
  return island_.node;
}

void HostBlocks::cable_gpus(const HostPlan& plan, const std::vector<NodeId>& gpus, NodeId island) {
  const bool switched = !plan.nvlink || plan.wiring == Wiring::nvswitch;
  const Cable cable = plan.nvlink ? plan.nvlink->cable(Tier::nvlink) : plan.pcie.cable(Tier::host);
  for (std::uint32_t a = 0; a < gpus.size(); ++a) {
    if (switched) {
      graph_.add_cable(gpus[a], island, cable);
      continue;
    }
    for (std::uint32_t b = a + 1; b < gpus.size(); ++b) {
      const std::uint32_t links = plan.wiring == Wiring::full_mesh ? 1 : cube_mesh_links(a, b);
      graph_.add_cable(gpus[a], gpus[b], cable, links);
    }
  }
}

std::vector<NodeId> HostBlocks::add(LeafId leaf, MinipodId minipod) {
  const HostPlan& plan = plans_.of(host_++);
  std::vector<NodeId> gpus;
  std::vector<NodeId> nics;
  std::vector<NodeId> nic_of_gpu;
  for (std::uint32_t i = 0; i < plan.gpus; ++i)
    gpus.push_back(graph_.add_block_node(NodeKind::gpu));
  const bool switched = !plan.nvlink || plan.wiring == Wiring::nvswitch;
  const NodeId island = switched ? island_of_next(plan, minipod) : NodeId{};
  for (std::uint32_t i = 0; i < plan.nics; ++i)
    nics.push_back(graph_.add_block_node(NodeKind::nic));
  const Cable pcie = plan.pcie.cable(Tier::host);
  cable_gpus(plan, gpus, island);
  for (std::uint32_t i = 0; i < plan.gpus; ++i) {
    nic_of_gpu.push_back(nics[plan.nic_of(i)]);
    if (plan.nvlink) graph_.add_cable(gpus[i], nic_of_gpu.back(), pcie);
  }
  if (!plan.nvlink) {
    for (const NodeId nic : nics) graph_.add_cable(island, nic, pcie);
  }
  graph_.add_host(leaf, minipod, gpus, nic_of_gpu, plan.gpu_kind);
  return nics;
}

}  // namespace railyard::topology
