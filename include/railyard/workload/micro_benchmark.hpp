// Micro-benchmarks as workloads: {"kind": "collective", …} and {"kind": "p2p", …}.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "railyard/config/document.hpp"
#include "railyard/workload/iteration_dag.hpp"

namespace railyard::workload {

struct MicroBenchmark {
  bool point_to_point = false;
  collective::Operation operation = collective::Operation::all_reduce;
  std::string algorithm = "ring";  ///< a choice, as in collective::Choices
  Bytes size;  ///< collective: nccl-tests convention; p2p: bytes each pair sends
  std::uint32_t repeats = 1;
  bool world = false;  ///< collective: one group of all ranks in place of one per local GPU index
};

/// "collective": one group per local GPU index over all hosts (`gpus_per_host` ranks a host), or
/// one group of all ranks when `groups` is "world" ("rails" is the default). "p2p": rank i of the
/// first half sends to rank i of the second half, all pairs at once.
[[nodiscard]] MicroBenchmark read_micro_benchmark(const config::Node& node, config::Errors& errors);
/// Contradictions with the ranks it shall run on, one sentence each; empty when good.
[[nodiscard]] std::vector<std::string> check_micro_benchmark(const MicroBenchmark& spec,
                                                             std::uint32_t ranks,
                                                             std::uint32_t ranks_per_host);
[[nodiscard]] IterationDag build_micro_benchmark(const MicroBenchmark& spec, std::uint32_t ranks,
                                                 std::uint32_t ranks_per_host);

}  // namespace railyard::workload
