// Iteration times of components of jobs, remembered.
//
// Key of the memo: the flow-link incidence of the bound programs with links renamed in order of
// first appearance, their capacities, route latencies, sizes, the identity of the DAGs, the
// network's model and how much is simulated. Equal keys have equal max-min dynamics whatever the
// hosts are called: a job moved to another rack of the same shape is remembered, and nothing else
// need be compared.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "railyard/cluster/iteration_memo.hpp"
#include "railyard/topology/graph.hpp"
#include "railyard/training/iteration_engine.hpp"
#include "railyard/training/program.hpp"

namespace railyard::cluster {

/// Key of one program's incidence; of a component it is computed over all programs with one naming,
/// and their priorities, if they have any. `exact_links`: only the very same links are equal.
[[nodiscard]] MemoKey memo_key(std::span<const std::shared_ptr<const training::Program>> jobs,
                               const topology::Topology& topology,
                               std::span<const std::uint8_t> priorities = {},
                               bool exact_links = false, const training::RunLimits& limits = {});

class IterationOracle {
 public:
  /// `want_links`: results of jobs alone carry link statistics. Memory grows with every component
  /// remembered, and only the very same links are remembered as equal. `shared`, where given, is
  /// asked before a component is simulated, and told afterwards.
  IterationOracle(const topology::Topology& topology, const training::RunLimits& limits,
                  bool want_links, training::Interrupt* interrupt, IterationMemo* shared = nullptr)
      : topology_(&topology),
        limits_(limits),
        want_links_(want_links),
        interrupt_(interrupt),
        shared_(shared) {}

  /// Steady state of a component; jobs in the order given, with their iterations alone where there
  /// are several (they follow from the jobs, so they are no part of the key).
  const training::EngineResult& steady_state(
      std::span<const std::shared_ptr<const training::Program>> jobs,
      const training::Company& company = {});

  [[nodiscard]] const training::EngineCounters& counters() const { return counters_; }
  [[nodiscard]] std::uint64_t hits() const { return hits_; }
  /// Components that were simulated.
  [[nodiscard]] std::uint64_t misses() const { return misses_; }

 private:
  std::shared_ptr<const training::EngineResult> simulated(
      const MemoKey& key, std::span<const std::shared_ptr<const training::Program>> jobs,
      const training::Company& company);

  const topology::Topology* topology_;
  training::RunLimits limits_;
  bool want_links_;
  training::Interrupt* interrupt_;
  IterationMemo* shared_;
  std::map<MemoKey, std::shared_ptr<const training::EngineResult>> memo_;
  training::EngineCounters counters_;
  std::uint64_t hits_ = 0;
  std::uint64_t misses_ = 0;
};

}  // namespace railyard::cluster
