// PLACEHOLDER-HEADER: the network helper writes the page of mathematics here.
// Weighted max-min fair rates: a pure function on spans.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace railyard::network {

/// One max-min problem in CSR form. Flow f uses links link[first_use[f] … first_use[f+1]) with `usage`; its rate is
/// share[f] × level. `cap[f]` (bytes/s) is the flow's own upper bound.
struct MaxMinProblem {
  std::span<const double> capacity_bytes_per_s;  ///< per link
  std::span<const std::uint32_t> first_use;      ///< flows + 1
  std::span<const std::uint32_t> link;
  std::span<const double> usage;
  std::span<const double> share;                 ///< per flow, > 0
  std::span<const double> cap_bytes_per_s;       ///< per flow
};

/// Scratch memory, reused between calls: no allocation after the first call of a given size.
class MaxMinWorkspace;

}  // namespace railyard::network
