// Hosts that fail, jobs that lose them, and the checkpoints they start again from.
#include <algorithm>
#include <array>
#include <cmath>

#include "railyard/core/check.hpp"
#include "simulation.hpp"

namespace railyard::cluster {

namespace {

constexpr double kSecondsPerDay = 86'400;

Failures create_none(const config::Parameters& /*parameters*/) {
  return {};
}
Failures create_node_rate(const config::Parameters& parameters) {
  return {.per_host_day = parameters.get<double>("per_1000_node_days") / 1000,
          .repair = parameters.get<Duration>("repair")};
}

}  // namespace

std::span<const config::CatalogEntry<FailureFactory>> failure_catalog() {
  static const std::array<config::CatalogEntry<FailureFactory>, 2> kTable{{
      {{.name = "none", .summary = "nothing fails", .parameters = {}}, &create_none},
      {{.name = "node_rate",
        .summary = "hosts fail independently at a constant rate and are repaired",
        .parameters = {{.name = "per_1000_node_days",
                        .fallback = "6.5",
                        .help = "failures of a thousand hosts in a day (6.50 at Meta's RSC-1: "
                                "Kokolis et al., HPCA'25)",
                        .min = 0.0,
                        .max = 1e6},
                       {.name = "repair",
                        .type = config::ParameterType::duration,
                        .fallback = "\"12h\"",
                        .help = "from a failure until the host is back: a choice of ours"}}},
       &create_node_rate},
  }};
  return kTable;
}

void Simulation::schedule_failure() {
  const double rate = settings_.failures.per_host_day;
  if (rate <= 0) return;
  const auto hosts = static_cast<double>(settings_.topology->hosts().size());
  const double wait = failure_rng_.exponential(kSecondsPerDay / (rate * hosts));
  push_after(from_seconds(std::min(wait, in_seconds(kHorizonMax))), Phase::failure,
             Event{Event::fail, 0});
}

/// Failures of all hosts together are one Poisson process, and each hits a host at random: equal to
/// one process a host. What fails while it is down or belongs to others changes nothing.
void Simulation::fail_host() {
  schedule_failure();
  const auto host = static_cast<HostId>(failure_rng_.below(settings_.topology->hosts().size()));
  const bool others = std::ranges::any_of(
      settings_.background, [host](const scheduler::HostSlot& slot) { return slot.host == host; });
  if (down_[index(host)] || others) return;
  ++outcome_.host_failures;
  note(Incident::Kind::host_failed, index(host));
  for (const std::uint32_t job : holders_of(std::span(&host, 1))) crash(job);
  down_[index(host)] = true;
  take_out(host);
  push_after(settings_.failures.repair, Phase::failure,
             Event{Event::repair, static_cast<std::uint32_t>(index(host))});
}

/// A job loses a host: what it did since its last checkpoint is gone.
void Simulation::crash(std::uint32_t j) {
  note(Incident::Kind::failed, j);
  ++outcome_.jobs[j].failures;
  ++outcome_.job_failures;
  scheduler::JobView& seen = views_[j];
  if (seen.state == scheduler::JobState::starting) {
    leave_before_start(j);
    return;
  }
  const auto found = running(j);
  leave(*found, true);
  work_left_[j] = found->saved_left;
  if (found->finish_event) queue_.cancel(*found->finish_event);
  running_.erase(found);
  requeue(j);
  request_repace();
}

/// A job that has its GPUs and has not begun gives them back.
void Simulation::leave_before_start(std::uint32_t j) {
  if (const auto event = begin_events_.find(j); event != begin_events_.end()) {
    queue_.cancel(event->second);
    begin_events_.erase(event);
  }
  free_gpus(j);
  requeue(j);
}

void Simulation::repair(HostId host) {
  note(Incident::Kind::host_repaired, index(host));
  down_[index(host)] = false;
  put_back(host);
  if (!waiting_.empty()) request_decision();
}

Duration Simulation::checkpoint_interval(const JobSpec& spec) const {
  const Checkpoints& saved = settings_.checkpoints;
  if (!saved.young_daly) return saved.interval;
  const std::uint32_t per_host = inventory_.gpus_per_host();
  const double hosts = (spec.shape.gpus + per_host - 1) / per_host;
  const double between = kSecondsPerDay / (settings_.failures.per_host_day * hosts);
  const double seconds = std::sqrt(2 * in_seconds(saved.cost) * between);
  return from_seconds(std::clamp(seconds, 1e-3, in_seconds(kHorizonMax) / 2));
}

double Simulation::pause_factor(const JobSpec& spec) const {
  const Duration interval = checkpoint_interval(spec);
  if (interval <= Duration{}) return 1;
  return 1 + static_cast<double>(settings_.checkpoints.cost.count()) /
                 static_cast<double>(interval.count());
}

}  // namespace railyard::cluster
