#include <doctest/doctest.h>

#include "railyard/scheduler/queue.hpp"

namespace railyard::scheduler {
namespace {

TEST_CASE("Fifo tries jobs by submission, equal ones by job, and the head blocks") {
  const auto table = queue_catalog();
  const auto fifo = config::entry_of(table, "fifo").create({});
  const TimePoint early{std::chrono::seconds(1)};
  const TimePoint late{std::chrono::seconds(2)};
  std::vector<QueuedJob> waiting{
      {JobId{3}, late, 8}, {JobId{2}, early, 1024}, {JobId{0}, late, 1}, {JobId{7}, early, 8}};
  fifo->order(waiting);
  std::vector<JobId> order;
  for (const QueuedJob& job : waiting) order.push_back(job.job);
  CHECK(order == std::vector{JobId{2}, JobId{7}, JobId{0}, JobId{3}});
  CHECK(fifo->head_blocks());
}

}  // namespace
}  // namespace railyard::scheduler
