#include "railyard/topology/graph.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "railyard/core/check.hpp"
#include "railyard/topology/routing.hpp"

namespace railyard::topology {

std::string_view name(Tier tier) {
  switch (tier) {
    case Tier::nvlink:
      return "nvlink";
    case Tier::host:
      return "host";
    case Tier::leaf:
      return "leaf";
    case Tier::minipod:
      return "minipod";
    case Tier::core:
      return "core";
  }
  return "";
}

std::string_view name(NodeKind kind) {
  switch (kind) {
    case NodeKind::gpu:
      return "gpu";
    case NodeKind::nvswitch:
      return "nvswitch";
    case NodeKind::pcie_switch:
      return "pcie_switch";
    case NodeKind::nic:
      return "nic";
    case NodeKind::leaf:
      return "leaf";
    case NodeKind::spine:
      return "spine";
    case NodeKind::core:
      return "core";
  }
  return "";
}

Topology::Topology() = default;
Topology::Topology(Topology&&) noexcept = default;
Topology& Topology::operator=(Topology&&) noexcept = default;
Topology::~Topology() = default;

std::span<const Link> Topology::out_links(NodeId node) const {
  const std::size_t first = first_out_[index(node)];
  const std::size_t last = first_out_[index(node) + 1];
  return std::span<const Link>(links_).subspan(first, last - first);
}

std::string Topology::host_name(HostId id) const {
  RAILYARD_CHECK(index(id) < hosts_.size(), "host {} of {}", index(id), hosts_.size());
  return host_names_.empty() ? fmt::format("host-{}", index(id)) : host_names_[index(id)];
}

std::string Topology::node_name(NodeId node) const {
  const std::size_t i = index(node);
  RAILYARD_CHECK(i < kinds_.size(), "node {} of {}", i, kinds_.size());
  if (i >= first_named_node_) return node_names_[i - first_named_node_];
  // A block is GPUs, then the island where one begins with this host, then NICs.
  const auto begins_after = [this](NodeId bound, const Host& host) {
    return bound < gpu_node(host.first_gpu);
  };
  const auto next = std::upper_bound(hosts_.begin(), hosts_.end(), node, begins_after);
  const auto host = static_cast<std::size_t>(next - hosts_.begin()) - 1;
  const std::size_t first = index(gpu_node(hosts_[host].first_gpu));
  const std::size_t gpus = hosts_[host].gpus;
  const std::string prefix = host_name(static_cast<HostId>(host));
  if (i - first < gpus) return fmt::format("{}/gpu{}", prefix, i - first);
  if (kinds_[i] != NodeKind::nic) return fmt::format("{}/{}", prefix, name(kinds_[i]));
  const std::size_t island = kinds_[first + gpus] == NodeKind::nic ? 0 : 1;
  return fmt::format("{}/nic{}", prefix, i - first - gpus - island);
}

std::string Topology::link_name(LinkId id) const {
  const Link& it = link(id);
  const auto siblings = out_links(it.from);
  const auto first = index(first_out_link(it.from));
  std::size_t parallel = 0;
  std::size_t before = 0;
  for (std::size_t i = 0; i < siblings.size(); ++i) {
    if (siblings[i].to != it.to) continue;
    ++parallel;
    if (first + i < index(id)) ++before;
  }
  std::string text = fmt::format("{}->{}", node_name(it.from), node_name(it.to));
  if (parallel > 1) text += fmt::format("#{}", before);
  return text;
}

}  // namespace railyard::topology
