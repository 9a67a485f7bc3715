// Many jobs on one cluster: they arrive, wait, are placed as gangs, share the fabric, finish.
//
// Between two cluster events the set of running jobs and their places is fixed. Links that cannot
// bind are left out, running jobs that share one of the rest form a component, and a component's
// iteration times come from the iteration engine (remembered under an exact key). Jobs advance at
// that rate until the next event: a 90-day trace costs as many short simulations as it has distinct
// components (docs/adr/0009).
// Not modelled here: preemption, failures, reservation, prediction.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "railyard/core/rng.hpp"
#include "railyard/core/time.hpp"
#include "railyard/scheduler/inventory.hpp"
#include "railyard/scheduler/placement.hpp"
#include "railyard/scheduler/queue.hpp"
#include "railyard/training/iteration_engine.hpp"
#include "railyard/training/program.hpp"
#include "railyard/workload/iteration_dag.hpp"

namespace railyard::cluster {

/// A job as the user gave it. Exactly one of `iterations` and `recorded` says how much work it is.
struct JobSpec {
  std::string name;
  scheduler::GangShape shape;
  std::shared_ptr<const workload::IterationDag> dag;  ///< shared between jobs of one kind
  TimePoint submitted{};
  std::optional<std::int64_t> iterations;
  /// A recorded duration is kept when the job runs alone on the fewest leaves and minipods; other
  /// placements and contention scale it by the modelled ratio of iteration times.
  std::optional<Duration> recorded;
};

/// Everything but the jobs. References outlive the simulation.
struct Settings {
  const topology::Topology* topology = nullptr;
  training::NetworkSettings network;
  training::RunLimits limits;
  const scheduler::PlacementPolicy* placement = nullptr;
  const scheduler::QueuePolicy* queue = nullptr;
  Duration interval{};          ///< decisions at its multiples; zero: at every arrival and finish
  Duration decision_latency{};  ///< from the decision to the start, charged in simulated time
  Duration horizon = kHorizonMax;
  std::vector<scheduler::HostSlot> background;  ///< taken for the whole run, no traffic
  RngStreams streams{0};
  bool want_links = false;  ///< link statistics of the largest job's steady state
};

enum class JobStatus : std::uint8_t { queued, running, finished, rejected };

struct JobRecord {
  JobStatus status = JobStatus::queued;
  TimePoint started{};
  TimePoint finished{};
  std::optional<scheduler::Placement> placement;
  scheduler::Spread spread;
  double work_done = 0;             ///< iterations, or ticks of the recorded duration
  double iterations_run = 0;        ///< simulated iterations the run time is worth
  double iteration_ticks_mean = 0;  ///< run time / iterations_run; 0 before it ran
  double iteration_ticks_min = 0;
  double iteration_ticks_max = 0;
  double iteration_ticks_p99 = 0;      ///< largest over the epochs
  double alone_ticks = 0;              ///< of this placement, alone
  double reference_ticks = 0;          ///< alone, on the placement its work is measured by
  training::JobIterations iterations;  ///< of the last epoch
  bool varied = false;                 ///< more than one iteration time occurred
};

struct Outcome {
  std::vector<JobRecord> jobs;  ///< as given
  TimePoint end{};              ///< last finish; where jobs still run, when the run ended
  TimePoint first_start{};
  double allocated_gpu_ticks = 0;  ///< by jobs, summed over GPUs
  double background_gpus = 0;
  double busy_gpu_ticks = 0;           ///< computing
  double fragmentation = 0;            ///< time-weighted mean, see scheduler of docs/model.md
  std::uint64_t contended_epochs = 0;  ///< component-epochs of more than one job
  std::uint64_t memo_hits = 0;
  std::uint64_t events = 0;
  training::EngineCounters engine;
  std::vector<network::LinkUsage> links;
  Duration links_window{};
  std::vector<std::string> warnings;
};

/// Called on the simulation's thread.
class Observer : public training::Interrupt {
 public:
  virtual void at(TimePoint now, std::size_t finished, std::size_t jobs, std::uint64_t events) = 0;
};

[[nodiscard]] Outcome simulate(std::span<const JobSpec> jobs, const Settings& settings,
                               Observer* observer = nullptr);

/// What the routing hash sees of a job's connections beside their end points: another seed is
/// another draw of ECMP collisions.
[[nodiscard]] std::uint64_t connection_label(std::uint64_t seed, std::uint64_t job);

/// The placement whose time alone stands for a recorded duration: fewest minipods (largest first),
/// in them fewest leaves, consecutive ranks along the stages. On the empty cluster.
[[nodiscard]] scheduler::Placement reference_placement(const scheduler::GangShape& shape,
                                                       const topology::Topology& topology);
/// Does it touch as few leaves and minipods as the job's size allows on the empty cluster?
[[nodiscard]] bool is_tightest(const scheduler::Placement& placement,
                               const scheduler::GangShape& shape,
                               const topology::Topology& topology);

}  // namespace railyard::cluster
