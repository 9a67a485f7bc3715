#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "railyard/metrics/run_result.hpp"

using namespace railyard;
using namespace railyard::metrics;

// The keys are a contract with scripts of users; this is its text (interface page, "metrics"),
// written out.
TEST_CASE("the catalog holds the keys of the contract in their order") {
  const std::vector<std::string> contract{"throughput_tokens_per_s",
                                          "iteration_s_mean",
                                          "iteration_s_p99",
                                          "mfu",
                                          "gpu_utilization",
                                          "gpu_busy_share",
                                          "communication_share_exposed",
                                          "jct_s_mean",
                                          "jct_s_p50",
                                          "jct_s_p95",
                                          "jct_s_p99",
                                          "queue_s_mean",
                                          "queue_s_p50",
                                          "queue_s_p99",
                                          "slowdown_mean",
                                          "makespan_s",
                                          "jobs_finished",
                                          "jobs_unfinished",
                                          "spread_dp_max",
                                          "spread_pp_max",
                                          "diffusion_weighted",
                                          "diffusion_simplified",
                                          "traffic_share_nvlink",
                                          "traffic_share_leaf",
                                          "traffic_share_minipod",
                                          "traffic_share_core",
                                          "link_utilization_p50",
                                          "link_utilization_p99",
                                          "link_utilization_max",
                                          "fragmentation",
                                          "reserved_idle_gpu_s",
                                          "preemptions",
                                          "restarts",
                                          "lost_gpu_s",
                                          "goodput_share",
                                          "fairness_rho_max",
                                          "predictor_mape",
                                          "decision_s_p50",
                                          "decision_s_p99",
                                          "cost_total",
                                          "cost_per_job",
                                          "cost_per_iteration",
                                          "cost_per_token",
                                          "energy_j"};
  REQUIRE(metric_catalog().size() == contract.size());
  for (std::size_t i = 0; i < contract.size(); ++i) CHECK(metric_catalog()[i].key == contract[i]);
}

// One key in the middle and one at the end tie the enumerators to the rows: a row left out would
// shift both.
TEST_CASE("enumerators and rows of the catalog stand in the same order") {
  CHECK(find_metric("spread_pp_max") == Metric::spread_pp_max);
  CHECK(find_metric("decision_s_p99") == Metric::decision_s_p99);
  CHECK(find_metric("energy_j") == Metric::energy_j);
  CHECK_FALSE(find_metric("decision_s_p98").has_value());
}

TEST_CASE("every metric has its own heading and a definition") {
  std::set<std::string_view> titles;
  for (const MetricDescription& metric : metric_catalog()) {
    CHECK_MESSAGE(titles.insert(metric.title).second, std::string(metric.title));
    CHECK(metric.title.size() <= 12);  // columns of a 100-column table
    CHECK_FALSE(metric.summary.empty());
  }
}
