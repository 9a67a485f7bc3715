#include <doctest/doctest.h>

#include <bit>

#include "railyard/core/check.hpp"
#include "railyard/core/rng.hpp"
#include "railyard/scheduler/inventory.hpp"
#include "small_cluster.hpp"

namespace railyard::scheduler {
namespace {

// Two minipods of 3 and 2 hosts of 8 GPUs: 5 hosts, 40 GPUs. One GPU taken leaves 39 GPUs, and 2
// wholly free hosts in minipod 0.
TEST_CASE("A host with one taken GPU is no longer wholly free") {
  const auto topology = test::cluster({.hosts_per_minipod = {3, 2}});
  Inventory inventory(topology);
  CHECK(inventory.gpus_per_host() == 8);
  CHECK(inventory.free_gpus() == 40);
  CHECK(inventory.free_host_count() == 5);

  inventory.take({HostId{1}, 0b1000});
  CHECK(inventory.free_gpus() == 39);
  CHECK(inventory.free_gpus(HostId{1}) == 7);
  CHECK_FALSE(inventory.wholly_free(HostId{1}));
  CHECK(inventory.free_host_count(MinipodId{0}) == 2);
  CHECK(inventory.free_hosts(MinipodId{0}) == std::vector{HostId{0}, HostId{2}});

  inventory.release({HostId{1}, 0b1000});
  CHECK(inventory.wholly_free(HostId{1}));
  CHECK(inventory.free_host_count(MinipodId{0}) == 3);
  CHECK(inventory.free_gpus() == 40);
}

TEST_CASE("Taking a taken GPU and releasing a free one are internal errors") {
  const auto topology = test::cluster({.hosts_per_minipod = {2}});
  Inventory inventory(topology);
  inventory.take({HostId{0}, 0b0011});
  CHECK_THROWS_AS(inventory.take({HostId{0}, 0b0110}), InternalError);
  CHECK_THROWS_AS(inventory.release({HostId{0}, 0b0110}), InternalError);
  CHECK_THROWS_AS(inventory.take({HostId{0}, 0}), InternalError);
  CHECK_THROWS_AS(inventory.take({HostId{0}, 0x100}), InternalError);
  CHECK_THROWS_AS(inventory.take({HostId{2}, 1}), InternalError);
  CHECK(inventory.free_gpus() == 14);  // 16 − 2: refused calls changed nothing
}

// The counts are kept incrementally; after each of 2,000 seeded takes and releases they are counted
// afresh.
TEST_CASE("Incremental counts equal a recount after every change") {
  const auto topology = test::cluster({.hosts_per_minipod = {5, 3, 4}, .hosts_per_leaf = 2});
  Inventory inventory(topology);
  Rng rng(7);
  std::vector<HostSlot> taken;
  for (int step = 0; step < 2000; ++step) {
    const auto host = static_cast<HostId>(rng.below(12));
    const std::uint64_t mask = rng.below(256) & inventory.free_mask(host);
    if (mask != 0 && rng.below(2) == 0) {
      taken.push_back({host, mask});
      inventory.take(taken.back());
    } else if (!taken.empty()) {
      inventory.release(taken.back());
      taken.pop_back();
    }
    std::uint64_t gpus = 0;
    std::vector<std::uint32_t> hosts(3, 0);
    for (std::uint32_t h = 0; h < 12; ++h) {
      const auto id = static_cast<HostId>(h);
      gpus += static_cast<std::uint64_t>(std::popcount(inventory.free_mask(id)));
      if (inventory.wholly_free(id)) ++hosts[index(topology.host(id).minipod)];
    }
    REQUIRE(inventory.free_gpus() == gpus);
    REQUIRE(inventory.free_host_count() == hosts[0] + hosts[1] + hosts[2]);
    for (std::uint32_t m = 0; m < 3; ++m) {
      REQUIRE(inventory.free_host_count(static_cast<MinipodId>(m)) == hosts[m]);
      REQUIRE(inventory.free_hosts(static_cast<MinipodId>(m)).size() == hosts[m]);
    }
  }
}

}  // namespace
}  // namespace railyard::scheduler
