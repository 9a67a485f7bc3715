// Many jobs on one cluster: they arrive, wait, are placed as gangs, share the fabric, finish.
//
// Between two cluster events the set of running jobs and their places is fixed. Links that cannot
// bind are left out, running jobs that share one of the rest form a component, and a component's
// iteration times come from the iteration engine (remembered under an exact key). Jobs advance at
// that rate until the next event: a 90-day trace costs as many short simulations as it has distinct
// components (docs/adr/0009).
//
// A scheduler (railyard/scheduler/scheduler.hpp) decides, the cluster checks and applies. Running
// jobs may be preempted, or lose a host to a failure, and start again from a checkpoint. Not
// modelled: jobs that change their size.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "railyard/cluster/iteration_memo.hpp"
#include "railyard/cluster/traffic.hpp"
#include "railyard/core/rng.hpp"
#include "railyard/core/time.hpp"
#include "railyard/scheduler/inventory.hpp"
#include "railyard/scheduler/placement.hpp"
#include "railyard/scheduler/placement_cost.hpp"
#include "railyard/scheduler/predictor.hpp"
#include "railyard/scheduler/rules.hpp"
#include "railyard/scheduler/scheduler.hpp"
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
  std::int32_t priority = 0;  ///< higher goes first
  std::string user;           ///< empty: not said
  std::string group;
  std::string kind;
};

/// What survives a preemption or a failure, and what that costs.
struct Checkpoints {
  /// Of run time. Zero: a checkpoint is written when the job is preempted, and nothing is lost but
  /// to failures. Else what was done since the last one is lost.
  Duration interval{};
  /// The interval of each job is sqrt(2 · cost · its mean time between failures) instead (Young,
  /// CACM 1974; Daly, FGCS 2006).
  bool young_daly = false;
  /// The time one takes. With an interval the job pauses for it each time, spread evenly over its
  /// run; without one, the next run begins that much later: the GPUs are free at once.
  Duration cost{};
  Duration restart{};  ///< from the start of a run after the first to its progress
};

/// Hosts fail independently, at a constant rate, busy or not. A job on a failed host leaves its
/// GPUs and queues again; the host is gone until it is repaired.
struct Failures {
  double per_host_day = 0;  ///< 0: nothing fails
  Duration repair{};
};
using FailureFactory = Failures (*)(const config::Parameters&);
[[nodiscard]] std::span<const config::CatalogEntry<FailureFactory>> failure_catalog();

/// Everything but the jobs. References outlive the simulation.
struct Settings {
  const topology::Topology* topology = nullptr;
  training::NetworkSettings network;
  training::RunLimits limits;
  /// The parts of a composed scheduler. Queue, reservation and predictor keep state: a run needs
  /// its own.
  const scheduler::PlacementPolicy* placement = nullptr;
  scheduler::QueuePolicy* queue = nullptr;
  scheduler::ReservationPolicy* reservation = nullptr;  ///< null: nothing is reserved
  scheduler::Predictor* predictor = nullptr;            ///< null: no estimates
  const TrafficPolicy* traffic = nullptr;               ///< null: jobs share links fairly
  /// Replaces queue, reservation and placement.
  scheduler::Scheduler* scheduler = nullptr;
  Checkpoints checkpoints;
  Failures failures;
  scheduler::Rules rules;       ///< quotas and outages, whoever schedules
  Duration interval{};          ///< decisions at its multiples; zero: at every arrival and finish
  Duration decision_latency{};  ///< from the decision to the start, charged in simulated time
  Duration horizon = kHorizonMax;
  std::vector<scheduler::HostSlot> background;  ///< taken for the whole run, no traffic
  RngStreams streams{0};
  IterationMemo* memo = nullptr;  ///< shared with other runs; null: this run's own alone
  bool want_links = false;        ///< link statistics of the largest job's steady state
  bool want_history = false;      ///< Outcome's samples, holdings and incidents
};

/// A stretch of time in which a job held GPUs, from the decision on.
struct JobRun {
  TimePoint from{};
  TimePoint until{};
  std::vector<scheduler::HostSlot> slots;
};
/// A stretch of a wait in which a quota or an outage kept the job from starting, as seen at
/// scheduling points.
struct HeldBack {
  TimePoint from{};
  TimePoint until{};
  std::string why;
};
/// Jobs named among those that one shared a link with.
inline constexpr std::size_t kContendersKept = 16;

enum class JobStatus : std::uint8_t { queued, running, finished, rejected };

struct JobRecord {
  JobStatus status = JobStatus::queued;
  TimePoint started{};  ///< for the first time
  TimePoint finished{};
  std::uint32_t starts = 0;
  std::uint32_t preemptions = 0;
  std::uint32_t failures = 0;
  Duration held{};  ///< time on its GPUs
  Duration run{};   ///< of that, after checkpoints were read: what was lost is in it
  Duration kept{};  ///< of that, what was not lost
  std::optional<Duration> predicted;  ///< run time, when it arrived
  double users_mean = 0;              ///< users with jobs in the system, from submission to finish
  std::optional<scheduler::Placement> placement;
  scheduler::Spread spread;
  std::vector<JobRun> runs;
  std::vector<HeldBack> held_back;
  /// Jobs with which it could fill a link, the first ones, in order of their numbers.
  std::vector<std::uint32_t> contended_with;
  double work_done = 0;             ///< iterations, or ticks of the recorded duration
  double iterations_run = 0;        ///< simulated iterations the run time is worth
  double busy_gpu_ticks = 0;        ///< computing in them, summed over GPUs
  double iteration_ticks_mean = 0;  ///< run / iterations_run; 0 before it ran
  double iteration_ticks_min = 0;
  double iteration_ticks_max = 0;
  double iteration_ticks_p99 = 0;      ///< largest over the epochs
  double alone_ticks = 0;              ///< of this placement, alone
  double reference_ticks = 0;          ///< alone, on the placement its work is measured by
  training::JobIterations iterations;  ///< of the last epoch
  bool varied = false;                 ///< more than one iteration time occurred
  Duration shared{};            ///< time on its GPUs in which other jobs could fill a link with it
  double contention_ticks = 0;  ///< run time that it took longer than alone, on its placement
};

/// From `at` until the next point.
struct CurvePoint {
  TimePoint at{};
  double allocated = 0;             ///< share of all GPUs that jobs hold
  std::optional<double> retention;  ///< share of the reserved hosts that somebody still holds
};

/// The cluster from `at` until the next sample.
struct Sample {
  TimePoint at{};
  std::uint64_t allocated_gpus = 0;
  std::uint32_t queued_jobs = 0;
  std::optional<double> fragmentation;  ///< empty while nothing or everything is taken
};

/// GPUs of one minipod that a job held for a time.
struct Holding {
  std::uint32_t job = 0;
  MinipodId minipod{};
  std::uint32_t gpus = 0;
  TimePoint from{};  ///< when the run began: after the decision's latency
  TimePoint to{};
};

/// Something that happened to a job or a host.
struct Incident {
  enum class Kind : std::uint8_t {
    announced,  ///< the scheduler was told of the job before its submission
    arrived,
    rejected,  ///< for good: too large for the cluster, or by the scheduler
    placed,    ///< got its GPUs
    started,   ///< the decision's latency has passed
    preempted,
    failed,  ///< lost a host
    finished,
    host_failed,
    host_repaired,
    held_back,     ///< by a quota or an outage
    hosts_closed,  ///< by a drain or maintenance, and their end
    hosts_opened,
    refused  ///< a decision that the cluster did not carry out
  };
  TimePoint at{};
  Kind kind = Kind::arrived;
  std::uint32_t subject = 0;  ///< job, or host of the two that say so; 0 for a refusal
  std::vector<HostId> hosts;  ///< placed: in rank order; closed, opened
  std::string why{};          ///< rejected, held back, refused; which outage
};

struct Outcome {
  std::vector<JobRecord> jobs;  ///< as given
  TimePoint end{};              ///< last finish; where jobs still run, when the run ended
  TimePoint first_start{};
  double allocated_gpu_ticks = 0;  ///< by jobs, summed over GPUs
  double background_gpus = 0;
  double busy_gpu_ticks = 0;  ///< computing
  double fragmentation = 0;   ///< time-weighted mean, see scheduler of docs/model.md
  bool displaces = false;     ///< may the scheduler preempt?
  std::uint64_t preemptions = 0;
  std::uint64_t restarts = 0;
  std::uint64_t host_failures = 0;
  std::uint64_t job_failures = 0;
  double lost_gpu_ticks = 0;           ///< held for work that was thrown away
  double overhead_gpu_ticks = 0;       ///< held while waiting for a start, reading, writing
  double reserved_idle_gpu_ticks = 0;  ///< reserved and held by nobody
  std::vector<CurvePoint> curve;       ///< where something is reserved
  std::uint64_t contended_epochs = 0;  ///< component-epochs of more than one job
  std::uint64_t memo_hits = 0;         ///< component-epochs whose iterations were known
  std::uint64_t memo_misses = 0;       ///< components that had to be simulated
  std::uint64_t events = 0;
  training::EngineCounters engine;
  std::vector<network::LinkUsage> links;
  std::vector<std::uint32_t> link_connections;  ///< of the job that `links` is about
  std::optional<std::uint32_t> links_of;        ///< the job whose steady state they are of
  Duration links_window{};
  std::vector<Sample> samples;      ///< where history is wanted
  std::vector<Holding> holdings;    ///< in order of decisions, a job's by minipod
  std::vector<Incident> incidents;  ///< in order of time
  std::vector<std::string> warnings;
};

/// Called on the simulation's thread.
class Observer : public training::Interrupt {
 public:
  virtual void at(TimePoint now, std::size_t finished, std::size_t jobs, std::uint64_t events) = 0;
};

[[nodiscard]] Outcome simulate(std::span<const JobSpec> jobs, const Settings& settings,
                               Observer* observer = nullptr);

/// Simulated costs of candidates on a cluster on which no job runs, for decisions without a run.
/// `settings` without queue and placement. Topology and jobs outlive it.
[[nodiscard]] std::unique_ptr<scheduler::PlacementCost> cost_on_idle_cluster(
    std::span<const JobSpec> jobs, const Settings& settings);

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
