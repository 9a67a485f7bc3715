// The cluster's state and its events: the life of jobs from arrival to finish.
//   cluster.cpp    events: arrive, begin, finish, preempt
//   decisions.cpp  scheduling points: what the scheduler decides is checked and applied
//   outages.cpp    hosts that are taken out, jobs that rules hold back
//   failures.cpp   hosts that fail, jobs that lose them, checkpoints
//   paces.cpp      how fast running jobs advance
//   closing.cpp    integrals over time, and what is left to say at the end
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "candidate_cost.hpp"
#include "iteration_oracle.hpp"
#include "railyard/cluster/cluster.hpp"
#include "railyard/core/event_queue.hpp"

namespace railyard::cluster {

/// GPUs a placement holds: whole hosts count whole, also where the job uses a part of the last.
[[nodiscard]] std::uint64_t gpus_of(const scheduler::Placement& placement);

class Simulation {
 public:
  Simulation(std::span<const JobSpec> jobs, const Settings& settings, Observer* observer);
  Outcome run();

 private:
  using Program = training::Program;

  /// A running job between two events.
  struct Running {
    std::uint32_t job = 0;
    std::shared_ptr<const Program> program;     ///< null: one host, recorded; nothing to simulate
    double work = 0;                            ///< iterations, or recorded ticks
    double work_left = 0;                       ///< at `since`
    double saved_left = 0;                      ///< work left at the last checkpoint
    Duration unsaved{};                         ///< run time since it was written, up to `since`
    double ticks_per_work = 0;                  ///< current pace; 0 until the first epoch
    double own_reference = 0;                   ///< ticks of one iteration that count as pace 1
    TimePoint since{};                          ///< in the future while the checkpoint is read
    std::optional<std::uint64_t> finish_event;  ///< none: beyond the horizon
    Duration interval{};                        ///< of checkpoints; zero: only when preempted
    double pause_factor = 1;  ///< run time / run time without pauses for checkpoints
    bool paced = false;
    std::optional<TimePoint> shared_since;  ///< others can fill a link with it
  };

  struct Event {
    enum Kind : std::uint32_t {
      arrival,
      finish,
      decide,
      begin,
      repace,
      announce,
      wake,
      fail,
      repair,
      close,
      open
    };
    Kind kind = arrival;
    std::uint32_t job = 0;  ///< of repair: host; of close and open: outage
  };

  // cluster.cpp
  [[nodiscard]] bool nothing_left() const;
  void handle(const Event& event);
  /// The event after a wait; beyond the horizon nothing happens, so it is not even queued.
  std::optional<std::uint64_t> push_after(Duration wait, Phase phase, Event event);
  void request_decision();
  void request_repace();
  void wake_at(TimePoint at);
  void tell(scheduler::Event::Kind kind, std::uint32_t job);
  const scheduler::ClusterView& view();
  void predict(std::uint32_t job, double ticks_left);
  void arrive(std::uint32_t job);
  void begin(std::uint32_t job);
  void finish(std::uint32_t job);
  void count_preemption(std::uint32_t job);
  void preempt(std::uint32_t job);
  void settle(Running& running, bool lose);
  /// Takes a job off its GPUs; `lose`: what it did since its last checkpoint.
  void leave(Running& running, bool lose);
  void free_gpus(std::uint32_t job);
  std::vector<Running>::iterator running(std::uint32_t job);
  void requeue(std::uint32_t job);
  void count_user(std::uint32_t job, int change);

  void note(Incident::Kind kind, std::uint64_t subject, std::string why = {});

  // decisions.cpp
  void decide();
  void ask_scheduler();
  void apply(scheduler::Start& start);
  void apply(const scheduler::Preempt& preempt);
  void apply(const scheduler::Reject& reject);
  void apply(const scheduler::Wake& wake);
  void admit(std::uint32_t job, scheduler::Placement placement);
  void refuse(std::optional<JobId> job, std::string reason);
  [[nodiscard]] std::string objection(const scheduler::Start& start) const;
  [[nodiscard]] std::string objection(const scheduler::Placement& placement,
                                      const scheduler::GangShape& shape) const;
  [[nodiscard]] std::string named(JobId job) const;

  // failures.cpp
  void schedule_failure();
  void fail_host();
  void crash(std::uint32_t job);
  void repair(HostId host);
  void leave_before_start(std::uint32_t job);
  [[nodiscard]] Duration checkpoint_interval(const JobSpec& spec) const;
  [[nodiscard]] double pause_factor(const JobSpec& spec) const;

  // outages.cpp
  void schedule_outages();
  void take_out(HostId host);
  void put_back(HostId host);
  void withhold(const scheduler::HostSlot& slot);
  void close_hosts(std::uint32_t outage);
  void open_hosts(std::uint32_t outage);
  void note_hosts(Incident::Kind kind, const scheduler::Outage& outage);
  void note_withheld();
  void note_held_back();
  void end_held_back(std::uint32_t job);
  [[nodiscard]] std::vector<std::uint32_t> holders_of(std::span<const HostId> hosts) const;
  [[nodiscard]] std::string broken_quota(std::uint32_t job, const scheduler::HeldGpus& held) const;
  [[nodiscard]] std::string closed_to(const scheduler::JobView& job) const;
  [[nodiscard]] const scheduler::Outage* outage_ahead(const scheduler::JobView& job,
                                                      HostId host) const;

  // paces.cpp
  double alone_ticks(const std::shared_ptr<const Program>& program);
  double reference_ticks(const JobSpec& spec, const scheduler::Placement& placement, double alone);
  double ticks_on_reference(const JobSpec& spec);
  double ticks_per_work_alone(const JobSpec& spec);
  void advance(Running& running);
  void repace();
  void note_contenders(const std::vector<std::uint32_t>& members);
  const std::vector<training::JobIterations>& steady_state(
      const std::vector<std::uint32_t>& members);
  [[nodiscard]] Member member_of(const Running& running) const;
  /// Running jobs that use the fabric.
  [[nodiscard]] std::vector<Member> members() const;
  void apply(Running& running, const training::JobIterations& steady);
  void mark_shared(Running& running, bool shared);
  void set_pace(Running& running, double ticks_per_work);

  // closing.cpp
  void account(TimePoint now);
  [[nodiscard]] double fragmentation(std::uint64_t free) const;
  void account_reservation(double span);
  void close();
  void close_jobs();
  void link_statistics();
  void note_sample();
  void open_holdings(std::uint32_t job);
  void close_holdings(std::uint32_t job, TimePoint at);

  std::span<const JobSpec> jobs_;
  const Settings& settings_;
  Observer* observer_;
  std::unique_ptr<scheduler::Scheduler> own_scheduler_;  ///< composed, where none was given
  scheduler::Scheduler* scheduler_;
  scheduler::Inventory inventory_;
  IterationOracle oracle_;
  CandidateCost cost_;
  /// Results by the jobs of a component, in the oracle's keeping.
  std::map<std::vector<std::uint32_t>, const std::vector<training::JobIterations>*> seen_;
  std::uint64_t seen_hits_ = 0;
  EventQueue<Event> queue_;
  std::vector<scheduler::JobView> views_;  ///< by job
  std::vector<double> work_left_;          ///< by job, while it does not run
  std::vector<bool> write_due_;            ///< by job: its checkpoint is paid when it starts
  std::map<std::uint32_t, std::uint64_t> begin_events_;  ///< of starting jobs
  std::vector<bool> down_;                               ///< by host: it has failed
  std::vector<std::uint32_t> out_;       ///< by host: failures and outages that keep it out
  std::vector<std::uint64_t> withheld_;  ///< by host: its GPUs that nobody holds for that
  std::vector<scheduler::Withheld> withheld_slots_;  ///< for the view
  scheduler::HeldGpus held_;
  std::set<std::uint32_t> open_holds_;  ///< jobs that something holds back now
  Rng failure_rng_;
  std::vector<JobId> waiting_;  ///< in order of arrival
  std::vector<JobId> holders_;  ///< of GPUs, in order of their starts
  std::vector<HostId> reserved_;
  scheduler::ClusterView view_;
  std::vector<Running> running_;
  std::vector<std::pair<std::pair<const workload::IterationDag*, std::uint32_t>, double>>
      references_;
  std::map<std::string, std::uint32_t, std::less<>> jobs_of_user_;  ///< in the system
  std::vector<double> user_ticks_before_;  ///< by job: integral of users at its submission
  double user_ticks_ = 0;
  Outcome outcome_;
  TimePoint now_{};
  std::optional<TimePoint> next_wake_;
  std::uint64_t allocated_gpus_ = 0;
  double fragmentation_ticks_ = 0;
  double fragmentation_span_ = 0;
  std::size_t finished_ = 0;
  std::size_t rejected_ = 0;
  std::size_t rejected_by_quota_ = 0;
  std::size_t rejected_by_scheduler_ = 0;
  std::uint64_t refused_ = 0;
  std::string first_refusal_;
  std::uint64_t noted_ = 0;
  std::string first_note_;
  std::string first_rejection_;
  bool comes_back_ = true;  ///< may a job start more than once?
  /// By job: first and one past the last of its holdings that are open; equal: none.
  std::vector<std::pair<std::size_t, std::size_t>> open_holdings_;
  bool decision_pending_ = false;
  bool repace_pending_ = false;
  bool fabric_changed_ = false;  ///< jobs on the fabric came or went since the last repace
  bool started_any_ = false;
  bool interrupted_ = false;
};

}  // namespace railyard::cluster
