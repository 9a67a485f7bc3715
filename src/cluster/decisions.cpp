// Scheduling points: the scheduler decides, the cluster checks every decision and applies it.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>
#include <variant>

#include "railyard/core/check.hpp"
#include "simulation.hpp"

namespace railyard::cluster {

using scheduler::JobState;
using scheduler::JobView;

namespace {

/// On a clock that ends.
TimePoint after(TimePoint from, Duration wait) {
  return from + std::min(wait, kHorizonMax - from.time_since_epoch());
}

}  // namespace

void Simulation::decide() {
  decision_pending_ = false;
  ask_scheduler();
  note_held_back();
}

void Simulation::ask_scheduler() {
  while (!waiting_.empty()) {
    for (scheduler::Decision& decision : scheduler_->decide(view())) {
      std::visit([this](auto& one) { apply(one); }, decision);
    }
    std::erase_if(waiting_,
                  [this](JobId job) { return views_[index(job)].state != JobState::waiting; });
    if (!scheduler_->again()) return;
  }
}

void Simulation::apply(scheduler::Start& start) {
  if (std::string why = objection(start); !why.empty()) return refuse(start.job, std::move(why));
  admit(static_cast<std::uint32_t>(index(start.job)), std::move(start.placement));
}

void Simulation::apply(const scheduler::Preempt& preempt) {
  if (index(preempt.job) >= jobs_.size() || views_[index(preempt.job)].state != JobState::running) {
    return refuse(preempt.job,
                  fmt::format("{} cannot be preempted: it does not run", named(preempt.job)));
  }
  if (!outcome_.displaces) {
    return refuse(preempt.job, fmt::format("{} cannot be preempted: the scheduler said that it "
                                           "never does",
                                           named(preempt.job)));
  }
  this->preempt(static_cast<std::uint32_t>(index(preempt.job)));
}

void Simulation::apply(const scheduler::Reject& reject) {
  if (index(reject.job) >= jobs_.size() || views_[index(reject.job)].state != JobState::waiting) {
    return refuse(reject.job,
                  fmt::format("{} cannot be rejected: it does not wait", named(reject.job)));
  }
  const auto j = static_cast<std::uint32_t>(index(reject.job));
  views_[j].state = JobState::done;
  outcome_.jobs[j].status = JobStatus::rejected;
  note(Incident::Kind::rejected, j, reject.reason);
  count_user(j, -1);
  if (first_rejection_.empty()) {
    first_rejection_ = fmt::format("{}: {}", named(reject.job), reject.reason);
  }
  ++rejected_by_scheduler_;
}

void Simulation::apply(const scheduler::Wake& wake) {
  if (wake.at <= now_) {
    return refuse(std::nullopt, "a scheduler asked to be woken at a time that has come");
  }
  wake_at(wake.at);
}

void Simulation::refuse(std::optional<JobId> job, std::string reason) {
  note(Incident::Kind::refused, 0, reason);
  scheduler_->refused(job, reason);
  if (refused_++ == 0) first_refusal_ = std::move(reason);
}

std::string Simulation::named(JobId job) const {
  return index(job) < jobs_.size() ? fmt::format("job \"{}\"", jobs_[index(job)].name)
                                   : fmt::format("job {} of {}", index(job), jobs_.size());
}

std::string Simulation::objection(const scheduler::Start& start) const {
  const bool waits =
      index(start.job) < jobs_.size() && views_[index(start.job)].state == JobState::waiting;
  if (!waits) return fmt::format("{} cannot start: it does not wait", named(start.job));
  const std::string why = objection(start.placement, jobs_[index(start.job)].shape);
  if (!why.empty()) return fmt::format("{} cannot start: {}", named(start.job), why);
  const auto j = static_cast<std::uint32_t>(index(start.job));
  if (const std::string quota = broken_quota(j, held_); !quota.empty()) {
    return fmt::format("{} cannot start: it would break {}", named(start.job), quota);
  }
  for (const scheduler::HostSlot& slot : start.placement.slots) {
    if (const auto* ahead = outage_ahead(views_[j], slot.host)) {
      return fmt::format("{} cannot start: it is expected to run into {}", named(start.job),
                         ahead->name);
    }
  }
  return {};
}

/// A gang is placed whole, on GPUs that are free: whole hosts from a host's worth on, else a part
/// of one.
std::string Simulation::objection(const scheduler::Placement& placement,
                                  const scheduler::GangShape& shape) const {
  const topology::Topology& topology = *settings_.topology;
  const std::uint32_t per_host = inventory_.gpus_per_host();
  const std::uint64_t whole = scheduler::whole_host_mask(per_host);
  std::vector<HostId> hosts;
  for (const scheduler::HostSlot& slot : placement.slots) {
    if (index(slot.host) >= topology.hosts().size()) {
      return fmt::format("host {} of {}", index(slot.host), topology.hosts().size());
    }
    if (slot.gpu_mask == 0 || (slot.gpu_mask & ~inventory_.free_mask(slot.host)) != 0) {
      return fmt::format("GPUs of host {} are not free", topology.host_name(slot.host));
    }
    if (shape.gpus >= per_host && slot.gpu_mask != whole) {
      return fmt::format("it takes whole hosts, not a part of {}", topology.host_name(slot.host));
    }
    hosts.push_back(slot.host);
  }
  std::ranges::sort(hosts);
  const auto twice = std::ranges::adjacent_find(hosts);
  if (twice != hosts.end()) return fmt::format("host {} twice", topology.host_name(*twice));
  const std::uint64_t gpus = gpus_of(placement);
  if (gpus < shape.gpus) return fmt::format("{} of its {} GPUs", gpus, shape.gpus);
  if (shape.gpus < per_host && hosts.size() > 1) return "its GPUs lie on more than one host";
  return {};
}

/// Takes the GPUs at the decision; the job begins when the decision's latency has passed.
void Simulation::admit(std::uint32_t j, scheduler::Placement placement) {
  for (const scheduler::HostSlot& slot : placement.slots) inventory_.take(slot);
  allocated_gpus_ += gpus_of(placement);
  if (settings_.rules.has_quotas()) held_.add(views_[j], gpus_of(placement));
  end_held_back(j);
  JobRecord& record = outcome_.jobs[j];
  record.spread = scheduler::spread_of(placement, jobs_[j].shape, *settings_.topology);
  if (!placement.note.empty() && noted_++ == 0) {
    first_note_ = fmt::format("{}: {}", named(static_cast<JobId>(j)), placement.note);
  }
  record.runs.push_back({now_, now_, placement.slots});
  record.placement = std::move(placement);
  JobView& seen = views_[j];
  seen.state = JobState::starting;
  seen.placement = &*record.placement;
  seen.started = after(now_, settings_.decision_latency);
  seen.productive = seen.started;
  if (record.starts > 0) {
    // What was written at the preemption is paid now.
    const Checkpoints& saved = settings_.checkpoints;
    const Duration writing = write_due_[j] ? saved.cost : Duration{};
    seen.productive = after(after(seen.started, writing), saved.restart);
    write_due_[j] = false;
  }
  if (settings_.want_history) open_holdings(j);
  note(Incident::Kind::placed, j);
  outcome_.overhead_gpu_ticks += static_cast<double>(gpus_of(*record.placement)) *
                                 static_cast<double>((seen.started - now_).count());
  holders_.push_back(seen.job);
  const auto begins =
      push_after(settings_.decision_latency, Phase::decision, Event{Event::begin, j});
  if (begins) begin_events_[j] = *begins;
}

}  // namespace railyard::cluster
