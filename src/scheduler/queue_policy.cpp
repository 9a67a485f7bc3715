#include <algorithm>
#include <tuple>
#include <vector>

#include "railyard/scheduler/queue.hpp"

namespace railyard::scheduler {

void QueuePolicy::sort(std::span<JobId> jobs, const ClusterView& view) const {
  using Entry = std::tuple<double, TimePoint, JobId>;
  std::vector<Entry> entries;
  entries.reserve(jobs.size());
  for (const JobId id : jobs) {
    const JobView& job = view.job(id);
    entries.emplace_back(order->key(job, view.now), job.submitted, id);
  }
  if (!std::ranges::is_sorted(entries)) std::ranges::sort(entries);
  for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i] = std::get<JobId>(entries[i]);
}

}  // namespace railyard::scheduler
