#include "railyard/cluster/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "railyard/core/check.hpp"
#include "simulation.hpp"

namespace railyard::cluster {

using scheduler::JobState;
using scheduler::JobView;

std::uint64_t gpus_of(const scheduler::Placement& placement) {
  return scheduler::gpu_count(placement.slots);
}

namespace {

/// Iterations, or ticks of the recorded duration.
double work_of(const JobSpec& spec) {
  return spec.iterations ? static_cast<double>(*spec.iterations)
                         : static_cast<double>(spec.recorded->count());
}

}  // namespace

Simulation::Simulation(std::span<const JobSpec> jobs, const Settings& settings, Observer* observer)
    : jobs_(jobs),
      settings_(settings),
      observer_(observer),
      scheduler_(settings.scheduler),
      inventory_(*settings.topology),
      oracle_(*settings.topology, settings.limits, settings.want_links, observer, settings.memo),
      cost_(jobs, settings, oracle_, [this] { return members(); }),
      views_(jobs.size()),
      work_left_(jobs.size()),
      write_due_(jobs.size(), false),
      down_(settings.topology->hosts().size(), false),
      out_(settings.topology->hosts().size(), 0),
      withheld_(settings.topology->hosts().size(), 0),
      failure_rng_(settings.streams.stream("failures")),
      user_ticks_before_(jobs.size()) {
  if (scheduler_ == nullptr) {
    own_scheduler_ = scheduler::compose({settings.queue, settings.placement, settings.reservation});
    scheduler_ = own_scheduler_.get();
  }
  for (const scheduler::HostSlot& slot : settings.background) inventory_.take(slot);
  outcome_.jobs.resize(jobs.size());
  outcome_.background_gpus =
      static_cast<double>(settings.topology->gpu_count() - inventory_.free_gpus());
  for (std::uint32_t j = 0; j < jobs.size(); ++j) {
    const JobSpec& spec = jobs[j];
    JobView& seen = views_[j];
    seen.job = static_cast<JobId>(j);
    seen.name = spec.name;
    seen.shape = spec.shape;
    seen.submitted = spec.submitted;
    seen.priority = spec.priority;
    seen.user = spec.user;
    seen.group = spec.group;
    seen.kind = spec.kind;
    work_left_[j] = work_of(spec);
  }
}

Outcome Simulation::run() {
  scheduler_->begin(view());
  outcome_.displaces = scheduler_->displaces() ||
                       std::ranges::any_of(settings_.rules.outages, &scheduler::Outage::preempts);
  comes_back_ = outcome_.displaces || settings_.failures.per_host_day > 0;
  for (std::uint32_t j = 0; j < jobs_.size(); ++j) {
    queue_.push(jobs_[j].submitted, Phase::arrival, Event{Event::arrival, j});
    const Duration lead = scheduler_->lead(views_[j]);
    if (lead <= Duration{}) continue;
    const TimePoint at = std::max(TimePoint{}, jobs_[j].submitted - lead);
    queue_.push(at, Phase::arrival, Event{Event::announce, j});
  }
  schedule_failure();
  schedule_outages();
  const TimePoint horizon(settings_.horizon);
  try {
    while (!queue_.empty() && queue_.top().key.time <= horizon) {
      if (nothing_left()) break;
      const auto event = queue_.pop();
      account(event.key.time);
      handle(event.payload);
      ++outcome_.events;
      if (observer_ == nullptr) continue;
      observer_->at(now_, finished_, jobs_.size(), outcome_.events + oracle_.counters().events);
      if (observer_->stop()) throw Interrupted();
    }
    if (!nothing_left() && (!queue_.empty() || !running_.empty())) account(horizon);
  } catch (const Interrupted&) {
    // What has happened so far is the outcome; nothing more is simulated for it.
    interrupted_ = true;
  }
  close();
  return std::move(outcome_);
}

/// Failures go on for ever; without jobs neither they nor outages are of interest.
bool Simulation::nothing_left() const {
  const bool more = settings_.failures.per_host_day > 0 || !settings_.rules.outages.empty();
  return more &&
         finished_ + rejected_ + rejected_by_quota_ + rejected_by_scheduler_ == jobs_.size();
}

void Simulation::handle(const Event& event) {
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
    case Event::announce:
      if (views_[event.job].state == JobState::absent) {
        note(Incident::Kind::announced, event.job);
        tell(scheduler::Event::Kind::announced, event.job);
      }
      break;
    case Event::wake:
      if (next_wake_ == now_) next_wake_.reset();
      request_decision();
      break;
    case Event::fail:
      fail_host();
      break;
    case Event::repair:
      repair(static_cast<HostId>(event.job));
      break;
    case Event::close:
      close_hosts(event.job);
      break;
    case Event::open:
      open_hosts(event.job);
      break;
  }
}

std::optional<std::uint64_t> Simulation::push_after(Duration wait, Phase phase, Event event) {
  if (wait > settings_.horizon - now_.time_since_epoch()) return std::nullopt;
  return queue_.push(now_ + wait, phase, event);
}

void Simulation::request_decision() {
  if (decision_pending_) return;
  Duration wait{};
  if (const Duration interval = settings_.interval; interval > Duration{}) {
    const Duration since = now_.time_since_epoch() % interval;
    if (since > Duration{}) wait = interval - since;
  }
  decision_pending_ = push_after(wait, Phase::decision, Event{Event::decide, 0}).has_value();
}

void Simulation::request_repace() {
  if (repace_pending_) return;
  repace_pending_ = true;
  queue_.push(now_, Phase::rate_update, Event{Event::repace, 0});
}

void Simulation::wake_at(TimePoint at) {
  if (next_wake_ && *next_wake_ <= at) return;
  if (push_after(at - now_, Phase::arrival, Event{Event::wake, 0})) next_wake_ = at;
}

const scheduler::ClusterView& Simulation::view() {
  view_.now = now_;
  view_.decision_latency = settings_.decision_latency;
  view_.inventory = &inventory_;
  view_.jobs = views_;
  view_.waiting = waiting_;
  view_.running = holders_;
  view_.streams = &settings_.streams;
  view_.background = settings_.background;
  view_.cost = &cost_;
  if (!settings_.rules.empty()) {
    note_withheld();
    view_.rules = &settings_.rules;
    view_.withheld = withheld_slots_;
  }
  return view_;
}

void Simulation::note(Incident::Kind kind, std::uint64_t subject, std::string why) {
  if (!settings_.want_history) return;
  Incident incident{now_, kind, static_cast<std::uint32_t>(subject), {}, std::move(why)};
  if (kind == Incident::Kind::placed) {
    for (const scheduler::HostSlot& slot : outcome_.jobs[subject].placement->slots) {
      incident.hosts.push_back(slot.host);
    }
  }
  outcome_.incidents.push_back(std::move(incident));
}

void Simulation::tell(scheduler::Event::Kind kind, std::uint32_t j) {
  scheduler_->observe({kind, static_cast<JobId>(j)}, view());
  if (scheduler_->reserves()) reserved_ = scheduler_->reserved();
}

/// An estimate for a job that has so much run time left, in truth; only an oracle is told.
void Simulation::predict(std::uint32_t j, double ticks_left) {
  if (settings_.predictor == nullptr) return;
  JobView& job = views_[j];
  std::optional<Duration> truth;
  if (settings_.predictor->sees_truth()) {
    const double longest = static_cast<double>(kHorizonMax.count());
    const auto done = static_cast<double>(job.progress(now_).count());
    truth = to_ticks(std::clamp(done + ticks_left, 1.0, longest));
  }
  job.estimate = settings_.predictor->predict(job, truth, settings_.streams.stream("predictor", j));
}

void Simulation::arrive(std::uint32_t j) {
  if (jobs_[j].shape.gpus >
      settings_.topology->gpu_count() - static_cast<std::uint64_t>(outcome_.background_gpus)) {
    outcome_.jobs[j].status = JobStatus::rejected;
    views_[j].state = JobState::done;
    ++rejected_;
    note(Incident::Kind::rejected, j, "larger than the cluster");
    return;
  }
  if (const std::string quota = broken_quota(j, {}); !quota.empty()) {
    outcome_.jobs[j].status = JobStatus::rejected;
    views_[j].state = JobState::done;
    ++rejected_by_quota_;
    note(Incident::Kind::rejected, j, fmt::format("larger than {}", quota));
    return;
  }
  views_[j].state = JobState::waiting;
  count_user(j, 1);
  user_ticks_before_[j] = user_ticks_;
  const bool truth = settings_.predictor != nullptr && settings_.predictor->sees_truth();
  predict(j, truth ? work_left_[j] * ticks_per_work_alone(jobs_[j]) : 0);
  if (views_[j].estimate) outcome_.jobs[j].predicted = views_[j].estimate->run;
  waiting_.push_back(static_cast<JobId>(j));
  note(Incident::Kind::arrived, j);
  tell(scheduler::Event::Kind::arrived, j);
  request_decision();
}

void Simulation::count_user(std::uint32_t j, int change) {
  if (jobs_[j].user.empty()) return;
  if (change > 0) {
    ++jobs_of_user_[jobs_[j].user];
    return;
  }
  const auto found = jobs_of_user_.find(jobs_[j].user);
  if (--found->second == 0) jobs_of_user_.erase(found);
}

void Simulation::begin(std::uint32_t j) {
  const JobSpec& spec = jobs_[j];
  JobRecord& record = outcome_.jobs[j];
  JobView& seen = views_[j];
  record.status = JobStatus::running;
  if (record.starts == 0) record.started = now_;
  if (record.starts > 0) ++outcome_.restarts;
  ++record.starts;
  if (!started_any_) outcome_.first_start = now_;
  started_any_ = true;
  seen.state = JobState::running;
  Running running;
  running.job = j;
  running.since = seen.productive;
  running.work = work_of(spec);
  running.work_left = work_left_[j];
  running.saved_left = work_left_[j];
  running.interval = checkpoint_interval(spec);
  running.pause_factor = pause_factor(spec);
  begin_events_.erase(j);
  const bool fabric = record.placement->slots.size() > 1;
  if (fabric || spec.iterations) {
    running.program = bind_placement(spec, *record.placement, j, settings_);
    record.alone_ticks = alone_ticks(running.program);
    record.reference_ticks = reference_ticks(spec, *record.placement, record.alone_ticks);
    running.own_reference = record.reference_ticks;
  }
  fabric_changed_ = fabric_changed_ || running.program != nullptr;
  running_.push_back(std::move(running));
  note(Incident::Kind::started, j);
  tell(scheduler::Event::Kind::started, j);
  // It could not be displaced before it ran.
  if (outcome_.displaces && settings_.decision_latency > Duration{} && !waiting_.empty()) {
    request_decision();
  }
  request_repace();
}

std::vector<Simulation::Running>::iterator Simulation::running(std::uint32_t j) {
  const auto found = std::ranges::find(running_, j, &Running::job);
  RAILYARD_CHECK(found != running_.end(), "job {} does not run", jobs_[j].name);
  return found;
}

/// Advances a job to now and books its present run.
void Simulation::settle(Running& running, bool lose) {
  advance(running);
  mark_shared(running, false);
  JobRecord& record = outcome_.jobs[running.job];
  JobView& seen = views_[running.job];
  const Duration lost = lose ? running.unsaved : Duration{};
  const Duration kept = seen.progress(now_) - seen.kept_before - lost;
  const auto gpus = static_cast<double>(gpus_of(*record.placement));
  const auto pauses = static_cast<double>(kept.count()) * (1 - 1 / running.pause_factor);
  const Duration reading = std::min(now_, seen.productive) - seen.started;
  outcome_.lost_gpu_ticks += gpus * static_cast<double>(lost.count());
  outcome_.overhead_gpu_ticks += gpus * (pauses + static_cast<double>(reading.count()));
  record.held += now_ - seen.started;
  record.kept += kept;
  seen.held_before += now_ - seen.started;
  seen.kept_before += kept;
}

void Simulation::leave(Running& running, bool lose) {
  settle(running, lose);
  fabric_changed_ = fabric_changed_ || running.program != nullptr;
  free_gpus(running.job);
}

void Simulation::free_gpus(std::uint32_t j) {
  JobRecord& record = outcome_.jobs[j];
  JobView& seen = views_[j];
  if (settings_.want_history) close_holdings(j, now_);
  for (const scheduler::HostSlot& slot : record.placement->slots) {
    inventory_.release(slot);
    if (out_[index(slot.host)] > 0) withhold(slot);
  }
  if (settings_.rules.has_quotas()) held_.remove(seen, gpus_of(*record.placement));
  record.runs.back().until = now_;
  allocated_gpus_ -= gpus_of(*record.placement);
  seen.placement = nullptr;
  std::erase(holders_, seen.job);
}

void Simulation::finish(std::uint32_t j) {
  const auto found = running(j);
  leave(*found, false);
  JobRecord& record = outcome_.jobs[j];
  record.status = JobStatus::finished;
  record.finished = now_;
  record.work_done = found->work;
  views_[j].state = JobState::done;
  running_.erase(found);
  ++finished_;
  count_user(j, -1);
  const auto stay = static_cast<double>((now_ - jobs_[j].submitted).count());
  if (stay > 0) record.users_mean = (user_ticks_ - user_ticks_before_[j]) / stay;
  if (settings_.predictor != nullptr) settings_.predictor->learn(views_[j], record.kept);
  note(Incident::Kind::finished, j);
  tell(scheduler::Event::Kind::finished, j);
  if (!waiting_.empty()) request_decision();
  request_repace();
}

void Simulation::count_preemption(std::uint32_t j) {
  note(Incident::Kind::preempted, j);
  ++outcome_.jobs[j].preemptions;
  ++outcome_.preemptions;
}

void Simulation::preempt(std::uint32_t j) {
  const auto found = running(j);
  const bool lose = found->interval > Duration{};
  leave(*found, lose);
  work_left_[j] = lose ? found->saved_left : found->work_left;
  write_due_[j] = !lose;
  if (found->finish_event) queue_.cancel(*found->finish_event);
  running_.erase(found);
  count_preemption(j);
  requeue(j);
  request_repace();
}

/// A job that has left its GPUs unfinished waits again.
void Simulation::requeue(std::uint32_t j) {
  outcome_.jobs[j].status = JobStatus::queued;
  views_[j].state = JobState::waiting;
  if (settings_.predictor != nullptr && settings_.predictor->sees_truth()) {
    predict(j, work_left_[j] * ticks_per_work_alone(jobs_[j]));
  }
  waiting_.push_back(static_cast<JobId>(j));
  tell(scheduler::Event::Kind::preempted, j);
  request_decision();
}

std::uint64_t connection_label(std::uint64_t seed, std::uint64_t job) {
  return mix64(mix64(seed) + job);
}

Outcome simulate(std::span<const JobSpec> jobs, const Settings& settings, Observer* observer) {
  return Simulation(jobs, settings, observer).run();
}

}  // namespace railyard::cluster
