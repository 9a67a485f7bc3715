// static: D-mod-k (Zahavi, "Fat-tree routing and node ordering providing contention free traffic
// for MPI global collectives", JPDC 2012), as InfiniBand subnet managers program forwarding tables:
// only the destination decides.
//
// Destinations are numbered by NIC. Going up, a switch of the first level takes port d mod k1, one
// of the second (d / k1) mod k2, and so on, so that the destinations of one leaf use all roots.
// Going down, parallel links are taken by d mod k.
#include "topology/routing/routings.hpp"

namespace railyard::topology {
namespace {

class DestinationModulo final : public HopChooser {
 public:
  explicit DestinationModulo(std::uint64_t destination)
      : destination_(destination), rest_(destination) {}
  std::uint32_t choose(NodeId, std::uint32_t, std::uint32_t count) override {
    const auto chosen = static_cast<std::uint32_t>(rest_ % count);
    rest_ /= count;
    return chosen;
  }
  std::uint32_t choose_down(NodeId, std::uint32_t, std::uint32_t count) override {
    return static_cast<std::uint32_t>(destination_ % count);
  }

 private:
  std::uint64_t destination_;
  std::uint64_t rest_;
};

class Static final : public Routing {
 public:
  explicit Static(const Topology& topology) : topology_(topology) {
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
    DestinationModulo chooser(nic_number_[index(connection.destination)]);
    std::vector<LinkId> path;
    topology_.paths().path(connection.source, connection.destination, chooser, path);
    set_single_path(topology_, path, out);
  }
  bool hashes() const override { return true; }

 private:
  const Topology& topology_;
  std::vector<std::uint64_t> nic_number_;
};

}  // namespace

std::unique_ptr<Routing> make_static(const Topology& topology, const config::Parameters&) {
  return std::make_unique<Static>(topology);
}

}  // namespace railyard::topology
