// The scheduler of a policy set, composed of its parts.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "railyard/core/check.hpp"
#include "railyard/scheduler/rules.hpp"
#include "railyard/scheduler/scheduler.hpp"
#include "scheduler/hosts.hpp"
#include "scheduler/profile.hpp"

namespace railyard::scheduler {
namespace {

bool overlap(const Placement& a, const Placement& b) {
  return std::ranges::any_of(a.slots, [&b](const HostSlot& slot) {
    return std::ranges::any_of(b.slots, [&slot](const HostSlot& other) {
      return other.host == slot.host && (other.gpu_mask & slot.gpu_mask) != 0;
    });
  });
}

/// Whose GPUs come back with an outage's end.
constexpr auto kNobody = static_cast<JobId>(0xffffffff);

/// When a job that holds GPUs is expected to give them back.
TimePoint expected_end(const JobView& job, TimePoint now) {
  const TimePoint from = std::max(now, job.productive);
  return from + std::min(job.remaining(now), kHorizonMax - from.time_since_epoch());
}

class Composed final : public Scheduler {
 public:
  explicit Composed(const Parts& parts) : parts_(parts) {
    RAILYARD_CHECK(parts.queue != nullptr && parts.placement != nullptr,
                   "a scheduler needs a queue and a placement policy");
  }

  std::vector<Decision> decide(const ClusterView& view) override {
    Round round(view);
    prepare(round);
    const HoldRule& hold = parts_.queue->hold;
    std::uint32_t looked_at = 0;
    std::uint32_t promised = 0;
    bool blocked = false;
    for (const JobId id : round.order) {
      const JobView& job = view.job(id);
      // Who is at his quota waits for himself, and holds nobody up.
      if (over_quota(round, job)) continue;
      // Who has a reservation of hosts neither waits for the queue nor holds it up.
      const bool first = parts_.reservation != nullptr && parts_.reservation->first(job);
      if (!first && (blocked || looked_at++ >= hold.depth)) break;
      round.profile.withdraw(id);
      if (try_start(round, job)) continue;
      if (first) continue;
      blocked = hold.kind == HoldRule::Kind::block;
      if (hold.kind == HoldRule::Kind::reserve && promised < hold.reservations) {
        promise(round, job);
        ++promised;
      }
    }
    promises_ = round.profile.take_promises();
    ask_to_wake(round);
    return std::move(round.decisions);
  }

  void begin(const ClusterView& view) override {
    if (parts_.reservation != nullptr) parts_.reservation->begin(view);
  }
  void observe(const Event& event, const ClusterView& view) override {
    parts_.queue->order->observe(event, view);
    if (parts_.reservation != nullptr) parts_.reservation->observe(event, view);
  }
  bool displaces() const override {
    return parts_.queue->preempts ||
           (parts_.reservation != nullptr && parts_.reservation->evicts());
  }
  bool reserves() const override { return parts_.reservation != nullptr; }
  Duration lead(const JobView& job) const override {
    return parts_.reservation != nullptr ? parts_.reservation->lead(job) : Duration{};
  }
  std::vector<HostId> reserved() const override {
    return parts_.reservation != nullptr ? parts_.reservation->hosts() : std::vector<HostId>{};
  }

 private:
  /// A running job that others may displace, with its key.
  struct Victim {
    double key = 0;
    JobId job{};
    bool gone = false;
  };
  /// One scheduling point.
  struct Round {
    explicit Round(const ClusterView& cluster) : view(cluster), free(*cluster.inventory) {}
    const ClusterView& view;
    Inventory free;
    Profile profile;
    HeldGpus held;  ///< where there are quotas
    std::vector<JobId> order;
    std::vector<Victim> victims;  ///< those who give way first come first
    std::vector<Decision> decisions;
    std::vector<JobId> started;
    std::optional<TimePoint> wake;  ///< when somebody's patience ends
  };

  void prepare(Round& round) const {
    const ClusterView& view = round.view;
    if (view.rules != nullptr) prepare_rules(round);
    round.order.assign(view.waiting.begin(), view.waiting.end());
    parts_.queue->sort(round.order, view);
    if (parts_.reservation != nullptr) {
      std::stable_partition(round.order.begin(), round.order.end(),
                            [&](JobId id) { return parts_.reservation->first(view.job(id)); });
    }
    if (parts_.queue->hold.kind == HoldRule::Kind::reserve) prepare_profile(round);
    if (displaces()) prepare_victims(round);
  }

  void prepare_rules(Round& round) const {
    const ClusterView& view = round.view;
    if (view.rules->has_quotas()) {
      for (const JobId id : view.running) {
        round.held.add(view.job(id), gpus_wanted(view.job(id).shape, round.free));
      }
    }
    for (const Outage& outage : view.rules->outages) {
      const bool begun = outage.from <= view.now;
      if (outage.until <= view.now || (!begun && !outage.planned)) continue;
      round.profile.close({outage.from, outage.until, outage.hosts});
    }
    for (const Withheld& out : view.withheld) {
      if (out.until == TimePoint::max()) continue;
      round.profile.release_at(out.until, kNobody, std::span(&out.slot, 1));
    }
  }

  [[nodiscard]] static bool over_quota(const Round& round, const JobView& job) {
    const Rules* rules = round.view.rules;
    if (rules == nullptr || !rules->has_quotas()) return false;
    return !round.held.broken_quota(*rules, job, gpus_wanted(job.shape, round.free)).empty();
  }

  /// Expected releases, and what was promised before to jobs that are still protected: nobody's new
  /// plan may break another's.
  void prepare_profile(Round& round) const {
    const ClusterView& view = round.view;
    for (const JobId id : view.running) {
      const JobView& job = view.job(id);
      round.profile.release_at(expected_end(job, view.now), id, job.placement->slots);
    }
    const std::size_t protects =
        std::min<std::size_t>(parts_.queue->hold.reservations, round.order.size());
    const std::span<const JobId> protected_jobs(round.order.data(), protects);
    for (Profile::Promise promise : promises_) {
      // Between two scheduling points its time may have come.
      const Duration overdue = std::max(view.now - promise.from, Duration{});
      promise.from += overdue;
      promise.until += std::min(overdue, kHorizonMax - promise.until.time_since_epoch());
      if (std::ranges::find(protected_jobs, promise.job) == protected_jobs.end()) continue;
      if (round.profile.is_sound(promise, round.free)) round.profile.promise(std::move(promise));
    }
  }

  void prepare_victims(Round& round) const {
    const ClusterView& view = round.view;
    for (const JobId id : view.running) {
      const JobView& job = view.job(id);
      if (job.state == JobState::running) {
        round.victims.push_back({parts_.queue->order->key(job, view.now), id});
      }
    }
    std::ranges::sort(round.victims, [&view](const Victim& a, const Victim& b) {
      return std::tuple(a.key, view.job(a.job).submitted, a.job) >
             std::tuple(b.key, view.job(b.job).submitted, b.job);
    });
  }

  /// Has the job not yet been offered places for so long?
  bool waits_for_better(Round& round, const JobView& job, Duration patience) {
    if (patience <= Duration{}) return false;
    const TimePoint now = round.view.now;
    const TimePoint offered = offered_.try_emplace(job.job, now).first->second;
    const Duration room = kHorizonMax - offered.time_since_epoch();
    const TimePoint until = offered + std::min(patience, room);
    if (until <= now) return false;
    if (!round.wake || until < *round.wake) round.wake = until;
    return true;
  }

  bool try_start(Round& round, const JobView& job) {
    if (may_fit(job.shape, round.free)) {
      if (auto placement = place_now(round, job)) {
        if (waits_for_better(round, job, placement->patience)) return false;
        start(round, job, std::move(*placement));
        return true;
      }
    }
    return displaces() && try_to_displace(round, job);
  }

  /// From the decision until the job's expected end.
  [[nodiscard]] static Duration need(const Round& round, const JobView& job) {
    const Duration room = kHorizonMax - round.view.now.time_since_epoch();
    const Duration left = job.remaining(round.view.now);
    const Duration latency = round.view.decision_latency;
    return latency >= room || left > room - latency ? room : left + latency;
  }

  [[nodiscard]] std::optional<Placement> place_now(Round& round, const JobView& job) const {
    const auto place = [&](Inventory& free) {
      return place_on(free, round.view, job, round.view.cost);
    };
    const bool plans = parts_.queue->hold.kind == HoldRule::Kind::reserve;
    if (!plans && (!round.profile.closes() || !job.estimate)) return place(round.free);
    return round.profile.now(round.free, round.view.now, need(round, job), place);
  }

  /// Asks the placement policy, without the hosts that are closed to the job.
  [[nodiscard]] std::optional<Placement> place_on(Inventory& free, const ClusterView& view,
                                                  const JobView& job, PlacementCost* cost) const {
    const auto placed = [&] { return ask(*parts_.placement, job, free, view, cost); };
    if (parts_.reservation == nullptr) return placed();
    const Access access = parts_.reservation->access(job, view);
    const auto without = [&](const std::vector<HostId>& hosts) {
      Closed closed(free);
      for (const HostId host : hosts) closed.close({host, whole_host_mask(free.gpus_per_host())});
      return placed();
    };
    auto placement = without(access.closed);
    if (!placement && access.then_closed) placement = without(*access.then_closed);
    return placement;
  }

  void start(Round& round, const JobView& job, Placement placement) {
    for (const HostSlot& slot : placement.slots) round.free.take(slot);
    round.started.push_back(job.job);
    round.held.add(job, gpus_wanted(job.shape, round.free));
    offered_.erase(job.job);
    round.decisions.emplace_back(Start{job.job, std::move(placement)});
    if (parts_.queue->hold.kind != HoldRule::Kind::reserve) return;
    // The slots stay where they are while decisions are added: those are moved, never copied.
    static_assert(std::is_nothrow_move_constructible_v<Decision>);
    round.profile.release_at(round.view.now + need(round, job), job.job,
                             std::get<Start>(round.decisions.back()).placement.slots);
  }

  /// Takes GPUs from those who may be displaced, one after another, until the job has a place; who
  /// turns out not to be in its place keeps his.
  bool try_to_displace(Round& round, const JobView& job) {
    const double key = parts_.queue->order->key(job, round.view.now);
    std::vector<Victim*> given;
    std::uint64_t gpus = round.free.free_gpus();
    const auto may = [&](const Victim& victim) {
      if (victim.gone) return false;
      if (parts_.queue->preempts && victim.key > key) return true;
      return parts_.reservation != nullptr &&
             parts_.reservation->may_evict(job, round.view.job(victim.job), round.view);
    };
    for (const Victim& victim : round.victims) {
      if (may(victim)) gpus += round.view.job(victim.job).shape.gpus;
    }
    if (gpus < job.shape.gpus) return false;
    std::optional<Placement> placement;
    for (Victim& victim : round.victims) {
      if (!may(victim)) continue;
      for (const HostSlot& slot : round.view.job(victim.job).placement->slots) {
        round.free.release(slot);
      }
      given.push_back(&victim);
      if (!may_fit(job.shape, round.free)) continue;
      placement = place_now(round, job);
      if (placement) break;
    }
    for (Victim* victim : given) {
      const Placement& held = *round.view.job(victim->job).placement;
      if (placement && overlap(held, *placement)) {
        victim->gone = true;
        const JobView& gone = round.view.job(victim->job);
        if (round.view.rules != nullptr && round.view.rules->has_quotas()) {
          round.held.remove(gone, gpus_wanted(gone.shape, round.free));
        }
        round.profile.forget(victim->job);
        round.decisions.emplace_back(Preempt{victim->job});
      } else {
        for (const HostSlot& slot : held.slots) round.free.take(slot);
      }
    }
    if (placement) start(round, job, std::move(*placement));
    return placement.has_value();
  }

  /// Hosts and time for a job that must wait.
  void promise(Round& round, const JobView& job) const {
    const auto place = [&](Inventory& free) { return place_on(free, round.view, job, nullptr); };
    const Duration needed = need(round, job);
    auto window = round.profile.earliest(round.free, round.view.now, needed, job.shape, place);
    if (!window) return;
    const Duration room = kHorizonMax - window->from.time_since_epoch();
    round.profile.promise({.job = job.job,
                           .from = window->from,
                           .until = window->from + std::min(needed, room),
                           .slots = std::move(window->placement.slots)});
  }

  /// Keys that change by leaps want a look, while somebody waits for it.
  void ask_to_wake(Round& round) const {
    if (round.started.size() == round.order.size()) return;
    const TimePoint now = round.view.now;
    std::optional<TimePoint> first = round.wake;
    const auto consider = [&](const JobView& job) {
      const auto leap = parts_.queue->order->next_leap(job, now);
      if (leap && (!first || *leap < *first)) first = leap;
    };
    for (const JobId id : round.view.running) consider(round.view.job(id));
    for (const JobId id : round.started) {
      JobView job = round.view.job(id);
      job.state = JobState::running;
      job.started = now + round.view.decision_latency;
      consider(job);
    }
    if (first) round.decisions.emplace_back(Wake{*first});
  }

  Parts parts_;
  std::map<JobId, TimePoint> offered_;      ///< first place that a waiting job did not take
  std::vector<Profile::Promise> promises_;  ///< of the last scheduling point
};

}  // namespace

std::unique_ptr<Scheduler> compose(const Parts& parts) {
  return std::make_unique<Composed>(parts);
}

std::span<const config::CatalogEntry<SchedulerFactory>> scheduler_catalog() {
  static const std::array<config::CatalogEntry<SchedulerFactory>, 1> kTable{{
      {{.name = "composed",
        .summary = "queue order, hold rule, preemption, reservation and placement of the policy "
                   "set"},
       [](const config::Parameters&, const Parts& parts, const Catalogs&) {
         return compose(parts);
       }},
  }};
  return kTable;
}

}  // namespace railyard::scheduler
