// Least attained service: Tiresias' discretised two-dimensional LAS (Gu et al., NSDI'19), for
// which no run time needs to be known. Attained service is GPUs × time on them. K queues are
// divided by thresholds of service; jobs in a lower queue go first and displace those in higher
// ones; within a queue jobs go by submission and nobody displaces anybody, which spares the
// preemptions of continuous LAS. Tiresias promotes jobs that starve; here nobody is promoted.
#include <algorithm>

#include "scheduler/queue/catalog_entries.hpp"

namespace railyard::scheduler {

namespace {

class LeastAttained final : public QueueOrder {
 public:
  LeastAttained(double first_gpu_s, double factor, std::int64_t queues)
      : first_gpu_s_(first_gpu_s), factor_(factor), queues_(queues) {}

  double key(const JobView& job, TimePoint now) const override {
    return static_cast<double>(queue_of(job, now));
  }
  std::optional<TimePoint> next_leap(const JobView& job, TimePoint now) const override {
    const std::int64_t queue = queue_of(job, now);
    if (queue + 1 >= queues_) return std::nullopt;
    const Duration left = time_until(job, queue) - job.held_before;
    const Duration room = kHorizonMax - job.started.time_since_epoch();
    if (left > room) return std::nullopt;
    return job.started + left;
  }

 private:
  /// Time on its GPUs after which the job leaves the queue: whole ticks, so that the leap happens
  /// when it was said to.
  [[nodiscard]] Duration time_until(const JobView& job, std::int64_t queue) const {
    double service = first_gpu_s_;
    for (std::int64_t q = 0; q < queue; ++q) service *= factor_;
    const double seconds = std::min(service / job.shape.gpus, in_seconds(kHorizonMax));
    return from_seconds(seconds);
  }
  [[nodiscard]] std::int64_t queue_of(const JobView& job, TimePoint now) const {
    const Duration held = job.held(now);
    std::int64_t queue = 0;
    while (queue + 1 < queues_ && held >= time_until(job, queue)) ++queue;
    return queue;
  }

  double first_gpu_s_;
  double factor_;
  std::int64_t queues_;
};

std::unique_ptr<QueuePolicy> create_las(const config::Parameters& parameters) {
  auto policy = std::make_unique<QueuePolicy>();
  policy->order = std::make_unique<LeastAttained>(parameters.get<double>("threshold_gpu_s"),
                                                  parameters.get<double>("factor"),
                                                  parameters.get<std::int64_t>("queues"));
  policy->hold = hold_of(parameters);
  policy->preempts = true;
  return policy;
}

}  // namespace

QueueEntry las_entry() {
  return {{.name = "las",
           .summary = "least attained service (Tiresias): jobs sink through queues divided by "
                      "GPU-seconds; lower queues displace higher ones",
           .parameters = {{.name = "threshold_gpu_s",
                           .fallback = "3600",
                           .help = "GPU-seconds after which a job leaves the first queue",
                           .min = 1e-3,
                           .max = 1e12},
                          {.name = "factor",
                           .fallback = "10",
                           .help = "each further threshold over the one before",
                           .min = 1.0001,
                           .max = 1e6},
                          {.name = "queues",
                           .type = config::ParameterType::integer,
                           .fallback = "2",
                           .help = "number of queues",
                           .min = 2,
                           .max = 16},
                          hold_parameter("\"pass\"")}},
          &create_las};
}

}  // namespace railyard::scheduler
