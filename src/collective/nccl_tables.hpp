// Constants of NCCL's tuner that depend on the GPU generation.
#pragma once

#include <array>

#include "railyard/collective/nccl.hpp"

namespace railyard::collective::nccl {

/// GB/s by number of nodes: 1, 2, more.
using ByNodes = std::array<double, 3>;

struct Caps {
  ByNodes ll_gb_per_s;  ///< of rings and trees under LL, over all channels
  ByNodes ring_ll128_per_channel;
  ByNodes tree_ll128_per_channel;
  ByNodes tree_per_channel;
  ByNodes nvls_tree_per_channel;
  double nvls_efficiency;  ///< of the NVLink bandwidth of rings; 0: no NVLS
  double plateau;          ///< factor on the latency of long rings over several nodes
  /// Ours, not the tuner's: what the copy out of the buffer at the end of a ring takes, as a share
  /// of a step's transfer. From bus bandwidth against ring length (docs/validation.md): rings of 2
  /// and 8 A100s at 1 GiB, of 4 and 8 H200s at 8 GiB; Blackwell as Hopper; none seen on Volta.
  double drain;
};
[[nodiscard]] const Caps& caps_of(Architecture architecture);

/// NCCL's correction of the tree's bandwidth for sizes of 64 B · 2^doublings.
[[nodiscard]] double tree_correction(WireProtocol protocol, std::size_t doublings);

}  // namespace railyard::collective::nccl
