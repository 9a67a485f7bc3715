// Quotas, drains and maintenance windows: who waits for them, how long, and that nobody breaks one.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>

#include "support/cluster_bench.hpp"

using namespace railyard;
using namespace railyard::cluster;
using namespace std::chrono_literals;
using test::ClusterBench;
using test::recorded_job;
using test::starts;

namespace {

JobSpec of_user(JobSpec job, const std::string& user, const std::string& group = "") {
  job.user = user;
  job.group = group;
  return job;
}

scheduler::Outage window(std::vector<HostId> hosts, Duration from, Duration until, bool planned,
                         bool preempts) {
  return {.name = planned ? "the maintenance" : "the drain",
          .hosts = std::move(hosts),
          .from = TimePoint(from),
          .until = until == Duration{} ? TimePoint::max() : TimePoint(until),
          .planned = planned,
          .preempts = preempts};
}

using Times = std::vector<double>;

}  // namespace

// Four hosts. Ann may hold 16 GPUs: her third job of 8 waits for her first, 10 s; Bob's, submitted
// behind it, does not wait for it although the queue is fifo.
TEST_CASE("A user at his quota waits for himself and holds nobody up") {
  ClusterBench bench(test::plain_clos("[4]"));
  bench.settings.rules.users.named["ann"] = 16;
  const auto outcome = bench.run({of_user(recorded_job("a", 8, 0s, 10s), "ann"),
                                  of_user(recorded_job("b", 8, 0s, 20s), "ann"),
                                  of_user(recorded_job("c", 8, 1s, 10s), "ann"),
                                  of_user(recorded_job("d", 8, 2s, 10s), "bob")});
  CHECK(starts(outcome) == Times{0, 0, 10, 2});
  const auto& held = outcome.jobs[2].held_back;
  REQUIRE(held.size() == 1);
  CHECK(held[0].why == "the quota of user \"ann\", 16 GPUs");
  CHECK(in_seconds(held[0].from) == 1);
  CHECK(in_seconds(held[0].until) == 10);
  CHECK(outcome.jobs[3].held_back.empty());
}

// A group's quota binds users together; a limit for each applies to who is not named; 12 GPUs take
// two hosts, 16 GPUs, whole.
TEST_CASE("Quotas count whole hosts, of groups and of everybody who is not named") {
  ClusterBench bench(test::plain_clos("[4]"));
  bench.settings.rules.groups.named["vision"] = 16;
  bench.settings.rules.users.each = 8;
  bench.settings.rules.users.named["ann"] = 32;
  auto twelve = recorded_job("a", 12, 0s, 10s);
  twelve.shape = {12, 4, 1, 3};
  const auto outcome = bench.run(
      {of_user(twelve, "ann", "vision"), of_user(recorded_job("b", 8, 0s, 10s), "bob", "vision"),
       of_user(recorded_job("c", 8, 0s, 10s), "eve"), of_user(recorded_job("d", 4, 0s, 10s), "eve"),
       recorded_job("e", 8, 0s, 10s)});
  CHECK(starts(outcome) == Times{0, 10, 0, 10, 0});
  CHECK(outcome.jobs[1].held_back[0].why == "the quota of group \"vision\", 16 GPUs");
  CHECK(outcome.jobs[3].held_back[0].why == "the quota of user \"eve\", 8 GPUs");
}

// It could never start; a scenario with such a job of its own is refused.
TEST_CASE("A job that is larger than its quota is rejected and told") {
  ClusterBench bench(test::plain_clos("[4]"));
  bench.settings.rules.users.each = 8;
  const auto outcome = bench.run({of_user(recorded_job("a", 16, 0s, 10s), "ann")});
  CHECK(outcome.jobs[0].status == JobStatus::rejected);
  REQUIRE(outcome.warnings.size() == 1);
  CHECK(outcome.warnings[0].find("larger than a quota") != std::string::npos);
}

// Two hosts, one of them out from 5 s to 50 s. The job on it finishes at 20 s; what comes after 5 s
// shares the other: at 10 s there is nothing free, at 20 s the drain keeps what a gives back.
TEST_CASE("On a drained host nothing starts, and who is there finishes") {
  ClusterBench bench(test::plain_clos("[2]"));
  bench.settings.rules.outages = {window({HostId{0}}, 5s, 50s, false, false)};
  const auto outcome = bench.run({recorded_job("a", 8, 0s, 20s), recorded_job("b", 8, 0s, 30s),
                                  recorded_job("c", 8, 10s, 60s), recorded_job("d", 8, 11s, 10s)});
  CHECK(starts(outcome) == Times{0, 0, 30, 50});
  CHECK(test::finishes(outcome)[0] == 20);
  REQUIRE_FALSE(outcome.jobs[2].held_back.empty());
  CHECK(outcome.jobs[2].held_back.back().why == "the drain, whose hosts it would need");
}

// With "preempt" the job leaves at 5 s with 15 s to go and goes on on the other host when b is
// done, at 30 s: until 45 s. The drain has no end.
TEST_CASE("A drain may preempt who is there") {
  ClusterBench bench(test::plain_clos("[2]"));
  bench.settings.rules.outages = {window({HostId{0}}, 5s, 0s, false, true)};
  const auto outcome = bench.run({recorded_job("a", 8, 0s, 20s), recorded_job("b", 8, 0s, 30s)});
  CHECK(test::finishes(outcome) == Times{45, 30});
  CHECK(outcome.jobs[0].preemptions == 1);
  CHECK(outcome.preemptions == 1);
  CHECK(outcome.displaces);
}

// One host, out from 10 s to 20 s. A job of 10 s may start at 0; behind one of 2 s it may not, and
// one of 5 s may: 2 + 5 < 10.
TEST_CASE("A job whose estimate runs into a window is not started on its hosts") {
  ClusterBench bench(test::plain_clos("[1]"), {.queue = R"({"name": "fifo", "hold": "pass"})"});
  bench.settings.rules.outages = {window({HostId{0}}, 10s, 20s, true, true)};
  auto outcome = bench.run({recorded_job("exact", 8, 0s, 10s)});
  CHECK(starts(outcome) == Times{0});
  CHECK(outcome.preemptions == 0);
  outcome = bench.run({recorded_job("first", 8, 0s, 2s), recorded_job("long", 8, 1s, 10s),
                       recorded_job("short", 8, 1s, 5s)});
  CHECK(starts(outcome) == Times{0, 20, 2});
  const auto& held = outcome.jobs[1].held_back;
  REQUIRE_FALSE(held.empty());
  CHECK(held[0].why == "the maintenance, into which it is expected to run");
  CHECK(in_seconds(held.back().until) == 20);
  CHECK(outcome.preemptions == 0);
}

// Two hosts, one of them out from 10 s to 100 s: a gang of both with 20 s starts at 100 s. Under
// EASY it is promised that time, so a job of 60 s that comes at 1 s takes the open host, where it
// ends at 61 s, and one of 200 s may not.
TEST_CASE("Backfilling plans around windows") {
  ClusterBench bench(test::plain_clos("[2]"), {.queue = "\"easy_backfill\""});
  bench.settings.rules.outages = {window({HostId{0}}, 10s, 100s, true, true)};
  const auto outcome =
      bench.run({recorded_job("gang", 16, 0s, 20s), recorded_job("long", 8, 1s, 200s),
                 recorded_job("short", 8, 2s, 60s)});
  CHECK(starts(outcome) == Times{100, 120, 2});
}

// The estimate says a minute, the truth is 8,000 s from 100 s on: at 7,200 s the window begins,
// with 7,100 s of it done; the other 900 s come behind the window, from 10,800 s on.
TEST_CASE("Who is still there when a window begins leaves, or finishes, as it says") {
  for (const bool preempts : {true, false}) {
    ClusterBench bench(test::plain_clos("[1]"), {.predictor = R"({"name": "history_mean"})"});
    bench.settings.rules.outages = {window({HostId{0}}, 7200s, 10800s, true, preempts)};
    // The first teaches the history that jobs take a minute.
    const auto outcome =
        bench.run({recorded_job("a", 8, 0s, 60s), recorded_job("b", 8, 100s, 8000s)});
    CAPTURE(preempts);
    CHECK(in_seconds(outcome.jobs[1].started) == 100);
    CHECK(outcome.jobs[1].preemptions == (preempts ? 1 : 0));
    CHECK(in_seconds(outcome.jobs[1].finished) == (preempts ? 10'800 + 900 : 8'100));
  }
}

// A host that fails during its drain and is repaired before the end stays out until then.
TEST_CASE("A host that is out for two reasons is back when both are gone") {
  ClusterBench bench(test::plain_clos("[1]"));
  bench.settings.rules.outages = {window({HostId{0}}, 0s, 24h, false, false)};
  bench.settings.failures = {.per_host_day = 20, .repair = 1min};
  bench.settings.horizon = 24h * 30;
  const auto outcome = bench.run({recorded_job("a", 8, 1s, 60s)});
  CHECK(outcome.host_failures > 0);
  CHECK(outcome.jobs[0].started >= TimePoint(24h));
  CHECK(outcome.jobs[0].status == JobStatus::finished);
}

TEST_CASE("Without rules nothing is held back, and with rules that never bind nothing moves") {
  const std::vector<JobSpec> jobs{of_user(recorded_job("a", 16, 0s, 20s), "ann"),
                                  of_user(recorded_job("b", 32, 1s, 30s), "bob"),
                                  of_user(recorded_job("c", 8, 2s, 60s), "ann")};
  ClusterBench bench(test::plain_clos("[4]"), {.queue = "\"easy_backfill\""});
  const auto plain = bench.run(jobs);
  bench.settings.rules.users.each = 32;
  bench.settings.rules.outages = {window({HostId{3}}, 1h, 2h, true, true)};
  const auto ruled = bench.run(jobs);
  CHECK(starts(plain) == starts(ruled));
  CHECK(test::finishes(plain) == test::finishes(ruled));
  for (const JobRecord& record : ruled.jobs) CHECK(record.held_back.empty());
}
