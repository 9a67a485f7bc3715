// Hosts that are taken out, by failures, drains and maintenance, and what keeps a waiting job from
// starting where the queue would not.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "railyard/core/check.hpp"
#include "simulation.hpp"

namespace railyard::cluster {

using scheduler::JobState;
using scheduler::JobView;
using scheduler::Outage;

void Simulation::schedule_outages() {
  const auto& outages = settings_.rules.outages;
  for (std::uint32_t i = 0; i < outages.size(); ++i) {
    queue_.push(outages[i].from, Phase::failure, Event{Event::close, i});
    if (outages[i].until < TimePoint::max()) {
      queue_.push(outages[i].until, Phase::failure, Event{Event::open, i});
    }
  }
}

/// Takes what is free of a host out of everybody's sight; what jobs hold of it follows when they
/// give it back.
void Simulation::take_out(HostId host) {
  if (out_[index(host)]++ > 0) return;
  withhold({host, inventory_.free_mask(host)});
}

void Simulation::withhold(const scheduler::HostSlot& slot) {
  if (slot.gpu_mask == 0) return;
  inventory_.take(slot);
  withheld_[index(slot.host)] |= slot.gpu_mask;
}

void Simulation::put_back(HostId host) {
  RAILYARD_CHECK(out_[index(host)] > 0, "host {} is not out", index(host));
  if (--out_[index(host)] > 0) return;
  const std::uint64_t mask = std::exchange(withheld_[index(host)], 0);
  if (mask != 0) inventory_.release({host, mask});
}

/// Jobs that hold GPUs of one of the hosts.
std::vector<std::uint32_t> Simulation::holders_of(std::span<const HostId> hosts) const {
  std::vector<std::uint32_t> found;
  for (const JobId job : holders_) {
    const auto& slots = views_[index(job)].placement->slots;
    if (std::ranges::any_of(slots, [hosts](const scheduler::HostSlot& slot) {
          return std::ranges::binary_search(hosts, slot.host);
        })) {
      found.push_back(static_cast<std::uint32_t>(index(job)));
    }
  }
  return found;
}

void Simulation::close_hosts(std::uint32_t outage) {
  const Outage& what = settings_.rules.outages[outage];
  note_hosts(Incident::Kind::hosts_closed, what);
  if (what.preempts) {
    for (const std::uint32_t job : holders_of(what.hosts)) {
      if (views_[job].state == JobState::running) {
        preempt(job);
        continue;
      }
      count_preemption(job);
      leave_before_start(job);
    }
  }
  for (const HostId host : what.hosts) take_out(host);
}

void Simulation::open_hosts(std::uint32_t outage) {
  const Outage& what = settings_.rules.outages[outage];
  note_hosts(Incident::Kind::hosts_opened, what);
  for (const HostId host : what.hosts) put_back(host);
  if (!waiting_.empty()) request_decision();
}

void Simulation::note_hosts(Incident::Kind kind, const Outage& outage) {
  if (!settings_.want_history) return;
  outcome_.incidents.push_back({now_, kind, 0, outage.hosts, outage.name});
}

/// The scheduler's view has what is withheld for as long as outages last.
void Simulation::note_withheld() {
  withheld_slots_.clear();
  for (const Outage& outage : settings_.rules.outages) {
    if (outage.from > now_ || outage.until <= now_) continue;
    for (const HostId host : outage.hosts) {
      const std::uint64_t mask = withheld_[index(host)];
      if (mask != 0) withheld_slots_.push_back({{host, mask}, outage.until});
    }
  }
}

/// The quota that the job would break beside what is held.
std::string Simulation::broken_quota(std::uint32_t j, const scheduler::HeldGpus& held) const {
  if (!settings_.rules.has_quotas()) return {};
  return held.broken_quota(settings_.rules, views_[j],
                           scheduler::gpus_wanted(jobs_[j].shape, inventory_));
}

/// The outage that its start on a host would run into.
const Outage* Simulation::outage_ahead(const JobView& job, HostId host) const {
  if (!job.estimate) return nullptr;
  const Duration need = job.remaining(now_);
  for (const Outage& outage : settings_.rules.outages) {
    if (!outage.planned || outage.until <= now_) continue;
    if (outage.from - now_ >= need + settings_.decision_latency) continue;
    if (std::ranges::binary_search(outage.hosts, host)) return &outage;
  }
  return nullptr;
}

/// Why a job that would fit on the free hosts, with those that are out, has not enough of them.
std::string Simulation::closed_to(const JobView& job) const {
  scheduler::Inventory free = inventory_;
  if (scheduler::fits(job.shape, free)) {
    const Outage* first = nullptr;
    for (std::size_t h = 0; h < out_.size(); ++h) {
      const auto host = static_cast<HostId>(h);
      if (free.free_gpus(host) == 0) continue;
      const Outage* ahead = outage_ahead(job, host);
      if (ahead == nullptr) continue;
      free.take({host, free.free_mask(host)});
      if (first == nullptr) first = ahead;
    }
    if (first == nullptr || scheduler::fits(job.shape, free)) return {};
    return fmt::format("{}, into which it is expected to run", first->name);
  }
  const Outage* first = nullptr;
  for (const Outage& outage : settings_.rules.outages) {
    if (outage.from > now_ || outage.until <= now_) continue;
    for (const HostId host : outage.hosts) {
      const std::uint64_t mask = withheld_[index(host)];
      if (mask == 0 || out_[index(host)] > 1) continue;
      free.release({host, mask});
      if (first == nullptr) first = &outage;
    }
  }
  if (first == nullptr || !scheduler::fits(job.shape, free)) return {};
  return fmt::format("{}, whose hosts it would need", first->name);
}

/// What keeps each waiting job, from now until its next scheduling point.
void Simulation::note_held_back() {
  if (settings_.rules.empty()) return;
  for (const JobId id : waiting_) {
    const auto j = static_cast<std::uint32_t>(index(id));
    std::string why = broken_quota(j, held_);
    if (why.empty() && !settings_.rules.outages.empty()) why = closed_to(views_[j]);
    auto& held = outcome_.jobs[j].held_back;
    const bool open = open_holds_.contains(j);
    if (open && held.back().why == why) continue;
    end_held_back(j);
    if (why.empty()) continue;
    note(Incident::Kind::held_back, j, why);
    held.push_back({now_, now_, std::move(why)});
    open_holds_.insert(j);
  }
}

void Simulation::end_held_back(std::uint32_t j) {
  if (open_holds_.erase(j) > 0) outcome_.jobs[j].held_back.back().until = now_;
}

}  // namespace railyard::cluster
