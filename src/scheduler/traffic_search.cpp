#include "scheduler/traffic_search.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "railyard/core/check.hpp"

namespace railyard::scheduler {

namespace {

class Search {
 public:
  Search(const TrafficSearch& settings, const Inventory& view, Rng rng)
      : settings_(settings), view_(view), rng_(rng) {}

  Placement run(const std::vector<Placement>& starts) {
    for (const Placement& start : starts) consider(start);
    // Where no change is possible (one host, nothing free) every draw comes back empty.
    constexpr std::uint32_t kDrawsInVain = 1000;
    for (std::uint32_t in_vain = 0; evaluations_ < settings_.evaluations;) {
      auto changed = change(*best_);
      if (changed) {
        consider(*changed);
        in_vain = 0;
      } else if (++in_vain == kDrawsInVain) {
        break;
      }
    }
    return std::move(*best_);
  }

 private:
  void consider(const Placement& candidate) {
    if (evaluations_ == settings_.evaluations) return;
    ++evaluations_;
    const double ticks = settings_.ticks(candidate);
    const bool first = !best_;
    if (!first && ticks > least_) return;
    // Of starts that cost the same the earlier stays; of steps the later, to walk on plateaus.
    if (!first && ticks == least_ && !stepping_) return;
    best_ = candidate;
    least_ = ticks;
  }

  std::optional<Placement> change(const Placement& from) {
    stepping_ = true;
    constexpr std::uint64_t kWithinMinipod = 7;  // of 10 single hosts
    const std::uint64_t kind = rng_.below(4);
    if (kind == 0) return swap_units(from);
    const bool near = rng_.below(10) < kWithinMinipod;
    return kind == 1 ? replace(from, near) : swap_hosts(from, near);
  }

  [[nodiscard]] std::size_t draw(std::size_t count) {
    return static_cast<std::size_t>(rng_.below(count));
  }
  [[nodiscard]] MinipodId minipod_of(HostId host) const {
    return view_.topology().host(host).minipod;
  }

  std::optional<Placement> swap_hosts(const Placement& from, bool near) {
    const std::size_t a = draw(from.slots.size());
    const std::size_t b = draw(from.slots.size());
    const bool same = minipod_of(from.slots[a].host) == minipod_of(from.slots[b].host);
    if (a == b || same != near) return std::nullopt;
    Placement to = from;
    std::swap(to.slots[a], to.slots[b]);
    return to;
  }

  std::optional<Placement> swap_units(const Placement& from) {
    const std::size_t size =
        from.rank_order == RankOrder::pp_fastest ? settings_.pp_group : settings_.dp_group;
    const std::size_t units = from.slots.size() / size;
    const std::size_t a = draw(units);
    const std::size_t b = draw(units);
    if (a == b) return std::nullopt;
    Placement to = from;
    for (std::size_t i = 0; i < size; ++i) {
      std::swap(to.slots[a * size + i], to.slots[b * size + i]);
    }
    return to;
  }

  std::optional<Placement> replace(const Placement& from, bool near) {
    const std::size_t at = draw(from.slots.size());
    const MinipodId own = minipod_of(from.slots[at].host);
    const MinipodId minipod =
        near ? own : static_cast<MinipodId>(draw(view_.topology().minipod_count()));
    if (!near && minipod == own) return std::nullopt;
    std::vector<HostId> spare = view_.free_hosts(minipod);
    std::erase_if(spare, [&from](HostId host) {
      return std::ranges::find(from.slots, host, &HostSlot::host) != from.slots.end();
    });
    if (spare.empty()) return std::nullopt;
    Placement to = from;
    const HostId host = spare[draw(spare.size())];
    to.slots[at] = {host, view_.free_mask(host)};
    return to;
  }

  const TrafficSearch& settings_;
  const Inventory& view_;
  Rng rng_;
  std::optional<Placement> best_;
  double least_ = 0;
  std::uint32_t evaluations_ = 0;
  bool stepping_ = false;
};

}  // namespace

Placement search(const TrafficSearch& settings, const std::vector<Placement>& starts,
                 const Inventory& view, Rng rng) {
  RAILYARD_CHECK(!starts.empty() && settings.evaluations > 0, "{} starts, {} evaluations",
                 starts.size(), settings.evaluations);
  return Search(settings, view, rng).run(starts);
}

}  // namespace railyard::scheduler
