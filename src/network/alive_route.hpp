// Routes around failed links.
#pragma once

#include <cstdint>
#include <span>

#include "railyard/network/flow_list.hpp"

namespace railyard::network {

struct AliveChoice {
  bool spread = false;     ///< evenly over what is alive, else one path
  std::uint64_t hash = 0;  ///< that picks it
};

/// Among the equal paths of the fabric, those without a link whose factor is zero; false when there
/// are none. Switches know what lies ahead: nothing is sent to where it cannot go on.
[[nodiscard]] bool alive_route(const topology::Topology& fabric, GpuId source, GpuId destination,
                               std::span<const double> factors, const AliveChoice& choice,
                               topology::Route& out);

}  // namespace railyard::network
