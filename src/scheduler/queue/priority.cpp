// Priority: the higher first, equal ones by submission. With preemption a job takes the GPUs of
// running jobs of lower priority, the lowest and latest first.
#include "scheduler/queue/catalog_entries.hpp"

namespace railyard::scheduler {

namespace {

class Priority final : public QueueOrder {
 public:
  double key(const JobView& job, TimePoint /*now*/) const override { return -job.priority; }
};

std::unique_ptr<QueuePolicy> create_priority(const config::Parameters& parameters) {
  auto policy = std::make_unique<QueuePolicy>();
  policy->order = priority_order();
  policy->hold = hold_of(parameters);
  policy->preempts = parameters.get<bool>("preempt");
  return policy;
}

}  // namespace

std::unique_ptr<QueueOrder> priority_order() {
  return std::make_unique<Priority>();
}

QueueEntry priority_entry() {
  return {{.name = "priority",
           .summary = "highest \"priority\" of the job first, equal ones by submission",
           .parameters = {hold_parameter("\"block\""),
                          {.name = "preempt",
                           .type = config::ParameterType::boolean,
                           .fallback = "false",
                           .help = "running jobs of lower priority give way"}}},
          &create_priority};
}

}  // namespace railyard::scheduler
