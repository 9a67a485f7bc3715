// The event loop of one simulation in iteration detail: jobs walk their DAGs, flows share links.
//
// Mutable state of one run; the programs stay constant. Order inside a tick: network completions in
// order of their start, then events in order of insertion, until nothing is due; then one solve.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "load_router.hpp"
#include "railyard/core/check.hpp"
#include "railyard/core/event_queue.hpp"
#include "railyard/core/time.hpp"
#include "railyard/network/flow_network.hpp"
#include "railyard/network/loggp.hpp"
#include "railyard/training/iteration_engine.hpp"
#include "railyard/training/program.hpp"
#include "route_table.hpp"

namespace railyard::training {

inline constexpr std::uint32_t kNoTask = ~std::uint32_t{0};

/// What one iteration of one job has done, task by task.
struct TaskLog {
  std::vector<TimePoint> start;
  std::vector<TimePoint> end;          ///< when dependents may go on
  std::vector<std::uint32_t> blocker;  ///< the task whose end (or departure) let this one start
};

/// One job: its program and the state of its current iteration.
struct JobRun {
  const Program* program = nullptr;
  TaskLog log;
  std::vector<std::uint32_t> waiting;     ///< per task: dependencies not done
  std::vector<std::uint32_t> flows_left;  ///< per task: flows, or steps of a stepped collective
  std::vector<std::uint32_t> cursor;      ///< per stream: position in stream_tasks
  std::vector<std::uint8_t> busy;         ///< per stream
  std::vector<std::uint32_t> steps_of;    ///< per task: 1 + index into `stepping` while running
  struct Stepping {
    std::vector<std::uint32_t> waiting;  ///< per step: arrivals, + 1 unless first on its channel
  };
  std::vector<network::RouteId> routes;  ///< by route of the program, as the network knows them
  // Without shared links (analytic, loggp).
  std::vector<double> ticks_per_byte;        ///< by route, alone
  std::vector<std::uint32_t> edge_of_route;  ///< loggp
  std::vector<std::uint32_t> arrivals_left;  ///< loggp, per send task
  std::vector<Stepping> stepping;
  std::vector<std::uint32_t> free_stepping;
  std::uint8_t priority = 0;  ///< among jobs
  std::uint32_t tasks_left = 0;
  std::uint32_t last_task = kNoTask;  ///< the one that ended last
  TimePoint iteration_start{};
  std::vector<Duration> iterations;
};

/// Length, attribution: of the last full iteration of a job.
[[nodiscard]] Attribution critical_path(const JobRun& job);

class Engine {
 public:
  /// `routes` of these jobs outlive the engine.
  Engine(std::span<const std::shared_ptr<const Program>> jobs, const topology::Topology& topology,
         const RouteTable& routes, Interrupt* interrupt = nullptr);

  /// Starts the jobs at their offsets and lets them iterate. `on_iteration(job)` is called at the
  /// end of each iteration, before the next starts; false ends the run.
  template <typename OnIteration>
  void run(std::span<const Duration> offsets, OnIteration on_iteration) {
    for (std::uint32_t j = 0; j < jobs_.size(); ++j) {
      queue_.push(TimePoint(offsets[j]), Phase::arrival, Event{Event::start_job, j, 0, 0});
    }
    for (std::uint64_t steps = 0; step(); ++steps) {
      if (interrupt_ != nullptr && steps % kStepsBetweenQuestions == 0 && interrupt_->stop()) {
        throw Interrupted();
      }
      while (!ended_.empty()) {
        const std::uint32_t j = ended_.back();
        ended_.pop_back();
        if (!on_iteration(j)) return;
        begin_iteration(j);
        drain();
      }
      if (!tick_has_more()) network_.settle(now_);
    }
  }

  /// By job, as Company::priorities. Before the run.
  void set_priorities(std::span<const std::uint8_t> priorities);

  [[nodiscard]] const JobRun& job(std::uint32_t j) const { return jobs_[j]; }
  [[nodiscard]] TimePoint now() const { return now_; }
  [[nodiscard]] network::FlowNetwork& network() { return network_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }

 private:
  struct Event {
    enum Kind : std::uint32_t {
      start_job,
      chain_done,
      arrived,
      step_arrived,
      flow_done,  ///< analytic
      // loggp: `step` is the transfer of a stepped collective or the flow of a send
      message_sent,
      message_in,
      message_taken,
      message_received
    };
    Kind kind = start_job;
    std::uint32_t job = 0;
    std::uint32_t task = 0;
    std::uint32_t step = 0;
  };
  struct Ready {
    std::uint32_t job;
    std::uint32_t task;
  };

  bool step();
  [[nodiscard]] bool tick_has_more() const;
  void handle(const Event& event);
  void handle_flow(std::uint64_t tag);
  void begin_iteration(std::uint32_t j);
  void drain();
  void start(std::uint32_t j, std::uint32_t task);
  void start_flow(std::uint32_t j, const BoundFlow& flow, std::uint64_t tag);
  [[nodiscard]] std::uint8_t priority_of(const JobRun& job, std::uint64_t tag) const;
  void prepare_alone(JobRun& job, const topology::Topology& topology) const;
  [[nodiscard]] const BoundFlow& message(const JobRun& job, const Event& event) const;
  [[nodiscard]] Duration long_part(const JobRun& job, const BoundFlow& flow) const;
  void start_message(std::uint32_t j, std::uint32_t task, std::uint32_t step);
  void handle_message(const Event& event);
  void start_chain(std::uint32_t j, std::uint32_t task);
  void start_stepped(std::uint32_t j, std::uint32_t task, const Activity& activity);
  void start_step(std::uint32_t j, std::uint32_t task, const SteppedCollective& form,
                  std::uint32_t step);
  void flow_left(std::uint32_t j, std::uint32_t task);
  void step_left(std::uint32_t j, std::uint32_t task, std::uint32_t step);
  void step_arrived(std::uint32_t j, std::uint32_t task, std::uint32_t step);
  void step_enabled(std::uint32_t j, std::uint32_t task, std::uint32_t step);
  void finish(std::uint32_t j, std::uint32_t task);
  void release_stream(std::uint32_t j, std::uint32_t task);
  void wake(std::uint32_t j, std::uint32_t task, std::uint32_t blocker);

  static constexpr std::uint64_t kStepsBetweenQuestions = 16384;

  std::vector<JobRun> jobs_;
  const RouteTable& routes_;
  std::optional<LoadRouter> router_;  ///< where routes are chosen by the load
  Interrupt* interrupt_;
  network::NetworkModel model_;  ///< of all jobs
  network::FlowNetwork network_;
  network::LogGpEnds loggp_ends_;
  EventQueue<Event> queue_;
  std::vector<network::FinishedFlow> finished_;
  std::vector<Ready> ready_;
  std::vector<std::uint32_t> ended_;
  TimePoint now_{};
  std::uint64_t events_ = 0;
};

}  // namespace railyard::training
