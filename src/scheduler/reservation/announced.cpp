// Announced jobs: a large job is known some time before it is submitted (Arnold, arXiv 2509.15940,
// section 5.3 and Algorithm 1). When it is announced it gets the very hosts that the placement
// policy would choose for it; until it comes, another job may start on them only if, by its
// estimate, it will be over in time. Algorithm 1 tries hosts outside first. Where the job would fit
// among the hosts whose holders are expected to be gone by then, those are chosen; else among all
// that are not promised to another. Whoever still holds some of them when the job arrives is
// preempted, which the paper does by hand.
#include <algorithm>
#include <cmath>

#include "scheduler/hosts.hpp"
#include "scheduler/profile.hpp"
#include "scheduler/reservation/catalog_entries.hpp"

namespace railyard::scheduler {

namespace {

struct AnnouncedSettings {
  std::uint32_t min_gpus = 0;
  Duration lead{};
  double margin = 0;  ///< standard deviations of the estimate
  bool evict = true;
};

class Announced final : public ReservationPolicy {
 public:
  Announced(const AnnouncedSettings& settings, const PlacementPolicy* placement)
      : settings_(settings), placement_(placement) {}

  bool evicts() const override { return settings_.evict; }
  Duration lead(const JobView& job) const override {
    return job.shape.gpus >= settings_.min_gpus ? settings_.lead : Duration{};
  }
  bool first(const JobView& job) const override { return zone_of(job.job) != nullptr; }

  std::vector<HostId> hosts() const override {
    std::vector<HostId> all;
    for (const Zone& zone : zones_) all.insert(all.end(), zone.hosts.begin(), zone.hosts.end());
    std::ranges::sort(all);
    return all;
  }

  void observe(const Event& event, const ClusterView& view) override {
    if (event.kind == Event::Kind::started) {
      std::erase_if(zones_, [&event](const Zone& zone) { return zone.job == event.job; });
    }
    if (event.kind != Event::Kind::announced) return;
    const JobView& job = view.job(event.job);
    auto placement = choose(job, view, true);
    if (!placement) placement = choose(job, view, false);
    if (!placement) return;  // the hosts that it needs are promised to others: it queues
    Zone zone{.job = event.job, .arrival = job.submitted, .hosts = {}};
    for (const HostSlot& slot : placement->slots) zone.hosts.push_back(slot.host);
    std::ranges::sort(zone.hosts);
    zones_.push_back(std::move(zone));
  }

  Access access(const JobView& job, const ClusterView& view) const override {
    Access access;
    if (const Zone* own = zone_of(job.job)) {
      for (std::size_t h = 0; h < view.inventory->topology().hosts().size(); ++h) {
        const auto host = static_cast<HostId>(h);
        if (!std::ranges::binary_search(own->hosts, host)) access.closed.push_back(host);
      }
      return access;
    }
    std::vector<HostId> late;
    for (const Zone& zone : zones_) {
      if (over_by(job, zone.arrival, view)) continue;
      late.insert(late.end(), zone.hosts.begin(), zone.hosts.end());
    }
    access.closed = hosts();
    std::ranges::sort(late);
    if (late.size() < access.closed.size()) access.then_closed = std::move(late);
    return access;
  }

  bool may_evict(const JobView& claimant, const JobView& victim,
                 const ClusterView& /*view*/) const override {
    const Zone* zone = settings_.evict ? zone_of(claimant.job) : nullptr;
    if (zone == nullptr) return false;
    return std::ranges::any_of(victim.placement->slots, [zone](const HostSlot& slot) {
      return std::ranges::binary_search(zone->hosts, slot.host);
    });
  }

 private:
  /// Hosts promised to a job that has not started.
  struct Zone {
    JobId job{};
    TimePoint arrival{};
    std::vector<HostId> hosts;  ///< ascending
  };

  [[nodiscard]] const Zone* zone_of(JobId job) const {
    const auto found = std::ranges::find(zones_, job, &Zone::job);
    return found == zones_.end() ? nullptr : &*found;
  }

  /// Is a job, started now or running, expected to be over by then? Without an estimate it is not.
  [[nodiscard]] bool over_by(const JobView& job, TimePoint then, const ClusterView& view) const {
    if (!job.estimate) return false;
    const double left = static_cast<double>(job.remaining(view.now).count()) *
                        std::exp(settings_.margin * job.estimate->log_sigma);
    const TimePoint from =
        job.holds_gpus() ? std::max(view.now, job.productive) : view.now + view.decision_latency;
    return left <= static_cast<double>((then - from).count());
  }

  /// The policy's choice among the hosts that nobody else is promised; `drained`: without those
  /// whose holders are expected to stay beyond the job's arrival.
  [[nodiscard]] std::optional<Placement> choose(const JobView& job, const ClusterView& view,
                                                bool drained) const {
    Inventory open(view.inventory->topology());
    for (const HostSlot& slot : view.background) open.take(slot);
    Closed closed(open);
    for (const Withheld& out : view.withheld) {
      if (out.until > job.submitted) closed.close(out.slot);
    }
    for (const HostId host : hosts()) {
      closed.close({host, whole_host_mask(open.gpus_per_host())});
    }
    for (const JobId id : view.running) {
      const JobView& other = view.job(id);
      if (!drained || over_by(other, job.submitted, view)) continue;
      for (const HostSlot& slot : other.placement->slots) closed.close(slot);
    }
    return ask(*placement_, job, open, view, view.cost);
  }

  AnnouncedSettings settings_;
  const PlacementPolicy* placement_;
  std::vector<Zone> zones_;
};

std::unique_ptr<ReservationPolicy> create_announced(const config::Parameters& parameters,
                                                    const PlacementPolicy* placement) {
  AnnouncedSettings settings;
  settings.min_gpus = static_cast<std::uint32_t>(parameters.get<std::int64_t>("min_gpus"));
  settings.lead = parameters.get<Duration>("lead");
  settings.margin = parameters.get<double>("margin");
  settings.evict = parameters.get<bool>("evict");
  return std::make_unique<Announced>(settings, placement);
}

}  // namespace

ReservationEntry announced_entry() {
  return {{.name = "announced",
           .summary = "large jobs are announced; the hosts that the placement policy chooses for "
                      "them drain until they come (Arnold, Algorithm 1)",
           .parameters = {{.name = "min_gpus",
                           .type = config::ParameterType::integer,
                           .fallback = "1024",
                           .help = "jobs of so many GPUs are announced",
                           .min = 1,
                           .max = 10'000'000},
                          {.name = "lead",
                           .type = config::ParameterType::duration,
                           .fallback = "\"4h\"",
                           .help = "how long before their submission"},
                          {.name = "margin",
                           .fallback = "0",
                           .help = "a job may use the hosts if its estimate times exp(margin x the "
                                   "predictor's log error) ends in time",
                           .min = 0.0,
                           .max = 10.0},
                          {.name = "evict",
                           .type = config::ParameterType::boolean,
                           .fallback = "true",
                           .help = "who is still there when the job arrives is preempted; else the "
                                   "job waits for him"}}},
          &create_announced};
}

}  // namespace railyard::scheduler
