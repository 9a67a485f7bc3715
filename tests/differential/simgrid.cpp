// Finish times against SimGrid 3.32 (CM02, textbook max-min, latency 0) on recorded workloads.
// Provenance: ../shared/data/peers/README.md; a naive progressive filling agrees with those numbers
// to 5e-12 relative.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "support/shared_data.hpp"
#include "support/simgrid_workload.hpp"

using railyard::in_seconds;

namespace {

/// Half a tick for the flow's own end, and half a tick for the flows it shared with, which end up
/// to half a tick off as well.
constexpr double kRounding = 1e-11;

void compare(const std::string& name) {
  const auto folder = railyard::test::shared_data("peers/simgrid/" + name);
  if (!folder) return;
  const railyard::test::SimgridWorkload workload = railyard::test::read_simgrid_workload(*folder);
  const auto result = railyard::test::run_workload(workload);
  double worst_s = 0;
  double worst_relative = 0;
  for (std::size_t flow = 0; flow < result.times.size(); ++flow) {
    const double expected = workload.expected_end_s[flow];
    const double end = in_seconds(result.times[flow].finish);
    const double error = std::abs(end - expected);
    INFO(name << " flow " << flow << ": " << end << " s, SimGrid " << expected << " s");
    CHECK(error <= 1e-9 * expected + kRounding);
    worst_s = std::max(worst_s, error);
    worst_relative = std::max(worst_relative, error / expected);
  }
  MESSAGE(name << ": " << result.times.size() << " flows, worst " << worst_s << " s, relative "
               << worst_relative << ", " << result.counters.solves << " solves, "
               << result.counters.flows_touched << " flows touched");
}

}  // namespace

TEST_CASE("a small mixed workload ends as in SimGrid") {
  compare("x_mix64_ft64");
}
TEST_CASE("a permutation on a thousand hosts ends as in SimGrid") {
  compare("a_perm1024_ft1024");
}
TEST_CASE("an all-to-all of 128 hosts ends as in SimGrid") {
  compare("d_a2a128_ft128");
}
