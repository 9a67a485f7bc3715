#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "unit/topology/support.hpp"

using namespace railyard;
using namespace railyard::topology;
using namespace railyard::topology::test;

namespace {

const std::string kHost =
    R"("gpu": "A100-80", "gpus_per_host": 2, "nvlink": {"bandwidth": "300GB/s"},
  "nic": {"bandwidth": "200Gbps", "latency": "1us"},)";
const std::string kTree =
    R"({"builder": "fat_tree", )" + kHost + R"("k": 4, "switch_link": {"bandwidth": "200Gbps"}})";
const std::string kXgft = R"({"builder": "fat_tree", )" + kHost +
                          R"("xgft": {"m": [4, 3, 2], "w": [1, 2, 3], "parallel": [1, 2, 1]},
                          "switch_link": {"bandwidth": "200Gbps"}})";
const std::string kRails =
    R"({"builder": "rail_optimized", )" + kHost +
    R"("hosts_per_minipod": [4, 3], "switch_link": {"bandwidth": "400Gbps"}, "spines": 2})";
const std::string kGraph = R"({"builder": "graph", "gpu": "A100-80",
  "nodes": [{"name": "a0", "kind": "gpu", "host": "a"}, {"name": "an", "kind": "nic", "host": "a"},
            {"name": "b0", "kind": "gpu", "host": "b"}, {"name": "bn", "kind": "nic", "host": "b"},
            {"name": "b1", "kind": "gpu", "host": "b"},
            {"name": "s", "kind": "leaf", "minipod": "left"}, {"name": "t", "kind": "leaf", "minipod": "right"},
            {"name": "c", "kind": "spine"}],
  "links": [{"from": "a0", "to": "an", "bandwidth": "31GB/s"}, {"from": "b0", "to": "bn", "bandwidth": "31GB/s"},
            {"from": "b1", "to": "bn", "bandwidth": "31GB/s"}, {"from": "b0", "to": "b1", "bandwidth": "50GB/s"},
            {"from": "an", "to": "s", "bandwidth": "100Gbps", "latency": "1us"},
            {"from": "bn", "to": "t", "bandwidth": "100Gbps", "efficiency": 0.5},
            {"from": "s", "to": "c", "bandwidth": "400Gbps", "count": 2}, {"from": "c", "to": "t", "bandwidth": "400Gbps"}]})";

std::string lingjun(const std::string& csv, const std::string& more = "") {
  const std::filesystem::path path = std::filesystem::path("lingjun_test.csv");
  std::ofstream(path) << csv;
  return R"({"builder": "lingjun_csv", )" + kHost + R"("file": "lingjun_test.csv",
    "switch_link": {"bandwidth": "200Gbps"})" +
         more + "}";
}

std::size_t hosts_in(const Topology& topology, std::size_t minipod) {
  return static_cast<std::size_t>(std::ranges::count_if(
      topology.hosts(), [minipod](const Host& host) { return index(host.minipod) == minipod; }));
}

}  // namespace

// k = 4: k³/4 = 16 NIC ports = 8 hosts of 2, 8 leaves, 8 spines, 4 cores; 2 uplinks a leaf and a
// spine: 16 cables each. Equal paths across minipods: (k/2)² = 4; inside: k/2 = 2.
TEST_CASE("fat_tree: a k-ary tree has k³/4 ports, 5k²/4 switches and (k/2)² paths") {
  const Topology topology = build_text(kTree);
  CHECK(topology.gpu_count() == 16);
  CHECK(topology.minipod_count() == 4);
  CHECK(count_kind(topology, NodeKind::leaf) == 8);
  CHECK(count_kind(topology, NodeKind::spine) == 8);
  CHECK(count_kind(topology, NodeKind::core) == 4);
  CHECK(count_tier(topology, Tier::minipod) == 32);
  CHECK(count_tier(topology, Tier::core) == 32);
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{2}) == 2);
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{15}) == 4);
}

// XGFT(3; 4,3,2; 1,2,3) with 2 cables from leaf to spine: 24 ports, 6 leaves, 2 subtrees of 2
// spines, 1 × 2 × 3 = 6 cores. Cables: 6 leaves × 2 spines × 2, and 4 spines × 3. Paths: leaf up 2
// × 2, spine up 3, core down 1, spine down 2: 24.
TEST_CASE("fat_tree: an XGFT with parallel cables has the switches of its formula") {
  const Topology topology = build_text(kXgft);
  CHECK(topology.gpu_count() == 24);
  CHECK(topology.minipod_count() == 2);
  CHECK(count_kind(topology, NodeKind::leaf) == 6);
  CHECK(count_kind(topology, NodeKind::spine) == 4);
  CHECK(count_kind(topology, NodeKind::core) == 6);
  CHECK(count_tier(topology, Tier::minipod) == 48);
  CHECK(count_tier(topology, Tier::core) == 24);
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{23}) == 24);
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{4}) == 8);
}

TEST_CASE(
    "fat_tree: fewer hosts fill the first leaves, and trees of one, two and four levels work") {
  const Topology some = build_text(replaced(kTree, "\"k\": 4", "\"k\": 4, \"hosts\": 3"));
  CHECK(some.gpu_count() == 6);
  CHECK(some.host(HostId{2}).leaf == LeafId{2});
  CHECK(some.host(HostId{2}).minipod == MinipodId{1});
  const auto tree = [](std::string_view m, std::string_view w) {
    return build_text(
        replaced(replaced(kXgft, "[4, 3, 2]", m), "[1, 2, 3], \"parallel\": [1, 2, 1]", w));
  };
  CHECK(tree("[8]", "[1]").minipod_count() == 1);
  CHECK(tree("[4, 3]", "[1, 4]").minipod_count() == 1);
  const Topology deep = tree("[2, 2, 2, 2]", "[1, 2, 2, 2]");
  CHECK(count_kind(deep, NodeKind::core) == 2 * 4 + 8);
  CHECK(deep.paths().path_count(GpuId{0}, GpuId{15}) == 8);
}

TEST_CASE("fat_tree: every wrong parameter is refused with its place and reason") {
  CHECK(refused_with(replaced(kTree, "\"k\": 4", "\"k\": 5"), "/k: must be even"));
  CHECK(refused_with(replaced(kTree, "\"k\": 4,", ""), "k"));
  CHECK(refused_with(replaced(kTree, "\"k\": 4", "\"k\": 6"),
                     "/nic: the 2 NICs of a host do not divide the 3 NIC ports"));
  CHECK(refused_with(replaced(kTree, "\"k\": 4", "\"k\": 4, \"hosts\": 9"),
                     "/hosts: expected 1 to 8 hosts"));
  CHECK(refused_with(replaced(kTree, "\"k\": 4", "\"k\": 4, \"radix\": 3"),
                     "/radix: a switch of level 1 needs 4 ports of 3"));
  CHECK(refused_with(replaced(kXgft, "\"xgft\"", "\"k\": 4, \"xgft\""),
                     "/k: \"xgft\" already says it"));
  CHECK(refused_with(replaced(kXgft, "[1, 2, 3]", "[2, 2, 3]"),
                     "/xgft/w: the first number must be 1"));
  CHECK(refused_with(replaced(kXgft, "[1, 2, 1]", "[2, 2, 1]"),
                     "/xgft/parallel: the first number must be 1"));
  CHECK(refused_with(replaced(kXgft, "[1, 2, 3]", "[1, 2]"), "/xgft/w: 2 levels, but \"m\" has 3"));
  CHECK(refused_with(replaced(kXgft, "[4, 3, 2]", "[4, 0, 2]"),
                     "/xgft/m: expected numbers of 1 to 100000, not 0"));
  CHECK(refused_with(replaced(kXgft, "[4, 3, 2]", "[40000, 30000, 20000]"),
                     "/xgft: more than 8000000 ports"));
}

// Units of 4 and 3 hosts with 2 NICs: 2 leaves each. A full leaf serves 4 NICs × 200G = 2 uplinks
// of 400G, the others too. GPU 0 and GPU 2 are on rail 0 of hosts 0 and 1: one leaf. GPU 0 and GPU
// 3 are on different rails: over a spine.
TEST_CASE("rail_optimized: NIC i of every host of a unit is on leaf i, spines join all leaves") {
  const Topology topology = build_text(kRails);
  CHECK(topology.gpu_count() == 14);
  CHECK(topology.minipod_count() == 2);
  CHECK(topology.leaf_count() == 2);
  CHECK(count_kind(topology, NodeKind::leaf) == 4);
  CHECK(count_kind(topology, NodeKind::spine) == 2);
  CHECK(count_tier(topology, Tier::minipod) == 16);
  CHECK(topology.host(HostId{0}).leaf == topology.host(HostId{3}).leaf);
  const auto routing = make_routing(topology, R"("shortest")");
  Route route;
  routing->route({GpuId{0}, GpuId{2}, 0}, route);
  CHECK(route.tier == Tier::leaf);
  routing->route({GpuId{0}, GpuId{3}, 0}, route);
  CHECK(route.tier == Tier::minipod);
  routing->route({GpuId{0}, GpuId{13}, 0}, route);
  CHECK(route.tier == Tier::minipod);
  CHECK(route.links.size() == 6);
}

// With spines of their own the units need a core: 4 × 2 × 200G / 400G = 4 and 3 uplinks.
TEST_CASE("rail_optimized: units with spines of their own are joined by cores") {
  const Topology topology =
      build_text(replaced(kRails, "\"spines\": 2", "\"spines_per_minipod\": 2, \"cores\": 3"));
  CHECK(count_kind(topology, NodeKind::spine) == 4);
  CHECK(count_kind(topology, NodeKind::core) == 3);
  CHECK(count_tier(topology, Tier::core) == 14);
}

TEST_CASE("rail_optimized: every wrong parameter is refused with its place and reason") {
  CHECK(refused_with(replaced(kRails, "\"spines\": 2", "\"spines\": 3"),
                     "/spines: 2 uplinks of a leaf do not spread evenly over 3 spines"));
  CHECK(refused_with(replaced(kRails, "\"spines\": 2", "\"spines\": 2, \"spines_per_minipod\": 2"),
                     "/spines: \"spines_per_minipod\" already says it"));
  CHECK(refused_with(replaced(kRails, "\"spines\": 2", "\"spines\": 2, \"cores\": 2"),
                     "/cores: no switches stand above"));
  CHECK(refused_with(
      replaced(kRails, "\"spines\": 2", "\"spines\": 2, \"oversubscription\": {\"minipod\": 2}"),
      "/oversubscription/minipod: no switches stand above"));
  CHECK(refused_with(replaced(kRails, "\"spines\": 2", "\"spines\": 2, \"radix\": 3"),
                     "/radix: a leaf switch needs 4 ports"));
  CHECK(refused_with(replaced(kRails, "[4, 3]", "[5, 3]"),
                     "a full leaf needs 2.5 uplinks: 5 NICs × 200Gbps / 1 / 400Gbps"));
}

// a0-an-s-(2 cables)-c-t-bn-b0: 6 hops, 2 paths; b0-b1 direct. Half of 12.5 GB/s is 6.25.
TEST_CASE("graph: nodes and links as listed, routes of fewest hops") {
  const Topology topology = build_text(kGraph);
  CHECK(topology.gpu_count() == 3);
  CHECK(topology.hosts().size() == 2);
  CHECK(topology.host_name(HostId{1}) == "b");
  CHECK(topology.minipod_name(topology.host(HostId{1}).minipod) == "right");
  CHECK(topology.leaf_name(topology.host(HostId{0}).leaf) == "s");
  CHECK(topology.node_name(topology.nic_node(GpuId{2})) == "bn");
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{1}) == 2);
  CHECK(topology.paths().path_count(GpuId{1}, GpuId{2}) == 1);
  const auto routing = make_routing(topology, R"("spray")");
  Route route;
  routing->route({GpuId{0}, GpuId{1}, 0}, route);
  CHECK(route.links.size() == 7);
  CHECK(route.links[2].usage == 0.5);
  CHECK(route.tier == Tier::minipod);
  CHECK(route.latency == std::chrono::nanoseconds(1000));
  CHECK(topology.link(route.links[5].link).capacity == Bandwidth(6'250'000'000));
  routing->route({GpuId{1}, GpuId{2}, 0}, route);
  CHECK(route.links.size() == 1);
  CHECK(route.tier == Tier::nvlink);
}

// A host whose NIC hangs on both leaves would be a short cut from s to t; hosts do not pass
// traffic on.
TEST_CASE("graph: hosts do not pass on the traffic of others") {
  std::string text = replaced(
      kGraph, "\"nodes\": [",
      R"("nodes": [{"name": "x0", "kind": "gpu", "host": "x"}, {"name": "xn", "kind": "nic", "host": "x"},)");
  text =
      replaced(text, "\"links\": [", R"("links": [{"from": "x0", "to": "xn", "bandwidth": "31GB/s"},
    {"from": "xn", "to": "s", "bandwidth": "100Gbps"}, {"from": "xn", "to": "t", "bandwidth": "100Gbps"},)");
  text = replaced(text, R"({"from": "c", "to": "t")",
                  R"({"from": "c", "to": "d", "bandwidth": "1Gbps"}, {"from": "d", "to": "t")");
  text = replaced(text, R"({"name": "c", "kind": "spine"})",
                  R"({"name": "c", "kind": "spine"}, {"name": "d", "kind": "spine"})");
  const Topology topology = build_text(text);
  const auto routing = make_routing(topology, R"("shortest")");
  Route route;
  routing->route({GpuId{1}, GpuId{2}, 0}, route);
  CHECK(route.links.size() == 7);
}

// Two GPUs of a host share a NIC. With an NVSwitch beside it they use that; without, the NIC is
// the only way.
TEST_CASE("graph: GPUs of a host talk through a shared NIC only when nothing else joins them") {
  const std::string text = R"({"builder": "graph", "gpu": "A100-80",
    "nodes": [{"name": "a", "kind": "gpu", "host": "h"}, {"name": "b", "kind": "gpu", "host": "h"},
              {"name": "n", "kind": "nic", "host": "h"}, {"name": "s", "kind": "nvswitch", "host": "h"}],
    "links": [{"from": "a", "to": "n", "bandwidth": "10GB/s"}, {"from": "b", "to": "n", "bandwidth": "10GB/s"},
              {"from": "a", "to": "s", "bandwidth": "10GB/s"}, {"from": "s", "to": "b", "bandwidth": "10GB/s"}]})";
  CHECK(build_text(text).paths().path_count(GpuId{0}, GpuId{1}) == 1);
  const Topology alone =
      build_text(replaced(text, R"({"from": "s", "to": "b")", R"({"from": "s", "to": "n")"));
  const auto routing = make_routing(alone, R"("shortest")");
  Route route;
  routing->route({GpuId{0}, GpuId{1}, 0}, route);
  CHECK(route.links.size() == 2);
  CHECK(route.tier == Tier::host);
}

TEST_CASE("graph: every wrong parameter is refused with its place and reason") {
  CHECK(refused_with(replaced(kGraph, "\"name\": \"b0\"", "\"name\": \"a0\""),
                     "/nodes/2/name: duplicate node \"a0\""));
  CHECK(refused_with(replaced(kGraph, "\"to\": \"an\"", "\"to\": \"am\""),
                     "/links/0/to: there is no node \"am\"; did you mean"));
  CHECK(refused_with(replaced(kGraph, "\"to\": \"an\"", "\"to\": \"a0\""),
                     "/links/0/to: a link from a node to itself"));
  CHECK(refused_with(
      replaced(kGraph, "\"kind\": \"leaf\", \"minipod\": \"left\"", "\"kind\": \"leave\""),
      "/nodes/5/kind"));
  CHECK(refused_with(replaced(kGraph, ", \"host\": \"a\"", ""), "/nodes/0"));
  CHECK(refused_with(replaced(kGraph, "\"count\": 2", "\"count\": 0"), "/links/6/count"));
  CHECK(refused_with(replaced(kGraph, "\"count\": 2", "\"one_way\": true"),
                     "/links: disconnected: there is no path from b0 to a0"));
  CHECK(refused_with(replaced(kGraph, R"(, {"from": "c", "to": "t", "bandwidth": "400Gbps"})", ""),
                     "/links: disconnected: there is no path from"));
  CHECK(refused_with(R"({"builder": "graph", "gpu": "A100-80", "nodes": [], "links": []})",
                     "/nodes: there is no GPU"));
  CHECK(refused_with(
      replaced(kGraph, "\"kind\": \"spine\"", "\"kind\": \"spine\", \"minipod\": \"x\""),
      "minipod"));
  CHECK(refused_with(
      replaced(kGraph, "\"kind\": \"gpu\", \"host\": \"a\"", "\"kind\": \"nic\", \"host\": \"a\""),
      "/nodes: host \"a\" has no GPU"));
}

// Two pods of 3 and 1 hosts; the file's order is scrambled, S10 comes after S9, host 10 after host
// 9.
TEST_CASE(
    "lingjun_csv: pods are minipods, ToRs are leaves, in an order that the file's does not "
    "change") {
  const Topology topology = build_text(
      lingjun("host_id,core_group,pod,tor\n4,G,Q,Q-S1\n10,G,P,P-S9\n2,G,P,P-S10\n9,G,P,P-S9\n"));
  CHECK(topology.minipod_count() == 2);
  CHECK(topology.minipod_name(MinipodId{0}) == "P");
  CHECK(topology.leaf_name(LeafId{0}) == "P-S9");
  CHECK(topology.leaf_name(LeafId{1}) == "P-S10");
  CHECK(topology.host_name(HostId{0}) == "host-9");
  CHECK(topology.host_name(HostId{1}) == "host-10");
  CHECK(topology.host(HostId{3}).minipod == MinipodId{1});
}

TEST_CASE("lingjun_csv: what contradicts itself is refused by line") {
  const std::string head = "host_id,core_group,pod,tor\n1,G,P,P-S1\n";
  CHECK(refused_with(lingjun(head + "1,G,P,P-S2\n"),
                     "lingjun_test.csv:3 column \"host_id\": duplicate host 1: first at"));
  CHECK(refused_with(lingjun(head + "2,G,Q,P-S1\n"),
                     "lingjun_test.csv:3 column \"pod\": ToR P-S1 is in pod Q here, and in P at"));
  CHECK(refused_with(lingjun(head + "2,H,Q,Q-S1\n"),
                     "lingjun_test.csv:3 column \"core_group\": core group H beside G"));
  CHECK(refused_with(lingjun(head + "2,G,P,\n"), "lingjun_test.csv:3 column \"tor\": is empty"));
  CHECK(refused_with(lingjun("host_id,core_group,pod,tor\n"), "has a header but no hosts"));
  CHECK(refused_with(lingjun("host_id,core_group,pod\n1,G,P\n"), "tor"));
  CHECK(refused_with(lingjun(head + "2,G,P,P-S1\n", ", \"hosts_per_leaf\": 1"),
                     "/hosts_per_leaf: P-S1 has 2 hosts"));
  CHECK(refused_with(replaced(lingjun(head), "lingjun_test.csv", "nowhere.csv"),
                     "/file: there is no file"));
}

// The list restated in lingjun_2023.json against the published one: every leaf in order has the
// same number of hosts.
TEST_CASE("lingjun_2023 has the shape of the published host list") {
  const Topology shipped = build_file("lingjun_2023.json");
  CHECK(shipped.hosts().size() == 847);
  CHECK(hosts_in(shipped, 0) == 362);
  CHECK(hosts_in(shipped, 1) == 306);
  CHECK(hosts_in(shipped, 2) == 179);
  CHECK(shipped.leaf_count() == 48 + 42 + 29);
  const auto csv = railyard::test::shared_data("traces/alibaba_lingjun_topo/topo_compact.csv");
  if (!csv) return;
  const Topology published =
      build_text(replaced(replaced(lingjun(""), "lingjun_test.csv", csv->string()),
                          "\"gpus_per_host\": 2", "\"gpus_per_host\": 8"));
  REQUIRE(published.hosts().size() == shipped.hosts().size());
  for (std::size_t h = 0; h < shipped.hosts().size(); ++h) {
    CHECK(published.hosts()[h].leaf == shipped.hosts()[h].leaf);
    CHECK(published.hosts()[h].minipod == shipped.hosts()[h].minipod);
  }
}

// A100: 4 × 20 hosts × 8; 4 × 8 leaves × 20 uplinks on 20 spines. H100: 4 × 32 × 8, 32 leaves × 32
// uplinks on 16 spines, the 32 leaves, 16 spines and 1,024 leaf-spine cables of NVIDIA's table for
// 4 units.
TEST_CASE("the shipped SuperPODs have the switches and cables of their ports") {
  const Topology a100 = build_file("superpod_a100.json");
  CHECK(a100.gpu_count() == 640);
  CHECK(count_kind(a100, NodeKind::leaf) == 32);
  CHECK(count_kind(a100, NodeKind::spine) == 20);
  CHECK(count_tier(a100, Tier::minipod) == 2 * 640);
  const Topology h100 = build_file("superpod_h100.json");
  CHECK(h100.gpu_count() == 1024);
  CHECK(count_kind(h100, NodeKind::leaf) == 32);
  CHECK(count_kind(h100, NodeKind::spine) == 16);
  CHECK(count_tier(h100, Tier::minipod) == 2 * 1024);
}

// 25 × 512 hosts; 25 × 64 leaves × 64 uplinks; 25 × 1,024 core uplinks on 200 cores.
TEST_CASE("clos_12800: 102,400 GPUs") {
  const Topology topology = build_file("clos_12800.json");
  CHECK(topology.gpu_count() == 102'400);
  CHECK(count_kind(topology, NodeKind::leaf) == 1600);
  CHECK(count_kind(topology, NodeKind::spine) == 1600);
  CHECK(count_kind(topology, NodeKind::core) == 200);
  CHECK(count_tier(topology, Tier::minipod) == 2 * 102'400);
  CHECK(count_tier(topology, Tier::core) == 2 * 25'600);
  // Leaf up 64, spine up 16, then from a core 1,024 × 25 / 200 / 25 = 5 or 6 links down, spine to
  // leaf 1.
  const std::uint64_t paths = topology.paths().path_count(GpuId{0}, GpuId{102'399});
  CHECK(paths >= 1024 * 5);
  CHECK(paths <= 1024 * 6);
}

TEST_CASE("every builder of the catalog names the keys it reads") {
  for (const BuilderEntry& entry : topology_catalog()) {
    CHECK_FALSE(entry.summary.empty());
    CHECK(std::set<std::string_view>(entry.keys.begin(), entry.keys.end()).size() ==
          entry.keys.size());
  }
  const std::set<std::string_view> names{
      "clos", "dragonfly",   "dragonfly_plus", "fat_tree",       "full_mesh", "graph",
      "hpn",  "lingjun_csv", "rail_only",      "rail_optimized", "read",      "torus"};
  for (const BuilderEntry& entry : topology_catalog()) CHECK(names.contains(entry.name));
  CHECK(topology_catalog().size() == names.size());
}
