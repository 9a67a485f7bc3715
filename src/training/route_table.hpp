// The links each flow of a run shows to the network.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "railyard/training/program.hpp"

namespace railyard::training {

/// All links, or (`reduced`) only those that can change a rate. Left out are links which the ports
/// of all jobs together cannot fill, and of links that every flow uses alike all but the tightest:
/// the lists (flow, usage) of two links are equal, so the larger never binds before the smaller.
/// Rates are the same to the bit; what is lost is the load of the links left out.
class RouteTable {
 public:
  RouteTable(std::span<const std::shared_ptr<const Program>> jobs,
             const topology::Topology& topology, bool reduced);

  [[nodiscard]] std::span<const topology::LinkUse> links(std::uint32_t job,
                                                         std::uint32_t route) const {
    return links_[job][route];
  }

 private:
  std::vector<std::vector<std::span<const topology::LinkUse>>> links_;
  std::vector<topology::LinkUse> pool_;
};

}  // namespace railyard::training
