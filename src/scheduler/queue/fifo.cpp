// First in, first out: order of submission. By default the head waits for its gang while all behind
// it wait for the head.
#include "scheduler/queue/catalog_entries.hpp"

namespace railyard::scheduler {

namespace {

class Arrival final : public QueueOrder {
 public:
  double key(const JobView& /*job*/, TimePoint /*now*/) const override { return 0; }
};

std::unique_ptr<QueuePolicy> create_fifo(const config::Parameters& parameters) {
  auto policy = std::make_unique<QueuePolicy>();
  policy->order = arrival_order();
  policy->hold = hold_of(parameters);
  return policy;
}

}  // namespace

std::unique_ptr<QueueOrder> arrival_order() {
  return std::make_unique<Arrival>();
}

QueueEntry fifo_entry() {
  return {{.name = "fifo",
           .summary = "order of submission; a job that cannot be placed holds up all behind it",
           .parameters = {hold_parameter("\"block\"")}},
          &create_fifo};
}

}  // namespace railyard::scheduler
