// What one transfer costs beside its bytes: the latency constants of NCCL's cost model for its
// Simple protocol.
//
// Source: NVIDIA/nccl v2.23.4-1, src/graph/tuning.cc, tables baseLat and hwLat, columns "Simple".
// NVIDIA fitted them to its own measurements, so they contain software overhead; they are an input
// of the model and nothing here was fitted to a result. An algorithm that is asked for by name runs
// with these; LL and LL128, which trade bandwidth for latency on small messages, belong to "auto"
// (nccl.hpp). The wire's own latency belongs to the topology's links.
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
  /// What the host adds before a collective's kernel runs, where it is not hidden behind others; of
  /// collectives under "auto" only.
  Duration launch{};
};

/// What a collective costs beside its bytes.
struct StepCosts {
  Duration once{};  ///< per collective
  TransferLatency step{};
  /// `step` holds a wire of its kind already: a path's own latency counts only where it is longer.
  bool with_wires = false;
  std::uint32_t rounds = 1;  ///< every step pays its fixed cost so often
  /// Bytes on the wire per byte of data: over NVLink between ranks, over the network, and to and
  /// from a reducer.
  double nvlink_wire = 1;
  double network_wire = 1;
  double reducer_wire = 1;
};

}  // namespace railyard::collective
