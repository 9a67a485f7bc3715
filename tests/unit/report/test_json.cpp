#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "example.hpp"
#include "railyard/core/check.hpp"
#include "railyard/report/report.hpp"

using namespace railyard;

namespace {

std::vector<std::string> keys_of(const nlohmann::ordered_json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

}  // namespace

// The order of the contract; notes and description follow it.
TEST_CASE("result.json has the keys of the contract in their order") {
  const auto json = nlohmann::ordered_json::parse(report::result_json(test::example_result()));
  CHECK(keys_of(json) == std::vector<std::string>{"railyard", "scenario", "seed", "digest",
                                                  "baseline", "policies", "comparison", "notes",
                                                  "description", "cluster"});
  const auto& policy = json["policies"]["arnold"];
  CHECK(keys_of(policy) == std::vector<std::string>{"metrics", "jobs", "links", "warnings",
                                                    "placement", "links_of", "scheduling"});
  std::vector<std::string> metrics;
  for (const auto& metric : metrics::metric_catalog()) {
    metrics.emplace_back(metric.key);
    if (metric.key != "diffusion_simplified") continue;
    metrics.emplace_back("attribution");
    metrics.emplace_back("attribution_contention");
  }
  CHECK(keys_of(policy["metrics"]) == metrics);
}

// 1.25e6 / 1e6 = 1.25 and 3.2 / 4 = 0.8; queueing is 0 in both, so its ratio is none; JCT was never
// set.
TEST_CASE("the comparison holds ratios to the baseline, and null where the baseline is zero") {
  const auto json = nlohmann::json::parse(report::result_json(test::example_result()));
  const auto& arnold = json["comparison"]["arnold"];
  CHECK(arnold["throughput_tokens_per_s"]["ratio"] == 1.25);
  CHECK(arnold["iteration_s_mean"]["ratio"] == 0.8);
  CHECK(arnold["queue_s_mean"]["ratio"].is_null());
  CHECK_FALSE(arnold.contains("jct_s_mean"));
  CHECK_FALSE(json["comparison"].contains("best_fit"));
}

// 0.1 + 0.2 in doubles is 0.30000000000000004, its shortest text that reads back the same.
TEST_CASE("doubles keep every bit, and what has no meaning is null") {
  auto result = test::example_result();
  result.policies[0].metrics.set(metrics::Metric::mfu, 0.1 + 0.2);
  const std::string text = report::result_json(result);
  CHECK(text.find("\"mfu\": 0.30000000000000004,") != std::string::npos);
  CHECK(text.find("\"predictor_mape\": null,") != std::string::npos);
}

TEST_CASE("a metric that is no number is an internal error, not broken JSON") {
  auto result = test::example_result();
  result.policies[0].metrics.set(metrics::Metric::mfu, std::numeric_limits<double>::quiet_NaN());
  CHECK_THROWS_AS((void)report::result_json(result), InternalError);
}

// 960 GPUs, finish at 800 s, spreads 6 and 4: the numbers of the example.
TEST_CASE("jobs and links stand under their names") {
  const auto json = nlohmann::json::parse(report::result_json(test::example_result()));
  const auto& job = json["policies"]["best_fit"]["jobs"][0];
  CHECK(job["gpus"] == 960);
  CHECK(job["finish_s"] == 800.0);
  CHECK(job["iteration_s_max"].is_null());
  CHECK(job["spread_pp_max"] == 4);
  CHECK(json["policies"]["best_fit"]["links"][0]["binding_share"] == 0.25);
}

// Two runs of 3 and 4 events: 7 in all.
TEST_CASE("meta.json adds up the facts of its runs") {
  report::Meta meta;
  meta.version = "0.1.0";
  meta.command = "railyard run \"x\"";
  metrics::RunFacts a;
  a.events = 3;
  metrics::RunFacts b;
  b.events = 4;
  meta.runs = {{"best_fit", a}, {"arnold", b}};
  const auto json = nlohmann::json::parse(report::meta_json(meta));
  CHECK(json["total"]["events"] == 7);
  CHECK(json["runs"]["arnold"]["events"] == 4);
  CHECK(json["command"] == "railyard run \"x\"");
}
