#include <doctest/doctest.h>

#include <map>
#include <set>

#include "unit/topology/support.hpp"

using namespace railyard;
using namespace railyard::topology;
using namespace railyard::topology::test;

namespace {

// Two minipods of two leaves; 4 uplinks a leaf on 4 spines, 8 uplinks a minipod on 4 spines and 2
// cores. No two next hops of a switch on the way up are parallel but those to the core (2 uplinks
// of a spine, one to each core).
const std::string kFabric = R"({
  "builder": "clos", "gpu": "A100-80", "gpus_per_host": 4,
  "nvlink": {"bandwidth": "300GB/s"}, "nic": {"bandwidth": "100Gbps", "latency": "1us"},
  "hosts_per_minipod": {"minipods": 2, "hosts": 2}, "hosts_per_leaf": 1,
  "switch_link": {"bandwidth": "100Gbps", "latency": "700ns"},
  "spines_per_minipod": 4, "cores": 2
})";

Connection across(std::uint64_t label) {
  return {GpuId{0}, GpuId{12}, label};
}

std::vector<LinkId> links_of(const Route& route) {
  std::vector<LinkId> out;
  for (const LinkUse& use : route.links) out.push_back(use.link);
  return out;
}

}  // namespace

TEST_CASE(
    "every routing of the catalog is built with its defaults and routes every pair from source to "
    "destination") {
  const Topology topology = build_text(kFabric);
  for (const auto& entry : routing_catalog()) {
    const auto choice =
        config::default_choice(entry.description.name, config::descriptions(routing_catalog()));
    const auto routing = entry.create(topology, choice.parameters);
    Route route;
    for (std::uint32_t a = 0; a < 16; ++a) {
      for (std::uint32_t b = 0; b < 16; ++b) {
        if (a == b) continue;
        routing->route({GpuId{a}, GpuId{b}, 0}, route);
        CHECK(topology.link(route.links.front().link).from == topology.gpu_node(GpuId{a}));
        CHECK(topology.link(route.links.back().link).to == topology.gpu_node(GpuId{b}));
      }
    }
  }
}

TEST_CASE("shortest: all connections of two GPUs take the same path, whatever their label") {
  const Topology topology = build_text(kFabric);
  const auto routing = make_routing(topology, R"("shortest")");
  CHECK_FALSE(routing->hashes());
  Route first;
  Route other;
  routing->route(across(0), first);
  routing->route(across(7), other);
  CHECK(links_of(first) == links_of(other));
}

TEST_CASE("ecmp: a connection repeats its path; label, salt and queue pair draw others") {
  const Topology topology = build_text(kFabric);
  const auto routing = make_routing(topology, R"("ecmp")");
  const auto salted = make_routing(topology, R"({"name": "ecmp", "seed_salt": 1})");
  CHECK(routing->hashes());
  Route a;
  Route b;
  std::size_t by_salt = 0;
  std::set<std::vector<LinkId>> paths;
  for (std::uint64_t label = 0; label < 64; ++label) {
    routing->route(across(label), a);
    routing->route(across(label), b);
    CHECK(links_of(a) == links_of(b));
    paths.insert(links_of(a));
    salted->route(across(label), b);
    by_salt += links_of(a) == links_of(b) ? 0 : 1;
  }
  CHECK(paths.size() > 1);
  CHECK(by_salt > 0);
}

// Usage of the first and last links is 1; each level's shares sum to 1 in steps of 1/4.
TEST_CASE("ecmp: queue pairs split a connection evenly over their paths and name each link once") {
  const Topology topology = build_text(kFabric);
  const auto routing = make_routing(topology, R"({"name": "ecmp", "queue_pairs": 4})");
  for (std::uint64_t label = 0; label < 16; ++label) {
    Route route;
    routing->route(across(label), route);
    std::map<NodeKind, double> leaving;
    std::set<LinkId> seen;
    for (const LinkUse& use : route.links) {
      CHECK(seen.insert(use.link).second);
      CHECK(use.usage * 4 == doctest::Approx(static_cast<int>(use.usage * 4 + 0.5)));
      leaving[topology.kind(topology.link(use.link).from)] += use.usage;
    }
    CHECK(leaving[NodeKind::gpu] == 1.0);
    CHECK(leaving[NodeKind::core] == 1.0);
    CHECK(leaving[NodeKind::leaf] == 2.0);
    CHECK(leaving[NodeKind::spine] == 2.0);
    CHECK(route.tier == Tier::core);
    CHECK(route.latency == std::chrono::nanoseconds(2 * 1000 + 4 * 700));
  }
}

// The destination's NIC number d chooses spine d mod 4 at every leaf, whatever the source, and core
// (d / 4) mod 2 above it.
TEST_CASE(
    "static: destination modulo the choices, and the destinations of a minipod use all roots") {
  const Topology topology = build_text(kFabric);
  const auto routing = make_routing(topology, R"("static")");
  std::set<LinkId> up_to_core;
  for (std::uint32_t destination = 8; destination < 16; ++destination) {
    Route route;
    routing->route({GpuId{0}, GpuId{destination}, 0}, route);
    const NodeId spine = topology.link(route.links[2].link).to;
    CHECK(topology.node_name(spine) == "minipod-0/spine-" + std::to_string(destination % 4));
    up_to_core.insert(route.links[3].link);
    Route other;
    routing->route({GpuId{1}, GpuId{destination}, 99}, other);
    CHECK(other.links[3].link == route.links[3].link);
  }
  CHECK(up_to_core.size() == 8);
}

// Leaf 4 uplinks (1/4 each), spines 2 uplinks (1/8 each). Minipod 1's eight uplinks: u leaves spine
// u mod 4 for core (u + u / 4) mod 2, so each core has four links down, one to each spine: 1/2 / 4
// = 1/8 each; then spine to leaf 1/4 each.
TEST_CASE("spray: an even split at every switch") {
  const Topology topology = build_text(kFabric);
  const auto routing = make_routing(topology, R"("spray")");
  CHECK_FALSE(routing->hashes());
  Route route;
  routing->route(across(0), route);
  std::map<std::pair<NodeKind, NodeKind>, std::vector<double>> shares;
  for (const LinkUse& use : route.links) {
    const Link& link = topology.link(use.link);
    shares[{topology.kind(link.from), topology.kind(link.to)}].push_back(use.usage);
  }
  CHECK(shares[{NodeKind::leaf, NodeKind::spine}] == std::vector<double>(4, 0.25));
  CHECK(shares[{NodeKind::spine, NodeKind::core}] == std::vector<double>(8, 0.125));
  CHECK(shares[{NodeKind::core, NodeKind::spine}] == std::vector<double>(8, 0.125));
  CHECK(shares[{NodeKind::spine, NodeKind::leaf}] == std::vector<double>(4, 0.25));
  CHECK(route.latency == std::chrono::nanoseconds(2 * 1000 + 4 * 700));
  CHECK(route.tier == Tier::core);
}

TEST_CASE("routing parameters out of range are refused") {
  const Topology topology = build_text(kFabric);
  CHECK_THROWS_AS((void)make_routing(topology, R"({"name": "ecmp", "queue_pairs": 0})"),
                  config::ConfigError);
  CHECK_THROWS_AS((void)make_routing(topology, R"({"name": "ecmp", "seed_salt": -1})"),
                  config::ConfigError);
  CHECK_THROWS_AS((void)make_routing(topology, R"("ecmpp")"), config::ConfigError);
}

// Plain RoCE: 16 labels and 16 queue pairs between two NICs, one path. E-ECMP: 8 equal paths (4
// spines × 2 cores), of which 16 draws take more than one but with probability 8 × 8⁻¹⁶.
TEST_CASE("ecmp: without the enhanced hash all connections of two NICs take one path") {
  const Topology topology = build_text(kFabric);
  const auto plain =
      make_routing(topology, R"({"name": "ecmp", "enhanced": false, "queue_pairs": 16})");
  const auto enhanced = make_routing(topology, R"({"name": "ecmp", "queue_pairs": 16})");
  Route first;
  plain->route(across(0), first);
  for (const LinkUse& use : first.links) CHECK(use.usage == 1.0);
  for (std::uint64_t label = 1; label < 16; ++label) {
    Route other;
    plain->route(across(label), other);
    CHECK(links_of(other) == links_of(first));
    enhanced->route(across(label), other);
    CHECK(other.links.size() > first.links.size());
  }
}

// Each switch alike: the leaf takes h mod 4, the spine h mod 2, so that spine s only ever sends to
// core s mod 2: 4 of the 8 pairs (spine, core). Each with a seed of its own takes all 8: 1,024
// draws miss one with probability 8 × (7/8)^1024 < 10⁻⁵⁸.
TEST_CASE("ecmp: polarised switches leave part of the paths unused") {
  const Topology topology = build_text(kFabric);
  const auto pairs_taken = [&topology](std::string_view text) {
    const auto routing = make_routing(topology, text);
    std::set<LinkId> taken;
    for (std::uint64_t label = 0; label < 1024; ++label) {
      Route route;
      routing->route(across(label), route);
      taken.insert(route.links[3].link);  // GPU, NIC, leaf, then spine to core
    }
    return taken.size();
  };
  CHECK(pairs_taken(R"({"name": "ecmp", "polarized": true})") == 4);
  CHECK(pairs_taken(R"("ecmp")") == 8);
}

namespace {

class GivenLoads final : public LoadView {
 public:
  double flows(LinkId link) const override {
    const auto it = flows_.find(link);
    return it == flows_.end() ? 0.0 : it->second;
  }
  void add(const Route& route, double weight) {
    for (const LinkUse& use : route.links) flows_[use.link] += weight * use.usage;
  }
  void add(LinkId link, double flows) { flows_[link] += flows; }

 private:
  std::map<LinkId, double> flows_;
};

}  // namespace

// 8 equal paths, the core side down to the leaf included: the first 4 flows can be apart on the 4
// uplinks of the leaf, and 8 flows put 2 on each of them and 1 on each link of spine to core.
TEST_CASE("adaptive: flows that start one after another take the least loaded paths") {
  const Topology topology = build_text(kFabric);
  const auto routing = make_routing(topology, R"("adaptive")");
  CHECK(routing->needs_load());
  CHECK(routing->repath_interval() == Duration{});
  GivenLoads loads;
  std::map<LinkId, int> uplinks;
  std::map<LinkId, int> to_core;
  for (std::uint64_t label = 0; label < 8; ++label) {
    Route route;
    routing->route_by_load(across(label), loads, nullptr, route);
    loads.add(route, 1.0);
    ++uplinks[route.links[2].link];
    ++to_core[route.links[3].link];
    if (label == 3) CHECK(uplinks.size() == 4);
  }
  CHECK(uplinks.size() == 4);
  for (const auto& [link, flows] : uplinks) CHECK(flows == 2);
  CHECK(to_core.size() == 8);
}

// One of the leaf's uplinks is idle, but all that lies behind it is full. Hop by hop the leaf
// cannot know; the whole path avoids it.
TEST_CASE("adaptive: paths are compared whole, hops only at their switch") {
  const Topology topology = build_text(kFabric);
  GivenLoads loads;
  const auto spray = make_routing(topology, R"("spray")");
  Route all;
  spray->route(across(0), all);
  const LinkId idle = all.links[2].link;
  const NodeId behind = topology.link(idle).to;
  for (const LinkUse& use : all.links) {
    if (topology.link(use.link).from == behind) loads.add(use.link, 9);
    const bool sibling = topology.link(use.link).from == topology.link(idle).from;
    if (sibling && use.link != idle) loads.add(use.link, 1);
  }
  Route route;
  make_routing(topology, R"({"name": "adaptive", "scope": "hop"})")
      ->route_by_load(across(0), loads, nullptr, route);
  CHECK(route.links[2].link == idle);
  const auto whole = make_routing(topology, R"({"name": "adaptive", "repath_interval": "10ms"})");
  whole->route_by_load(across(0), loads, nullptr, route);
  CHECK(route.links[2].link != idle);
  CHECK(whole->repath_interval() == std::chrono::milliseconds(10));
  // A running flow stays where it is as long as nothing is better, and moves when it is.
  Route again;
  whole->route_by_load(across(5), loads, &route, again);
  CHECK(links_of(again) == links_of(route));
  loads.add(route, 20);
  whole->route_by_load(across(0), loads, &route, again);
  CHECK(links_of(again) != links_of(route));
}
