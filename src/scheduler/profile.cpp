#include "scheduler/profile.hpp"

#include <algorithm>
#include <tuple>

#include "scheduler/hosts.hpp"

namespace railyard::scheduler {

bool may_fit(const GangShape& shape, const Inventory& free) {
  if (shares_host(shape, free)) return free.free_gpus() >= shape.gpus;
  return free.free_host_count() >= hosts_wanted(shape, free);
}

void Profile::release_at(TimePoint at, JobId job, std::span<const HostSlot> slots) {
  releases_.push_back({at, job, slots});
}

void Profile::forget(JobId job) {
  std::erase_if(releases_, [job](const Release& release) { return release.job == job; });
}

void Profile::withdraw(JobId job) {
  std::erase_if(promises_, [job](const Promise& promise) { return promise.job == job; });
}

bool Profile::is_sound(const Promise& promise, const Inventory& free) const {
  Inventory then = free;
  for (const Release& release : releases_) {
    if (release.at > promise.from) continue;
    for (const HostSlot& slot : release.slots) then.release(slot);
  }
  return std::ranges::all_of(promise.slots, [&then](const HostSlot& slot) {
    return (slot.gpu_mask & ~then.free_mask(slot.host)) == 0;
  });
}

std::optional<Placement> Profile::now(Inventory& free, TimePoint now, Duration need,
                                      const Place& place) const {
  Closed closed(free);
  for (const Promise& promise : promises_) {
    if (promise.from - now >= need || promise.until <= now) continue;
    for (const HostSlot& slot : promise.slots) closed.close(slot);
  }
  for (const Closing& closing : closings_) {
    if (closing.from - now >= need || closing.until <= now) continue;
    for (const HostId host : closing.hosts) {
      closed.close({host, whole_host_mask(free.gpus_per_host())});
    }
  }
  return place(free);
}

std::optional<Profile::Window> Profile::earliest(const Inventory& free, TimePoint now,
                                                 Duration need, const GangShape& shape,
                                                 const Place& place) {
  std::ranges::sort(releases_, [](const Release& a, const Release& b) {
    return std::tuple(a.at, a.job) < std::tuple(b.at, b.job);
  });
  // Places come up when something is given back, a promise has been kept or hosts open again.
  std::vector<TimePoint> starts{now};
  for (const Release& release : releases_) starts.push_back(std::max(now, release.at));
  for (const Promise& promise : promises_) starts.push_back(std::max(now, promise.until));
  for (const Closing& closing : closings_) {
    if (closing.until < TimePoint::max()) starts.push_back(std::max(now, closing.until));
  }
  std::ranges::sort(starts);
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  Inventory then = free;
  std::size_t released = 0;
  for (const TimePoint start : starts) {
    for (; released < releases_.size() && releases_[released].at <= start; ++released) {
      for (const HostSlot& slot : releases_[released].slots) then.release(slot);
    }
    if (!may_fit(shape, then)) continue;
    if (auto placement = this->now(then, start, need, place)) {
      return Window{start, std::move(*placement)};
    }
  }
  return std::nullopt;
}

}  // namespace railyard::scheduler
