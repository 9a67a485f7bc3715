#include "railyard/cluster/cluster.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "contention.hpp"
#include "iteration_oracle.hpp"
#include "railyard/core/check.hpp"
#include "railyard/core/event_queue.hpp"

namespace railyard::cluster {
namespace {

using training::Program;

/// A running job between two events.
struct Running {
  std::uint32_t job = 0;
  std::shared_ptr<const Program> program;  ///< null: one host, recorded; nothing to simulate
  double work = 0;                         ///< iterations, or recorded ticks
  double work_left = 0;                    ///< at `since`
  double ticks_per_work = 0;               ///< current pace; 0 until the first epoch
  double own_reference = 0;                ///< ticks of one iteration that count as pace 1
  TimePoint since{};
  std::optional<std::uint64_t> finish_event;  ///< none: beyond the horizon
  bool paced = false;
};

struct Event {
  enum Kind : std::uint32_t { arrival, finish, decide, begin, repace };
  Kind kind = arrival;
  std::uint32_t job = 0;
};

/// GPUs a placement holds: whole hosts count whole, also where the job uses a part of the last.
std::uint64_t gpus_of(const scheduler::Placement& placement) {
  std::uint64_t gpus = 0;
  for (const scheduler::HostSlot& slot : placement.slots) {
    gpus += static_cast<std::uint64_t>(std::popcount(slot.gpu_mask));
  }
  return gpus;
}

class Simulation {
 public:
  Simulation(std::span<const JobSpec> jobs, const Settings& settings, Observer* observer)
      : jobs_(jobs),
        settings_(settings),
        observer_(observer),
        inventory_(*settings.topology),
        oracle_(*settings.topology, settings.limits, settings.want_links, observer) {
    for (const scheduler::HostSlot& slot : settings.background) inventory_.take(slot);
    outcome_.jobs.resize(jobs.size());
    outcome_.background_gpus =
        static_cast<double>(settings.topology->gpu_count() - inventory_.free_gpus());
  }

  Outcome run() {
    for (std::uint32_t j = 0; j < jobs_.size(); ++j) {
      queue_.push(jobs_[j].submitted, Phase::arrival, Event{Event::arrival, j});
    }
    const TimePoint horizon(settings_.horizon);
    try {
      while (!queue_.empty() && queue_.top().key.time <= horizon) {
        const auto event = queue_.pop();
        account(event.key.time);
        handle(event.payload);
        ++outcome_.events;
        if (observer_ == nullptr) continue;
        observer_->at(now_, finished_, jobs_.size(), outcome_.events + oracle_.counters().events);
        if (observer_->stop()) throw Interrupted();
      }
      if (!queue_.empty() || !running_.empty()) account(horizon);
    } catch (const Interrupted&) {
      // What has happened so far is the outcome; nothing more is simulated for it.
      interrupted_ = true;
    }
    close();
    return std::move(outcome_);
  }

 private:
  void handle(const Event& event) {
    switch (event.kind) {
      case Event::arrival:
        arrive(event.job);
        break;
      case Event::finish:
        finish(event.job);
        break;
      case Event::decide:
        decide();
        break;
      case Event::begin:
        begin(event.job);
        break;
      case Event::repace:
        repace();
        break;
    }
  }

  /// Integrals over time up to `now`.
  void account(TimePoint now) {
    const auto span = static_cast<double>((now - now_).count());
    if (span > 0) {
      outcome_.allocated_gpu_ticks += span * static_cast<double>(allocated_gpus_);
      if (const std::uint64_t free = inventory_.free_gpus(); free > 0 && allocated_gpus_ > 0) {
        fragmentation_ticks_ += span * fragmentation(free);
        fragmentation_span_ += span;
      }
    }
    now_ = now;
  }

  /// Share of free GPUs outside the largest gang of whole hosts of one minipod.
  [[nodiscard]] double fragmentation(std::uint64_t free) const {
    const topology::Topology& topology = *settings_.topology;
    std::uint64_t largest = 0;
    for (std::uint32_t m = 0; m < topology.minipod_count(); ++m) {
      largest =
          std::max<std::uint64_t>(largest, inventory_.free_host_count(static_cast<MinipodId>(m)));
    }
    largest *= topology.hosts().front().gpus;
    return 1.0 - static_cast<double>(largest) / static_cast<double>(free);
  }

  /// The event after a wait; beyond the horizon nothing happens, so it is not even queued.
  std::optional<std::uint64_t> push_after(Duration wait, Phase phase, Event event) {
    if (wait > settings_.horizon - now_.time_since_epoch()) return std::nullopt;
    return queue_.push(now_ + wait, phase, event);
  }

  void request_decision() {
    if (decision_pending_) return;
    Duration wait{};
    if (const Duration interval = settings_.interval; interval > Duration{}) {
      const Duration since = now_.time_since_epoch() % interval;
      if (since > Duration{}) wait = interval - since;
    }
    decision_pending_ = push_after(wait, Phase::decision, Event{Event::decide, 0}).has_value();
  }

  void request_repace() {
    if (repace_pending_) return;
    repace_pending_ = true;
    queue_.push(now_, Phase::rate_update, Event{Event::repace, 0});
  }

  void arrive(std::uint32_t j) {
    if (jobs_[j].shape.gpus >
        settings_.topology->gpu_count() - static_cast<std::uint64_t>(outcome_.background_gpus)) {
      outcome_.jobs[j].status = JobStatus::rejected;
      ++rejected_;
      return;
    }
    waiting_.push_back(scheduler::QueuedJob{static_cast<JobId>(j), now_, jobs_[j].shape.gpus});
    request_decision();
  }

  void decide() {
    decision_pending_ = false;
    settings_.queue->order(waiting_);
    std::vector<scheduler::QueuedJob> still_waiting;
    bool blocked = false;
    for (const scheduler::QueuedJob& queued : waiting_) {
      const auto j = static_cast<std::uint32_t>(index(queued.job));
      std::optional<scheduler::Placement> placement;
      if (!blocked) {
        placement = settings_.placement->place(jobs_[j].shape, inventory_,
                                               settings_.streams.stream("placement", j));
      }
      if (!placement) {
        still_waiting.push_back(queued);
        blocked = blocked || settings_.queue->head_blocks();
        continue;
      }
      admit(j, std::move(*placement));
    }
    waiting_ = std::move(still_waiting);
  }

  /// Takes the GPUs at the decision; the job begins when the decision's latency has passed.
  void admit(std::uint32_t j, scheduler::Placement placement) {
    for (const scheduler::HostSlot& slot : placement.slots) inventory_.take(slot);
    const std::uint64_t gpus = gpus_of(placement);
    RAILYARD_CHECK(gpus >= jobs_[j].shape.gpus, "policy gave job {} {} of {} GPUs", jobs_[j].name,
                   gpus, jobs_[j].shape.gpus);
    allocated_gpus_ += gpus;
    JobRecord& record = outcome_.jobs[j];
    record.spread = scheduler::spread_of(placement, jobs_[j].shape, *settings_.topology);
    record.placement = std::move(placement);
    push_after(settings_.decision_latency, Phase::decision, Event{Event::begin, j});
  }

  void begin(std::uint32_t j) {
    const JobSpec& spec = jobs_[j];
    JobRecord& record = outcome_.jobs[j];
    record.status = JobStatus::running;
    record.started = now_;
    if (!started_any_) outcome_.first_start = now_;
    started_any_ = true;
    Running running;
    running.job = j;
    running.since = now_;
    running.work = spec.iterations ? static_cast<double>(*spec.iterations)
                                   : static_cast<double>(spec.recorded->count());
    running.work_left = running.work;
    const bool fabric = record.placement->slots.size() > 1;
    if (fabric || spec.iterations) {
      running.program = bind_placement(spec, *record.placement, j);
      record.alone_ticks = alone_ticks(running.program);
      record.reference_ticks = reference_ticks(spec, *record.placement, record.alone_ticks);
      running.own_reference = record.reference_ticks;
    }
    running_.push_back(std::move(running));
    request_repace();
  }

  std::shared_ptr<const Program> bind_placement(const JobSpec& spec,
                                                const scheduler::Placement& placement,
                                                std::uint64_t label) {
    return training::bind(
        spec.dag, scheduler::gpu_of_rank(placement, spec.shape, *settings_.topology),
        *settings_.topology, settings_.network, connection_label(settings_.streams.seed(), label));
  }

  double alone_ticks(const std::shared_ptr<const Program>& program) {
    return oracle_.steady_state(std::span(&program, 1)).jobs.front().iteration_ticks;
  }

  /// Jobs given in iterations are measured against themselves alone. Of recorded jobs a placement
  /// on the fewest leaves is its own reference; others are measured against the reference
  /// placement on the empty cluster.
  double reference_ticks(const JobSpec& spec, const scheduler::Placement& placement, double alone) {
    if (spec.iterations || is_tightest(placement, spec.shape, *settings_.topology)) return alone;
    const auto key = std::pair(spec.dag.get(), spec.shape.gpus);
    for (const auto& [known, ticks] : references_) {
      if (known == key) return ticks;
    }
    const double ticks =
        alone_ticks(bind_placement(spec, reference_placement(spec.shape, *settings_.topology), 0));
    references_.emplace_back(key, ticks);
    return ticks;
  }

  void finish(std::uint32_t j) {
    const auto found = std::find_if(running_.begin(), running_.end(),
                                    [&](const Running& running) { return running.job == j; });
    RAILYARD_CHECK(found != running_.end(), "job {} finishes twice", jobs_[j].name);
    advance(*found);
    JobRecord& record = outcome_.jobs[j];
    record.status = JobStatus::finished;
    record.finished = now_;
    record.work_done = found->work;
    for (const scheduler::HostSlot& slot : record.placement->slots) inventory_.release(slot);
    allocated_gpus_ -= gpus_of(*record.placement);
    running_.erase(found);
    ++finished_;
    if (!waiting_.empty()) request_decision();
    request_repace();
  }

  /// Work done since the last change of pace.
  void advance(Running& running) {
    const auto span = static_cast<double>((now_ - running.since).count());
    if (running.ticks_per_work > 0 && span > 0) {
      running.work_left = std::max(0.0, running.work_left - span / running.ticks_per_work);
      JobRecord& record = outcome_.jobs[running.job];
      const double iterations =
          record.iterations.iteration_ticks > 0 ? span / record.iterations.iteration_ticks : 0.0;
      record.iterations_run += iterations;
      outcome_.busy_gpu_ticks += iterations * record.iterations.busy_gpu_ticks;
    }
    running.since = now_;
  }

  /// New components, new paces, new finishes: after everything that changes them in this tick.
  void repace() {
    repace_pending_ = false;
    std::vector<const std::vector<training::LinkDemand>*> demands;
    std::vector<std::uint32_t> on_fabric;
    for (std::uint32_t r = 0; r < running_.size(); ++r) {
      if (running_[r].program) {
        demands.push_back(&running_[r].program->demand);
        on_fabric.push_back(r);
      } else if (!running_[r].paced) {
        set_pace(running_[r], 1.0);
      }
    }
    for (const auto& component : components(demands, *settings_.topology)) {
      std::vector<std::uint32_t> members;
      for (const std::uint32_t member : component) members.push_back(on_fabric[member]);
      if (members.size() > 1) ++outcome_.contended_epochs;
      const auto& steady = steady_state(members);
      for (std::size_t i = 0; i < members.size(); ++i) apply(running_[members[i]], steady[i]);
    }
  }

  /// Iterations of running jobs that share links. The same jobs again are the same component: jobs
  /// keep their places while they run.
  const std::vector<training::JobIterations>& steady_state(
      const std::vector<std::uint32_t>& members) {
    std::vector<std::uint32_t> jobs;
    for (const std::uint32_t member : members) jobs.push_back(running_[member].job);
    const auto [known, inserted] = seen_.try_emplace(jobs, nullptr);
    if (inserted) {
      std::vector<std::shared_ptr<const Program>> programs;
      std::vector<Duration> alone;
      for (const std::uint32_t member : members) {
        programs.push_back(running_[member].program);
        alone.push_back(to_ticks(outcome_.jobs[running_[member].job].alone_ticks));
      }
      known->second = &oracle_.steady_state(programs, alone).jobs;
    }
    return *known->second;
  }

  void apply(Running& running, const training::JobIterations& steady) {
    JobRecord& record = outcome_.jobs[running.job];
    const double ticks = steady.iteration_ticks;
    const double pace = jobs_[running.job].iterations ? ticks : ticks / running.own_reference;
    if (running.paced && running.ticks_per_work == pace) return;
    advance(running);
    if (running.paced) record.varied = true;
    const auto shortest = static_cast<double>(steady.shortest.count());
    const auto longest = static_cast<double>(steady.longest.count());
    const bool first = !running.paced;
    record.iteration_ticks_min = first ? shortest : std::min(record.iteration_ticks_min, shortest);
    record.iteration_ticks_max = first ? longest : std::max(record.iteration_ticks_max, longest);
    record.iteration_ticks_p99 =
        std::max(record.iteration_ticks_p99, static_cast<double>(steady.p99.count()));
    record.iterations = steady;
    set_pace(running, pace);
  }

  void set_pace(Running& running, double ticks_per_work) {
    running.ticks_per_work = ticks_per_work;
    running.paced = true;
    if (running.finish_event) queue_.cancel(*running.finish_event);
    const double wait = running.work_left * ticks_per_work;
    running.finish_event.reset();
    if (wait > static_cast<double>(kHorizonMax.count())) return;
    running.finish_event =
        push_after(to_ticks(wait), Phase::completion, Event{Event::finish, running.job});
  }

  /// What is still running or waiting when the run ends.
  void close() {
    for (Running& running : running_) {
      advance(running);
      outcome_.jobs[running.job].work_done = running.work - running.work_left;
      outcome_.jobs[running.job].finished = now_;
    }
    outcome_.end = running_.empty() ? TimePoint{} : now_;
    for (JobRecord& record : outcome_.jobs) {
      if (record.status == JobStatus::queued || record.status == JobStatus::rejected) continue;
      outcome_.end = std::max(outcome_.end, record.finished);
      const auto span = static_cast<double>((record.finished - record.started).count());
      if (record.iterations_run > 0) record.iteration_ticks_mean = span / record.iterations_run;
    }
    if (fragmentation_span_ > 0)
      outcome_.fragmentation = fragmentation_ticks_ / fragmentation_span_;
    outcome_.engine = oracle_.counters();
    outcome_.memo_hits = oracle_.hits();
    if (!waiting_.empty() && running_.empty()) {
      outcome_.warnings.push_back(fmt::format(
          "{} jobs never found a place, the first is \"{}\": the policy cannot place them on the "
          "hosts that are free when nothing runs",
          waiting_.size(), jobs_[index(waiting_.front().job)].name));
    }
    if (rejected_ > 0) {
      outcome_.warnings.push_back(fmt::format(
          "{} jobs of the trace are larger than the cluster and were rejected", rejected_));
    }
    if (settings_.want_links && !interrupted_) link_statistics();
  }

  /// Link load in the steady state of the largest job alone.
  void link_statistics() {
    std::optional<std::uint32_t> largest;
    for (std::uint32_t j = 0; j < jobs_.size(); ++j) {
      if (!outcome_.jobs[j].placement || !jobs_[j].iterations) continue;
      if (!largest || jobs_[j].shape.gpus > jobs_[*largest].shape.gpus) largest = j;
    }
    if (!largest) return;
    const auto program =
        bind_placement(jobs_[*largest], *outcome_.jobs[*largest].placement, *largest);
    const training::EngineResult& steady = oracle_.steady_state(std::span(&program, 1));
    outcome_.links = steady.links;
    outcome_.links_window = steady.window;
  }

  std::span<const JobSpec> jobs_;
  const Settings& settings_;
  Observer* observer_;
  scheduler::Inventory inventory_;
  IterationOracle oracle_;
  /// Results by the jobs of a component, in the oracle's keeping.
  std::map<std::vector<std::uint32_t>, const std::vector<training::JobIterations>*> seen_;
  EventQueue<Event> queue_;
  std::vector<scheduler::QueuedJob> waiting_;
  std::vector<Running> running_;
  std::vector<std::pair<std::pair<const workload::IterationDag*, std::uint32_t>, double>>
      references_;
  Outcome outcome_;
  TimePoint now_{};
  std::uint64_t allocated_gpus_ = 0;
  double fragmentation_ticks_ = 0;
  double fragmentation_span_ = 0;
  std::size_t finished_ = 0;
  std::size_t rejected_ = 0;
  bool decision_pending_ = false;
  bool repace_pending_ = false;
  bool started_any_ = false;
  bool interrupted_ = false;
};

}  // namespace

std::uint64_t connection_label(std::uint64_t seed, std::uint64_t job) {
  return mix64(mix64(seed) + job);
}

Outcome simulate(std::span<const JobSpec> jobs, const Settings& settings, Observer* observer) {
  return Simulation(jobs, settings, observer).run();
}

}  // namespace railyard::cluster
