// Shortest remaining time first, preemptive: optimal for the mean completion time on one machine
// when preemption costs nothing and estimates are exact (Schrage, Operations Research 16, 1968).
#include "scheduler/queue/catalog_entries.hpp"

namespace railyard::scheduler {

namespace {

class ShortestRemaining final : public QueueOrder {
 public:
  double key(const JobView& job, TimePoint now) const override {
    return static_cast<double>(job.remaining(now).count());
  }
  bool needs_estimates() const override { return true; }
};

std::unique_ptr<QueuePolicy> create_srtf(const config::Parameters& parameters) {
  auto policy = std::make_unique<QueuePolicy>();
  policy->order = std::make_unique<ShortestRemaining>();
  policy->hold = hold_of(parameters);
  policy->preempts = true;
  return policy;
}

}  // namespace

QueueEntry srtf_entry() {
  return {{.name = "srtf",
           .summary = "shortest remaining time first, by the predictor's estimate; running jobs "
                      "with more left give way",
           .parameters = {hold_parameter("\"pass\"")}},
          &create_srtf};
}

}  // namespace railyard::scheduler
