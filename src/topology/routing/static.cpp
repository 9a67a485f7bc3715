// static: D-mod-k (Zahavi, "Fat-tree routing and node ordering providing contention free traffic
// for MPI global collectives", JPDC 2012), as InfiniBand subnet managers program forwarding tables:
// at a switch only the destination decides.
//
// Destinations d are numbered by NIC. Going up, a leaf takes port d mod k1, a switch of the next
// level (d / k1) mod k2, and so on, so that the destinations of one leaf use all roots. Where
// switches of a level have different numbers of uplinks, k is the largest. Going down, parallel
// links are taken by d mod k. With "tables" a real subnet manager's tables decide (tables.cpp).
#include <algorithm>

#include "topology/routing/routings.hpp"

namespace railyard::topology {
namespace {

class DestinationModulo final : public HopChooser {
 public:
  DestinationModulo(const std::vector<std::uint64_t>& divisors, std::uint64_t destination)
      : divisors_(divisors), destination_(destination) {}
  std::uint32_t choose(NodeId at, std::uint32_t, std::uint32_t count) override {
    return static_cast<std::uint32_t>(destination_ / divisors_[index(at)] % count);
  }
  std::uint32_t choose_down(NodeId, std::uint32_t, std::uint32_t count) override {
    return static_cast<std::uint32_t>(destination_ % count);
  }

 private:
  const std::vector<std::uint64_t>& divisors_;
  std::uint64_t destination_;
};

/// Product of the choices that lie below each switch: 1 at the leaves. Up is towards a higher kind,
/// among cores towards a higher number, as builders number levels. Links between leaves or between
/// spines (dragonfly, torus, mesh) lead nowhere up.
std::vector<std::uint64_t> divisors_of(const Topology& topology) {
  constexpr std::uint64_t kEnough = UINT64_C(1) << 32U;
  std::vector<std::uint64_t> out(topology.node_count(), 1);
  for (const NodeKind kind : {NodeKind::leaf, NodeKind::spine, NodeKind::core}) {
    for (std::size_t i = 0; i < topology.node_count(); ++i) {
      const auto node = static_cast<NodeId>(i);
      if (topology.kind(node) != kind) continue;
      const auto goes_up = [&](const Link& link) {
        const NodeKind to = topology.kind(link.to);
        return to > kind || (to == kind && kind == NodeKind::core && link.to > node);
      };
      const auto links = topology.out_links(node);
      const auto uplinks =
          static_cast<std::uint64_t>(std::count_if(links.begin(), links.end(), goes_up));
      const std::uint64_t above = std::min(kEnough, out[i] * std::max<std::uint64_t>(1, uplinks));
      for (const Link& link : links) {
        if (goes_up(link)) out[index(link.to)] = std::max(out[index(link.to)], above);
      }
    }
  }
  return out;
}

class Static final : public Routing {
 public:
  explicit Static(const Topology& topology)
      : topology_(topology), divisors_(divisors_of(topology)) {
    // GPUs that share a NIC are neighbours, so a new NIC starts where it differs from the one
    // before.
    std::uint64_t number = 0;
    for (std::size_t gpu = 0; gpu < topology.gpu_count(); ++gpu) {
      const NodeId nic = topology.nic_node(static_cast<GpuId>(gpu));
      if (gpu > 0 && nic != topology.nic_node(static_cast<GpuId>(gpu - 1))) ++number;
      nic_number_.push_back(number);
    }
  }
  void route(const Connection& connection, Route& out) const override {
    DestinationModulo chooser(divisors_, nic_number_[index(connection.destination)]);
    std::vector<LinkId> path;
    topology_.paths().path(connection.source, connection.destination, chooser, path);
    set_single_path(topology_, path, out);
  }
  bool hashes() const override { return true; }

 private:
  const Topology& topology_;
  std::vector<std::uint64_t> divisors_;  ///< by node
  std::vector<std::uint64_t> nic_number_;
};

}  // namespace

std::unique_ptr<Routing> make_static(const Topology& topology,
                                     const config::Parameters& parameters) {
  if (parameters.has_value("tables"))
    return make_tables(topology, parameters.get<std::string>("tables"));
  return std::make_unique<Static>(topology);
}

}  // namespace railyard::topology
