// Free GPUs over time, as far as estimates know: what is free now, when running jobs will give
// theirs back, and what is promised to jobs that wait. The base of backfilling.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "railyard/core/time.hpp"
#include "railyard/scheduler/inventory.hpp"
#include "railyard/scheduler/placement.hpp"

namespace railyard::scheduler {

/// Takes those of the GPUs that are free, and gives them back when it goes.
class Closed {
 public:
  explicit Closed(Inventory& free) : free_(free) {}
  ~Closed() {
    for (const HostSlot& slot : taken_) free_.release(slot);
  }
  Closed(const Closed&) = delete;
  Closed& operator=(const Closed&) = delete;
  void close(const HostSlot& slot) {
    const std::uint64_t mask = slot.gpu_mask & free_.free_mask(slot.host);
    if (mask == 0) return;
    free_.take({slot.host, mask});
    taken_.push_back({slot.host, mask});
  }

 private:
  Inventory& free_;
  std::vector<HostSlot> taken_;
};

/// Could the gang be placed by numbers alone? Where not, no policy needs to be asked.
[[nodiscard]] bool may_fit(const GangShape& shape, const Inventory& free);

class Profile {
 public:
  /// Tries to place one job on an inventory, which it leaves as it was.
  using Place = std::function<std::optional<Placement>(Inventory&)>;
  struct Window {
    TimePoint from{};
    Placement placement;
  };

  /// GPUs that a waiting job is to have in [from, until).
  struct Promise {
    JobId job{};
    TimePoint from{};
    TimePoint until{};
    std::vector<HostSlot> slots;
  };

  /// Hosts on which nothing may run in [from, until).
  struct Closing {
    TimePoint from{};
    TimePoint until{};
    std::span<const HostId> hosts;
  };

  /// The holder of these GPUs is expected to give them back at that time.
  void release_at(TimePoint at, JobId job, std::span<const HostSlot> slots);
  /// The job's expected release does not come: its GPUs are free already.
  void forget(JobId job);
  void promise(Promise promise) { promises_.push_back(std::move(promise)); }
  void withdraw(JobId job);
  void close(const Closing& closing) { closings_.push_back(closing); }
  [[nodiscard]] bool closes() const { return !closings_.empty(); }
  /// Can it be kept, by what is expected: are those who hold its GPUs gone by then?
  [[nodiscard]] bool is_sound(const Promise& promise, const Inventory& free) const;
  [[nodiscard]] std::vector<Promise> take_promises() { return std::move(promises_); }

  /// A place on `free` that breaks no promise and runs into no closing if kept for `need` from
  /// `now` on.
  [[nodiscard]] std::optional<Placement> now(Inventory& free, TimePoint now, Duration need,
                                             const Place& place) const;
  /// The first time from `now` on at which there is a place for `need` that breaks no promise, if
  /// nobody else comes. Empty: not even when all have given back what they hold.
  [[nodiscard]] std::optional<Window> earliest(const Inventory& free, TimePoint now, Duration need,
                                               const GangShape& shape, const Place& place);

 private:
  struct Release {
    TimePoint at{};
    JobId job{};
    std::span<const HostSlot> slots;
  };
  std::vector<Release> releases_;
  std::vector<Promise> promises_;
  std::vector<Closing> closings_;
};

}  // namespace railyard::scheduler
