#include "topology/tiered.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "railyard/core/check.hpp"
#include "topology/up_down.hpp"

namespace railyard::topology {
namespace {

constexpr std::int64_t kTieredCountMax = 1'000'000;

std::uint32_t as_count(std::int64_t value) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 1, kTieredCountMax));
}

std::optional<std::uint32_t> read_count(config::Reader& reader, std::string_view key) {
  if (!reader.has(key)) return std::nullopt;
  return as_count(
      reader.required<std::int64_t>(key, config::Range<std::int64_t>{1, kTieredCountMax}));
}

/// The core that each uplink of each minipod goes to. Whole turns are even over the cores; the rest
/// of a minipod's uplinks begins where the rest of the one before ended, so that remainders do not
/// pile up on the first cores.
std::vector<std::vector<std::uint32_t>> core_of_uplink(const TieredPlan& plan) {
  std::vector<std::vector<std::uint32_t>> out;
  const std::uint32_t turn = std::lcm(plan.spines, plan.cores);
  std::uint32_t rest = 0;
  for (const MinipodPlan& minipod : plan.minipods) {
    const std::uint32_t uplinks = minipod.core_uplinks;
    const std::uint32_t start = rest + plan.cores - uplinks / turn % plan.cores;
    out.emplace_back();
    for (std::uint32_t u = 0; u < uplinks; ++u)
      out.back().push_back((start + u + u / turn) % plan.cores);
    rest = (rest + uplinks) % plan.cores;
  }
  return out;
}

struct Switches {
  std::vector<std::uint32_t> leaves;      ///< first leaf node of each minipod, and the end
  std::vector<std::uint32_t> spine_sets;  ///< first spine node of each set, and the end
  std::uint32_t first_core = 0;
};

void add_hosts(GraphBuilder& graph, const TieredPlan& plan, std::vector<NodeId>& nics) {
  std::uint32_t first_group = 0;
  HostBlocks blocks(graph, plan.hosts);
  for (const MinipodPlan& minipod : plan.minipods) {
    const MinipodId id = graph.add_minipod(minipod.name);
    for (const std::string& name : minipod.group_names) graph.add_leaf(name);
    for (const std::uint32_t group : minipod.group_of_host) {
      const auto added = blocks.add(static_cast<LeafId>(first_group + group), id);
      nics.insert(nics.end(), added.begin(), added.end());
    }
    first_group += static_cast<std::uint32_t>(minipod.group_names.size());
  }
}

Switches add_switches(GraphBuilder& graph, const TieredPlan& plan) {
  Switches out;
  const auto here = [&graph] { return static_cast<std::uint32_t>(graph.node_count()); };
  for (const MinipodPlan& minipod : plan.minipods) {
    out.leaves.push_back(here());
    for (const std::string& name : minipod.leaf_names) graph.add_node(NodeKind::leaf, name);
  }
  out.leaves.push_back(here());
  const std::size_t sets = plan.shared_spines ? 1 : plan.minipods.size();
  for (std::size_t set = 0; set < sets; ++set) {
    out.spine_sets.push_back(here());
    for (std::uint32_t i = 0; i < plan.spines; ++i) {
      graph.add_node(NodeKind::spine, plan.shared_spines
                                          ? fmt::format("spine-{}", i)
                                          : fmt::format("{}/spine-{}", plan.minipods[set].name, i));
    }
  }
  out.spine_sets.push_back(here());
  out.first_core = here();
  for (std::uint32_t i = 0; i < plan.cores; ++i)
    graph.add_node(NodeKind::core, fmt::format("core-{}", i));
  return out;
}

void cable_switches(GraphBuilder& graph, const TieredPlan& plan, const Switches& at,
                    const std::vector<NodeId>& nics) {
  const Cable leaf_cable = plan.leaf_link.cable(Tier::minipod);
  const Cable core_cable = plan.core_link.cable(Tier::core);
  std::size_t nic = 0;
  std::size_t host = 0;
  for (std::size_t m = 0; m < plan.minipods.size(); ++m) {
    const MinipodPlan& minipod = plan.minipods[m];
    std::size_t leaf_of_next = 0;
    for (const std::size_t last = host + minipod.hosts(); host < last; ++host) {
      const HostPlan& kind = plan.hosts.of(host);
      for (std::uint32_t i = 0; i < kind.nics; ++i) {
        const std::uint32_t leaf = minipod.leaf_of_nic[leaf_of_next++];
        graph.add_cable(nics[nic++], static_cast<NodeId>(at.leaves[m] + leaf),
                        kind.nic.cable(Tier::leaf));
      }
    }
    const std::uint32_t spine = at.spine_sets[plan.shared_spines ? 0 : m];
    for (std::uint32_t leaf = 0; leaf < minipod.leaf_uplinks.size(); ++leaf) {
      const std::uint32_t shift = minipod.leaf_uplinks[leaf] % plan.spines == 0 ? 0 : leaf;
      for (std::uint32_t u = 0; u < minipod.leaf_uplinks[leaf]; ++u) {
        graph.add_cable(static_cast<NodeId>(at.leaves[m] + leaf),
                        static_cast<NodeId>(spine + (u + shift) % plan.spines), leaf_cable);
      }
    }
  }
  if (plan.cores == 0) return;
  const auto cores = core_of_uplink(plan);
  for (std::size_t m = 0; m < plan.minipods.size(); ++m) {
    for (std::uint32_t u = 0; u < plan.minipods[m].core_uplinks; ++u) {
      graph.add_cable(static_cast<NodeId>(at.spine_sets[m] + u % plan.spines),
                      static_cast<NodeId>(at.first_core + cores[m][u]), core_cable);
    }
  }
}

std::vector<SwitchLevel> switch_levels(const TieredPlan& plan, const Switches& at) {
  SwitchLevel leaves;
  for (std::uint32_t node = at.leaves.front(); node <= at.leaves.back(); ++node)
    leaves.first_node.push_back(node);
  for (std::uint32_t m = 0; m < plan.minipods.size(); ++m) {
    const std::size_t count = at.leaves[m + 1] - at.leaves[m];
    leaves.parent.insert(leaves.parent.end(), count, plan.shared_spines ? 0 : m);
  }
  SwitchLevel spines;
  spines.first_node = at.spine_sets;
  if (plan.cores == 0) return {leaves, spines};
  spines.parent.assign(plan.minipods.size(), 0);
  SwitchLevel cores;
  cores.first_node = {at.first_core, at.first_core + plan.cores};
  return {leaves, spines, cores};
}

/// Links that `bytes_per_s` through `oversubscription` : 1 fills; a real number that the caller
/// rounds or refuses.
double links_for(std::int64_t bytes_per_s, double oversubscription, const LinkSpec& link) {
  return static_cast<double>(bytes_per_s) / oversubscription /
         static_cast<double>(link.bandwidth.bytes_per_s());
}

std::int64_t rate_of(const FullLeaf& leaf) {
  return std::int64_t{leaf.nics} * leaf.nic.bytes_per_s();
}

/// What the NICs of each leaf switch bring, by minipod.
std::vector<std::vector<std::int64_t>> leaf_rates(const TieredPlan& plan) {
  std::vector<std::vector<std::int64_t>> out;
  std::size_t host = 0;
  for (const MinipodPlan& minipod : plan.minipods) {
    std::vector<std::int64_t> rates(minipod.leaf_names.size(), 0);
    std::size_t next = 0;
    for (const std::size_t last = host + minipod.hosts(); host < last; ++host) {
      const HostPlan& kind = plan.hosts.of(host);
      for (std::uint32_t i = 0; i < kind.nics; ++i)
        rates[minipod.leaf_of_nic[next++]] += kind.nic.bandwidth.bytes_per_s();
    }
    out.push_back(std::move(rates));
  }
  return out;
}

/// Rounded up, but not because of the last bit of a division.
std::uint32_t round_up(double links) {
  return static_cast<std::uint32_t>(std::max(1.0, std::ceil(links - 1e-9)));
}

std::uint32_t core_uplinks_min(const TieredPlan& plan) {
  std::uint32_t least = plan.minipods.front().core_uplinks;
  for (const MinipodPlan& minipod : plan.minipods) least = std::min(least, minipod.core_uplinks);
  return least;
}

/// The most spines that share a leaf's uplinks evenly and still have an uplink each.
std::uint32_t default_spines(std::uint32_t leaf_uplinks, std::uint32_t limit) {
  for (std::uint32_t n = std::min(leaf_uplinks, limit); n > 1; --n) {
    if (leaf_uplinks % n == 0) return n;
  }
  return 1;
}

bool set_leaf_uplinks(config::Reader& reader, const SwitchKeys& keys, const FullLeaf& leaf,
                      TieredPlan& plan, std::uint32_t& full) {
  const double exact = links_for(rate_of(leaf), keys.leaf_oversubscription, plan.leaf_link);
  if (exact < 1.0 - 1e-9 || std::abs(exact - std::round(exact)) > 1e-9) {
    reader.fail("oversubscription",
                fmt::format("a full leaf needs {:.6g} uplinks: {} NICs × {} / {:g} / {}; make it "
                            "whole by \"oversubscription\", hosts or bandwidths",
                            exact, leaf.nics, as_text(leaf.nic), keys.leaf_oversubscription,
                            as_text(plan.leaf_link.bandwidth)));
    return false;
  }
  full = round_up(exact);
  const auto rates = leaf_rates(plan);
  for (std::size_t m = 0; m < plan.minipods.size(); ++m) {
    plan.minipods[m].leaf_uplinks.clear();
    for (const std::int64_t rate : rates[m]) {
      plan.minipods[m].leaf_uplinks.push_back(
          keys.scaled_uplinks
              ? round_up(links_for(rate, keys.leaf_oversubscription, plan.leaf_link))
              : full);
    }
  }
  return true;
}

bool set_spines(config::Reader& reader, const SwitchKeys& keys, std::uint32_t full,
                TieredPlan& plan) {
  const std::string_view key = keys.spines_key;
  const std::uint32_t limit = plan.cores > 0 ? core_uplinks_min(plan) : full;
  plan.spines = keys.spines.value_or(default_spines(full, limit));
  if (full % plan.spines != 0) {
    reader.fail(key, fmt::format("{} uplinks of a leaf do not spread evenly over {} spines", full,
                                 plan.spines));
    return false;
  }
  for (const MinipodPlan& minipod : plan.minipods) {
    for (std::size_t leaf = 0; leaf < minipod.leaf_uplinks.size(); ++leaf) {
      if (minipod.leaf_uplinks[leaf] >= plan.spines) continue;
      reader.fail(key,
                  fmt::format("{} has {} uplinks for {} spines: every spine must reach every leaf",
                              minipod.leaf_names[leaf], minipod.leaf_uplinks[leaf], plan.spines));
      return false;
    }
  }
  return true;
}

bool set_cores(config::Reader& reader, const SwitchKeys& keys, TieredPlan& plan) {
  std::uint32_t total = 0;
  for (const MinipodPlan& minipod : plan.minipods) total += minipod.core_uplinks;
  const std::uint32_t fallback = keys.radix ? (total + *keys.radix - 1) / *keys.radix : plan.spines;
  plan.cores = keys.cores.value_or(fallback);
  for (const MinipodPlan& minipod : plan.minipods) {
    if (minipod.core_uplinks < plan.spines) {
      reader.fail("spines_per_minipod",
                  fmt::format("{} has {} uplinks to the core for {} spines: each needs one",
                              minipod.name, minipod.core_uplinks, plan.spines));
      return false;
    }
    if (minipod.core_uplinks < plan.cores) {
      reader.fail("cores",
                  fmt::format("{} has {} uplinks for {} cores: every core must reach every minipod",
                              minipod.name, minipod.core_uplinks, plan.cores));
      return false;
    }
  }
  return true;
}

/// Ports in use on the busiest switch of each level against the radix.
bool check_radix(config::Reader& reader, std::uint32_t radix, const FullLeaf& full,
                 const TieredPlan& plan) {
  const std::uint32_t leaf_down = round_up(links_for(rate_of(full), 1.0, plan.leaf_link));
  std::vector<std::uint32_t> core_ports(plan.cores, 0);
  std::uint32_t leaf_ports = 0;
  std::uint32_t spine_ports = 0;
  std::uint32_t shared_down = 0;
  for (const MinipodPlan& minipod : plan.minipods) {
    std::uint32_t down = 0;
    for (const std::uint32_t uplinks : minipod.leaf_uplinks) {
      down += (uplinks + plan.spines - 1) / plan.spines;
      leaf_ports = std::max(leaf_ports, leaf_down + uplinks);
    }
    shared_down += down;
    spine_ports =
        std::max(spine_ports, down + (minipod.core_uplinks + plan.spines - 1) / plan.spines);
  }
  if (plan.cores > 0) {
    for (const auto& minipod : core_of_uplink(plan)) {
      for (const std::uint32_t core : minipod) ++core_ports[core];
    }
  }
  if (plan.shared_spines) spine_ports = shared_down;
  const std::uint32_t most_core =
      core_ports.empty() ? 0 : *std::max_element(core_ports.begin(), core_ports.end());
  const auto refuse = [&](std::string_view what, std::uint32_t ports) {
    if (ports <= radix) return true;
    reader.fail("radix", fmt::format("a {} switch needs {} ports of {}", what, ports, radix));
    return false;
  };
  const bool leaf = refuse("leaf", leaf_ports);
  const bool spine = refuse("spine", spine_ports);
  return refuse("core", most_core) && leaf && spine;
}

}  // namespace

std::vector<std::uint32_t> read_hosts_per_minipod(config::Reader& reader, std::string_view key) {
  const auto node = reader.required_child(key);
  std::vector<std::uint32_t> out;
  if (!node) return out;
  if (node->is_object()) {
    config::Reader shape(*node, reader.errors());
    const auto minipods =
        shape.required<std::int64_t>("minipods", config::Range<std::int64_t>{1, 100'000});
    const auto hosts =
        shape.required<std::int64_t>("hosts", config::Range<std::int64_t>{1, kTieredCountMax});
    shape.finish();
    if (minipods > 100'000) return out;
    out.assign(as_count(minipods), as_count(hosts));
    return out;
  }
  std::vector<std::int64_t> counts;
  if (!config::decode(*node, reader.errors(), counts)) return out;
  if (counts.empty()) reader.errors().add(*node, "expected at least one minipod");
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] < 1 || counts[i] > kTieredCountMax) {
      reader.errors().add(
          node->at(i), fmt::format("expected 1 to {} hosts, not {}", kTieredCountMax, counts[i]));
    }
    out.push_back(as_count(counts[i]));
  }
  return out;
}

SwitchKeys read_switch_keys(config::Reader& reader, SwitchScope scope) {
  const bool has_core = scope.has_core;
  SwitchKeys keys;
  keys.spines_key = scope.spines_key;
  keys.leaf_link = required_link(reader, "switch_link");
  keys.core_link = keys.leaf_link;
  const config::Range<double> range{0.01, 1000.0};
  if (const auto node = reader.child("oversubscription")) {
    config::Reader tiers(*node, reader.errors());
    keys.leaf_oversubscription = std::max(0.01, tiers.optional<double>("leaf", 1.0, range));
    if (!has_core && tiers.has("minipod")) {
      (void)tiers.child("minipod");
      tiers.fail("minipod", "no switches stand above the minipod spines here: leave it out");
    } else {
      keys.minipod_oversubscription = std::max(0.01, tiers.optional<double>("minipod", 1.0, range));
    }
    tiers.finish();
  }
  keys.scaled_uplinks =
      reader.optional_choice("partial_leaf", {"full_uplinks", "scaled_uplinks"}, 0) == 1;
  keys.spines = read_count(reader, scope.spines_key);
  keys.radix = read_count(reader, "radix");
  for (const std::string_view key : {"cores", "core_link"}) {
    if (!has_core && reader.has(key)) {
      (void)reader.child(key);
      reader.fail(key, "no switches stand above the minipod spines here: leave it out");
    }
  }
  if (!has_core) return keys;
  keys.cores = read_count(reader, "cores");
  if (const auto link = optional_link(reader, "core_link")) keys.core_link = *link;
  return keys;
}

FullLeaf full_leaf(const HostPlans& plans, std::uint32_t hosts, bool one_rail) {
  FullLeaf out;
  for (const HostPlan& kind : plans.kinds) {
    const FullLeaf leaf{one_rail ? hosts : hosts * kind.nics, kind.nic.bandwidth};
    if (rate_of(leaf) > rate_of(out)) out = leaf;
  }
  return out;
}

bool size_switches(config::Reader& reader, const SwitchKeys& keys, const FullLeaf& leaf,
                   TieredPlan& plan) {
  plan.leaf_link = keys.leaf_link;
  plan.core_link = keys.core_link;
  const bool has_core = plan.minipods.size() > 1 && !plan.shared_spines;
  plan.cores = has_core ? 1 : 0;
  const auto rates = leaf_rates(plan);
  for (std::size_t m = 0; m < plan.minipods.size(); ++m) {
    const std::int64_t rate = std::accumulate(rates[m].begin(), rates[m].end(), std::int64_t{0});
    plan.minipods[m].core_uplinks =
        has_core ? round_up(links_for(rate, keys.minipod_oversubscription, plan.core_link)) : 0;
  }
  std::uint32_t full = 0;
  if (!set_leaf_uplinks(reader, keys, leaf, plan, full)) return false;
  if (!set_spines(reader, keys, full, plan)) return false;
  if (has_core && !set_cores(reader, keys, plan)) return false;
  return !keys.radix || check_radix(reader, *keys.radix, leaf, plan);
}

Topology assemble(std::string_view builder, const TieredPlan& plan) {
  GraphBuilder graph(std::string(builder), plan.hosts.kinds.front().gpu_kind);
  std::size_t hosts = 0;
  std::size_t cables = 0;
  for (const MinipodPlan& minipod : plan.minipods) {
    hosts += minipod.hosts();
    for (const std::uint32_t uplinks : minipod.leaf_uplinks) cables += uplinks;
    cables += minipod.core_uplinks;
  }
  if (plan.hosts.alike()) {
    const HostPlan& host = plan.hosts.kinds.front();
    cables += hosts * (2 * host.gpus + 2 * host.nics);
    graph.reserve(hosts * host.nodes(), 2 * cables);
  }
  graph.set_host_names(plan.host_names);
  std::vector<NodeId> nics;
  add_hosts(graph, plan, nics);
  const Switches switches = add_switches(graph, plan);
  cable_switches(graph, plan, switches, nics);
  graph.freeze();
  auto paths = make_up_down_paths(graph.view(), switch_levels(plan, switches));
  return graph.take(std::move(paths));
}

}  // namespace railyard::topology
