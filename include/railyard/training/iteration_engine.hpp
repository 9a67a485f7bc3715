// Runs a set of bound jobs on one FlowNetwork, iteration after iteration, and reports what an
// iteration takes.
//
// An iteration ends when its last task has ended (a step of the optimizer on all ranks); the next
// begins in the same tick. One job alone is periodic: it is run until two iterations in a row agree
// to the tick. Jobs that share links are run from several start phases, for a number of iterations
// each, because their iteration times depend on the phases for ever (docs/adr/0009); the mean is
// reported with minimum and maximum. Work of no length runs inline.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "railyard/core/time.hpp"
#include "railyard/network/flow_network.hpp"
#include "railyard/training/attribution.hpp"
#include "railyard/training/program.hpp"

namespace railyard::training {

/// Asked now and then whether to stop. When it says yes, the run ends with core's Interrupted.
class Interrupt {
 public:
  virtual ~Interrupt() = default;
  [[nodiscard]] virtual bool stop() = 0;
};

struct RunLimits {
  std::uint32_t iterations_max = 8;  ///< alone: give up looking for two equal ones after so many
  std::uint32_t phases = 4;          ///< together: stratified start phases
  /// Together: so many of every job count, per phase, or fewer of one that does not get so far in
  /// 50 times as many of another. One that ends none, because priorities starve it, is given the
  /// whole time as its iteration.
  std::uint32_t iterations_together = 20;
};

struct JobIterations {
  double iteration_ticks = 0;  ///< mean
  Duration shortest{};
  Duration longest{};
  Duration p99{};             ///< by nearest rank
  bool periodic = false;      ///< two in a row agreed to the tick
  Attribution attribution;    ///< of the last full iteration
  double busy_gpu_ticks = 0;  ///< computing time summed over the GPUs, one iteration
  std::array<double, topology::kTiers> tier_bytes{};  ///< of one iteration
};

struct EngineCounters {
  std::uint64_t events = 0;
  std::uint64_t iterations = 0;
  network::NetworkCounters network;
  EngineCounters& operator+=(const EngineCounters& other);
};

struct EngineResult {
  std::vector<JobIterations> jobs;        ///< in the order given
  std::vector<network::LinkUsage> links;  ///< of a job alone, over `window`; else empty
  Duration window{};
  EngineCounters counters;
};

/// What else is known of jobs that run together, by job.
struct Company {
  /// Their iterations alone, which space the start phases; empty: they are simulated first.
  std::span<const Duration> alone;
  /// On links they share, higher goes first; below priority_levels. Empty: all alike.
  std::span<const std::uint8_t> priorities;
};
/// How many priorities jobs may have: two classes of the network each, where gradients come last.
[[nodiscard]] std::uint32_t priority_levels(bool gradients_last);

/// Steady state of jobs that share the network. Deterministic: a function of its arguments.
[[nodiscard]] EngineResult run_to_steady_state(std::span<const std::shared_ptr<const Program>> jobs,
                                               const topology::Topology& topology,
                                               const RunLimits& limits, bool want_links,
                                               const Company& company = {},
                                               Interrupt* interrupt = nullptr);

/// One iteration of one job from an idle network: start and end tick of every task (end: when its
/// dependents may go on).
struct TaskTimes {
  std::vector<std::int64_t> start;
  std::vector<std::int64_t> end;
};
[[nodiscard]] TaskTimes run_once(const std::shared_ptr<const Program>& job,
                                 const topology::Topology& topology);

}  // namespace railyard::training
