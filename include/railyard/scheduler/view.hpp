// What a policy sees: jobs as their users declared them, with what the cluster measured of them,
// and the cluster's live state. Never the true duration, never flows or rates.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "railyard/core/ids.hpp"
#include "railyard/core/rng.hpp"
#include "railyard/core/time.hpp"
#include "railyard/scheduler/inventory.hpp"
#include "railyard/scheduler/placement.hpp"
#include "railyard/scheduler/rules.hpp"

namespace railyard::scheduler {

/// What a predictor says of a job's run time on its GPUs, alone on its reference placement.
struct Estimate {
  Duration run{};
  /// Error model: standard deviation of ln(estimate / truth), as far as the predictor knows it.
  double log_sigma = 0;
};

enum class JobState : std::uint8_t {
  absent,    ///< not submitted yet
  waiting,   ///< queued, for the first time or after a preemption
  starting,  ///< has its GPUs, the decision's latency has not passed
  running,
  done,
};

/// A job as policies see it. The texts live as long as the simulation.
struct JobView {
  JobId job{};
  std::string_view name;
  GangShape shape;
  TimePoint submitted{};
  std::int32_t priority = 0;  ///< higher goes first
  std::string_view user;      ///< empty: not said
  std::string_view group;     ///< of users: tenant, department, partition
  std::string_view kind;      ///< "Pretrain", "Eval", …
  std::optional<Estimate> estimate;

  JobState state = JobState::absent;
  const Placement* placement = nullptr;  ///< GPUs it holds; null while it waits
  TimePoint started{};                   ///< of the present run
  /// The present run makes progress from here on: its checkpoint has been read.
  TimePoint productive{};
  Duration held_before{};  ///< time on its GPUs in earlier runs
  Duration kept_before{};  ///< run time in earlier runs whose work is not lost

  [[nodiscard]] bool holds_gpus() const { return placement != nullptr; }
  /// Time on its GPUs so far.
  [[nodiscard]] Duration held(TimePoint now) const;
  /// Run time so far whose work counts.
  [[nodiscard]] Duration progress(TimePoint now) const;
  /// Attained service in GPU-seconds (the 2D of Tiresias): GPUs asked for × time on them.
  [[nodiscard]] double service_gpu_s(TimePoint now) const;
  /// Estimated run time left, more than nothing. A job that outlives its estimate gets twice as
  /// much, again and again (after Tsafrir, Etsion, Feitelson, TPDS 2007). Checked: has an estimate.
  [[nodiscard]] Duration remaining(TimePoint now) const;
};

/// The cluster at a scheduling point: references to live state, no copies.
struct ClusterView {
  TimePoint now{};
  Duration decision_latency{};  ///< from a decision to the start it asks for
  const Inventory* inventory = nullptr;
  std::span<const JobView> jobs;         ///< by JobId, of the whole run
  std::span<const JobId> waiting;        ///< queued, in order of arrival
  std::span<const JobId> running;        ///< those that hold GPUs, in order of their starts
  const RngStreams* streams = nullptr;   ///< the run's named streams
  std::span<const HostSlot> background;  ///< taken for the whole run by others
  PlacementCost* cost = nullptr;         ///< simulated, of candidates; null: nobody simulates
  const Rules* rules = nullptr;          ///< of the cluster; null: none
  /// Taken by outages that last: neither free nor any job's.
  std::span<const Withheld> withheld{};

  [[nodiscard]] const JobView& job(JobId job) const { return jobs[index(job)]; }
};

/// What happened, told to the parts that keep state of their own.
struct Event {
  enum class Kind : std::uint8_t { announced, arrived, started, preempted, finished };
  Kind kind = Kind::arrived;
  JobId job{};
};

}  // namespace railyard::scheduler
