// Shortest job first, by the estimate of its whole run time: optimal for the mean completion time
// on one machine without preemption when all jobs are there at once (Smith, 1956).
#include "railyard/core/check.hpp"
#include "scheduler/queue/catalog_entries.hpp"

namespace railyard::scheduler {

namespace {

class Shortest final : public QueueOrder {
 public:
  explicit Shortest(bool by_service) : by_service_(by_service) {}
  double key(const JobView& job, TimePoint /*now*/) const override {
    RAILYARD_CHECK(job.estimate.has_value(), "job {} has no estimate", job.name);
    const auto run = static_cast<double>(job.estimate->run.count());
    return by_service_ ? run * job.shape.gpus : run;
  }
  bool needs_estimates() const override { return true; }

 private:
  bool by_service_;
};

std::unique_ptr<QueuePolicy> create_sjf(const config::Parameters& parameters) {
  auto policy = std::make_unique<QueuePolicy>();
  policy->order = std::make_unique<Shortest>(parameters.get<std::string>("by") == "service");
  policy->hold = hold_of(parameters);
  return policy;
}

}  // namespace

std::unique_ptr<QueueOrder> shortest_order() {
  return std::make_unique<Shortest>(false);
}

QueueEntry sjf_entry() {
  return {{.name = "sjf",
           .summary = "shortest job first, by the predictor's estimate",
           .parameters = {{.name = "by",
                           .type = config::ParameterType::choice,
                           .fallback = "\"time\"",
                           .help = "what is short: run time, or GPUs x run time (quasi-shortest "
                                   "service first of Helios, SC'21)",
                           .choices = {"time", "service"}},
                          hold_parameter("\"pass\"")}},
          &create_sjf};
}

}  // namespace railyard::scheduler
