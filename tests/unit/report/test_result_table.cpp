#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "example.hpp"
#include "railyard/report/report.hpp"

using namespace railyard;
using metrics::Metric;

namespace {

/// Is the part in the text, wherever lines were broken?
bool has(const std::string& text, const std::string& part) {
  std::string flat;
  for (const char letter : text) {
    const bool space = letter == ' ' || letter == '\n';
    if (!space || flat.empty() || flat.back() != ' ') flat += space ? ' ' : letter;
  }
  return text.find(part) != std::string::npos || flat.find(part) != std::string::npos;
}

std::size_t widest_line(const std::string& text) {
  std::istringstream in(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(in, line);) {
    const auto places =
        std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; });
    widest = std::max(widest, static_cast<std::size_t>(places));
  }
  return widest;
}

}  // namespace

// 1.25e6 / 1e6 tokens/s = 1.250×. 4 s - 3.2 s = 0.8 s = 800 ms, of which PP 1 - 0.4 = 600 ms and
// contention 200 ms.
TEST_CASE("the table says who wins, by how much and of what the gain is made") {
  const std::string text = report::result_table(test::example_result());
  CHECK(has(text, "arnold wins: 1.250× the throughput of the baseline, best_fit."));
  CHECK(has(
      text,
      "takes 3.200 s instead of 4.000 s: of the 800.0 ms gained, 600.0 ms exposed P2P, 200.0 ms"));
  CHECK(has(text, "lowest weighted spread (Eq. 2): arnold (2.50); the same policy wins."));
  CHECK(has(text, "note: The paper measured +5.7 %."));
  CHECK(has(text, "warning: every policy: memory is nearly full"));
}

// best_fit's link binds 25 % of the time and is hot, arnold's 1 % and is not: the bound is 5 %.
TEST_CASE("hot links are told by tier") {
  const std::string text = report::result_table(test::example_result());
  CHECK(has(text,
            "best_fit: links that bind a flow for more than 5 % of the time, among its 1 hottest: "
            "1 core."));
  CHECK(has(text, "arnold: no link binds a flow for more than 5 % of the time."));
}

TEST_CASE("columns without any value are left out") {
  const std::string text = report::result_table(test::example_result());
  CHECK_FALSE(has(text, "JCT"));
  CHECK_FALSE(has(text, "MAPE"));
  CHECK(has(text, "core"));
}

// Swapped baseline: arnold is best and baseline, so the next best is what it is measured against.
TEST_CASE("a winning baseline is compared with the next best") {
  auto result = test::example_result();
  result.baseline = "arnold";
  CHECK(has(report::result_table(result),
            "arnold wins: 1.250× the throughput of the next best, best_fit."));
}

// 1,249,500 is 0.04 % below 1,250,000: within 0.1 %, so the sentence says it is close.
TEST_CASE("a policy just behind the winner is named") {
  auto result = test::example_result();
  result.policies.push_back(result.policies[1]);
  result.policies[2].name = "close";
  result.policies[2].metrics.set(Metric::throughput_tokens_per_s, 1'249'500);
  CHECK(has(report::result_table(result), "of the baseline, best_fit; within 0.1 % of it: close."));
}

TEST_CASE("equal policies have no winner") {
  auto result = test::example_result();
  result.policies[1] = result.policies[0];
  result.policies[1].name = "arnold";
  CHECK(has(report::result_table(result), "no policy wins: all have the same throughput."));
}

// Two jobs a policy: completion time decides although throughput points the other way.
TEST_CASE("with many jobs completion time decides") {
  auto result = test::example_result();
  for (auto& policy : result.policies) policy.jobs.push_back(policy.jobs[0]);
  result.policies[0].metrics.set(Metric::jct_s_mean, 50);
  result.policies[1].metrics.set(Metric::jct_s_mean, 100);
  const auto decided = report::verdict(result);
  REQUIRE(decided.has_value());
  CHECK(decided->metric == Metric::jct_s_mean);
  CHECK(decided->winner == 0);
}

TEST_CASE("one policy is no contest") {
  auto result = test::example_result();
  result.policies.pop_back();
  CHECK_FALSE(report::verdict(result).has_value());
  CHECK(has(report::result_table(result), "best_fit"));
}

// All 44 metrics with large values under eight long names: the widest case still keeps to 100
// places.
TEST_CASE("the table is never wider than 100 places") {
  auto result = test::example_result();
  for (std::size_t i = 0; i < metrics::kMetrics; ++i) {
    for (auto& policy : result.policies) policy.metrics.set(static_cast<Metric>(i), 123456.789);
  }
  for (auto& policy : result.policies) {
    policy.jobs.push_back(policy.jobs[0]);
    policy.cost = metrics::CostResult{"USD", 1e6, 1e6, 1e6, 1e6, 1, 1e6, 1e6, 1e6, 1e6, 1e6};
    policy.attribution->exposed_tp = policy.attribution->latency = policy.attribution->compute;
  }
  result.policies.resize(8, result.policies[1]);
  for (std::size_t i = 2; i < 8; ++i)
    result.policies[i].name = "gpu_packing_dp_" + std::to_string(i);
  CHECK(widest_line(report::result_table(result)) <= 100);
}

TEST_CASE("csv has a row a policy and the contract's names") {
  const std::string text = report::result_csv(test::example_result());
  CHECK(std::count(text.begin(), text.end(), '\n') == 3);
  CHECK(has(text, "scenario,seed,digest,policy,throughput_tokens_per_s,"));
  CHECK(has(text, ",attribution_contention_s\n"));
  CHECK(has(text, ",arnold,1250000,3.2,,0.5,"));
}

TEST_CASE("markdown has the same numbers") {
  const std::string text = report::result_markdown(test::example_result());
  CHECK(has(text, "## example"));
  CHECK(has(text, "| arnold * | 1.2500 | 1.250× | 3.2000 | 0.800× |"));
}

// 16 of 32 GPUs are four eighths, from half-way on all are held. The second policy's only job that
// ran ends half-way; of 60 bars 30 are left.
TEST_CASE("bars are the GPUs held over time, to the end of a policy's jobs") {
  auto result = test::example_result();
  result.cluster.gpus = 32;
  const auto job = [](double from, double until) {
    metrics::JobResult out;
    out.gpus = 16;
    if (until > from) out.runs.push_back({from, until, "host-0"});
    return out;
  };
  result.policies[0].jobs = {job(0, 60), job(30, 60)};
  result.policies[1].jobs = {job(0, 30), job(0, 0)};
  const std::string text = report::result_table(result);
  const auto bars = [](std::string_view bar, int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += bar;
    return out;
  };
  CHECK(has(text, "of 32, from 0 to 60.00 s; a bar is 1.000 s"));
  CHECK(has(text, "best_fit " + bars("▅", 30) + bars("█", 30)));
  CHECK_FALSE(has(text, bars("█", 31)));
  CHECK(has(text, "arnold " + bars("▅", 30)));
  CHECK_FALSE(has(text, bars("▅", 31)));
  CHECK(widest_line(text) <= 100);
}

// Others hold 8 of 32: (8 + 8) / 32 is four eighths; a single job has no course to show.
TEST_CASE("bars count the GPUs that others hold, and a single job has none") {
  auto result = test::example_result();
  result.cluster.gpus = 32;
  CHECK_FALSE(has(report::result_table(result), "GPUs held"));
  result.cluster.occupied_gpus = 8;
  metrics::JobResult job;
  job.gpus = 4;
  job.runs.push_back({0, 60, "host-0"});
  for (auto& policy : result.policies) policy.jobs = {job, job};
  const std::string text = report::result_table(result);
  CHECK(has(text, "arnold ▅▅▅"));
  CHECK_FALSE(has(text, "█"));
}
