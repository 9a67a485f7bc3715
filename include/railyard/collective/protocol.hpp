// What one transfer costs beside its bytes: the latency constants of NCCL's cost model for its
// Simple protocol.
//
// Source: NVIDIA/nccl v2.23.4-1, src/graph/tuning.cc, tables baseLat and hwLat, columns "Simple".
// NVIDIA fitted them to its own measurements, so they contain software overhead; they are an input
// of the model and nothing here was fitted to a result. NCCL's LL and LL128 protocols, which trade
// bandwidth for latency on small messages, are not modelled: below about 1 MB a real collective is
// faster than these constants say. The wire's own latency belongs to the topology's links.
#pragma once

#include "railyard/core/time.hpp"

namespace railyard::collective {

/// Where a transfer runs: inside an NVLink island or over the network.
struct TransferLatency {
  Duration nvlink{};
  Duration network{};
};

struct Protocol {
  Duration base = std::chrono::nanoseconds(8'400);  ///< once per collective, ring and tree alike
  TransferLatency ring{.nvlink = std::chrono::nanoseconds(3'400),
                       .network = std::chrono::nanoseconds(14'000)};
  TransferLatency tree{.nvlink = std::chrono::nanoseconds(4'000),
                       .network = std::chrono::nanoseconds(14'000)};
};

}  // namespace railyard::collective
