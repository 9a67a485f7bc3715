#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "railyard/config/document.hpp"
#include "railyard/core/rng.hpp"
#include "railyard/scheduler/background.hpp"
#include "small_cluster.hpp"

namespace railyard::scheduler {
namespace {

std::vector<std::uint32_t> per_minipod(const topology::Topology& topology,
                                       const std::vector<HostSlot>& slots) {
  std::vector<std::uint32_t> counts(topology.minipod_count(), 0);
  for (const HostSlot& slot : slots) ++counts[index(topology.host(slot.host).minipod)];
  return counts;
}

// 40/38/36/34/32/28/26/22 hosts less 10/12/12/12/12/10/12/10 busy ones leave
// 30/26/24/22/20/18/14/12.
TEST_CASE("Given counts leave quickstart's free hosts") {
  const auto topology = test::quickstart_cluster();
  Inventory inventory(topology);
  const auto slots = occupy(topology, test::kQuickstartBusy, Rng(1));
  CHECK(per_minipod(topology, slots) == test::kQuickstartBusy);
  CHECK(std::ranges::is_sorted(slots, {}, &HostSlot::host));
  for (const HostSlot& slot : slots) inventory.take(slot);
  const std::vector<std::uint32_t> free{30, 26, 24, 22, 20, 18, 14, 12};
  for (std::uint32_t m = 0; m < 8; ++m) {
    CHECK(inventory.free_host_count(static_cast<MinipodId>(m)) == free[m]);
  }
}

TEST_CASE("The same seed takes the same hosts and another seed takes others") {
  const auto topology = test::quickstart_cluster();
  CHECK(occupy(topology, test::kQuickstartBusy, Rng(1)) ==
        occupy(topology, test::kQuickstartBusy, Rng(1)));
  CHECK(occupy(topology, test::kQuickstartBusy, Rng(1)) !=
        occupy(topology, test::kQuickstartBusy, Rng(2)));
}

// 10 of 40 hosts of a minipod in 5 leaves of 8: taken in order they would fill leaf 0 and a quarter
// of leaf 1.
TEST_CASE("Busy hosts fragment the leaves") {
  const auto topology = test::quickstart_cluster();
  std::set<LeafId> leaves;
  for (const HostSlot& slot : occupy(topology, test::kQuickstartBusy, Rng(1))) {
    const auto& host = topology.host(slot.host);
    if (host.minipod == MinipodId{0}) leaves.insert(host.leaf);
  }
  CHECK(leaves.size() > 2);
}

TEST_CASE("Changing one minipod's count leaves the hosts of the others alone") {
  const auto topology = test::cluster({.hosts_per_minipod = {10, 10, 10}});
  const auto few = occupy(topology, std::vector<std::uint32_t>{4, 2, 6}, Rng(5));
  const auto many = occupy(topology, std::vector<std::uint32_t>{4, 7, 6}, Rng(5));
  for (const HostSlot& slot : few) CHECK(std::ranges::count(many, slot) == 1);
}

// Every subset must be equally likely: over 4,000 seeds each of 6 hosts is among the 2 busy ones
// with probability 1/3. The standard deviation is sqrt(4000 · 1/3 · 2/3) = 29.8; five of them are
// 149.
TEST_CASE("Each host of a minipod is busy equally often") {
  const auto topology = test::cluster({.hosts_per_minipod = {6}});
  std::vector<int> busy(6, 0);
  constexpr int kSeeds = 4000;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    for (const HostSlot& slot : occupy(topology, std::vector<std::uint32_t>{2}, Rng(seed))) {
      ++busy[index(slot.host)];
    }
  }
  for (const int count : busy) CHECK(std::abs(count - kSeeds / 3) < 149);
}

// 0.35 · 256 = 89.6 → 90 hosts. Weights within [0.5, 1.5] keep the share of each minipod below
// three times that of any other (and rounding moves it by less than a host).
TEST_CASE("A share is exact in total and uneven over minipods") {
  const auto topology = test::quickstart_cluster();
  const std::vector<double> hosts{40, 38, 36, 34, 32, 28, 26, 22};
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto counts = uneven_counts(topology, 0.35, Rng(seed));
    CHECK(std::accumulate(counts.begin(), counts.end(), 0U) == 90);
    double low = 1.0;
    double high = 0.0;
    for (std::size_t m = 0; m < 8; ++m) {
      low = std::min(low, (counts[m] + 1.0) / hosts[m]);
      high = std::max(high, (counts[m] - 1.0) / hosts[m]);
    }
    CHECK(high < 3.0 * low);
    CHECK(per_minipod(topology, occupy(topology, 0.35, Rng(seed))).size() == 8);
  }
  CHECK(uneven_counts(topology, 0.35, Rng(1)) != uneven_counts(topology, 0.35, Rng(2)));
}

// At the ends there is nothing to be uneven: no host and every host. Near the upper end the cap of
// full minipods binds: 0.97 · 256 = 248.32 → 248.
TEST_CASE("A share never takes more hosts than a minipod has") {
  const auto topology = test::quickstart_cluster();
  CHECK(occupy(topology, 0.0, Rng(1)).empty());
  CHECK(occupy(topology, 1.0, Rng(1)).size() == 256);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto counts = uneven_counts(topology, 0.97, Rng(seed));
    CHECK(std::accumulate(counts.begin(), counts.end(), 0U) == 248);
  }
}

TEST_CASE("Counts that do not fit are refused in a sentence") {
  const auto topology = test::cluster({.hosts_per_minipod = {3, 2}});
  const auto message = [&](auto what) {
    try {
      static_cast<void>(occupy(topology, what, Rng(1)));
    } catch (const config::ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(message(std::vector<std::uint32_t>{3, 3}) ==
        "3 hosts of minipod " + topology.minipod_name(MinipodId{1}) + " cannot be busy: it has 2");
  CHECK(message(std::vector<std::uint32_t>{1}) ==
        "hosts_per_minipod lists 1 minipods but the topology has 2: give one count for each");
  CHECK(message(1.5) == "a share of 1.5 of the hosts cannot be busy: a share lies between 0 and 1");
  CHECK(message(-0.1) ==
        "a share of -0.1 of the hosts cannot be busy: a share lies between 0 and 1");
  CHECK(message(std::vector<std::uint32_t>{3, 2}) == "accepted");
}

}  // namespace
}  // namespace railyard::scheduler
