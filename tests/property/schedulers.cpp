// What every scheduler must do: each queue of the catalog with each placement and each predictor,
// on random traces. A new member of a catalog is tested by being listed.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <bit>
#include <cstdlib>

#include "support/cluster_bench.hpp"

using namespace railyard;
using namespace railyard::cluster;
using test::ClusterBench;
using test::PolicyNames;

namespace {

constexpr std::uint32_t kHosts = 8;

/// Two minipods of four hosts whose network never binds.
const std::string kFabric = test::plain_clos("[4, 4]");

/// Parts of hosts and gangs of hosts, in bursts, at about the cluster's capacity; users, groups and
/// priorities at random.
std::vector<JobSpec> random_trace(std::uint64_t seed) {
  Rng rng(seed);
  std::vector<JobSpec> jobs;
  Duration at{};
  for (int j = 0; j < 40; ++j) {
    if (rng.below(3) > 0)
      at += Duration(static_cast<std::int64_t>(rng.below(30 * kTicksPerSecond)));
    const std::uint64_t kind = rng.below(4);
    const std::uint64_t gpus = kind == 0   ? 1 + rng.below(7)
                               : kind == 1 ? 8
                               : kind == 2 ? 8 * (1 + rng.below(4))
                                           : 8 * (1 + rng.below(kHosts));
    auto job = test::recorded_job(
        fmt::format("j{}", j), static_cast<std::uint32_t>(gpus), at,
        Duration(1 + static_cast<std::int64_t>(rng.below(120 * kTicksPerSecond))));
    job.priority = static_cast<std::int32_t>(rng.below(3));
    job.user = fmt::format("u{}", rng.below(4));
    job.group = fmt::format("g{}", rng.below(2));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

/// Looks at the cluster at every scheduling point: whoever holds GPUs holds his whole gang, nobody
/// holds another's, and what is not held is free.
class Audit final : public scheduler::Scheduler {
 public:
  explicit Audit(scheduler::Scheduler& inner) : inner_(inner) {}
  std::vector<scheduler::Decision> decide(const scheduler::ClusterView& view) override {
    std::vector<std::uint64_t> held(kHosts, 0);
    for (const JobId id : view.running) {
      const scheduler::JobView& job = view.job(id);
      REQUIRE(job.placement != nullptr);
      std::uint32_t gpus = 0;
      for (const scheduler::HostSlot& slot : job.placement->slots) {
        REQUIRE((held[index(slot.host)] & slot.gpu_mask) == 0);
        held[index(slot.host)] |= slot.gpu_mask;
        gpus += static_cast<std::uint32_t>(std::popcount(slot.gpu_mask));
      }
      REQUIRE(gpus == job.shape.gpus);
    }
    for (std::uint32_t h = 0; h < kHosts; ++h) {
      REQUIRE(view.inventory->free_mask(static_cast<HostId>(h)) == (~held[h] & 0xff));
    }
    for (const JobId id : view.waiting) REQUIRE(view.job(id).submitted <= view.now);
    return inner_.decide(view);
  }
  void observe(const scheduler::Event& event, const scheduler::ClusterView& view) override {
    inner_.observe(event, view);
  }

 private:
  scheduler::Scheduler& inner_;
};

Outcome run(const std::vector<JobSpec>& jobs, const PolicyNames& names, bool audited,
            Duration interval) {
  ClusterBench bench(kFabric, names);
  bench.settings.interval = interval;
  const auto inner = scheduler::compose({bench.queue.get(), bench.placement.get(), nullptr});
  Audit audit(*inner);
  if (audited) bench.settings.scheduler = &audit;
  return bench.run(jobs);
}

/// One pair of policies on one trace.
void check_trace(const PolicyNames& names, std::uint64_t seed) {
  const auto jobs = random_trace(seed);
  const Duration interval = seed % 2 == 0 ? Duration{} : Duration(7 * kTicksPerSecond);
  const Outcome outcome = run(jobs, names, true, interval);
  // Nothing was refused, nobody waits for ever.
  REQUIRE(outcome.warnings.empty());
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    CAPTURE(j);
    const JobRecord& record = outcome.jobs[j];
    // Drain: arrivals stop, every feasible job finishes.
    REQUIRE(record.status == JobStatus::finished);
    REQUIRE(record.started >= jobs[j].submitted);
    // Replay: alone on links that never bind, every run together takes the recorded duration.
    REQUIRE(std::abs((record.kept - *jobs[j].recorded).count()) <= record.preemptions);
    if (record.preemptions == 0) {
      REQUIRE(record.finished - record.started == *jobs[j].recorded);
    }
  }
  // The same seed gives the same run, audited or not.
  const Outcome again = run(jobs, names, false, interval);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    REQUIRE(again.jobs[j].started == outcome.jobs[j].started);
    REQUIRE(again.jobs[j].finished == outcome.jobs[j].finished);
    REQUIRE(again.jobs[j].placement->slots == outcome.jobs[j].placement->slots);
  }
}

}  // namespace

TEST_CASE("Every queue with every placement keeps gangs whole, never oversubscribes and drains") {
  for (const auto& queue : scheduler::queue_catalog()) {
    for (const auto& placement : scheduler::placement_catalog()) {
      // listed places nothing but the hosts it is given.
      if (placement.description.name == "listed") continue;
      for (const std::string predictor : {"oracle", "noisy_oracle", "history_mean", "ridge"}) {
        CAPTURE(queue.description.name);
        CAPTURE(placement.description.name);
        CAPTURE(predictor);
        const PolicyNames names{.queue = fmt::format("\"{}\"", queue.description.name),
                                .placement = fmt::format("\"{}\"", placement.description.name),
                                .predictor = fmt::format("\"{}\"", predictor),
                                .reservation = "\"none\""};
        for (std::uint64_t seed = 1; seed <= 2; ++seed) check_trace(names, seed);
      }
    }
  }
}

// Every hold rule that an order can be combined with, on the placement that packs.
TEST_CASE("Every order drains under every hold rule") {
  for (const char* queue : {"fifo", "priority", "sjf", "srtf", "las", "fair_share"}) {
    for (const char* hold : {"block", "pass", "easy", "conservative"}) {
      CAPTURE(queue);
      CAPTURE(hold);
      const PolicyNames names{.queue =
                                  fmt::format(R"({{"name": "{}", "hold": "{}"}})", queue, hold)};
      for (std::uint64_t seed = 3; seed <= 4; ++seed) check_trace(names, seed);
    }
  }
}
