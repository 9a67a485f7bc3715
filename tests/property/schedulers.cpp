// What every scheduler must do: each queue of the catalog with each placement and each predictor,
// on random traces. A new member of a catalog is tested by being listed.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <bit>
#include <cstdlib>

#include "railyard/bridge/catalogs.hpp"
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
  void begin(const scheduler::ClusterView& view) override { inner_.begin(view); }
  bool again() override { return inner_.again(); }
  bool displaces() const override { return inner_.displaces(); }
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

void check_equal(const Outcome& a, const Outcome& b) {
  for (std::size_t j = 0; j < a.jobs.size(); ++j) {
    REQUIRE(a.jobs[j].started == b.jobs[j].started);
    REQUIRE(a.jobs[j].finished == b.jobs[j].finished);
    REQUIRE(a.jobs[j].placement->slots == b.jobs[j].placement->slots);
  }
}

/// The scheduler of a policy set: composed of its parts, or one that another program is.
struct Chosen {
  PolicyNames names;
  std::string program;  ///< with its arguments as JSON; empty: composed
};

std::unique_ptr<scheduler::Scheduler> make(const Chosen& chosen, const ClusterBench& bench,
                                           const scheduler::Catalogs& catalogs) {
  if (chosen.program.empty()) {
    return scheduler::compose({bench.queue.get(), bench.placement.get(), nullptr});
  }
  const auto table = scheduler::table(catalogs.schedulers);
  const auto choice =
      test::choose(fmt::format(R"({{"name": "process", "command": {}}})", chosen.program), table);
  return config::entry_of(table, choice.name)
      .create(choice.parameters, {nullptr, bench.placement.get(), nullptr}, catalogs);
}

Outcome run(const std::vector<JobSpec>& jobs, const Chosen& chosen, bool audited,
            Duration interval) {
  ClusterBench bench(kFabric, chosen.names);
  bench.settings.interval = interval;
  const auto catalogs = bridge::make_catalogs();
  const auto inner = make(chosen, bench, *catalogs);
  Audit audit(*inner);
  bench.settings.scheduler = audited ? &audit : inner.get();
  return bench.run(jobs);
}

/// One pair of policies on one trace.
Outcome check_trace(const Chosen& chosen, std::uint64_t seed) {
  const auto jobs = random_trace(seed);
  const Duration interval = seed % 2 == 0 ? Duration{} : Duration(7 * kTicksPerSecond);
  const Outcome outcome = run(jobs, chosen, true, interval);
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
  const Outcome again = run(jobs, chosen, false, interval);
  check_equal(again, outcome);
  return outcome;
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
        for (std::uint64_t seed = 1; seed <= 2; ++seed) check_trace({names, {}}, seed);
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
      for (std::uint64_t seed = 3; seed <= 4; ++seed) check_trace({names, {}}, seed);
    }
  }
}

// What holds in the tree holds for programs of a user's own. FIFO with best fit, written again in
// Python, makes the same decisions, whether it names the hosts or has them chosen.
TEST_CASE("Schedulers in other processes keep gangs whole, never oversubscribe and drain") {
  const std::string tests = std::string(RAILYARD_SOURCE_DIR "/tests/bridge/fifo_best_fit.py");
  const std::string tools =
      std::string(RAILYARD_SOURCE_DIR "/tools/policy-template/shortest_first.py");
  const PolicyNames names{.queue = "\"fifo\"", .placement = "\"best_fit\""};
  for (std::uint64_t seed = 5; seed <= 8; ++seed) {
    CAPTURE(seed);
    const Outcome in_tree = check_trace({names, {}}, seed);
    for (const char* how : {"hosts", "place"}) {
      check_equal(check_trace({names, fmt::format(R"(["python3", "{}", "{}"])", tests, how)}, seed),
                  in_tree);
    }
    check_trace({names, fmt::format(R"(["python3", "{}"])", tools)}, seed);
  }
}

namespace {

/// Most GPUs that jobs of one user hold at a time.
std::uint64_t most_held(const std::vector<JobSpec>& jobs, const Outcome& outcome,
                        const std::string& user) {
  std::vector<std::pair<TimePoint, std::int64_t>> changes;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (jobs[j].user != user) continue;
    for (const JobRun& run : outcome.jobs[j].runs) {
      std::int64_t gpus = 0;
      for (const scheduler::HostSlot& slot : run.slots) gpus += std::popcount(slot.gpu_mask);
      changes.emplace_back(run.from, gpus);
      changes.emplace_back(run.until, -gpus);
    }
  }
  std::ranges::sort(changes);  // who leaves at a time comes first: his change is negative
  std::int64_t now = 0;
  std::int64_t most = 0;
  for (const auto& [at, change] : changes) most = std::max(most, now += change);
  return static_cast<std::uint64_t>(most);
}

bool touches(const JobRun& run, const scheduler::Outage& outage) {
  return std::ranges::any_of(run.slots, [&outage](const scheduler::HostSlot& slot) {
    return std::ranges::binary_search(outage.hosts, slot.host);
  });
}

/// A drain of a host that lets jobs finish, one that takes their GPUs, and a window of two hosts.
scheduler::Rules some_rules() {
  const auto at = [](std::int64_t s) { return TimePoint(Duration(s * kTicksPerSecond)); };
  scheduler::Rules rules;
  rules.users.each = 40;
  rules.groups.named["g0"] = 48;
  rules.outages = {
      {"drain", {HostId{0}}, at(30), at(200), false, false},
      {"evicting drain", {HostId{3}}, at(100), at(260), false, true},
      {"maintenance", {HostId{5}, HostId{6}}, at(150), at(300), true, true},
  };
  return rules;
}

}  // namespace

// With an oracle and a network that never binds, nobody is in a window but by a fault of the
// scheduler.
TEST_CASE("Under every queue quotas hold, nothing starts on hosts that are out, and all finish") {
  for (const auto& queue : scheduler::queue_catalog()) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      CAPTURE(queue.description.name);
      CAPTURE(seed);
      ClusterBench bench(kFabric, {.queue = fmt::format("\"{}\"", queue.description.name)});
      bench.settings.rules = some_rules();
      const auto jobs = random_trace(seed);
      const auto outcome = bench.run(jobs);
      for (const char* user : {"u0", "u1", "u2", "u3"}) CHECK(most_held(jobs, outcome, user) <= 40);
      for (std::size_t j = 0; j < jobs.size(); ++j) {
        const JobRecord& record = outcome.jobs[j];
        const std::uint64_t limit = jobs[j].group == "g0" ? 48 : 64;
        const bool may_run =
            (jobs[j].shape.gpus + 7) / 8 * 8 <= std::min<std::uint64_t>(limit, 40) ||
            jobs[j].shape.gpus < 8;
        CHECK((record.status == JobStatus::finished) == may_run);
        CHECK((record.status == JobStatus::rejected) == !may_run);
        for (const JobRun& run : record.runs) {
          for (const scheduler::Outage& outage : bench.settings.rules.outages) {
            if (!touches(run, outage)) continue;
            const bool begins_in = run.from >= outage.from && run.from < outage.until;
            CHECK_FALSE(begins_in);
            if (!outage.planned) continue;
            CHECK((run.until <= outage.from || run.from >= outage.until));
          }
        }
      }
    }
  }
}
