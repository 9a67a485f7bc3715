// The baselines: which hosts they take, and the spread that follows by hand.
#include <doctest/doctest.h>

#include "railyard/core/rng.hpp"
#include "railyard/scheduler/background.hpp"
#include "railyard/scheduler/placement.hpp"
#include "small_cluster.hpp"

namespace railyard::scheduler {
namespace {

std::vector<std::uint32_t> hosts_of(const Placement& placement) {
  std::vector<std::uint32_t> hosts;
  for (const HostSlot& slot : placement.slots) {
    hosts.push_back(static_cast<std::uint32_t>(slot.host));
  }
  return hosts;
}

GangShape data_parallel(std::uint32_t gpus) {
  return {.gpus = gpus, .tensor = 1, .pipeline = 1, .data = gpus};
}

// 120 hosts, fewest free first: 12 + 14 + 18 + 20 + 22 + 24 = 110, then 10 of 26: seven minipods,
// boundaries at 12, 26, 44, 64, 86, 110. Stages fastest, rows of 8: [8, 16) crosses 12, no row
// crosses two: PP 2. Each of the seven runs is at least 8 long, so every column meets all: DP 7.
// Data fastest, columns of 15: [0, 15) crosses 12, none crosses two (runs of 14 and more after the
// first, and [15, 30) crosses only 26, [30, 45) only 44): DP 2. Row r is r, r + 15, …, r + 105: r =
// 5 gives 5, 20, 35, 50, 65, 80, 95, 110, one in each run: PP 7. Weighted at 0.3: 0.3 · 7 + 0.7 · 2
// = 3.5 and 0.3 · 2 + 0.7 · 7 = 5.5.
TEST_CASE("Best fit spreads quickstart over seven minipods") {
  const Spread pp = test::quickstart_spread(R"({"name": "best_fit", "rank_order": "pp_fastest"})");
  CHECK(pp.minipods == 7);
  CHECK(pp.dp_max == 7);
  CHECK(pp.pp_max == 2);
  CHECK(pp.weighted(0.3) == doctest::Approx(3.5));
  const Spread dp = test::quickstart_spread(R"({"name": "best_fit", "rank_order": "dp_fastest"})");
  CHECK(dp.minipods == 7);
  CHECK(dp.dp_max == 2);
  CHECK(dp.pp_max == 7);
  CHECK(dp.weighted(0.3) == doctest::Approx(5.5));
}

// Most free first: 30 + 26 + 24 + 22 = 102, then 18 of 20: five minipods, boundaries at 30, 56, 80,
// 102. Stages fastest: [24, 32) crosses 30, none crosses two: PP 2; every run is at least 8 long:
// DP 5. Data fastest: [45, 60) crosses 56, none two: DP 2. Row 0 is 0, 15 | 30, 45 | 60, 75 | 90 |
// 105: PP 5, and there are no more. Weighted at 0.3: 2.9 and 0.3 · 2 + 0.7 · 5 = 4.1.
TEST_CASE("GPU packing spreads quickstart over five minipods") {
  const Spread pp =
      test::quickstart_spread(R"({"name": "gpu_packing", "rank_order": "pp_fastest"})");
  CHECK(pp.minipods == 5);
  CHECK(pp.dp_max == 5);
  CHECK(pp.pp_max == 2);
  CHECK(pp.weighted(0.3) == doctest::Approx(2.9));
  const Spread dp =
      test::quickstart_spread(R"({"name": "gpu_packing", "rank_order": "dp_fastest"})");
  CHECK(dp.minipods == 5);
  CHECK(dp.dp_max == 2);
  CHECK(dp.pp_max == 5);
  CHECK(dp.weighted(0.3) == doctest::Approx(4.1));
}

// Host after host a minipod is drawn from eight: the first 8 hosts, one row, meet 8 · (1 − (7/8)^8)
// = 5.3 of them on average, so the worst of 15 rows, and of 8 columns of 15 hosts, meets more. 120
// draws leave out none: (7/8)^120 · 8 < 1e-6.
TEST_CASE("Random fit spreads quickstart over all eight minipods in either order") {
  for (const auto* order : {"pp_fastest", "dp_fastest"}) {
    const Spread spread = test::quickstart_spread(
        std::string(R"({"name": "random_fit", "rank_order": ")") + order + "\"}");
    CHECK(spread.minipods == 8);
    CHECK(spread.dp_max > 5);
    CHECK(spread.pp_max > 5);
  }
}

// Minipods 0 (hosts 0-4), 1 (5-7), 2 (8-11). Two hosts of minipod 0 busy: 3, 3 and 4 free. Best fit
// of 4 hosts: minipod 0 before 1 (tie by id), so 2, 3, 4, then 5. Packing: all of minipod 2.
TEST_CASE("Ties between minipods go by id") {
  const auto topology = test::cluster({.hosts_per_minipod = {5, 3, 4}});
  Inventory inventory(topology);
  test::take_hosts(inventory, 0, 2);
  const GangShape gang = data_parallel(32);
  CHECK(hosts_of(*test::policy("\"best_fit\"")->place(gang, inventory, Rng(1))) ==
        std::vector<std::uint32_t>{2, 3, 4, 5});
  CHECK(hosts_of(*test::policy("\"gpu_packing\"")->place(gang, inventory, Rng(1))) ==
        std::vector<std::uint32_t>{8, 9, 10, 11});
}

// One minipod with leaves {0, 1, 2}, {3, 4, 5}, {6, 7, 8}; hosts 0 and 4 busy leave 2, 2 and 3
// free. Five hosts: leaf 2 whole, then leaf 0 (before leaf 1 by id): 6, 7, 8, 1, 2.
TEST_CASE("Hosts of a minipod are taken leaf by leaf, the freest leaf first") {
  const auto topology = test::cluster({.hosts_per_minipod = {9}, .hosts_per_leaf = 3});
  Inventory inventory(topology);
  inventory.take({HostId{0}, whole_host_mask(8)});
  inventory.take({HostId{4}, 0b1});
  for (const auto* name : {"\"best_fit\"", "\"gpu_packing\"", "\"arnold\""}) {
    const auto placement = test::policy(name)->place(data_parallel(40), inventory, Rng(1));
    CHECK(hosts_of(*placement) == std::vector<std::uint32_t>{6, 7, 8, 1, 2});
  }
}

// Minipods 0 (hosts 0-2) and 1 (3-4). Free GPUs: 8, 3, 8 | 5, 8. Two GPUs fit best on host 1, four
// on host 3, six on a whole host: best fit takes minipod 1 (one free host, against two), packing
// and Arnold minipod 0.
TEST_CASE("A gang of less than a host goes where fewest GPUs are left") {
  const auto topology = test::cluster({.hosts_per_minipod = {3, 2}});
  Inventory inventory(topology);
  inventory.take({HostId{1}, 0b00011111});
  inventory.take({HostId{3}, 0b00000111});
  const auto slot = [&](std::string_view name, std::uint32_t gpus) {
    const auto placement = test::policy(name)->place(data_parallel(gpus), inventory, Rng(1));
    REQUIRE(placement->slots.size() == 1);
    return placement->slots.front();
  };
  for (const auto* name : {"\"best_fit\"", "\"gpu_packing\"", "\"arnold\""}) {
    CHECK(slot(name, 2) == HostSlot{HostId{1}, 0b01100000});
    CHECK(slot(name, 4) == HostSlot{HostId{3}, 0b01111000});
  }
  CHECK(slot("\"best_fit\"", 6) == HostSlot{HostId{4}, 0b00111111});
  CHECK(slot("\"gpu_packing\"", 6) == HostSlot{HostId{0}, 0b00111111});
  CHECK(slot("\"arnold\"", 6) == HostSlot{HostId{0}, 0b00111111});
}

// 4,000 single-host gangs on free minipods of 2 and 6 hosts: random fit draws the minipod first, so
// each gets half; sigma = sqrt(4000 / 4) = 31.6, five of them 158. Uniform over hosts would give
// the small one a quarter.
TEST_CASE("Random fit is balanced over minipods, not over hosts") {
  const auto topology = test::cluster({.hosts_per_minipod = {2, 6}});
  const Inventory inventory(topology);
  const auto random_fit = test::policy("\"random_fit\"");
  for (const std::uint32_t gpus : {8U, 3U}) {
    int small = 0;
    for (std::uint64_t seed = 0; seed < 4000; ++seed) {
      const auto placement = random_fit->place(data_parallel(gpus), inventory, Rng(seed));
      if (index(placement->slots.front().host) < 2) ++small;
    }
    CHECK(std::abs(small - 2000) < 158);
  }
}

// Minipods 0 (hosts 0-4), 1 (5-7), 2 (8-11), all free. Seven hosts in two blocks are 4 + 3:
// minipods 0 and 2 have most. In three blocks they are 3 + 2 + 2 and minipod 1 gets the last. Ten
// in two blocks are 5 + 5, but minipod 2 has 4.
TEST_CASE("Blocks cuts a gang into equal parts, one a minipod, or refuses") {
  const auto topology = test::cluster({.hosts_per_minipod = {5, 3, 4}});
  const Inventory inventory(topology);
  const auto two = test::policy(R"({"name": "blocks", "minipods": 2})");
  const auto three = test::policy(R"({"name": "blocks", "minipods": 3})");
  CHECK(hosts_of(*two->place(data_parallel(56), inventory, Rng(1))) ==
        std::vector<std::uint32_t>{0, 1, 2, 3, 8, 9, 10});
  CHECK(hosts_of(*three->place(data_parallel(56), inventory, Rng(1))) ==
        std::vector<std::uint32_t>{0, 1, 2, 8, 9, 5, 6});
  CHECK_FALSE(two->place(data_parallel(80), inventory, Rng(1)).has_value());
}

// 166 hosts are free: 166 · 8 GPUs can be placed, one host more cannot.
TEST_CASE("A gang is placed whole or not at all") {
  const auto topology = test::quickstart_cluster();
  Inventory inventory(topology);
  for (const HostSlot& slot : occupy(topology, test::kQuickstartBusy, Rng(1))) inventory.take(slot);
  for (const auto* name : {"\"best_fit\"", "\"gpu_packing\"", "\"random_fit\"", "\"arnold\""}) {
    CHECK(test::policy(name)->place(data_parallel(166 * 8), inventory, Rng(1)).has_value());
    CHECK_FALSE(test::policy(name)->place(data_parallel(167 * 8), inventory, Rng(1)).has_value());
  }
}

}  // namespace
}  // namespace railyard::scheduler
