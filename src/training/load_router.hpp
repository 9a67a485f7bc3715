// Routes that are chosen when a flow starts, by what runs on the links at that moment.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "railyard/network/flow_network.hpp"
#include "railyard/network/link_loads.hpp"
#include "railyard/training/program.hpp"

namespace railyard::training {

/// Keeps which flows of load-dependent programs are on which links. A coupled collective chooses
/// the path of each of its connections, one after the other, and counts on each link by what it
/// takes of it.
class LoadRouter {
 public:
  explicit LoadRouter(const topology::Topology& topology) : loads_(topology.links().size()) {}

  [[nodiscard]] double flows(LinkId link) const { return loads_.flows(link); }
  /// The links of a flow over `route` that starts now, some perhaps twice, and from now on counted;
  /// valid until the next call.
  [[nodiscard]] std::span<const topology::LinkUse> choose(const Program& program,
                                                          std::uint32_t route);
  /// What was chosen last became this flow.
  void started(network::FlowId flow);
  void left(network::FlowId flow);

 private:
  void add_path(std::span<const topology::LinkUse> links, double share);

  network::LinkLoads loads_;
  std::vector<topology::LinkUse> uses_;
  topology::Route path_;
  std::unordered_map<network::FlowId, std::vector<topology::LinkUse>> running_;
};

}  // namespace railyard::training
