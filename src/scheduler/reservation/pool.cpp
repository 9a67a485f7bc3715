// A pool: a fixed share of the cluster, kept for large jobs. Small ones get in only if they are
// over soon, or if they may be thrown out. The pool lies compactly: whole minipods, those with most
// hosts first.
#include <algorithm>
#include <cmath>

#include "scheduler/hosts.hpp"
#include "scheduler/reservation/catalog_entries.hpp"

namespace railyard::scheduler {

namespace {

struct PoolSettings {
  double share = 0;
  std::uint32_t min_gpus = 0;
  std::optional<Duration> guest;              ///< longest run of a guest
  std::optional<std::int64_t> evicted_below;  ///< guests of lower priority may be thrown out
};

class Pool final : public ReservationPolicy {
 public:
  explicit Pool(const PoolSettings& settings) : settings_(settings) {}

  bool needs_estimates() const override { return settings_.guest.has_value(); }
  bool evicts() const override { return settings_.evicted_below.has_value(); }
  std::vector<HostId> hosts() const override { return hosts_; }

  void begin(const ClusterView& view) override {
    const Inventory& free = *view.inventory;
    const auto wanted =
        static_cast<std::size_t>(std::llround(settings_.share * free.free_host_count()));
    for (const MinipodId minipod : minipods_by_free_hosts(free, FreeOrder::most_first)) {
      for (const HostId host : hosts_leaf_by_leaf(free, minipod)) {
        if (hosts_.size() < wanted) hosts_.push_back(host);
      }
    }
    std::ranges::sort(hosts_);
    outside_gpus_ = free.free_gpus() - hosts_.size() * std::uint64_t{free.gpus_per_host()};
  }

  Access access(const JobView& job, const ClusterView& /*view*/) const override {
    if (is_large(job)) return {};
    Access access{.closed = hosts_, .then_closed = std::nullopt};
    const bool over_soon = settings_.guest && job.estimate->run <= *settings_.guest;
    if (over_soon || is_lodger(job)) access.then_closed.emplace();
    return access;
  }

  bool may_evict(const JobView& claimant, const JobView& victim,
                 const ClusterView& /*view*/) const override {
    if (!is_large(claimant) || is_large(victim) || !is_lodger(victim)) return false;
    return std::ranges::any_of(victim.placement->slots, [this](const HostSlot& slot) {
      return std::ranges::binary_search(hosts_, slot.host);
    });
  }

 private:
  /// What fits nowhere else counts as large: nothing feasible waits for ever.
  [[nodiscard]] bool is_large(const JobView& job) const {
    return job.shape.gpus >= settings_.min_gpus || job.shape.gpus > outside_gpus_;
  }
  [[nodiscard]] bool is_lodger(const JobView& job) const {
    return settings_.evicted_below && job.priority < *settings_.evicted_below;
  }

  PoolSettings settings_;
  std::vector<HostId> hosts_;
  std::uint64_t outside_gpus_ = 0;
};

std::unique_ptr<ReservationPolicy> create_pool(const config::Parameters& parameters,
                                               const PlacementPolicy* /*placement*/) {
  PoolSettings settings;
  settings.share = parameters.get<double>("share");
  settings.min_gpus = static_cast<std::uint32_t>(parameters.get<std::int64_t>("min_gpus"));
  if (parameters.has_value("guests")) settings.guest = parameters.get<Duration>("guests");
  if (parameters.has_value("evict_below")) {
    settings.evicted_below = parameters.get<std::int64_t>("evict_below");
  }
  return std::make_unique<Pool>(settings);
}

}  // namespace

ReservationEntry pool_entry() {
  return {{.name = "pool",
           .summary = "a share of the hosts is kept for large jobs",
           .parameters = {{.name = "share",
                           .fallback = "0.25",
                           .help = "of the hosts that jobs can have",
                           .min = 0.0,
                           .max = 1.0},
                          {.name = "min_gpus",
                           .type = config::ParameterType::integer,
                           .fallback = "256",
                           .help = "jobs of so many GPUs may use the pool, and those that fit "
                                   "nowhere else",
                           .min = 1,
                           .max = 10'000'000},
                          {.name = "guests",
                           .type = config::ParameterType::duration,
                           .fallback = "null",
                           .help = "smaller jobs may use it too where their estimate is at most "
                                   "this; without it, none may for being short"},
                          {.name = "evict_below",
                           .type = config::ParameterType::integer,
                           .fallback = "null",
                           .help = "smaller jobs of lower priority than this may use it too, until "
                                   "a large job takes their GPUs",
                           .min = -1'000'000'000,
                           .max = 1'000'000'000}}},
          &create_pool};
}

}  // namespace railyard::scheduler
