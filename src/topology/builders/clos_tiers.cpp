// clos with "tiers": as many tiers of switches as wanted, each with its own speed, width and
// oversubscription.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "topology/builders.hpp"
#include "topology/flat.hpp"
#include "topology/up_down.hpp"

namespace railyard::topology {
namespace {

/// One tier: groups of `switches` switches, each group on top of some groups of the tier below.
struct TierPlan {
  std::vector<std::uint32_t> joins;    ///< groups below, by group; of tier 1: hosts of each leaf
  std::uint32_t switches = 1;          ///< of a group
  LinkSpec link;                       ///< to the tier below
  std::vector<std::uint32_t> uplinks;  ///< cables of each group below into this tier
};

struct Plan {
  HostPlans hosts;
  std::vector<TierPlan> tiers;

  [[nodiscard]] std::uint64_t host_count() const {
    const auto& leaves = tiers.front().joins;
    return std::accumulate(leaves.begin(), leaves.end(), std::uint64_t{0});
  }
};

/// [8, 8, 4], or one number: as many groups of it as make `all` (0: `count` says how many).
std::vector<std::uint32_t> read_joins(config::Reader& reader, std::string_view key,
                                      std::uint64_t all, std::uint32_t count) {
  const auto node = reader.required_child(key);
  if (!node) return {};
  std::vector<std::int64_t> values;
  if (node->is_array()) {
    if (!config::decode(*node, reader.errors(), values)) return {};
  } else {
    std::int64_t each = 0;
    if (!config::decode(*node, reader.errors(), each)) return {};
    if (each < 1 || (all > 0 && all % static_cast<std::uint64_t>(each) != 0)) {
      reader.fail(key, all > 0 ? fmt::format("{} does not divide the {} groups below", each, all)
                               : fmt::format("expected at least 1, not {}", each));
      return {};
    }
    values.assign(all > 0 ? all / static_cast<std::uint64_t>(each) : count, each);
  }
  std::vector<std::uint32_t> out;
  std::uint64_t sum = 0;
  for (const std::int64_t value : values) {
    if (value < 1 || value > 100'000) {
      reader.fail(key, fmt::format("expected numbers of 1 to 100000, not {}", value));
      return {};
    }
    sum += static_cast<std::uint64_t>(value);
    out.push_back(static_cast<std::uint32_t>(value));
  }
  if (out.empty() || (all > 0 && sum != all)) {
    reader.fail(key, fmt::format("joins {} groups, but the tier below has {}", sum, all));
    return {};
  }
  return out;
}

/// NIC bandwidth below each leaf, bytes/s.
std::vector<std::int64_t> leaf_rates(const Plan& plan) {
  std::vector<std::int64_t> out;
  std::size_t host = 0;
  for (const std::uint32_t hosts : plan.tiers.front().joins) {
    std::int64_t rate = 0;
    for (std::uint32_t i = 0; i < hosts; ++i) {
      const HostPlan& kind = plan.hosts.of(host++);
      rate += std::int64_t{kind.nics} * kind.nic.bandwidth.bytes_per_s();
    }
    out.push_back(rate);
  }
  return out;
}

/// Cables of each group below into the tier, whose NICs bring `rates`.
void read_uplinks(config::Reader& reader, const std::vector<std::int64_t>& rates,
                  std::uint32_t switches_below, TierPlan& tier) {
  const std::uint32_t given = optional_count(reader, "uplinks", 0);
  if (given > 0 && reader.has("oversubscription"))
    reader.fail("oversubscription", "\"uplinks\" already says it: give one of the two");
  const double ratio =
      reader.optional<double>("oversubscription", 1.0, config::Range<double>{0.01, 1000.0});
  if (!reader.errors().empty()) return;
  for (const std::int64_t rate : rates) {
    const double exact =
        static_cast<double>(rate) / ratio / static_cast<double>(tier.link.bandwidth.bytes_per_s());
    tier.uplinks.push_back(
        given > 0 ? given : static_cast<std::uint32_t>(std::max(1.0, std::ceil(exact - 1e-9))));
    const std::uint32_t least = std::max(tier.switches, switches_below);
    if (tier.uplinks.back() >= least) continue;
    reader.fail("switches", fmt::format("group {} below has {} uplinks for {} switches above and "
                                        "{} of its own: each needs one",
                                        tier.uplinks.size() - 1, tier.uplinks.back(), tier.switches,
                                        switches_below));
    return;
  }
}

TierPlan read_leaves(config::Reader& reader) {
  TierPlan leaves;
  const std::uint32_t count = optional_count(reader, "leaves", 0);
  leaves.joins = read_joins(reader, "hosts", 0, count);
  if (count > 0 && leaves.joins.size() != count && !leaves.joins.empty())
    reader.fail("leaves", fmt::format("\"hosts\" lists {}", leaves.joins.size()));
  if (count == 0 && leaves.joins.empty() && reader.errors().empty())
    reader.fail("leaves", "how many leaves? \"hosts\" is one number");
  return leaves;
}

/// Groups of a tier with the sum of what their members bring.
std::vector<std::int64_t> sums(const std::vector<std::int64_t>& rates,
                               const std::vector<std::uint32_t>& joins) {
  std::vector<std::int64_t> out;
  std::size_t next = 0;
  for (const std::uint32_t members : joins) {
    std::int64_t sum = 0;
    for (std::uint32_t i = 0; i < members; ++i) sum += rates[next++];
    out.push_back(sum);
  }
  return out;
}

void read_tiers(config::Reader& reader, Plan& plan) {
  const config::Node list = *reader.child("tiers");
  if (!list.is_array() || list.size() == 0 || list.size() > kLevelsMax) {
    reader.errors().add(list, fmt::format("expected an array of 1 to {} tiers", kLevelsMax));
    return;
  }
  std::vector<std::int64_t> rates;
  for (std::size_t i = 0; i < list.size(); ++i) {
    config::Reader tier(list.at(i), reader.errors());
    if (i == 0) {
      plan.tiers.push_back(read_leaves(tier));
    } else {
      TierPlan next;
      next.joins = read_joins(tier, "joins", plan.tiers.back().joins.size(), 0);
      next.switches = required_count(tier, "switches");
      next.link = required_link(tier, "link");
      read_uplinks(tier, rates, plan.tiers.back().switches, next);
      plan.tiers.push_back(std::move(next));
    }
    tier.finish();
    if (!reader.errors().empty()) return;
    if (i == 0 && !check_hosts(reader, plan.hosts, plan.host_count())) return;
    rates = i == 0 ? leaf_rates(plan) : sums(rates, plan.tiers.back().joins);
  }
  if (plan.tiers.back().joins.size() == 1) return;
  reader.errors().add(list, fmt::format("the last tier has {} groups: one must join all",
                                        plan.tiers.back().joins.size()));
}

/// The group of tier `tier` that each leaf is below.
std::vector<std::uint32_t> group_of_leaf(const Plan& plan, std::size_t tier) {
  std::vector<std::uint32_t> out(plan.tiers.front().joins.size());
  std::iota(out.begin(), out.end(), 0);
  for (std::size_t t = 1; t <= tier; ++t) {
    std::vector<std::uint32_t> parent;
    for (std::uint32_t g = 0; g < plan.tiers[t].joins.size(); ++g)
      parent.insert(parent.end(), plan.tiers[t].joins[g], g);
    for (std::uint32_t& group : out) group = parent[group];
  }
  return out;
}

std::string switch_name(const Plan& plan, std::size_t tier, std::size_t group, std::size_t i) {
  if (tier == 1) return fmt::format("minipod-{}/spine-{}", group, i);
  if (tier == 2 && plan.tiers.size() == 3) return fmt::format("core-{}", i);
  return fmt::format("tier-{}/group-{}/core-{}", tier + 1, group, i);
}

/// Hosts with their cables to leaves, then the switches; fills the levels.
void add_nodes(GraphBuilder& graph, const Plan& plan, std::vector<SwitchLevel>& levels) {
  const auto minipod = group_of_leaf(plan, std::min<std::size_t>(1, plan.tiers.size() - 1));
  FlatPlan flat;
  for (std::uint32_t m = 0; m <= minipod.back(); ++m)
    flat.groups.push_back(fmt::format("minipod-{}", m));
  std::uint32_t first_of_minipod = 0;
  for (std::uint32_t leaf = 0; leaf < minipod.size(); ++leaf) {
    if (leaf > 0 && minipod[leaf] != minipod[leaf - 1]) first_of_minipod = leaf;
    flat.switches.push_back(
        fmt::format("minipod-{}/leaf-{}", minipod[leaf], leaf - first_of_minipod));
  }
  flat.hosts = plan.hosts;
  flat.host_count = plan.host_count();
  flat.group_of_switch = minipod;
  flat.hosts_of_switch = plan.tiers.front().joins;
  const std::uint32_t first_leaf = add_flat(graph, flat);
  for (std::uint32_t leaf = 0; leaf <= minipod.size(); ++leaf)
    levels[0].first_node.push_back(first_leaf + leaf);
  for (std::size_t t = 1; t < plan.tiers.size(); ++t) {
    for (std::uint32_t g = 0; g < plan.tiers[t].joins.size(); ++g) {
      levels[t - 1].parent.insert(levels[t - 1].parent.end(), plan.tiers[t].joins[g], g);
      levels[t].first_node.push_back(static_cast<std::uint32_t>(graph.node_count()));
      for (std::uint32_t i = 0; i < plan.tiers[t].switches; ++i)
        graph.add_node(t == 1 ? NodeKind::spine : NodeKind::core, switch_name(plan, t, g, i));
    }
    levels[t].first_node.push_back(static_cast<std::uint32_t>(graph.node_count()));
  }
}

/// Cable u of a group leaves its switch u mod (its switches) and enters switch
/// (start + u + u / turn) mod (switches above) as in tiered.hpp: even over both.
void cable_tier(GraphBuilder& graph, const Plan& plan, const std::vector<SwitchLevel>& levels,
                std::size_t t) {
  const TierPlan& tier = plan.tiers[t];
  const std::uint32_t below = plan.tiers[t - 1].switches;
  const std::uint32_t turn = std::lcm(below, tier.switches);
  const Cable cable = tier.link.cable(t == 1 ? Tier::minipod : Tier::core);
  std::vector<std::uint32_t> rest(tier.joins.size(), 0);
  for (std::uint32_t g = 0; g < tier.uplinks.size(); ++g) {
    const std::uint32_t parent = levels[t - 1].parent[g];
    const std::uint32_t uplinks = tier.uplinks[g];
    const std::uint32_t start = rest[parent] + tier.switches - uplinks / turn % tier.switches;
    for (std::uint32_t u = 0; u < uplinks; ++u)
      graph.add_cable(static_cast<NodeId>(levels[t - 1].first_node[g] + u % below),
                      static_cast<NodeId>(levels[t].first_node[parent] +
                                          (start + u + u / turn) % tier.switches),
                      cable);
    rest[parent] = (rest[parent] + uplinks) % tier.switches;
  }
}

bool check_plan(config::Reader& reader, const Plan& plan) {
  double switches = static_cast<double>(plan.tiers.front().joins.size());
  double cables = 0;
  for (const TierPlan& tier : plan.tiers) {
    switches += static_cast<double>(tier.joins.size()) * tier.switches;
    for (const std::uint32_t uplinks : tier.uplinks) cables += uplinks;
  }
  return check_size(reader, "tiers", switches, cables);
}

}  // namespace

Topology build_clos_tiers(config::Reader& reader) {
  const std::size_t before = reader.errors().count();
  Plan plan;
  plan.hosts = read_hosts(reader);
  for (const std::string_view key :
       {"hosts_per_minipod", "hosts_per_leaf", "leaf_hosts", "spines_per_minipod", "switch_link",
        "core_link", "oversubscription", "partial_leaf", "cores", "radix"}) {
    if (!reader.has(key)) continue;
    (void)reader.child(key);
    reader.fail(key, "\"tiers\" says it for each tier: leave it out");
  }
  if (reader.errors().count() == before) read_tiers(reader, plan);
  if (reader.errors().count() != before || !check_plan(reader, plan)) return {};
  GraphBuilder graph("clos", plan.hosts.kinds.front().gpu_kind);
  std::vector<SwitchLevel> levels(plan.tiers.size());
  add_nodes(graph, plan, levels);
  for (std::size_t t = 1; t < plan.tiers.size(); ++t) cable_tier(graph, plan, levels, t);
  graph.freeze();
  auto paths = make_up_down_paths(graph.view(), std::move(levels));
  return graph.take(std::move(paths));
}

}  // namespace railyard::topology
