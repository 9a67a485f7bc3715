// A result made by hand, small enough to know every printed number.
#pragma once

#include "railyard/metrics/run_result.hpp"

namespace railyard::test {

/// best_fit: iteration 4 s = 2 compute + 0.5 bubble + 1 PP + 0.3 DP + 0.2 contention; 1,000,000
/// tokens/s. arnold:   iteration 3.2 s = 2 compute + 0.5 bubble + 0.4 PP + 0.3 DP + 0 contention;
/// 1,250,000 tokens/s.
inline metrics::RunResult example_result() {
  using metrics::Metric;
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  metrics::RunResult result;
  result.version = "0.1.0";
  result.scenario = "example";
  result.description = "Two policies, one job.";
  result.seed = 7;
  result.baseline = "best_fit";
  result.notes = {"The paper measured +5.7 %."};

  metrics::PolicyResult base;
  base.name = "best_fit";
  base.placement = "best_fit(rank_order=pp_fastest)";
  base.metrics.set(Metric::throughput_tokens_per_s, 1e6);
  base.metrics.set(Metric::iteration_s_mean, 4.0);
  base.metrics.set(Metric::mfu, 0.4);
  base.metrics.set(Metric::queue_s_mean, 0.0);
  base.metrics.set(Metric::diffusion_weighted, 4.5);
  base.metrics.set(Metric::traffic_share_core, 0.1234);
  base.attribution =
      metrics::Attribution{seconds(2), milliseconds(500), {}, seconds(1), milliseconds(300), {}, {},
                           {},         milliseconds(200)};
  base.jobs.push_back({"job", 960, "finished", 0.0, 0.0, 800.0, 4.0, {}, {}, 1.0, 6, 4, 6, 20});
  base.links.push_back({"minipod0.spine1->core2", "core", 1e12, 0.5, 0.75, 0.25});
  base.warnings = {"memory is nearly full"};

  metrics::PolicyResult arnold = base;
  arnold.name = "arnold";
  arnold.placement = "arnold(alpha=0.3)";
  arnold.metrics.set(Metric::throughput_tokens_per_s, 1.25e6);
  arnold.metrics.set(Metric::iteration_s_mean, 3.2);
  arnold.metrics.set(Metric::mfu, 0.5);
  arnold.metrics.set(Metric::diffusion_weighted, 2.5);
  arnold.attribution = metrics::Attribution{
      seconds(2), milliseconds(500), {}, milliseconds(400), milliseconds(300), {}, {}, {}, {}};
  arnold.links[0].binding_share = 0.01;
  result.policies = {base, arnold};
  result.digest = metrics::digest_of(result);
  return result;
}

}  // namespace railyard::test
