// Why a job waited and where it went, out of results made by hand.
#include "railyard/study/explain.hpp"

#include <doctest/doctest.h>

#include "railyard/config/document.hpp"

using namespace railyard;

namespace {

metrics::JobResult job(const std::string& name, std::uint32_t gpus, double submit,
                       std::vector<metrics::JobRun> runs) {
  metrics::JobResult out;
  out.name = name;
  out.gpus = gpus;
  out.status = runs.empty() ? "queued" : "finished";
  out.submit_s = submit;
  out.runs = std::move(runs);
  return out;
}

/// Two minipods of two hosts, h3 taken by others. A has the first minipod until 100 s, B h2 until
/// 50 s; C, who wants two hosts since 10 s, gets A's; D, there since 20 s, passes it on h2 until
/// 120 s; E, there since 30 s, has h2 from 130 s on.
metrics::RunResult small_result() {
  metrics::RunResult result;
  result.cluster = {8, {{"leaf0", "minipod0", "h[0-1]"}, {"leaf1", "minipod1", "h[2-3]"}}, "h3"};
  metrics::PolicyResult policy;
  policy.name = "mine";
  policy.jobs = {job("a", 16, 0, {{0, 100, "h[0-1]"}}), job("b", 8, 0, {{0, 50, "h2"}}),
                 job("c", 16, 10, {{100, 200, "h[0-1]"}}), job("d", 8, 20, {{50, 120, "h2"}}),
                 job("e", 8, 30, {{130, 140, "h2"}})};
  result.policies = {policy};
  return result;
}

}  // namespace

// C waits 90 s with no whole host free at any time (B's goes to D in the same instant). Meanwhile A
// holds 16 GPUs for 90 s, B 8 for 40 s, D 8 for 50 s, and others h3.
TEST_CASE("A wait is explained by who held the hosts and who passed by") {
  const auto why = study::explain(small_result(), 0, 2);
  REQUIRE(why.waits.size() == 1);
  const study::Waiting& wait = why.waits[0];
  CHECK(why.hosts_wanted == 2);
  CHECK(wait.from_s == 10);
  CHECK(wait.until_s == 100);
  CHECK(wait.short_s == 90);
  CHECK(wait.behind_s == 0);
  CHECK(wait.other_s == 0);
  CHECK(wait.most_free == 0);
  REQUIRE(wait.holders.size() == 3);
  CHECK(wait.holders[0].job == "a");
  CHECK(wait.holders[0].gpu_s == 16 * 90);
  CHECK(wait.holders[1].job == "d");
  CHECK(wait.holders[1].gpu_s == 8 * 50);
  CHECK(wait.holders[2].job == "b");
  CHECK(wait.holders[2].gpu_s == 8 * 40);
  CHECK(wait.held_gpu_s == 16 * 90 + 8 * 50 + 8 * 40);
  CHECK(wait.background_gpu_s == 8 * 90);
  CHECK(wait.overtaken_by == std::vector<std::string>{"d"});
  REQUIRE(why.placed.has_value());
  // The first minipod's hosts are free again just before; h2 is D's.
  CHECK(why.placed->minipods == 1);
  CHECK(why.placed->minipods_least == 1);
  REQUIRE(why.placed->shares.size() == 1);
  CHECK(why.placed->shares[0].free == 2);
  CHECK(why.placed->shares[0].taken == 2);
}

// E could have h2 from 120 s on: ten seconds that numbers do not explain. With G, who has wanted
// three hosts since 5 s and never gets them, they are spent behind G.
TEST_CASE("Time with enough free goes to those who were there before, or to nobody") {
  auto result = small_result();
  auto wait = study::explain(result, 0, 4).waits.at(0);
  CHECK(wait.short_s == 90);
  CHECK(wait.behind_s == 0);
  CHECK(wait.other_s == 10);
  CHECK(wait.ahead.empty());
  result.policies[0].jobs.push_back(job("g", 24, 5, {}));
  wait = study::explain(result, 0, 4).waits.at(0);
  CHECK(wait.behind_s == 10);
  CHECK(wait.other_s == 0);
  CHECK(wait.ahead == std::vector<std::string>{"g"});
  // G itself: three whole hosts are never free while somebody runs; A's, D's and E's times.
  const auto never = study::explain(result, 0, 5);
  CHECK_FALSE(never.placed.has_value());
  REQUIRE(never.waits.size() == 1);
  CHECK_FALSE(never.waits[0].ended);
  CHECK(never.waits[0].until_s == 200);
  CHECK(never.waits[0].short_s == 195);
  CHECK(never.waits[0].most_free == 1);
}

// P loses its host at 10 s to Q and has it again from 30 s: two waits, the first of no length.
TEST_CASE("A job that was preempted explains each of its waits") {
  auto result = small_result();
  result.policies[0].jobs = {job("p", 8, 0, {{0, 10, "h0"}, {30, 40, "h0"}}),
                             job("q", 24, 10, {{10, 30, "h[0-2]"}})};
  const auto why = study::explain(result, 0, 0);
  REQUIRE(why.waits.size() == 2);
  CHECK(why.waits[0].until_s - why.waits[0].from_s == 0);
  CHECK(why.waits[1].short_s == 20);
  REQUIRE(why.waits[1].holders.size() == 1);
  CHECK(why.waits[1].holders[0].job == "q");
  CHECK(why.placed->at_s == 30);
}

// Parts of a host: three GPUs where two and one are free.
TEST_CASE("A gang of less than a host wants one host with room") {
  auto result = small_result();
  result.policies[0].jobs = {job("p", 6, 0, {{0, 20, "h0"}}), job("q", 7, 0, {{0, 40, "h1"}}),
                             job("r", 8, 0, {{0, 40, "h2"}}), job("s", 3, 5, {{20, 30, "h0"}})};
  const auto why = study::explain(result, 0, 3);
  CHECK(why.hosts_wanted == 0);
  CHECK(why.waits.at(0).short_s == 15);
  CHECK(why.waits.at(0).most_free == 2);
}

TEST_CASE("A result that does not say who held what is refused with the fix") {
  auto result = small_result();
  result.cluster = {};
  CHECK_THROWS_AS(static_cast<void>(study::explain(result, 0, 0)), config::ConfigError);
}
