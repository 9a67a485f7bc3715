// What every placement policy must do, run over the whole catalog: a new entry is tested by being
// listed.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>

#include "railyard/core/rng.hpp"
#include "railyard/scheduler/placement.hpp"
#include "small_cluster.hpp"

namespace railyard::scheduler {
namespace {

/// Random gangs of every kind: within a host, whole hosts, not filling the last host, matrices and
/// none.
GangShape random_gang(Rng& rng) {
  constexpr std::uint32_t kTensor[] = {1, 2, 3, 4, 8, 16};
  GangShape gang;
  gang.tensor = kTensor[rng.below(6)];
  gang.pipeline = 1 + static_cast<std::uint32_t>(rng.below(4));
  gang.data = 1 + static_cast<std::uint32_t>(rng.below(12));
  gang.gpus = gang.tensor * gang.pipeline * gang.data;
  return gang;
}

void occupy_at_random(Inventory& inventory, Rng& rng) {
  const std::uint64_t busy_of_ten = rng.below(9);
  for (std::size_t h = 0; h < inventory.topology().hosts().size(); ++h) {
    if (rng.below(10) >= busy_of_ten) continue;
    const std::uint64_t mask = rng.below(2) == 0 ? 0xff : rng.below(256);
    if (mask != 0) inventory.take({static_cast<HostId>(h), mask});
  }
}

/// Can the gang be placed at all? Whole hosts for a host's worth and more, one host with room for
/// less.
bool fits(const GangShape& gang, const Inventory& inventory) {
  if (gang.gpus >= 8) return inventory.free_host_count() * 8 >= gang.gpus;
  for (std::size_t h = 0; h < inventory.topology().hosts().size(); ++h) {
    if (inventory.free_gpus(static_cast<HostId>(h)) >= gang.gpus) return true;
  }
  return false;
}

void check_slots(const Placement& placement, const GangShape& gang, const Inventory& inventory) {
  std::vector<bool> seen(inventory.topology().hosts().size(), false);
  std::uint32_t gpus = 0;
  for (const HostSlot& slot : placement.slots) {
    REQUIRE(index(slot.host) < seen.size());
    REQUIRE_FALSE(seen[index(slot.host)]);
    seen[index(slot.host)] = true;
    REQUIRE((slot.gpu_mask & ~inventory.free_mask(slot.host)) == 0);
    if (gang.gpus >= 8) REQUIRE(slot.gpu_mask == 0xff);
    gpus += static_cast<std::uint32_t>(std::popcount(slot.gpu_mask));
  }
  if (gang.gpus >= 8) {
    REQUIRE(gpus == (gang.gpus + 7) / 8 * 8);
  } else {
    REQUIRE(placement.slots.size() == 1);
    REQUIRE(gpus == gang.gpus);
  }
}

std::vector<std::uint64_t> state_of(const Inventory& inventory) {
  std::vector<std::uint64_t> state;
  for (std::size_t h = 0; h < inventory.topology().hosts().size(); ++h) {
    state.push_back(inventory.free_mask(static_cast<HostId>(h)));
  }
  return state;
}

// A placement exists exactly when the gang fits (only when, for policies that ask for more than
// free hosts); it is complete, within what is free, of whole hosts from 8 GPUs on; asked again it
// is the same, from an equal inventory elsewhere too; and asking changed nothing.
TEST_CASE("Every placement policy places whole gangs on free GPUs, purely and repeatably") {
  const auto topology = test::cluster({.hosts_per_minipod = {7, 3, 5, 1}, .hosts_per_leaf = 3});
  for (const auto& entry : placement_catalog()) {
    CAPTURE(entry.description.name);
    // listed places nothing but the hosts it is given.
    if (entry.description.name == "listed") continue;
    // blocks wants equal parts in a given number of minipods, slurm_block one block.
    const bool asks_for_more =
        entry.description.name == "blocks" || entry.description.name == "slurm_block";
    const std::vector<const config::EntryDescription*> descriptions{&entry.description};
    const auto choice = config::default_choice(entry.description.name, descriptions);
    const auto policy = entry.create(choice.parameters);
    Rng rng(99);
    int placed = 0;
    int refused = 0;
    for (int trial = 0; trial < 600; ++trial) {
      Inventory inventory(topology);
      occupy_at_random(inventory, rng);
      const GangShape gang = random_gang(rng);
      CAPTURE(trial);
      CAPTURE(gang.gpus);
      const auto before = state_of(inventory);
      const Rng own(rng.next());
      const auto placement = policy->place(gang, inventory, own);
      const bool must_place = fits(gang, inventory) && !asks_for_more;
      if (must_place) REQUIRE(placement.has_value());
      if (placement) REQUIRE(fits(gang, inventory));
      REQUIRE(state_of(inventory) == before);
      const Inventory copy = inventory;
      const auto again = policy->place(gang, copy, own);
      REQUIRE(again.has_value() == placement.has_value());
      if (!placement) {
        ++refused;
        continue;
      }
      ++placed;
      REQUIRE(again->slots == placement->slots);
      REQUIRE(again->rank_order == placement->rank_order);
      check_slots(*placement, gang, inventory);
      auto gpus = gpu_of_rank(*placement, gang, topology);
      std::ranges::sort(gpus);
      REQUIRE(gpus.size() == gang.gpus);
      REQUIRE(std::ranges::adjacent_find(gpus) == gpus.end());
      for (const HostSlot& slot : placement->slots) inventory.take(slot);
    }
    CHECK(placed > 100);
    CHECK(refused > 100);
  }
}

}  // namespace
}  // namespace railyard::scheduler
