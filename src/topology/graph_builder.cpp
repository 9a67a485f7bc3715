#include "topology/graph_builder.hpp"

#include <algorithm>

#include "railyard/core/check.hpp"

namespace railyard::topology {

GraphBuilder::GraphBuilder(std::string builder, std::string gpu_kind) {
  topology_.builder_ = std::move(builder);
  topology_.gpu_kinds_ = {std::move(gpu_kind)};
}

NodeId GraphBuilder::add_block_node(NodeKind kind) {
  RAILYARD_CHECK(topology_.node_names_.empty(), "host blocks come before named nodes");
  topology_.kinds_.push_back(kind);
  topology_.first_named_node_ = static_cast<std::uint32_t>(topology_.kinds_.size());
  return static_cast<NodeId>(topology_.kinds_.size() - 1);
}

NodeId GraphBuilder::add_node(NodeKind kind, std::string name) {
  topology_.kinds_.push_back(kind);
  topology_.node_names_.push_back(std::move(name));
  return static_cast<NodeId>(topology_.kinds_.size() - 1);
}

void GraphBuilder::add_cable(NodeId a, NodeId b, const Cable& cable, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    unsorted_.push_back({a, b, cable.capacity, cable.latency, cable.tier});
    unsorted_.push_back({b, a, cable.capacity, cable.latency, cable.tier});
  }
}

void GraphBuilder::add_host(LeafId leaf, MinipodId minipod, std::span<const NodeId> gpus,
                            std::span<const NodeId> nics, std::string_view gpu_kind) {
  RAILYARD_CHECK(gpus.size() == nics.size(), "{} GPUs and {} NICs", gpus.size(), nics.size());
  const auto id = static_cast<HostId>(topology_.hosts_.size());
  auto& kinds = topology_.gpu_kinds_;
  auto kind = gpu_kind.empty() ? kinds.begin() : std::find(kinds.begin(), kinds.end(), gpu_kind);
  if (kind == kinds.end()) kind = kinds.insert(kind, std::string(gpu_kind));
  topology_.hosts_.push_back({static_cast<GpuId>(topology_.gpu_nodes_.size()),
                              static_cast<std::uint32_t>(gpus.size()), leaf, minipod,
                              static_cast<std::uint32_t>(kind - kinds.begin())});
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    topology_.gpu_nodes_.push_back(gpus[i]);
    topology_.nic_of_gpu_.push_back(nics[i]);
    topology_.host_of_gpu_.push_back(id);
  }
}

LeafId GraphBuilder::add_leaf(std::string name) {
  topology_.leaf_names_.push_back(std::move(name));
  return static_cast<LeafId>(topology_.leaf_names_.size() - 1);
}

MinipodId GraphBuilder::add_minipod(std::string name) {
  topology_.minipod_names_.push_back(std::move(name));
  return static_cast<MinipodId>(topology_.minipod_names_.size() - 1);
}

void GraphBuilder::reserve(std::size_t nodes, std::size_t links) {
  topology_.kinds_.reserve(nodes);
  unsorted_.reserve(links);
}

void GraphBuilder::freeze() {
  const std::size_t nodes = topology_.kinds_.size();
  topology_.first_out_.assign(nodes + 1, 0);
  for (const Link& link : unsorted_) {
    RAILYARD_CHECK(index(link.from) < nodes && index(link.to) < nodes,
                   "link {} -> {} leaves the graph of {} nodes", index(link.from), index(link.to),
                   nodes);
    ++topology_.first_out_[index(link.from) + 1];
  }
  for (std::size_t i = 0; i < nodes; ++i) topology_.first_out_[i + 1] += topology_.first_out_[i];
  topology_.links_.resize(unsorted_.size());
  std::vector<std::uint32_t> next(topology_.first_out_.begin(), topology_.first_out_.end() - 1);
  for (const Link& link : unsorted_) topology_.links_[next[index(link.from)]++] = link;
  unsorted_ = {};
  for (std::size_t i = 0; i < nodes; ++i) {
    const auto first = topology_.links_.begin() + topology_.first_out_[i];
    const auto last = topology_.links_.begin() + topology_.first_out_[i + 1];
    const auto by_target = [](const Link& a, const Link& b) { return a.to < b.to; };
    if (!std::is_sorted(first, last, by_target)) std::stable_sort(first, last, by_target);
  }
}

GraphView GraphBuilder::view() const {
  return {topology_.kinds_,     topology_.first_out_,   topology_.links_,
          topology_.gpu_nodes_, topology_.host_of_gpu_, topology_.nic_of_gpu_};
}

Topology GraphBuilder::take(std::unique_ptr<const PathFinder> paths) {
  topology_.paths_ = std::move(paths);
  return std::move(topology_);
}

}  // namespace railyard::topology
