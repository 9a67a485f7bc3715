#include <doctest/doctest.h>

#include <algorithm>

#include "railyard/core/check.hpp"
#include "railyard/scheduler/placement.hpp"
#include "small_cluster.hpp"

namespace railyard::scheduler {
namespace {

Placement whole_hosts(const std::vector<std::uint32_t>& hosts, RankOrder order) {
  Placement placement{{}, order};
  for (const std::uint32_t host : hosts) {
    placement.slots.push_back({static_cast<HostId>(host), whole_host_mask(8)});
  }
  return placement;
}

std::uint32_t host_of_rank(const std::vector<GpuId>& gpus, std::uint32_t rank) {
  return static_cast<std::uint32_t>(gpus[rank]) / 8;
}

// TP 8, PP 2, DP 2 on hosts 0 1 2 3, one cell a host. Stages fastest: host 0 = (data 0, stage 0),
// host 1 = (data 0, stage 1), host 2 = (data 1, stage 0). Data fastest: host 1 = (data 1, stage 0).
// Rank = t + 8 · (data + 2 · stage).
TEST_CASE("With one cell a host the rank order says which neighbour is the next stage") {
  const auto topology = test::cluster({.hosts_per_minipod = {4}});
  const GangShape shape{.gpus = 32, .tensor = 8, .pipeline = 2, .data = 2};
  const auto pp = gpu_of_rank(whole_hosts({0, 1, 2, 3}, RankOrder::pp_fastest), shape, topology);
  const auto dp = gpu_of_rank(whole_hosts({0, 1, 2, 3}, RankOrder::dp_fastest), shape, topology);
  const auto rank = [](std::uint32_t data, std::uint32_t stage) { return 8 * (data + 2 * stage); };
  CHECK(host_of_rank(pp, rank(0, 0)) == 0);
  CHECK(host_of_rank(pp, rank(0, 1)) == 1);
  CHECK(host_of_rank(pp, rank(1, 0)) == 2);
  CHECK(host_of_rank(pp, rank(1, 1)) == 3);
  CHECK(host_of_rank(dp, rank(0, 0)) == 0);
  CHECK(host_of_rank(dp, rank(1, 0)) == 1);
  CHECK(host_of_rank(dp, rank(0, 1)) == 2);
  CHECK(host_of_rank(dp, rank(1, 1)) == 3);
  CHECK(pp[rank(1, 1) + 5] == GpuId{3 * 8 + 5});
}

// TP 4 leaves room for k = 8 / 4 = 2 data ranks side by side. PP 2, DP 4: row 0 = data {0, 1}, row
// 1 = data {2, 3}. Stages fastest: host 0 = row 0 stage 0, host 1 = row 0 stage 1, host 2 = row 1
// stage 0, host 3 = row 1 stage 1.
TEST_CASE("Data ranks that share a host lie side by side and their row walks the stages") {
  const auto topology = test::cluster({.hosts_per_minipod = {4}});
  const GangShape shape{.gpus = 32, .tensor = 4, .pipeline = 2, .data = 4};
  const auto gpus = gpu_of_rank(whole_hosts({0, 1, 2, 3}, RankOrder::pp_fastest), shape, topology);
  for (std::uint32_t stage = 0; stage < 2; ++stage) {
    for (std::uint32_t data = 0; data < 4; ++data) {
      const std::uint32_t rank = 4 * (data + 4 * stage);
      CHECK(host_of_rank(gpus, rank) == data / 2 * 2 + stage);
      CHECK(static_cast<std::uint32_t>(gpus[rank]) % 8 == data % 2 * 4);
    }
  }
}

// DP 3 is no multiple of k = 2, so cells of 4 GPUs are dealt one by one: with stages fastest cell b
// holds stage b mod 2 and data rank b / 2; PP 2 and DP 3 fill 24 GPUs of 3 hosts.
TEST_CASE("Where data ranks do not fill hosts the cells are dealt one by one") {
  const auto topology = test::cluster({.hosts_per_minipod = {3}});
  const GangShape shape{.gpus = 24, .tensor = 4, .pipeline = 2, .data = 3};
  const auto gpus = gpu_of_rank(whole_hosts({0, 1, 2}, RankOrder::pp_fastest), shape, topology);
  for (std::uint32_t cell = 0; cell < 6; ++cell) {
    const std::uint32_t rank = 4 * (cell / 2 + 3 * (cell % 2));
    CHECK(gpus[rank] == static_cast<GpuId>(4 * cell));
  }
}

// The mask 0b10110010 holds local GPUs 1, 4, 5 and 7.
TEST_CASE("A shared host gives its GPUs in ascending order") {
  const auto topology = test::cluster({.hosts_per_minipod = {2}});
  const Placement placement{{{HostId{1}, 0b10110010}}, RankOrder::pp_fastest};
  const GangShape shape{.gpus = 4, .tensor = 2, .pipeline = 1, .data = 2};
  CHECK(gpu_of_rank(placement, shape, topology) ==
        std::vector{GpuId{9}, GpuId{12}, GpuId{13}, GpuId{15}});
}

// 12 GPUs take two whole hosts; the last four GPUs stay idle.
TEST_CASE("A gang that does not fill its last host uses the first GPUs") {
  const auto topology = test::cluster({.hosts_per_minipod = {2}});
  const GangShape shape{.gpus = 12, .tensor = 4, .pipeline = 1, .data = 3};
  const auto gpus = gpu_of_rank(whole_hosts({0, 1}, RankOrder::dp_fastest), shape, topology);
  REQUIRE(gpus.size() == 12);
  for (std::uint32_t rank = 0; rank < 12; ++rank) CHECK(gpus[rank] == static_cast<GpuId>(rank));
}

TEST_CASE("Every rank order is a bijection of ranks onto the gang's GPUs") {
  const auto topology = test::cluster({.hosts_per_minipod = {6, 6}});
  const std::vector<std::uint32_t> hosts{11, 0, 5, 7, 2, 9, 1, 3, 10, 4, 8, 6};
  for (const std::uint32_t tensor : {1U, 2U, 4U, 8U, 16U}) {
    for (const std::uint32_t pipeline : {1U, 2U, 3U, 6U}) {
      const GangShape shape{
          .gpus = 96, .tensor = tensor, .pipeline = pipeline, .data = 96 / tensor / pipeline};
      for (const RankOrder order : {RankOrder::pp_fastest, RankOrder::dp_fastest}) {
        auto gpus = gpu_of_rank(whole_hosts(hosts, order), shape, topology);
        std::ranges::sort(gpus);
        REQUIRE(gpus.size() == 96);
        for (std::uint32_t i = 0; i < 96; ++i) REQUIRE(gpus[i] == static_cast<GpuId>(i));
      }
    }
  }
}

TEST_CASE("Degrees that do not multiply to the gang are an internal error") {
  const auto topology = test::cluster({.hosts_per_minipod = {2}});
  const GangShape shape{.gpus = 16, .tensor = 8, .pipeline = 1, .data = 3};
  CHECK_THROWS_AS(
      static_cast<void>(gpu_of_rank(whole_hosts({0, 1}, RankOrder::pp_fastest), shape, topology)),
      InternalError);
}

// Minipods {0, 1, 2} and {3, 4, 5}, leaves of two hosts: {0, 1}, {2}, {3, 4}, {5}. TP 8, PP 2, DP 3
// on hosts 0..5. Stages fastest: rows (0, 1), (2, 3), (4, 5): the middle one spans 2 minipods;
// columns (0, 2, 4), (1, 3, 5) span 2. Data fastest: columns (0, 1, 2), (3, 4, 5) span 1; rows (0,
// 3), (1, 4), (2, 5) span 2.
TEST_CASE("Spread counts the minipods of the worst group from one") {
  const auto topology = test::cluster({.hosts_per_minipod = {3, 3}, .hosts_per_leaf = 2});
  const GangShape shape{.gpus = 48, .tensor = 8, .pipeline = 2, .data = 3};
  const std::vector<std::uint32_t> hosts{0, 1, 2, 3, 4, 5};
  const Spread pp = spread_of(whole_hosts(hosts, RankOrder::pp_fastest), shape, topology);
  CHECK(pp.pp_max == 2);
  CHECK(pp.dp_max == 2);
  const Spread dp = spread_of(whole_hosts(hosts, RankOrder::dp_fastest), shape, topology);
  CHECK(dp.pp_max == 2);
  CHECK(dp.dp_max == 1);
  CHECK(dp.minipods == 2);
  CHECK(dp.leaves == 4);
  // Eq. 2 at α = 0.3: 0.3 · 1 + 0.7 · 2. Eq. 4: PP unit 0.3 · 2 + 0.7 · 2; DP unit 0.7 · 2 + 0.3 ·
  // 1.
  CHECK(dp.weighted(0.3) == doctest::Approx(1.7));
  CHECK(dp.simplified(0.3, false) == doctest::Approx(2.0));
  CHECK(dp.simplified(0.3, true) == doctest::Approx(1.7));
}

}  // namespace
}  // namespace railyard::scheduler
