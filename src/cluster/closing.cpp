// Integrals over time, and what is left to say when the run ends.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "simulation.hpp"

namespace railyard::cluster {

/// Integrals over time up to `now`.
void Simulation::account(TimePoint now) {
  const auto span = static_cast<double>((now - now_).count());
  if (span > 0) {
    outcome_.allocated_gpu_ticks += span * static_cast<double>(allocated_gpus_);
    user_ticks_ += span * static_cast<double>(jobs_of_user_.size());
    if (const std::uint64_t free = inventory_.free_gpus(); free > 0 && allocated_gpus_ > 0) {
      fragmentation_ticks_ += span * fragmentation(free);
      fragmentation_span_ += span;
    }
    if (scheduler_->reserves()) account_reservation(span);
    if (settings_.want_history) note_sample();
  }
  now_ = now;
}

/// What held since the last event and until now.
void Simulation::note_sample() {
  Sample sample;
  sample.at = now_;
  sample.allocated_gpus = allocated_gpus_;
  sample.queued_jobs = static_cast<std::uint32_t>(waiting_.size());
  if (const std::uint64_t free = inventory_.free_gpus(); free > 0 && allocated_gpus_ > 0) {
    sample.fragmentation = fragmentation(free);
  }
  if (!outcome_.samples.empty()) {
    const Sample& last = outcome_.samples.back();
    if (last.allocated_gpus == sample.allocated_gpus && last.queued_jobs == sample.queued_jobs &&
        last.fragmentation == sample.fragmentation) {
      return;
    }
  }
  outcome_.samples.push_back(sample);
}

void Simulation::open_holdings(std::uint32_t j) {
  const topology::Topology& topology = *settings_.topology;
  std::map<MinipodId, std::uint32_t> gpus;
  for (const scheduler::HostSlot& slot : outcome_.jobs[j].placement->slots) {
    gpus[topology.host(slot.host).minipod] +=
        static_cast<std::uint32_t>(std::popcount(slot.gpu_mask));
  }
  const std::size_t first = outcome_.holdings.size();
  for (const auto& [minipod, count] : gpus) {
    outcome_.holdings.push_back({j, minipod, count, views_[j].started, views_[j].started});
  }
  open_holdings_.resize(jobs_.size());
  open_holdings_[j] = {first, outcome_.holdings.size()};
}

/// A job that loses its GPUs before it began held them for no time.
void Simulation::close_holdings(std::uint32_t j, TimePoint at) {
  auto& [first, last] = open_holdings_[j];
  for (; first < last; ++first) {
    Holding& holding = outcome_.holdings[first];
    holding.to = std::max(holding.from, at);
  }
}

/// Idle GPUs of reserved hosts, and the curves of who still holds what.
void Simulation::account_reservation(double span) {
  std::uint64_t idle = 0;
  std::size_t held = 0;
  for (const HostId host : reserved_) {
    idle += inventory_.free_gpus(host);
    if (!inventory_.wholly_free(host)) ++held;
  }
  outcome_.reserved_idle_gpu_ticks += span * static_cast<double>(idle);
  CurvePoint point{.at = now_, .allocated = 0, .retention = std::nullopt};
  point.allocated =
      static_cast<double>(allocated_gpus_) / static_cast<double>(settings_.topology->gpu_count());
  if (!reserved_.empty()) {
    point.retention = static_cast<double>(held) / static_cast<double>(reserved_.size());
  }
  if (!outcome_.curve.empty()) {
    const CurvePoint& last = outcome_.curve.back();
    if (last.allocated == point.allocated && last.retention == point.retention) return;
  }
  outcome_.curve.push_back(point);
}

/// Share of free GPUs outside the largest gang of whole hosts of one minipod.
double Simulation::fragmentation(std::uint64_t free) const {
  const topology::Topology& topology = *settings_.topology;
  std::uint64_t largest = 0;
  for (std::uint32_t m = 0; m < topology.minipod_count(); ++m) {
    largest =
        std::max<std::uint64_t>(largest, inventory_.free_host_count(static_cast<MinipodId>(m)));
  }
  largest *= topology.hosts().front().gpus;
  return 1.0 - static_cast<double>(largest) / static_cast<double>(free);
}

/// What is still running or waiting when the run ends.
void Simulation::close_jobs() {
  for (Running& running : running_) {
    settle(running, false);
    if (settings_.want_history) close_holdings(running.job, now_);
    JobRecord& record = outcome_.jobs[running.job];
    record.work_done = running.work - running.work_left;
    record.finished = now_;
  }
  for (const JobId job : holders_) outcome_.jobs[index(job)].runs.back().until = now_;
  for (const std::uint32_t job : std::set<std::uint32_t>(open_holds_)) end_held_back(job);
  outcome_.end = running_.empty() ? TimePoint{} : now_;
  for (JobRecord& record : outcome_.jobs) {
    if (record.status == JobStatus::queued || record.status == JobStatus::rejected) continue;
    outcome_.end = std::max(outcome_.end, record.finished);
    if (record.iterations_run > 0) {
      record.iteration_ticks_mean = static_cast<double>(record.run.count()) / record.iterations_run;
    }
  }
}

void Simulation::close() {
  close_jobs();
  if (fragmentation_span_ > 0) outcome_.fragmentation = fragmentation_ticks_ / fragmentation_span_;
  outcome_.engine = oracle_.counters();
  outcome_.memo_hits = oracle_.hits() + seen_hits_;
  outcome_.memo_misses = oracle_.misses();
  if (!waiting_.empty() && running_.empty()) {
    outcome_.warnings.push_back(fmt::format(
        "{} jobs never found a place, the first is \"{}\": the policy cannot place them on the "
        "hosts that are free when nothing runs",
        waiting_.size(), jobs_[index(waiting_.front())].name));
  }
  if (rejected_ > 0) {
    outcome_.warnings.push_back(fmt::format(
        "{} jobs of the trace are larger than the cluster and were rejected", rejected_));
  }
  if (rejected_by_quota_ > 0) {
    outcome_.warnings.push_back(fmt::format(
        "{} jobs of the trace are larger than a quota and were rejected", rejected_by_quota_));
  }
  if (rejected_by_scheduler_ > 0) {
    outcome_.warnings.push_back(fmt::format("the scheduler rejected {} jobs, the first is {}",
                                            rejected_by_scheduler_, first_rejection_));
  }
  if (outcome_.host_failures > 0) {
    double hours = 0;  // of all jobs together: more than the clock can count
    for (const JobRecord& record : outcome_.jobs) hours += in_seconds(record.held) / 3600;
    const auto failures = static_cast<double>(std::max<std::uint64_t>(1, outcome_.job_failures));
    outcome_.warnings.push_back(
        fmt::format("{} hosts failed; jobs lost theirs {} times, once in {:.4g} h that a job held "
                    "GPUs",
                    outcome_.host_failures, outcome_.job_failures, hours / failures));
  }
  if (noted_ > 0) {
    outcome_.warnings.push_back(
        noted_ == 1 ? first_note_
                    : fmt::format("{} (and {} more placements)", first_note_, noted_ - 1));
  }
  if (refused_ > 0) {
    outcome_.warnings.push_back(
        fmt::format("{} decisions of the scheduler were refused, the first because {}", refused_,
                    first_refusal_));
  }
  if (settings_.want_links && !interrupted_) link_statistics();
}

/// Link load in the steady state of the largest job alone.
void Simulation::link_statistics() {
  std::optional<std::uint32_t> largest;
  for (std::uint32_t j = 0; j < jobs_.size(); ++j) {
    if (!outcome_.jobs[j].placement || !jobs_[j].iterations) continue;
    if (!largest || jobs_[j].shape.gpus > jobs_[*largest].shape.gpus) largest = j;
  }
  if (!largest) return;
  const auto program =
      bind_placement(jobs_[*largest], *outcome_.jobs[*largest].placement, *largest, settings_);
  const training::EngineResult& steady = oracle_.steady_state(std::span(&program, 1));
  outcome_.links = steady.links;
  outcome_.links_of = largest;
  outcome_.links_window = steady.window;
  outcome_.link_connections.assign(settings_.topology->links().size(), 0);
  std::vector<topology::LinkUse> scratch;
  for (const training::Edge& edge : program->edges) {
    for (const topology::LinkUse& use : training::may_use(*program, edge, scratch))
      ++outcome_.link_connections[index(use.link)];
  }
}

}  // namespace railyard::cluster
