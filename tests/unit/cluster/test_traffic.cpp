// Who goes first on links that jobs share.
#include "railyard/cluster/traffic.hpp"

#include <doctest/doctest.h>

#include "support/cluster_bench.hpp"
#include "support/two_sides.hpp"

using namespace railyard;
using namespace railyard::cluster;
using namespace std::chrono_literals;
using test::ClusterBench;

namespace {

std::unique_ptr<TrafficPolicy> traffic(const std::string& json) {
  const auto choice = test::choose(json, traffic_catalog());
  return config::entry_of(traffic_catalog(), choice.name).create(choice.parameters);
}

/// 16 ranks on two hosts: the first host computes, then sends 125 MB a GPU to the second: 10 ms.
JobSpec sender(const std::string& name, Duration compute, std::int32_t priority) {
  JobSpec job;
  job.name = name;
  job.shape = {.gpus = 16, .tensor = 8, .pipeline = 2, .data = 1};
  job.dag = std::make_shared<const workload::IterationDag>(
      test::compute_then_send(8, compute, Bytes(125'000'000)));
  job.iterations = 100;
  job.priority = priority;
  return job;
}

}  // namespace

// Two minipods of two hosts behind 100 GB/s each, two jobs with a host in both: each can fill the
// uplink. Computing 30 and 10 ms for 10 ms of traffic, they have intensities of 24 and 8. Who goes
// first runs as if alone: 100 iterations of 40 or of 20 ms. By intensity that is the first, as
// declared the second; with fair shares neither does.
TEST_CASE("the job that goes first on a shared uplink runs as if alone") {
  ClusterBench bench(test::plain_clos("[2, 2]", 1, 2),
                     {.placement = R"({"name": "blocks", "minipods": 2})"});
  const std::vector<JobSpec> jobs{sender("busy", 30ms, 1), sender("chatty", 10ms, 5)};
  const auto seconds = [&](const std::string& policy) {
    const auto made = traffic(policy);
    bench.settings.traffic = made.get();
    return test::finishes(bench.run(jobs));
  };
  const auto fair = seconds("\"none\"");
  CHECK(fair[0] > 4.01);
  CHECK(fair[1] > 2.01);
  const auto by_intensity = seconds("\"intensity\"");
  CHECK(by_intensity[0] == doctest::Approx(4.0).epsilon(1e-9));
  CHECK(by_intensity[1] > 2.0);
  const auto declared = seconds("\"declared\"");
  CHECK(declared[1] == doctest::Approx(2.0).epsilon(1e-9));
  CHECK(declared[0] > 4.0);
}

// Intensities 1, 2, 4, 4 and, without traffic, infinite: four values on two levels, two each.
TEST_CASE("intensities are ranked, and compressed evenly to the levels there are") {
  const std::vector<TrafficFacts> jobs{{.declared = 0, .gpu_ticks = 8, .link_ticks = 2},
                                       {.declared = 3, .gpu_ticks = 1, .link_ticks = 1},
                                       {.declared = 3, .gpu_ticks = 4, .link_ticks = 2},
                                       {.declared = -1, .gpu_ticks = 4, .link_ticks = 1},
                                       {.declared = 0, .gpu_ticks = 1, .link_ticks = 0}};
  using Levels = std::vector<std::uint8_t>;
  CHECK(traffic("\"intensity\"")->priorities(jobs, 8) == Levels{2, 0, 1, 2, 3});
  CHECK(traffic(R"({"name": "intensity", "levels": 2})")->priorities(jobs, 8) ==
        Levels{1, 0, 0, 1, 1});
  CHECK(traffic("\"declared\"")->priorities(jobs, 4) == Levels{1, 2, 2, 0, 1});
}
