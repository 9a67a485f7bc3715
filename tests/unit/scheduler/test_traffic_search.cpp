#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "scheduler/traffic_search.hpp"
#include "small_cluster.hpp"

namespace railyard::scheduler {
namespace {

Placement on(std::initializer_list<std::uint32_t> hosts) {
  Placement placement;
  for (const std::uint32_t host : hosts) {
    placement.slots.push_back({static_cast<HostId>(host), whole_host_mask(8)});
  }
  return placement;
}

/// Hosts that are not where the ideal has them.
double misplaced(const Placement& placement, const Placement& ideal) {
  double count = 0;
  for (std::size_t i = 0; i < ideal.slots.size(); ++i) {
    count += placement.slots[i] == ideal.slots[i] ? 0 : 1;
  }
  return count;
}

// Hosts 0-3 and 4-7 are two minipods. From 0 1 2 3 the ideal 4 1 3 2 is one replacement and one
// exchange away, and each step on the way is no worse.
TEST_CASE("A search reaches a placement by exchanging and replacing hosts") {
  const auto topology = test::cluster({.hosts_per_minipod = {4, 4}});
  const Inventory inventory(topology);
  const Placement ideal = on({4, 1, 3, 2});
  TrafficSearch settings;
  settings.evaluations = 2000;
  settings.pp_group = 2;
  settings.ticks = [&ideal](const Placement& placement) { return misplaced(placement, ideal); };
  const Placement found = search(settings, {on({0, 1, 2, 3})}, inventory, Rng(1));
  CHECK(found.slots == ideal.slots);
}

// With as many evaluations as starts the cheapest start comes back, the first of equals; with one
// the first, whatever it costs. A budget is kept to the call.
TEST_CASE("A search takes the cheapest start, and no more evaluations than it may") {
  const auto topology = test::cluster({.hosts_per_minipod = {4, 4}});
  const Inventory inventory(topology);
  const std::vector<Placement> starts{on({0, 1}), on({2, 3}), on({4, 5})};
  std::uint32_t asked = 0;
  TrafficSearch settings;
  settings.ticks = [&](const Placement& placement) {
    ++asked;
    return placement.slots == starts[0].slots ? 2.0 : 1.0;
  };
  for (const std::uint32_t budget : {1U, 3U}) {
    asked = 0;
    settings.evaluations = budget;
    const Placement found = search(settings, starts, inventory, Rng(1));
    CHECK(found.slots == starts[budget == 1 ? 0 : 1].slots);
    CHECK(asked == budget);
  }
}

// Eleven free hosts of which six are held: every candidate has six different free ones. Nothing is
// cheaper than the start, so it comes back, or one that costs the same.
TEST_CASE("Every candidate of a search is a gang of different free hosts") {
  const auto topology = test::cluster({.hosts_per_minipod = {4, 4, 4}});
  Inventory inventory(topology);
  test::take_hosts(inventory, 1, 1);
  TrafficSearch settings;
  settings.evaluations = 500;
  settings.pp_group = 3;
  std::set<std::size_t> hosts_seen;
  settings.ticks = [&](const Placement& placement) {
    std::set<std::size_t> hosts;
    for (const HostSlot& slot : placement.slots) {
      REQUIRE(inventory.wholly_free(slot.host));
      REQUIRE(slot.gpu_mask == whole_host_mask(8));
      hosts.insert(index(slot.host));
    }
    REQUIRE(hosts.size() == 6);
    hosts_seen.insert(hosts.begin(), hosts.end());
    return 1.0;
  };
  static_cast<void>(search(settings, {on({0, 1, 2, 3, 5, 6})}, inventory, Rng(3)));
  CHECK(hosts_seen.size() == 11);
}

// One host of one: nothing can be exchanged or replaced.
TEST_CASE("A search without a possible change ends") {
  const auto topology = test::cluster({.hosts_per_minipod = {1}});
  const Inventory inventory(topology);
  TrafficSearch settings;
  settings.evaluations = 1'000'000;
  settings.ticks = [](const Placement&) { return 1.0; };
  CHECK(search(settings, {on({0})}, inventory, Rng(1)).slots.size() == 1);
}

}  // namespace
}  // namespace railyard::scheduler
