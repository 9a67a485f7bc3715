// How fast running jobs advance: components of jobs that share links, their iteration times from
// the engine, and the work that is done meanwhile.
#include <algorithm>
#include <utility>

#include "contention.hpp"
#include "railyard/core/check.hpp"
#include "simulation.hpp"

namespace railyard::cluster {
namespace {

std::vector<std::vector<std::uint32_t>> singles(std::size_t jobs) {
  std::vector<std::vector<std::uint32_t>> parts;
  for (std::uint32_t j = 0; j < jobs; ++j) parts.push_back({j});
  return parts;
}

}  // namespace

double Simulation::alone_ticks(const std::shared_ptr<const Program>& program) {
  return oracle_.steady_state(std::span(&program, 1)).jobs.front().iteration_ticks;
}

/// Jobs given in iterations are measured against themselves alone. Of recorded jobs a placement
/// on the fewest leaves is its own reference; others are measured against the reference
/// placement on the empty cluster.
double Simulation::reference_ticks(const JobSpec& spec, const scheduler::Placement& placement,
                                   double alone) {
  if (spec.iterations || is_tightest(placement, spec.shape, *settings_.topology)) return alone;
  return ticks_on_reference(spec);
}

double Simulation::ticks_on_reference(const JobSpec& spec) {
  const auto key = std::pair(spec.dag.get(), spec.shape.gpus);
  for (const auto& [known, ticks] : references_) {
    if (known == key) return ticks;
  }
  const auto reference = reference_placement(spec.shape, *settings_.topology);
  const double ticks = alone_ticks(bind_placement(spec, reference, 0, settings_));
  references_.emplace_back(key, ticks);
  return ticks;
}

/// What an oracle knows of a job that has no place yet.
double Simulation::ticks_per_work_alone(const JobSpec& spec) {
  return (spec.recorded ? 1.0 : ticks_on_reference(spec)) * pause_factor(spec);
}

/// Work done since the last change of pace.
void Simulation::advance(Running& running) {
  const Duration elapsed = now_ - running.since;
  if (elapsed < Duration{}) return;  // its checkpoint is still being read
  const auto span = static_cast<double>(elapsed.count());
  if (running.ticks_per_work > 0 && span > 0) {
    const double left_before = running.work_left;
    running.work_left = std::max(0.0, running.work_left - span / running.ticks_per_work);
    JobRecord& record = outcome_.jobs[running.job];
    const double iteration = record.iterations.iteration_ticks * running.pause_factor;
    const double iterations = iteration > 0 ? span / iteration : 0.0;
    record.iterations_run += iterations;
    record.run += elapsed;
    if (iteration > 0) {
      record.contention_ticks +=
          span * std::max(0.0, 1 - record.alone_ticks / record.iterations.iteration_ticks);
    }
    const double busy = iterations * record.iterations.busy_gpu_ticks;
    outcome_.busy_gpu_ticks += busy;
    record.busy_gpu_ticks += busy;
    running.unsaved += elapsed;
    const Duration period = running.interval + settings_.checkpoints.cost;
    if (running.interval > Duration{} && running.unsaved >= period) {
      running.unsaved %= period;
      const auto since_saved = static_cast<double>(running.unsaved.count());
      running.saved_left =
          std::min(left_before, running.work_left + since_saved / running.ticks_per_work);
    }
  }
  running.since = now_;
}

/// New components, new paces, new finishes: after everything that changes them in this tick.
void Simulation::repace() {
  repace_pending_ = false;
  std::vector<const std::vector<training::LinkDemand>*> demands;
  std::vector<std::uint32_t> on_fabric;
  for (std::uint32_t r = 0; r < running_.size(); ++r) {
    if (running_[r].program) {
      demands.push_back(&running_[r].program->demand);
      on_fabric.push_back(r);
    } else if (!running_[r].paced) {
      set_pace(running_[r], running_[r].pause_factor);
    }
  }
  // Jobs of one host come and go without a trace on the fabric.
  if (!std::exchange(fabric_changed_, false)) return;
  // Where every flow runs alone nobody slows anybody down.
  const bool apart = settings_.network.model.fidelity == network::Fidelity::analytic;
  const auto parts = apart ? singles(demands.size()) : components(demands, *settings_.topology);
  for (const auto& component : parts) {
    std::vector<std::uint32_t> members;
    for (const std::uint32_t member : component) members.push_back(on_fabric[member]);
    if (members.size() > 1) {
      ++outcome_.contended_epochs;
      note_contenders(members);
    }
    const auto& steady = steady_state(members);
    for (std::size_t i = 0; i < members.size(); ++i) {
      mark_shared(running_[members[i]], members.size() > 1);
      apply(running_[members[i]], steady[i]);
    }
  }
}

void Simulation::note_contenders(const std::vector<std::uint32_t>& members) {
  for (const std::uint32_t one : members) {
    auto& known = outcome_.jobs[running_[one].job].contended_with;
    for (const std::uint32_t other : members) {
      if (other == one || known.size() >= kContendersKept) continue;
      const std::uint32_t job = running_[other].job;
      const auto at = std::ranges::lower_bound(known, job);
      if (at == known.end() || *at != job) known.insert(at, job);
    }
  }
}

Member Simulation::member_of(const Running& running) const {
  return {running.program, to_ticks(outcome_.jobs[running.job].alone_ticks),
          jobs_[running.job].priority};
}

std::vector<Member> Simulation::members() const {
  std::vector<Member> out;
  for (const Running& running : running_) {
    if (running.program) out.push_back(member_of(running));
  }
  return out;
}

/// Iterations of running jobs that share links. The same jobs in the same places again are the same
/// component; a job that was preempted may come back elsewhere.
const std::vector<training::JobIterations>& Simulation::steady_state(
    const std::vector<std::uint32_t>& members) {
  std::vector<std::uint32_t> jobs;
  for (const std::uint32_t member : members) {
    jobs.push_back(running_[member].job);
    if (comes_back_) jobs.push_back(outcome_.jobs[running_[member].job].starts);
  }
  const auto [known, inserted] = seen_.try_emplace(jobs, nullptr);
  if (inserted) {
    std::vector<Member> company;
    for (const std::uint32_t member : members) company.push_back(member_of(running_[member]));
    known->second = &together(company, settings_, oracle_).jobs;
  } else {
    ++seen_hits_;
  }
  return *known->second;
}

void Simulation::mark_shared(Running& running, bool shared) {
  if (running.shared_since) outcome_.jobs[running.job].shared += now_ - *running.shared_since;
  running.shared_since = shared ? std::optional(now_) : std::nullopt;
}

void Simulation::apply(Running& running, const training::JobIterations& steady) {
  JobRecord& record = outcome_.jobs[running.job];
  const double ticks = steady.iteration_ticks;
  const double pace = (jobs_[running.job].iterations ? ticks : ticks / running.own_reference) *
                      running.pause_factor;
  if (running.paced && running.ticks_per_work == pace) return;
  advance(running);
  if (running.paced) record.varied = true;
  const auto shortest = static_cast<double>(steady.shortest.count());
  const auto longest = static_cast<double>(steady.longest.count());
  const bool first = !running.paced && record.starts == 1;
  record.iteration_ticks_min = first ? shortest : std::min(record.iteration_ticks_min, shortest);
  record.iteration_ticks_max = first ? longest : std::max(record.iteration_ticks_max, longest);
  record.iteration_ticks_p99 =
      std::max(record.iteration_ticks_p99, static_cast<double>(steady.p99.count()));
  record.iterations = steady;
  set_pace(running, pace);
}

void Simulation::set_pace(Running& running, double ticks_per_work) {
  running.ticks_per_work = ticks_per_work;
  running.paced = true;
  if (running.finish_event) queue_.cancel(*running.finish_event);
  const double left = running.work_left * ticks_per_work;
  if (settings_.predictor != nullptr && settings_.predictor->sees_truth()) {
    predict(running.job, left);
  }
  running.finish_event.reset();
  const Duration reading = std::max(running.since - now_, Duration{});
  if (left + static_cast<double>(reading.count()) > static_cast<double>(kHorizonMax.count())) {
    return;
  }
  running.finish_event =
      push_after(to_ticks(left) + reading, Phase::completion, Event{Event::finish, running.job});
}

}  // namespace railyard::cluster
