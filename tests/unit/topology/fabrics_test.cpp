// Closed forms of the fabrics without a tree, and of what crosses hosts: counts of switches and
// cables, hops, numbers of paths, diameter and bisection, each derived above its test.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "unit/topology/support.hpp"

using namespace railyard;
using namespace railyard::topology;
using namespace railyard::topology::test;

namespace {

/// Hosts of `gpus` GPUs with as many NICs of 100 Gb/s = 12.5 GB/s, and switch links alike.
std::string host(int gpus, int nics) {
  return fmt::format(R"("gpu": "A100-80", "gpus_per_host": {},
    "nvlink": {{"bandwidth": "300GB/s", "latency": "300ns"}},
    "pcie": {{"bandwidth": "31GB/s", "latency": "10ns"}},
    "nic": {{"bandwidth": "100Gbps", "latency": "1us", "per_host": {}}},
    "switch_link": {{"bandwidth": "100Gbps", "latency": "700ns"}},)",
                     gpus, nics);
}

std::string with_builder(std::string_view builder, const std::string& rest) {
  return fmt::format(R"({{"builder": "{}", {}}})", builder, rest);
}

class FirstHop final : public HopChooser {
 public:
  std::uint32_t choose(NodeId, std::uint32_t, std::uint32_t) override { return 0; }
};

/// Links between switches on the path of two GPUs.
std::size_t switch_hops(const Topology& topology, std::uint32_t a, std::uint32_t b) {
  FirstHop first;
  std::vector<LinkId> path;
  topology.paths().path(GpuId{a}, GpuId{b}, first, path);
  return static_cast<std::size_t>(std::ranges::count_if(path, [&topology](LinkId id) {
    return topology.kind(topology.link(id).from) >= NodeKind::leaf &&
           topology.kind(topology.link(id).to) >= NodeKind::leaf;
  }));
}

std::size_t diameter(const Topology& topology) {
  std::size_t most = 0;
  for (std::uint32_t a = 0; a < topology.gpu_count(); ++a) {
    for (std::uint32_t b = 0; b < topology.gpu_count(); ++b)
      if (a != b) most = std::max(most, switch_hops(topology, a, b));
  }
  return most;
}

/// Switch links from switches whose hosts are below `half` to the others: the cut of a bisection.
template <typename InFirstHalf>
std::size_t cut(const Topology& topology, const InFirstHalf& in_first_half) {
  return static_cast<std::size_t>(std::ranges::count_if(topology.links(), [&](const Link& link) {
    return topology.kind(link.from) >= NodeKind::leaf && topology.kind(link.to) >= NodeKind::leaf &&
           in_first_half(link.from) && !in_first_half(link.to);
  }));
}

std::uint32_t first_switch(const Topology& topology) {
  std::uint32_t node = 0;
  while (topology.kind(NodeId{node}) < NodeKind::leaf) ++node;
  return node;
}

std::vector<std::string> nodes_on_path(const Topology& topology, std::uint32_t a, std::uint32_t b) {
  FirstHop first;
  std::vector<LinkId> path;
  topology.paths().path(GpuId{a}, GpuId{b}, first, path);
  std::vector<std::string> out;
  for (const LinkId id : path) out.push_back(topology.node_name(topology.link(id).to));
  return out;
}

}  // namespace

// a = 4 routers, h = 2, g = a h + 1 = 9 groups, one host of p = 2 NICs a router: 36 routers, 72
// terminals. Cables: local 9 × 4 × 3 / 2 = 54, global 9 × 8 / 2 = 36: one between any two groups.
// Diameter: local, global, local = 3. One path between any two routers, for each pair of groups
// has one cable.
TEST_CASE("dragonfly: the counts and the diameter of Kim et al.") {
  const Topology topology =
      build_text(with_builder("dragonfly", host(2, 2) + R"("groups": 9, "routers_per_group": 4,
                                   "global_links_per_router": 2)"));
  CHECK(topology.gpu_count() == 72);
  CHECK(count_kind(topology, NodeKind::leaf) == 36);
  CHECK(count_tier(topology, Tier::minipod) == 2 * 54);
  CHECK(count_tier(topology, Tier::core) == 2 * 36);
  CHECK(topology.minipod_count() == 9);
  CHECK(diameter(topology) == 3);
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{70}) == 1);
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> between;
  const std::uint32_t first = first_switch(topology);
  for (const Link& link : topology.links()) {
    if (link.tier != Tier::core) continue;
    ++between[{(static_cast<std::uint32_t>(link.from) - first) / 4,
               (static_cast<std::uint32_t>(link.to) - first) / 4}];
  }
  CHECK(between.size() == 9 * 8);
  CHECK(std::ranges::all_of(between, [](const auto& pair) { return pair.second == 1; }));
}

// The balanced dragonfly of ISCA 2008 with p = h = 4, a = 8 has N = a p (a h + 1) = 1,056
// terminals, 264 routers of p + a − 1 + h = 15 ports. Cables: 33 × 28 local, 33 × 32 / 2 global.
// Halves of 16 and 17 groups: 16 × 17 = 272 global cables cross, for 512 terminals of the smaller
// half: the fabric's bisection is about half a cable a terminal, (N/4 cables for N/2 terminals).
TEST_CASE("dragonfly.json: 1,056 terminals as in the paper") {
  const Topology topology = build_file("dragonfly.json");
  CHECK(topology.gpu_count() == 1056);
  CHECK(count_kind(topology, NodeKind::leaf) == 264);
  CHECK(count_tier(topology, Tier::minipod) == 2 * 33 * 28);
  CHECK(count_tier(topology, Tier::core) == 2 * 33 * 16);
  const std::uint32_t first = first_switch(topology);
  CHECK(cut(topology, [first](NodeId node) {
          return static_cast<std::uint32_t>(node) < first + 16 * 8;
        }) == 272);
}

// The oracle of minimal routes, from the links themselves: between groups, of all core links that
// join them those with the fewest local hops at both ends, (local hops) + 1; as many paths as such
// links, times the parallel local cables at each end that is not at the router itself.
TEST_CASE("dragonfly: minimal paths cross one global link with the fewest local hops") {
  const Topology topology = build_text(with_builder(
      "dragonfly", host(1, 1) + R"("groups": 4, "routers_per_group": 3, "local_links": 2,
                                   "global_links_per_router": 4)"));
  const std::uint32_t first = first_switch(topology);
  const auto router = [first](NodeId node) { return static_cast<std::uint32_t>(node) - first; };
  for (std::uint32_t a = 0; a < 12; ++a) {
    for (std::uint32_t b = 0; b < 12; ++b) {
      if (a / 3 == b / 3) continue;
      std::size_t least = 9;
      std::uint64_t paths = 0;
      for (const Link& link : topology.links()) {
        if (link.tier != Tier::core) continue;
        if (router(link.from) / 3 != a / 3 || router(link.to) / 3 != b / 3) continue;
        const std::size_t local =
            (router(link.from) != a ? 1U : 0U) + (router(link.to) != b ? 1U : 0U);
        if (local + 1 > least) continue;
        if (local + 1 < least) paths = 0;
        least = local + 1;
        paths += UINT64_C(1) << local;
      }
      CHECK(switch_hops(topology, a, b) == least);
      CHECK(topology.paths().path_count(GpuId{a}, GpuId{b}) == paths);
    }
  }
}

// 5 groups of 3 leaves and 2 spines, 5 global links a spine: floor(10 / 4) = 2 cables between two
// groups, 10 × 2 in all; local 5 × 6. A host of 2 NICs a leaf: 30 terminals. leaf-spine-spine-leaf:
// 3 hops and one path for each of the 2 cables; inside a group 2 hops and one path a spine.
TEST_CASE("dragonfly_plus: counts, hops and paths of Shpiner et al.") {
  const Topology topology = build_text(with_builder(
      "dragonfly_plus", host(2, 2) + R"("groups": 5, "leaves_per_group": 3, "spines_per_group": 2,
                                        "global_links_per_spine": 5)"));
  CHECK(topology.gpu_count() == 30);
  CHECK(count_kind(topology, NodeKind::leaf) == 15);
  CHECK(count_kind(topology, NodeKind::spine) == 10);
  CHECK(count_tier(topology, Tier::minipod) == 2 * 30);
  CHECK(count_tier(topology, Tier::core) == 2 * 20);
  CHECK(diameter(topology) == 3);
  CHECK(switch_hops(topology, 0, 2) == 2);
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{2}) == 2);
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{29}) == 2);
}

// 6 switches, 15 pairs by 3 cables. Halves of 3: 9 pairs × 3 cables cross.
TEST_CASE("full_mesh: one hop, as many paths as parallel cables") {
  const Topology topology =
      build_text(with_builder("full_mesh", host(2, 2) + R"("switches": 6, "parallel": 3)"));
  CHECK(topology.gpu_count() == 12);
  CHECK(count_tier(topology, Tier::minipod) == 2 * 45);
  CHECK(diameter(topology) == 1);
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{11}) == 3);
  const std::uint32_t first = first_switch(topology);
  CHECK(cut(topology,
            [first](NodeId node) { return static_cast<std::uint32_t>(node) < first + 3; }) == 27);
}

// 6 × 5 × 4 rings: 3 cables a switch; diameter 3 + 2 + 2. Halves across x: two faces of 5 × 4
// cables each. From (0,0,0) to (1,2,0): 3! / (1! 2!) = 3 orders; to (3,0,0), half-way: both ways,
// 2; to (3,2,2): 7! / (3! 2! 2!) = 210 orders, by both ways of x and of z: 840. In order of
// dimensions only the ways remain: 1, 2 and 4.
TEST_CASE("torus: cables, diameter, bisection and numbers of paths") {
  const std::string keys = host(1, 1) + R"("dimensions": [6, 5, 4])";
  const Topology ordered = build_text(with_builder("torus", keys));
  const Topology minimal = build_text(with_builder("torus", keys + R"(, "paths": "minimal")"));
  const auto at = [](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    return GpuId{x + 6 * (y + 5 * z)};
  };
  for (const Topology* topology : {&ordered, &minimal}) {
    CHECK(topology->gpu_count() == 120);
    CHECK(count_tier(*topology, Tier::minipod) + count_tier(*topology, Tier::core) == 2 * 360);
    CHECK(topology->minipod_count() == 4);
    CHECK(diameter(*topology) == 7);
    const std::uint32_t first = first_switch(*topology);
    CHECK(cut(*topology, [first](NodeId node) {
            return (static_cast<std::uint32_t>(node) - first) % 6 < 3;
          }) == 2 * 20);
  }
  const auto count = [&at](const Topology& topology, GpuId to) {
    return topology.paths().path_count(at(0, 0, 0), to);
  };
  CHECK(count(minimal, at(1, 2, 0)) == 3);
  CHECK(count(minimal, at(3, 0, 0)) == 2);
  CHECK(count(minimal, at(3, 2, 2)) == 840);
  CHECK(count(ordered, at(1, 2, 0)) == 1);
  CHECK(count(ordered, at(3, 0, 0)) == 2);
  CHECK(count(ordered, at(3, 2, 2)) == 4);
}

// Rows of two have one cable: a 2 × 2 × 2 torus is a cube of 12 cables, diameter 3. A 5 × 4 mesh
// has 4 × 4 + 5 × 3 = 31, diameter 4 + 3.
TEST_CASE("torus: rows of two do not close twice, and meshes not at all") {
  const Topology cube =
      build_text(with_builder("torus", host(1, 1) + R"("dimensions": [2, 2, 2])"));
  CHECK(count_tier(cube, Tier::minipod) + count_tier(cube, Tier::core) == 2 * 12);
  CHECK(diameter(cube) == 3);
  const Topology mesh =
      build_text(with_builder("torus", host(1, 1) + R"("dimensions": [5, 4], "wrap": false)"));
  CHECK(count_tier(mesh, Tier::minipod) + count_tier(mesh, Tier::core) == 2 * 31);
  CHECK(diameter(mesh) == 7);
}

// GPU 1 of host 0 to GPU 2 of host 1: over the island to GPU 2 of host 0, and on rail 2. GPUs 0 and
// 1 of a host with two NICs for four GPUs share a rail: no relay.
TEST_CASE("rail_only: data for another rail crosses the source's island") {
  const Topology four = build_text(with_builder(
      "rail_only",
      replaced(host(4, 4), R"("switch_link": {"bandwidth": "100Gbps", "latency": "700ns"},)", "") +
          R"("hosts_per_minipod": [5])"));
  CHECK(count_kind(four, NodeKind::leaf) == 4);
  CHECK(count_kind(four, NodeKind::spine) == 0);
  CHECK(nodes_on_path(four, 1, 6) == std::vector<std::string>{"host-0/nvswitch", "host-0/gpu2",
                                                              "host-0/nic2", "minipod-0/rail-2",
                                                              "host-1/nic2", "host-1/gpu2"});
  CHECK(nodes_on_path(four, 1, 5) ==
        std::vector<std::string>{"host-0/nic1", "minipod-0/rail-1", "host-1/nic1", "host-1/gpu1"});
  const Topology two =
      build_text(with_builder("rail_only", host(4, 2) + R"("hosts_per_minipod": [4, 4])"));
  CHECK(count_kind(two, NodeKind::leaf) == 4);
  CHECK(count_kind(two, NodeKind::spine) == 2 * 4);
  CHECK(nodes_on_path(two, 1, 4).front() == "host-0/nic0");
  // Another minipod: up over one of the rail's 4 spines.
  CHECK(two.paths().path_count(GpuId{0}, GpuId{16}) == 4);
  CHECK(switch_hops(two, 0, 16) == 2);
}

// The paper's pod: 15 segments × 8 rails × 2 ToRs = 240 ToRs, 2 × 60 aggregation switches, 240 × 60
// cables between them; 1,920 hosts with 8 × 2 ports. The same rail of a segment: a path in each
// plane. Anything else: 2 planes × 60.
TEST_CASE("hpn.json: a pod of 15,360 GPUs in two planes that meet only in the NICs") {
  const Topology topology = build_file("hpn.json");
  CHECK(topology.gpu_count() == 15'360);
  CHECK(count_kind(topology, NodeKind::leaf) == 240);
  CHECK(count_kind(topology, NodeKind::spine) == 120);
  CHECK(count_tier(topology, Tier::minipod) == 2 * 14'400);
  CHECK(count_tier(topology, Tier::leaf) == 2 * 1920 * 16);
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{8}) == 2);
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{9}) == 120);
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{15'359}) == 120);
  CHECK(switch_hops(topology, 0, 8) == 0);
  CHECK(switch_hops(topology, 0, 15'359) == 2);
  for (const Link& link : topology.links()) {
    const std::string from = topology.node_name(link.from);
    const std::string to = topology.node_name(link.to);
    if (topology.kind(link.from) != NodeKind::leaf || topology.kind(link.to) != NodeKind::spine)
      continue;
    CHECK_FALSE((from.ends_with("tor-0") && to.find("plane-1") != std::string::npos));
  }
}

// Two pods of 2 segments: planes keep apart up to the core. A pod and plane has 3 × 2 = 6 uplinks
// on 4 cores. Up: 2 planes × 3 aggregations × 2 uplinks; down from core c as many as the other
// pod's uplinks to it, then one cable to the ToR. u mod 4 = 0, 1 get 2, the others 1: the sum over
// the 6 uplinks is 2·2 + 2·2 + 1 + 1 = 10 paths a plane.
TEST_CASE("hpn: pods are joined by the cores of each plane") {
  const Topology topology = build_text(
      with_builder("hpn", host(1, 1) + R"("pods": 2, "segments_per_pod": 2, "hosts_per_segment": 1,
                             "aggregations": 3, "cores": 4, "aggregation_uplinks": 2)"));
  CHECK(topology.minipod_count() == 2);
  CHECK(topology.leaf_count() == 4);
  CHECK(count_kind(topology, NodeKind::core) == 8);
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{3}) == 2 * 10);
  CHECK(switch_hops(topology, 0, 3) == 4);
}

// 72 GPUs on one island: trays 0 and 17 of a rack talk over NVLink, two links; racks over the
// fabric. 8 racks × 18 trays, 8 NVSwitch nodes; names count from the tray where the island begins.
TEST_CASE("nvl72.json: an island of 72 GPUs spans the 18 trays of a rack") {
  const Topology topology = build_file("nvl72.json");
  CHECK(topology.gpu_count() == 576);
  CHECK(topology.hosts().size() == 144);
  CHECK(count_kind(topology, NodeKind::nvswitch) == 8);
  CHECK(nodes_on_path(topology, 0, 71) ==
        std::vector<std::string>{"host-0/nvswitch", "host-17/gpu3"});
  CHECK(nodes_on_path(topology, 0, 72).front() == "host-0/nic0");
  CHECK(nodes_on_path(topology, 4, 73)[0] == "host-1/nic0");
  const auto routing = make_routing(topology, R"("shortest")");
  Route route;
  routing->route({GpuId{0}, GpuId{71}, 0}, route);
  CHECK(route.tier == Tier::nvlink);
}

// An island ends with its minipod: 5 hosts in racks of 3 are a rack of 3 and one of 2.
TEST_CASE("racks do not cross minipods") {
  const Topology topology = build_text(with_builder(
      "clos", replaced(host(2, 2), R"("300GB/s",)", R"("300GB/s", "hosts_per_island": 3,)") +
                  R"("hosts_per_minipod": [5, 4], "hosts_per_leaf": 2)"));
  CHECK(count_kind(topology, NodeKind::nvswitch) == 4);
  CHECK(nodes_on_path(topology, 0, 5).front() == "host-0/nvswitch");
  CHECK(nodes_on_path(topology, 6, 9).front() == "host-3/nvswitch");
  CHECK(nodes_on_path(topology, 0, 6).front() == "host-0/nic0");
  CHECK(nodes_on_path(topology, 8, 10).front() == "host-4/nic0");
}

// DGX-1 with V100s: 8 GPUs × 6 NVLinks / 2 = 24 cables. Paths count the parallel cables: GPU 0 to
// 3: 2; 0 to 5 is not joined: by 1 (1 link, then 2) or by 4 (2 links, then 1): 4 paths.
TEST_CASE("hypercube mesh: six NVLinks leave each V100, and GPUs not joined have a GPU between") {
  const Topology topology = build_text(with_builder(
      "clos", replaced(host(8, 4), R"("300GB/s",)", R"("25GB/s", "wiring": "hypercube_mesh",)") +
                  R"("hosts_per_minipod": [2], "hosts_per_leaf": 2)"));
  CHECK(count_tier(topology, Tier::nvlink) == 2 * 2 * 24);
  for (std::uint32_t gpu = 0; gpu < 8; ++gpu) {
    const auto links = topology.out_links(topology.gpu_node(GpuId{gpu}));
    CHECK(std::ranges::count_if(links,
                                [](const Link& link) { return link.tier == Tier::nvlink; }) == 6);
  }
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{3}) == 2);
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{5}) == 1 * 2 + 2 * 1);
  CHECK(nodes_on_path(topology, 0, 5).size() == 2);
  CHECK(nodes_on_path(topology, 0, 15).front() == "host-0/nic0");
}

// 6 GPUs on 2 NICs: three to a NIC. Host 1 has 4 GPUs and 4 NICs of 200 Gb/s. Leaf of both: 2 × 100
// + 4 × 200 Gb/s; the strongest host alone would bring 800 Gb/s, and a full leaf of two such ones
// 1,600 Gb/s = 16 uplinks of 100 Gb/s.
TEST_CASE("host groups: GPU and NIC generations, hosts of 6 and 4 GPUs, shared NICs") {
  const std::string keys = R"({"builder": "clos", "host_groups": [
    {"hosts": 1, "gpu": "V100", "gpus_per_host": 6, "nvlink": {"bandwidth": "150GB/s"},
     "nic": {"bandwidth": "100Gbps", "per_host": 2}},
    {"hosts": 2, "gpu": "A100-80", "gpus_per_host": 4, "nvlink": {"bandwidth": "300GB/s"},
     "nic": {"bandwidth": "200Gbps"}}],
    "hosts_per_minipod": [3], "hosts_per_leaf": 2, "switch_link": {"bandwidth": "100Gbps"}})";
  const Topology topology = build_text(keys);
  CHECK(topology.gpu_count() == 14);
  CHECK(topology.gpu_kinds().size() == 2);
  CHECK(topology.gpu_kinds()[topology.host(HostId{2}).gpu_kind] == "A100-80");
  CHECK(topology.nic_node(GpuId{0}) == topology.nic_node(GpuId{2}));
  CHECK(topology.nic_node(GpuId{2}) != topology.nic_node(GpuId{3}));
  CHECK(topology.node_name(topology.nic_node(GpuId{9})) == "host-1/nic3");
  CHECK(topology.out_links(topology.nic_node(GpuId{0})).back().capacity.bytes_per_s() ==
        12'500'000'000);
  CHECK(topology.out_links(topology.nic_node(GpuId{9})).back().capacity.bytes_per_s() ==
        25'000'000'000);
  CHECK(count_tier(topology, Tier::minipod) == 2 * 2 * 16);
  CHECK(refused_with(replaced(keys, "\"hosts\": 2", "\"hosts\": 3"),
                     "/host_groups: the groups hold 4 hosts, but the fabric has 3"));
  CHECK(refused_with(
      replaced(keys, "\"hosts_per_leaf\": 2", "\"hosts_per_leaf\": 2, \"gpu\": \"V100\""),
      "/gpu: \"host_groups\" says it for each group"));
}

// Leaves of 2 hosts × 2 NICs × 100 Gb/s = 400 Gb/s. Tier 2: 2 leaves a group, 2 spines, 1:1 by 100
// Gb/s: 4 cables a leaf, two to each spine. Tier 3: 2 groups each; 800 Gb/s a group / 2 by 200
// Gb/s: 2 cables on 2 switches. Tier 4 joins both: 1,600 Gb/s / 4 by 400 Gb/s = 1 cable, too few
// for 2 switches below, so 4 are asked for. Paths of the farthest pair: 4 up, 1, 2, then down from
// tier 4's only switch by 4 cables, 1, 2.
TEST_CASE("clos of four tiers: speeds, widths, parallel cables and oversubscription per tier") {
  const std::string keys = R"({"builder": "clos", "gpu": "A100-80", "gpus_per_host": 2,
    "nvlink": {"bandwidth": "300GB/s"}, "nic": {"bandwidth": "100Gbps"},
    "tiers": [{"hosts": 2, "leaves": 8},
      {"joins": 2, "switches": 2, "link": {"bandwidth": "100Gbps"}},
      {"joins": 2, "switches": 2, "link": {"bandwidth": "200Gbps"}, "oversubscription": 2},
      {"joins": 2, "switches": 1, "link": {"bandwidth": "400Gbps"}, "uplinks": 4}]})";
  const Topology topology = build_text(keys);
  CHECK(topology.gpu_count() == 32);
  CHECK(topology.minipod_count() == 4);
  CHECK(count_kind(topology, NodeKind::spine) == 8);
  CHECK(count_kind(topology, NodeKind::core) == 4 + 1);
  CHECK(count_tier(topology, Tier::minipod) == 2 * 8 * 4);
  CHECK(count_tier(topology, Tier::core) == 2 * (4 * 2 + 2 * 4));
  CHECK(switch_hops(topology, 0, 31) == 6);
  // Leaf: 2 parallel cables to each of 2 spines = 4. Spine: 1 cable. Core of tier 3: 2 cables to
  // the top. Down: the top has 4 cables to the two switches of the other group, each 1 to a spine,
  // that has 2 to the leaf.
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{31}) == 4 * 1 * 2 * 4 * 1 * 2);
  CHECK(refused_with(replaced(keys, ", \"uplinks\": 4", ", \"oversubscription\": 4"),
                     "/tiers/3/switches: group 0 below has 1 uplinks for 1 switches above and 2"));
  CHECK(refused_with(
      replaced(keys, "{\"joins\": 2, \"switches\": 1", "{\"joins\": 1, \"switches\": 1"),
      "/tiers: the last tier has 2 groups: one must join all"));
  CHECK(refused_with(
      replaced(keys, "\"joins\": 2, \"switches\": 2, \"link\": {\"bandwidth\": \"100Gbps\"}",
               "\"joins\": 3, \"switches\": 2, \"link\": {\"bandwidth\": \"100Gbps\"}"),
      "/tiers/1/joins: 3 does not divide the 8 groups below"));
  CHECK(refused_with(replaced(keys, "\"tiers\"", "\"cores\": 2, \"tiers\""),
                     "/cores: \"tiers\" says it for each tier"));
}

TEST_CASE("the fabrics without a tree refuse what contradicts itself") {
  const std::string fly =
      with_builder("dragonfly", host(2, 2) + R"("groups": 9, "routers_per_group": 4,
                                   "global_links_per_router": 2)");
  CHECK(refused_with(replaced(fly, "\"groups\": 9", "\"groups\": 10"),
                     "/groups: 10 groups need 9 global links of each, which has 8"));
  CHECK(refused_with(replaced(fly, "\"groups\": 9", "\"groups\": 9, \"radix\": 6"),
                     "/radix: a router needs 7 ports of 6"));
  CHECK(refused_with(replaced(fly, "\"groups\": 9", "\"groups\": 9, \"hosts\": 37"),
                     "/hosts: must be"));
  CHECK(refused_with(replaced(fly, "\"groups\": 9", "\"groups\": 900000"), "switches and"));
  const std::string torus = with_builder("torus", host(1, 1) + R"("dimensions": [4, 4])");
  CHECK(refused_with(replaced(torus, "[4, 4]", "[4, 0]"), "/dimensions: expected numbers"));
  CHECK(refused_with(replaced(torus, "[4, 4]", "[4, 4], \"radix\": 4"),
                     "/radix: a switch needs 5 ports of 4"));
  const std::string rails = with_builder("rail_only", host(2, 2) + R"("hosts_per_minipod": [4])");
  CHECK(refused_with(rails, "/switch_link: a rail of one minipod is one switch"));
  const std::string hpn = with_builder(
      "hpn", host(1, 1) + R"("segments_per_pod": 2, "hosts_per_segment": 1, "aggregations": 3)");
  CHECK(refused_with(replaced(hpn, "\"aggregations\": 3", "\"aggregations\": 3, \"cores\": 4"),
                     "/cores: one pod has no core"));
  const std::string cube = with_builder(
      "clos", replaced(host(4, 4), R"("300GB/s",)", R"("25GB/s", "wiring": "hypercube_mesh",)") +
                  R"("hosts_per_minipod": [2], "hosts_per_leaf": 2)");
  CHECK(refused_with(cube, "/nvlink/wiring: a hypercube mesh joins 8 GPUs, not 4"));
}

namespace {

class Loads final : public LoadView {
 public:
  double flows(LinkId link) const override { return flows_.contains(link) ? flows_.at(link) : 0; }
  void add(const Route& route) {
    for (const LinkUse& use : route.links) flows_[use.link] += use.usage;
  }
  [[nodiscard]] double most(const Topology& topology, Tier tier) const {
    double out = 0;
    for (const auto& [link, count] : flows_)
      if (topology.link(link).tier == tier) out = std::max(out, count);
    return out;
  }

 private:
  std::map<LinkId, double> flows_;
};

/// Empty, or what is wrong with a route of one path that may take detours.
std::string broken(const Topology& topology, GpuId from, GpuId to, const Route& route) {
  NodeId at = topology.gpu_node(from);
  std::set<LinkId> seen;
  for (const LinkUse& use : route.links) {
    if (topology.link(use.link).from != at) return "is not connected";
    if (!seen.insert(use.link).second) return "names a link twice";
    if (use.usage != 1.0) return "is split";
    at = topology.link(use.link).to;
  }
  return at == topology.gpu_node(to) ? "" : "does not end at the destination";
}

}  // namespace

TEST_CASE(
    "valiant: every pair is joined by paths of distinct links, on every fabric with detours") {
  for (const std::string& text :
       {with_builder("dragonfly", host(2, 2) + R"("groups": 7, "routers_per_group": 3,
                                                  "global_links_per_router": 4)"),
        with_builder("dragonfly_plus", host(2, 2) + R"("groups": 5, "leaves_per_group": 2,
                                       "spines_per_group": 4, "global_links_per_spine": 1)"),
        with_builder("full_mesh", host(2, 2) + R"("switches": 5)"),
        with_builder("torus", host(1, 1) + R"("dimensions": [4, 3, 2])"),
        with_builder("torus", host(1, 1) + R"("dimensions": [5, 4], "paths": "minimal")")}) {
    const Topology topology = build_text(text);
    CAPTURE(topology.builder());
    const auto routing = make_routing(topology, R"("valiant")");
    std::string wrong;
    Route route;
    for (std::uint32_t a = 0; a < topology.gpu_count(); ++a) {
      for (std::uint32_t b = 0; b < topology.gpu_count(); ++b) {
        for (std::uint64_t label = 0; a != b && label < 8; ++label) {
          routing->route({GpuId{a}, GpuId{b}, label}, route);
          const std::string fault = broken(topology, GpuId{a}, GpuId{b}, route);
          if (!fault.empty()) wrong = fmt::format("GPU {} to {} {}", a, b, fault);
        }
      }
    }
    CHECK_MESSAGE(wrong.empty(), wrong);
  }
}

// Worst case of minimal routes (Kim et al., ISCA 2008, figure 8): all terminals of group G send to
// group G + 1, which one global cable joins. a p = 8 × 4 = 32 flows share it. Valiant spreads them
// over the 31 other groups: 33 × 32 flows on 2 × 33 × 32 / (33 × 32) = 2 cables each on average, so
// the fullest of 1,056 directed cables holds far below 32; with 2 on average the chance of 16 or
// more on one of them is below 10⁻⁶. UGAL-G leaves a minimal cable when load × 1 to 3 hops exceeds
// that of a detour of up to 5, so it holds at most a few times the mean. UGAL-L sees only the first
// local cable, but some of it.
TEST_CASE("valiant and ugal: the adversarial pattern does not pile up on one global cable") {
  const Topology topology = build_file("dragonfly.json");
  const auto run = [&topology](std::string_view text) {
    const auto routing = make_routing(topology, text);
    Loads loads;
    for (std::uint32_t gpu = 0; gpu < 1056; ++gpu) {
      Route route;
      routing->route_by_load({GpuId{gpu}, GpuId{(gpu + 32) % 1056}, 0}, loads, nullptr, route);
      REQUIRE(broken(topology, GpuId{gpu}, GpuId{(gpu + 32) % 1056}, route).empty());
      loads.add(route);
    }
    return loads.most(topology, Tier::core);
  };
  CHECK(run(R"("ecmp")") == 32);
  CHECK(run(R"("valiant")") < 16);
  CHECK(run(R"({"name": "ugal", "scope": "global"})") < 16);
  CHECK(run(R"("ugal")") < 32);
}

// Idle, load × hops is 0 on both sides and the minimal path wins; so it does under benign traffic.
TEST_CASE("ugal: an idle network is crossed minimally") {
  const Topology topology = build_file("dragonfly.json");
  const auto ugal = make_routing(topology, R"("ugal")");
  CHECK(ugal->needs_load());
  const Loads idle;
  for (std::uint32_t gpu = 1; gpu < 1056; gpu += 7) {
    Route route;
    ugal->route_by_load({GpuId{0}, GpuId{gpu}, 0}, idle, nullptr, route);
    const auto cores = std::ranges::count_if(route.links, [&topology](const LinkUse& use) {
      return topology.link(use.link).tier == Tier::core;
    });
    CHECK(cores == (gpu < 32 ? 0 : 1));
  }
}

// What a job's flows may use is asked before anything runs.
TEST_CASE("routings that need the load take only the links they name before") {
  const Topology topology = build_file("dragonfly.json");
  for (const char* name :
       {R"("ugal")", R"({"name": "ugal", "scope": "global"})", R"("adaptive")"}) {
    const auto routing = make_routing(topology, name);
    Loads loads;
    for (std::uint32_t i = 0; i < 300; ++i) {
      const Connection connection{GpuId{i % 32}, GpuId{32 + i * 7 % 1024}, i};
      std::vector<LinkUse> choices;
      routing->choices(connection, choices);
      Route route;
      routing->route_by_load(connection, loads, nullptr, route);
      loads.add(route);
      for (const LinkUse& use : route.links) {
        CHECK(std::ranges::count(choices, use.link, &LinkUse::link) == 1);
      }
    }
  }
}

TEST_CASE("every builder has a page in the reference, which names its keys") {
  const auto folder = railyard::test::source_dir() / "docs" / "reference" / "topologies";
  const auto text_of = [&folder](const std::string& name) {
    std::ifstream file(folder / (name + ".md"));
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string hosts = text_of("hosts");
  for (const BuilderEntry& entry : topology_catalog()) {
    if (entry.name == "read") continue;  // formats have pages of their own
    const std::string page = text_of(std::string(entry.name));
    CAPTURE(entry.name);
    CHECK_FALSE(page.empty());
    for (const std::string_view key : entry.keys) {
      const std::string word = fmt::format("`{}`", key);
      const bool named =
          page.find(word) != std::string::npos || hosts.find(word) != std::string::npos;
      CHECK_MESSAGE(named, key);
    }
  }
}
