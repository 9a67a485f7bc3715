#include "railyard/scheduler/rules.hpp"

#include <fmt/format.h>

#include "railyard/core/check.hpp"
#include "railyard/scheduler/view.hpp"
#include "scheduler/hosts.hpp"

namespace railyard::scheduler {

std::optional<std::uint64_t> Quotas::of(std::string_view name) const {
  if (name.empty()) return std::nullopt;
  const auto found = named.find(name);
  return found == named.end() ? each : std::optional(found->second);
}

void HeldGpus::add(const JobView& job, std::uint64_t gpus) {
  users_[job.user] += gpus;
  groups_[job.group] += gpus;
}

void HeldGpus::remove(const JobView& job, std::uint64_t gpus) {
  for (auto* held : {&users_[job.user], &groups_[job.group]}) {
    RAILYARD_CHECK(*held >= gpus, "job {} gives back {} GPUs of {}", job.name, gpus, *held);
    *held -= gpus;
  }
}

std::string HeldGpus::broken_quota(const Rules& rules, const JobView& job,
                                   std::uint64_t gpus) const {
  const auto breaks = [gpus](const Quotas& quotas, const auto& held, std::string_view name) {
    const auto limit = quotas.of(name);
    if (!limit) return false;
    const auto found = held.find(name);
    return (found == held.end() ? 0 : found->second) + gpus > *limit;
  };
  if (breaks(rules.users, users_, job.user)) {
    return fmt::format("the quota of user \"{}\", {} GPUs", job.user, *rules.users.of(job.user));
  }
  if (breaks(rules.groups, groups_, job.group)) {
    return fmt::format("the quota of group \"{}\", {} GPUs", job.group,
                       *rules.groups.of(job.group));
  }
  return {};
}

std::uint64_t gpus_wanted(const GangShape& shape, const Inventory& inventory) {
  if (shares_host(shape, inventory)) return shape.gpus;
  return std::uint64_t{hosts_wanted(shape, inventory)} * inventory.gpus_per_host();
}

bool fits(const GangShape& shape, const Inventory& free) {
  if (!shares_host(shape, free)) return free.free_host_count() >= hosts_wanted(shape, free);
  for (std::size_t h = 0; h < free.topology().hosts().size(); ++h) {
    if (free.free_gpus(static_cast<HostId>(h)) >= shape.gpus) return true;
  }
  return false;
}

}  // namespace railyard::scheduler
