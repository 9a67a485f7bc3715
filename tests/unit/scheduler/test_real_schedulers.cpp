// Placements of real schedulers, against what their rules say of random clusters, found by looking
// at every domain.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "railyard/config/document.hpp"
#include "railyard/core/rng.hpp"
#include "railyard/scheduler/placement.hpp"
#include "small_cluster.hpp"

namespace railyard::scheduler {
namespace {

using Rooms = std::map<std::uint32_t, std::uint32_t>;  ///< free hosts by domain

std::uint32_t leaf_of(const topology::Topology& topology, HostId host) {
  return static_cast<std::uint32_t>(index(topology.host(host).leaf));
}
std::uint32_t minipod_of(const topology::Topology& topology, HostId host) {
  return static_cast<std::uint32_t>(index(topology.host(host).minipod));
}

template <typename Domain>
Rooms rooms(const Inventory& inventory, Domain domain) {
  Rooms out;
  for (std::uint32_t h = 0; h < inventory.topology().hosts().size(); ++h) {
    const auto host = static_cast<HostId>(h);
    if (inventory.wholly_free(host)) ++out[domain(inventory.topology(), host)];
  }
  return out;
}

template <typename Domain>
Rooms taken(const Placement& placement, const topology::Topology& topology, Domain domain) {
  Rooms out;
  for (const HostSlot& slot : placement.slots) ++out[domain(topology, slot.host)];
  return out;
}

/// The least room that holds so many; 0: none does.
std::uint32_t tightest(const Rooms& rooms, std::uint32_t wanted) {
  std::uint32_t best = 0;
  for (const auto& [domain, free] : rooms) {
    if (free >= wanted && (best == 0 || free < best)) best = free;
  }
  return best;
}

/// Fewest domains that hold so many: the emptiest first.
std::size_t fewest(const Rooms& rooms, std::uint32_t wanted) {
  std::vector<std::uint32_t> free;
  for (const auto& [domain, room] : rooms) free.push_back(room);
  std::ranges::sort(free, std::greater{});
  std::size_t count = 0;
  for (std::uint32_t held = 0; held < wanted; ++count) held += free.at(count);
  return count;
}

/// Best fit among domains: all but one of those used are emptied, none that is left alone is larger
/// than one that was emptied, and the one that is left with something is the tightest for its part.
void check_best_fit(const Rooms& rooms, const Rooms& used) {
  std::uint32_t smallest_emptied = 1'000'000;
  std::uint32_t rest = 0;
  std::uint32_t rest_room = 0;
  for (const auto& [domain, hosts] : used) {
    if (hosts < rooms.at(domain)) {
      REQUIRE(rest == 0);
      rest = hosts;
      rest_room = rooms.at(domain);
    }
  }
  // Of the emptied ones the last may have been the tightest rest, too small for the others.
  std::vector<std::uint32_t> emptied;
  for (const auto& [domain, hosts] : used) {
    if (hosts == rooms.at(domain)) emptied.push_back(hosts);
  }
  std::ranges::sort(emptied);
  if (rest == 0 && !emptied.empty()) emptied.erase(emptied.begin());
  if (!emptied.empty()) smallest_emptied = emptied.front();
  for (const auto& [domain, room] : rooms) {
    if (used.count(domain) > 0) continue;
    REQUIRE(room <= smallest_emptied);
    if (rest > 0) REQUIRE((room < rest || room >= rest_room));
  }
}

struct Trial {
  Inventory inventory;
  GangShape gang;
  std::uint32_t wanted = 0;
};

/// Whole hosts busy at random, a gang of at most so many as are free.
Trial random_trial(const topology::Topology& topology, Rng& rng) {
  Trial trial{Inventory(topology), {}, 0};
  const std::uint64_t busy_of_ten = rng.below(8);
  for (std::uint32_t h = 0; h < topology.hosts().size(); ++h) {
    if (rng.below(10) < busy_of_ten) trial.inventory.take({static_cast<HostId>(h), 0xff});
  }
  const std::uint32_t free = std::max(1U, trial.inventory.free_host_count());
  trial.wanted = 1 + static_cast<std::uint32_t>(rng.below(free));
  trial.gang = {.gpus = 8 * trial.wanted, .tensor = 8, .pipeline = 1, .data = trial.wanted};
  return trial;
}

const test::ClusterShape kShape{.hosts_per_minipod = {9, 6, 11, 4, 8}, .hosts_per_leaf = 3};

}  // namespace

// The lowest switch that holds the gang: one leaf where one does, else one minipod, the tightest of
// its height; below it best fit. Its leaves are counted for --switches.
TEST_CASE("slurm_tree takes the lowest switch that fits, and leaves below it by best fit") {
  const auto topology = test::cluster(kShape);
  const auto policy = test::policy(R"({"name": "slurm_tree", "switches": 2, "wait": "7min"})");
  Rng rng(5);
  std::set<int> heights;
  for (int t = 0; t < 2000; ++t) {
    const Trial trial = random_trial(topology, rng);
    const auto placement = policy->place(trial.gang, trial.inventory, Rng(1));
    if (trial.inventory.free_host_count() < trial.wanted) {
      REQUIRE_FALSE(placement.has_value());
      continue;
    }
    REQUIRE(placement.has_value());
    const Rooms leaves = rooms(trial.inventory, leaf_of);
    const Rooms minipods = rooms(trial.inventory, minipod_of);
    const Rooms used = taken(*placement, topology, leaf_of);
    const Rooms used_minipods = taken(*placement, topology, minipod_of);
    if (const std::uint32_t leaf = tightest(leaves, trial.wanted); leaf > 0) {
      REQUIRE(used.size() == 1);
      REQUIRE(leaves.at(used.begin()->first) == leaf);
      heights.insert(1);
    } else if (const std::uint32_t minipod = tightest(minipods, trial.wanted); minipod > 0) {
      REQUIRE(used_minipods.size() == 1);
      REQUIRE(minipods.at(used_minipods.begin()->first) == minipod);
      Rooms below;
      for (std::uint32_t h = 0; h < topology.hosts().size(); ++h) {
        const auto host = static_cast<HostId>(h);
        if (minipod_of(topology, host) == used_minipods.begin()->first &&
            trial.inventory.wholly_free(host)) {
          ++below[leaf_of(topology, host)];
        }
      }
      check_best_fit(below, used);
      heights.insert(2);
    } else {
      check_best_fit(leaves, used);
      heights.insert(3);
    }
    REQUIRE(std::ranges::is_sorted(placement->slots, {}, &HostSlot::host));
    const bool waits = used.size() > 2;
    REQUIRE(placement->patience == (waits ? Duration(7 * 60 * kTicksPerSecond) : Duration{}));
  }
  CHECK(heights.size() == 3);
}

// A gang lies in one aligned group of 1, 2, 4, … leaves, the smallest that is large enough when
// empty, the tightest of those that have room; where none has it waits.
TEST_CASE("slurm_block takes one aggregated block of the lowest level that is large enough") {
  const auto topology = test::cluster(kShape);
  const auto policy = test::policy(R"({"name": "slurm_block"})");
  const Rooms all = rooms(Inventory(topology), leaf_of);
  Rng rng(6);
  int waited = 0;
  for (int t = 0; t < 2000; ++t) {
    const Trial trial = random_trial(topology, rng);
    const auto placement = policy->place(trial.gang, trial.inventory, Rng(1));
    Rooms blocks;
    std::uint32_t level = 0;
    for (; blocks.empty() || tightest(blocks, trial.wanted) == 0; ++level) {
      blocks.clear();
      for (const auto& [leaf, hosts] : all) blocks[leaf >> level] += hosts;
    }
    --level;
    const Rooms free = rooms(trial.inventory, [level](const auto& of, HostId host) {
      return leaf_of(of, host) >> level;
    });
    const std::uint32_t room = tightest(free, trial.wanted);
    REQUIRE(placement.has_value() == (room > 0));
    if (!placement) {
      ++waited;
      continue;
    }
    const Rooms used = taken(*placement, topology, [level](const auto& of, HostId host) {
      return leaf_of(of, host) >> level;
    });
    REQUIRE(used.size() == 1);
    REQUIRE(free.at(used.begin()->first) == room);
  }
  CHECK(waited > 100);
}

// Segments of two hosts, in rank order, each in one leaf; there is a place exactly when the leaves'
// pairs suffice, one of their hosts more for an odd gang.
TEST_CASE("slurm_block keeps every segment in one block and asks no more") {
  const auto topology = test::cluster(kShape);
  const auto policy = test::policy(R"({"name": "slurm_block", "segment": 2})");
  Rng rng(7);
  int refused = 0;
  for (int t = 0; t < 2000; ++t) {
    const Trial trial = random_trial(topology, rng);
    const auto placement = policy->place(trial.gang, trial.inventory, Rng(1));
    std::uint32_t pairs = 0;
    std::uint32_t single = 0;
    for (const auto& [leaf, free] : rooms(trial.inventory, leaf_of)) {
      pairs += free / 2;
      single += free % 2;
    }
    const bool rest = trial.wanted % 2 == 1;
    const bool fits =
        trial.wanted / 2 <= pairs && (!rest || trial.wanted / 2 < pairs || single > 0);
    REQUIRE(placement.has_value() == fits);
    if (!placement) {
      ++refused;
      continue;
    }
    for (std::size_t s = 0; s + 1 < placement->slots.size(); s += 2) {
      REQUIRE(leaf_of(topology, placement->slots[s].host) ==
              leaf_of(topology, placement->slots[s + 1].host));
    }
  }
  CHECK(refused > 100);
}

// One leaf, the tightest, where one holds the gang; else the tightest minipod; else as few minipods
// as can hold it: no other policy touches fewer.
TEST_CASE("tight_pack touches no more domains than it must, and the tightest of them") {
  const auto topology = test::cluster(kShape);
  const auto policy = test::policy("\"tight_pack\"");
  Rng rng(8);
  for (int t = 0; t < 2000; ++t) {
    const Trial trial = random_trial(topology, rng);
    if (trial.inventory.free_host_count() < trial.wanted) continue;
    const auto placement = policy->place(trial.gang, trial.inventory, Rng(1));
    REQUIRE(placement.has_value());
    const Rooms leaves = rooms(trial.inventory, leaf_of);
    const Rooms minipods = rooms(trial.inventory, minipod_of);
    const Rooms used = taken(*placement, topology, leaf_of);
    const Rooms used_minipods = taken(*placement, topology, minipod_of);
    REQUIRE(used_minipods.size() == fewest(minipods, trial.wanted));
    if (const std::uint32_t leaf = tightest(leaves, trial.wanted); leaf > 0) {
      REQUIRE(used.size() == 1);
      REQUIRE(leaves.at(used.begin()->first) == leaf);
    } else {
      check_best_fit(minipods, used_minipods);
    }
  }
}

// The lowest tier with a hypernode that holds the gang, the fullest of it. Hard allows so many
// tiers and no more; soft all. Inside the leaf with fewest free hosts goes first, and is emptied.
TEST_CASE("hypernode takes the lowest tier, no higher than it may, and the fullest leaf first") {
  const auto topology = test::cluster(kShape);
  const auto soft = test::policy("\"hypernode\"");
  const auto hard = test::policy(R"({"name": "hypernode", "mode": "hard", "highest_tier": 2})");
  Rng rng(9);
  int refused = 0;
  for (int t = 0; t < 2000; ++t) {
    const Trial trial = random_trial(topology, rng);
    if (trial.inventory.free_host_count() < trial.wanted) continue;
    const auto placement = soft->place(trial.gang, trial.inventory, Rng(1));
    REQUIRE(placement.has_value());
    const Rooms leaves = rooms(trial.inventory, leaf_of);
    const Rooms minipods = rooms(trial.inventory, minipod_of);
    const Rooms used = taken(*placement, topology, leaf_of);
    const Rooms used_minipods = taken(*placement, topology, minipod_of);
    const std::uint32_t leaf = tightest(leaves, trial.wanted);
    const std::uint32_t minipod = tightest(minipods, trial.wanted);
    if (leaf > 0) {
      REQUIRE(used.size() == 1);
      REQUIRE(leaves.at(used.begin()->first) == leaf);
    } else if (minipod > 0) {
      REQUIRE(used_minipods.size() == 1);
      REQUIRE(minipods.at(used_minipods.begin()->first) == minipod);
    }
    // The first pod's leaf is the fullest of those that may be used.
    const HostId first = placement->slots.front().host;
    for (const auto& [other, free] : leaves) {
      const bool allowed = leaf > 0 ? free >= leaf : minipod == 0;
      if (allowed) REQUIRE(leaves.at(leaf_of(topology, first)) <= free);
    }
    const auto strict = hard->place(trial.gang, trial.inventory, Rng(1));
    REQUIRE(strict.has_value() == (minipod > 0));
    if (strict) {
      REQUIRE(strict->slots == placement->slots);
    } else {
      ++refused;
    }
  }
  CHECK(refused > 100);
  for (const char* wrong : {R"({"name": "hypernode", "mode": "hard"})",
                            R"({"name": "hypernode", "highest_tier": 1})"}) {
    CHECK_THROWS_AS(static_cast<void>(test::policy(wrong)), config::ConfigError);
  }
}

// Slices of two hosts, each in a leaf; room is counted in them. Required: one minipod, the tightest
// that has room, or none. Preferred: as few minipods as can hold them, whenever all together can.
TEST_CASE("tas counts room in slices, and requires or prefers one domain") {
  const auto topology = test::cluster(kShape);
  const auto required =
      test::policy(R"({"name": "tas", "mode": "required", "level": "minipod", "slice": 2})");
  const auto preferred = test::policy(R"({"name": "tas", "level": "minipod", "slice": 2})");
  const auto unconstrained =
      test::policy(R"({"name": "tas", "mode": "unconstrained", "slice": 2})");
  Rng rng(10);
  int refused = 0;
  for (int t = 0; t < 2000; ++t) {
    const Trial trial = random_trial(topology, rng);
    const auto one = required->place(trial.gang, trial.inventory, Rng(1));
    const auto several = preferred->place(trial.gang, trial.inventory, Rng(1));
    const auto anywhere = unconstrained->place(trial.gang, trial.inventory, Rng(1));
    if (trial.wanted % 2 == 1) {
      REQUIRE_FALSE((one.has_value() || several.has_value() || anywhere.has_value()));
      continue;
    }
    Rooms slices;
    std::vector<std::uint32_t> of_leaves;
    std::uint32_t all = 0;
    for (const auto& [leaf, free] : rooms(trial.inventory, leaf_of)) {
      const auto host = std::ranges::find_if(
          topology.hosts(), [leaf = leaf](const auto& other) { return index(other.leaf) == leaf; });
      slices[static_cast<std::uint32_t>(index(host->minipod))] += free / 2;
      of_leaves.push_back(free / 2);
      all += free / 2;
    }
    const std::uint32_t wanted = trial.wanted / 2;
    const std::uint32_t room = tightest(slices, wanted);
    REQUIRE(one.has_value() == (room > 0));
    REQUIRE(several.has_value() == (wanted <= all));
    REQUIRE(anywhere.has_value() == (wanted <= all));
    if (!one) ++refused;
    if (one) {
      const Rooms used = taken(*one, topology, minipod_of);
      REQUIRE(used.size() == 1);
      REQUIRE(slices.at(used.begin()->first) == room);
      REQUIRE(several->slots == one->slots);
    }
    if (!several) continue;
    REQUIRE(taken(*several, topology, minipod_of).size() == fewest(slices, wanted));
    for (const auto& placement : {several, anywhere}) {
      for (std::size_t s = 0; s < placement->slots.size(); s += 2) {
        REQUIRE(leaf_of(topology, placement->slots[s].host) ==
                leaf_of(topology, placement->slots[s + 1].host));
      }
    }
    // Least room first: as many leaves as the smallest that have any together need.
    std::ranges::sort(of_leaves);
    std::size_t leaves = 0;
    std::uint32_t held = 0;
    for (const std::uint32_t free : of_leaves) {
      if (held >= wanted || free == 0) continue;
      held += free;
      ++leaves;
    }
    REQUIRE(taken(*anywhere, topology, leaf_of).size() == leaves);
  }
  CHECK(refused > 100);
  for (const char* wrong : {R"({"name": "tas", "slice": 4, "slice_level": "minipod"})",
                            R"({"name": "tas", "slice_level": "leaf"})",
                            R"({"name": "tas", "mode": "unconstrained", "level": "leaf"})"}) {
    CHECK_THROWS_AS(static_cast<void>(test::policy(wrong)), config::ConfigError);
  }
}

}  // namespace railyard::scheduler
