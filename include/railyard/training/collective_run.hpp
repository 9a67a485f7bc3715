// One collective by itself on an idle fabric: what nccl-tests measures.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "railyard/collective/choices.hpp"
#include "railyard/training/program.hpp"

namespace railyard::training {

struct CollectiveRun {
  Duration time{};        ///< from the start on all ranks until the last has finished
  std::string algorithm;  ///< of the catalog
  std::string protocol;   ///< "ll", "ll128", "simple"
};

/// Runs `request` over the GPUs of `group` (rank i on group[i]) with the algorithm of `choice` (the
/// text of a choice, collective/choices.hpp). Checked: at least two ranks, and bytes to send.
/// Throws config::ConfigError when the algorithm refuses the group.
[[nodiscard]] CollectiveRun run_collective(const topology::Topology& topology,
                                           const std::vector<GpuId>& group,
                                           const collective::Request& request,
                                           const std::string& choice,
                                           const NetworkSettings& network,
                                           collective::RingOrder ring_order = {});

/// Only the time.
[[nodiscard]] inline Duration collective_time(const topology::Topology& topology,
                                              const std::vector<GpuId>& group,
                                              const collective::Request& request,
                                              const std::string& choice,
                                              const NetworkSettings& network,
                                              collective::RingOrder ring_order = {}) {
  return run_collective(topology, group, request, choice, network, ring_order).time;
}

/// Factor from algorithm bandwidth (size / time) to bus bandwidth, as in nccl-tests'
/// doc/PERFORMANCE.md: 2(n−1)/n for all_reduce, (n−1)/n for all_gather, reduce_scatter and
/// all_to_all, 1 for the others.
[[nodiscard]] double bus_factor(collective::Operation operation, std::uint32_t ranks);

}  // namespace railyard::training
