// Rules of the cluster that hold under every scheduler: how many GPUs a user or group may hold at a
// time, and which hosts are taken out, when.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "railyard/core/ids.hpp"
#include "railyard/core/time.hpp"
#include "railyard/scheduler/inventory.hpp"
#include "railyard/scheduler/placement.hpp"

namespace railyard::scheduler {

struct JobView;

/// GPUs that all jobs of one name may hold together.
struct Quotas {
  std::map<std::string, std::uint64_t, std::less<>> named;
  std::optional<std::uint64_t> each;  ///< of names that are not among these

  /// Of that name; empty: no limit. Jobs without a name have none.
  [[nodiscard]] std::optional<std::uint64_t> of(std::string_view name) const;
  [[nodiscard]] bool empty() const { return named.empty() && !each; }
};

/// Hosts on which nothing starts in [from, until).
struct Outage {
  std::string name;           ///< for people
  std::vector<HostId> hosts;  ///< ascending; of no two outages at the same time
  TimePoint from{};
  TimePoint until = TimePoint::max();  ///< max: for good
  /// Known beforehand: no job starts on the hosts whose estimate runs into it. Else a drain, which
  /// comes as a surprise.
  bool planned = false;
  bool preempts = false;  ///< who still runs there at `from` leaves; else it finishes
};

struct Rules {
  Quotas users;
  Quotas groups;
  std::vector<Outage> outages;
  [[nodiscard]] bool has_quotas() const { return !users.empty() || !groups.empty(); }
  [[nodiscard]] bool empty() const { return !has_quotas() && outages.empty(); }
};

/// GPUs of a host that is out, and until when.
struct Withheld {
  HostSlot slot;
  TimePoint until{};
};

/// GPUs that jobs hold, by user and group.
class HeldGpus {
 public:
  void add(const JobView& job, std::uint64_t gpus);
  void remove(const JobView& job, std::uint64_t gpus);
  /// The quota that so many more GPUs would break, in words that stay the same while it does;
  /// empty: none.
  [[nodiscard]] std::string broken_quota(const Rules& rules, const JobView& job,
                                         std::uint64_t gpus) const;

 private:
  std::map<std::string_view, std::uint64_t> users_;
  std::map<std::string_view, std::uint64_t> groups_;
};

/// GPUs that a gang takes: whole hosts from a host's worth on.
[[nodiscard]] std::uint64_t gpus_wanted(const GangShape& shape, const Inventory& inventory);
/// Could the gang be placed on what is free by a policy that asks for no more than that?
[[nodiscard]] bool fits(const GangShape& shape, const Inventory& free);

}  // namespace railyard::scheduler
