#include <doctest/doctest.h>

#include <numeric>

#include "railyard/scheduler/queue.hpp"

namespace railyard::scheduler {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<QueuePolicy> queue_of(std::string_view name) {
  const auto table = queue_catalog();
  const auto choice = config::default_choice(name, config::descriptions(table));
  return config::entry_of(table, name).create(choice.parameters);
}

/// Jobs that are queued, with the given views; their ids are their places.
struct Waiting {
  explicit Waiting(std::vector<JobView> given) : jobs(std::move(given)) {
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      jobs[j].job = static_cast<JobId>(j);
      if (jobs[j].state == JobState::absent) jobs[j].state = JobState::waiting;
    }
  }
  [[nodiscard]] std::vector<std::uint32_t> sorted(const QueuePolicy& queue, TimePoint now) const {
    ClusterView view;
    view.now = now;
    view.jobs = jobs;
    std::vector<JobId> order;
    for (const JobView& job : jobs) order.push_back(job.job);
    queue.sort(order, view);
    std::vector<std::uint32_t> out;
    for (const JobId job : order) out.push_back(static_cast<std::uint32_t>(job));
    return out;
  }
  std::vector<JobView> jobs;
};

JobView submitted(Duration at, std::uint32_t gpus = 8) {
  JobView job;
  job.submitted = TimePoint(at);
  job.shape.gpus = gpus;
  return job;
}

using Order = std::vector<std::uint32_t>;

TEST_CASE("Fifo tries jobs by submission, equal ones by job, and the head blocks") {
  const auto fifo = queue_of("fifo");
  const Waiting waiting({submitted(2s, 1), submitted(1s, 1024), submitted(2s), submitted(1s)});
  CHECK(waiting.sorted(*fifo, TimePoint(3s)) == Order{1, 3, 0, 2});
  CHECK(fifo->hold.kind == HoldRule::Kind::block);
  CHECK_FALSE(fifo->preempts);
  CHECK_FALSE(fifo->needs_estimates());
}

TEST_CASE("Priority goes before submission, negative ones last") {
  Waiting waiting({submitted(1s), submitted(2s), submitted(3s), submitted(4s)});
  waiting.jobs[0].priority = -1;
  waiting.jobs[2].priority = 7;
  CHECK(waiting.sorted(*queue_of("priority"), TimePoint(5s)) == Order{2, 1, 3, 0});
}

// Estimates 30, 10, 20 minutes; 1, 16, 1 GPUs: by GPUs x time 30, 160, 20.
TEST_CASE("Shortest job first orders by estimate, by service where it is told to") {
  Waiting waiting({submitted(1s, 1), submitted(2s, 16), submitted(3s, 1)});
  waiting.jobs[0].estimate = Estimate{30min, 0};
  waiting.jobs[1].estimate = Estimate{10min, 0};
  waiting.jobs[2].estimate = Estimate{20min, 0};
  CHECK(waiting.sorted(*queue_of("sjf"), TimePoint(5s)) == Order{1, 2, 0});
  config::Parameters parameters;
  parameters.set("by", std::string("service"), true);
  parameters.set("hold", std::string("pass"), false);
  const auto by_service = config::entry_of(queue_catalog(), "sjf").create(parameters);
  CHECK(waiting.sorted(*by_service, TimePoint(5s)) == Order{2, 0, 1});
}

// A runs since 1:00 with 60 minutes estimated, at 1:50 it has 10 left; B waits with 15.
TEST_CASE("What is left of a running job's estimate shrinks while it runs") {
  Waiting waiting({submitted(0s), submitted(2s)});
  waiting.jobs[0].estimate = Estimate{60min, 0};
  waiting.jobs[0].state = JobState::running;
  waiting.jobs[0].started = waiting.jobs[0].productive = TimePoint(60min);
  waiting.jobs[1].estimate = Estimate{15min, 0};
  const auto srtf = queue_of("srtf");
  CHECK(waiting.jobs[0].remaining(TimePoint(110min)) == Duration(10min));
  CHECK(waiting.sorted(*srtf, TimePoint(110min)) == Order{0, 1});
  CHECK(waiting.sorted(*srtf, TimePoint(100min)) == Order{1, 0});
  CHECK(srtf->preempts);
}

// Estimated 10 minutes, run 25: doubled to 20, still outlived, to 40: 15 are left.
TEST_CASE("A job that outlives its estimate gets twice as much, again and again") {
  JobView job = submitted(0s);
  job.estimate = Estimate{10min, 0};
  job.state = JobState::running;
  CHECK(job.remaining(TimePoint(25min)) == Duration(15min));
  CHECK(job.remaining(TimePoint(10min)) == Duration(10min));
}

// Thresholds of 3,600 and 36,000 GPU-seconds on 8 GPUs: 450 and 4,500 s. Default are two queues.
TEST_CASE("Attained service takes jobs from queue to queue exactly when it said so") {
  const auto las = queue_of("las");
  JobView job = submitted(0s);
  job.state = JobState::running;
  job.started = TimePoint(100s);
  const auto leap = las->order->next_leap(job, TimePoint(200s));
  REQUIRE(leap.has_value());
  CHECK(*leap == TimePoint(550s));
  CHECK(las->order->key(job, *leap - Duration{1}) == 0);
  CHECK(las->order->key(job, *leap) == 1);
  CHECK_FALSE(las->order->next_leap(job, *leap).has_value());
}

// ann has 8 GPUs for an hour, 28,800 GPU-s; with a half-life of 7 days that decays by 2^(-1/168) in
// the next hour, in which bob gets 4 GPUs: 14,400. Then bob has had less. After ann has paused for
// 14 days and bob has run on, ann has a quarter and bob more.
TEST_CASE("Fair share puts the user with the least recent use first") {
  const auto fair = queue_of("fair_share");
  Waiting waiting({submitted(0s, 8), submitted(0s, 4), submitted(1s), submitted(2s)});
  waiting.jobs[0].user = waiting.jobs[2].user = "ann";
  waiting.jobs[1].user = waiting.jobs[3].user = "bob";
  ClusterView view;
  view.jobs = waiting.jobs;
  const auto tell = [&](Event::Kind kind, std::uint32_t job, Duration at) {
    view.now = TimePoint(at);
    fair->order->observe({kind, static_cast<JobId>(job)}, view);
  };
  tell(Event::Kind::started, 0, 0h);
  tell(Event::Kind::finished, 0, 1h);
  tell(Event::Kind::started, 1, 1h);
  const double ann = fair->order->key(waiting.jobs[2], TimePoint(1h));
  CHECK(ann == doctest::Approx(28'800).epsilon(0.003));
  CHECK(fair->order->key(waiting.jobs[2], TimePoint(Duration(1h) + 168h)) ==
        doctest::Approx(ann / 2));
  CHECK(fair->order->key(waiting.jobs[3], TimePoint(2h)) == doctest::Approx(14'400).epsilon(0.003));
  CHECK(waiting.sorted(*fair, TimePoint(2h)) == Order{1, 3, 0, 2});
  CHECK(waiting.sorted(*fair, TimePoint(337h)) == Order{0, 2, 1, 3});
}

TEST_CASE("Every queue of the catalog is made with its defaults") {
  for (const auto& entry : queue_catalog()) {
    CAPTURE(entry.description.name);
    CHECK(queue_of(entry.description.name)->order != nullptr);
  }
}

}  // namespace
}  // namespace railyard::scheduler
