#include "small_cluster.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "railyard/config/catalog.hpp"
#include "railyard/config/document.hpp"
#include "railyard/scheduler/background.hpp"
#include "railyard/topology/builder.hpp"

namespace railyard::test {

topology::Topology cluster(const ClusterShape& shape) {
  // Links are equal everywhere, so that every leaf has whole uplinks; the scheduler looks at none.
  const std::string text = fmt::format(
      R"({{"builder": "clos", "gpu": "A100-80", "gpus_per_host": 8,
           "hosts_per_minipod": [{}], "hosts_per_leaf": {},
           "nvlink": {{"bandwidth": "300GB/s"}}, "nic": {{"bandwidth": "400Gbps"}},
           "switch_link": {{"bandwidth": "400Gbps"}}}})",
      fmt::join(shape.hosts_per_minipod, ", "), shape.hosts_per_leaf);
  const auto document = config::Document::parse_text(text, "cluster.json");
  config::Errors errors;
  topology::Topology built = topology::build(document.root(), errors);
  errors.throw_if_any();
  return built;
}

topology::Topology quickstart_cluster() {
  return cluster({.hosts_per_minipod = {40, 38, 36, 34, 32, 28, 26, 22}});
}

std::unique_ptr<scheduler::PlacementPolicy> policy(std::string_view json) {
  const auto document = config::Document::parse_text(json, "policy.json");
  config::Errors errors;
  const auto table = scheduler::placement_catalog();
  const config::Choice choice = config::decode_choice(document.root(), errors, "placement policy",
                                                      config::descriptions(table));
  errors.throw_if_any();
  return config::entry_of(table, choice.name).create(choice.parameters);
}

scheduler::Spread quickstart_spread(std::string_view json) {
  const auto topology = quickstart_cluster();
  scheduler::Inventory inventory(topology);
  for (const scheduler::HostSlot& slot : scheduler::occupy(topology, kQuickstartBusy, Rng(1)))
    inventory.take(slot);
  const auto placement = policy(json)->place(kQuickstartJob, inventory, Rng(1));
  REQUIRE(placement.has_value());
  REQUIRE(placement->slots.size() == 120);
  return scheduler::spread_of(*placement, kQuickstartJob, topology);
}

void take_hosts(scheduler::Inventory& inventory, std::uint32_t minipod, std::uint32_t count) {
  const auto free = inventory.free_hosts(static_cast<MinipodId>(minipod));
  for (std::uint32_t i = 0; i < count; ++i) {
    inventory.take({free.at(i), scheduler::whole_host_mask(inventory.gpus_per_host())});
  }
}

}  // namespace railyard::test
