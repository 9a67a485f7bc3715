#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "unit/topology/support.hpp"

using namespace railyard;
using namespace railyard::topology;
using namespace railyard::topology::test;

namespace {

// Two minipods of 3 and 2 hosts, 2 hosts a leaf, 2 GPUs and 2 NICs a host.
const std::string kSmall = R"({
  "builder": "clos", "gpu": "A100-80", "gpus_per_host": 2,
  "nvlink": {"bandwidth": "300GB/s", "efficiency": 0.5, "latency": "500ns"},
  "pcie": {"bandwidth": "31GB/s"},
  "nic": {"bandwidth": "100Gbps", "efficiency": 0.96, "latency": "1us"},
  "hosts_per_minipod": [3, 2], "hosts_per_leaf": 2,
  "switch_link": {"bandwidth": "100Gbps", "latency": "700ns"},
  "oversubscription": {"leaf": 1, "minipod": 2},
  "spines_per_minipod": 2, "cores": 2
})";

}  // namespace

// Leaves: ceil(3/2) + ceil(2/2) = 3. Spines 2 × 2, cores 2. Nodes of a host: 2 GPUs, 1 NVSwitch, 2
// NICs; 5 hosts. Uplinks of a leaf: 2 hosts × 2 NICs × 100G / 1 / 100G = 4, the partly filled one
// too: 3 × 4 = 12 cables. Uplinks of the minipods: 3 × 2 × 100G / 2 / 100G = 3 and 2 × 2 / 2 = 2: 5
// cables. A cable is two links.
TEST_CASE("clos: nodes and links of a small fabric are those counted by hand") {
  const Topology topology = build_text(kSmall);
  CHECK(topology.gpu_count() == 10);
  CHECK(topology.hosts().size() == 5);
  CHECK(topology.leaf_count() == 3);
  CHECK(topology.minipod_count() == 2);
  CHECK(count_kind(topology, NodeKind::gpu) == 10);
  CHECK(count_kind(topology, NodeKind::nvswitch) == 5);
  CHECK(count_kind(topology, NodeKind::nic) == 10);
  CHECK(count_kind(topology, NodeKind::leaf) == 3);
  CHECK(count_kind(topology, NodeKind::spine) == 4);
  CHECK(count_kind(topology, NodeKind::core) == 2);
  CHECK(count_tier(topology, Tier::nvlink) == 20);
  CHECK(count_tier(topology, Tier::host) == 20);
  CHECK(count_tier(topology, Tier::leaf) == 20);
  CHECK(count_tier(topology, Tier::minipod) == 24);
  CHECK(count_tier(topology, Tier::core) == 10);
  CHECK(topology.host(HostId{2}).leaf == LeafId{1});
  CHECK(topology.host(HostId{3}).leaf == LeafId{2});
  CHECK(topology.host(HostId{3}).minipod == MinipodId{1});
  CHECK(topology.builder() == "clos");
  CHECK(topology.gpu_kind() == "A100-80");
}

// 300 GB/s × 0.5 = 150 GB/s; 100 Gb/s = 12.5 GB/s, × 0.96 = 12 GB/s.
TEST_CASE("clos: capacity is bandwidth times efficiency, latency as given") {
  const Topology topology = build_text(kSmall);
  for (const Link& link : topology.links()) {
    if (link.tier == Tier::nvlink) {
      CHECK(link.capacity == Bandwidth(150'000'000'000));
      CHECK(link.latency == std::chrono::nanoseconds(500));
    }
    if (link.tier == Tier::host) CHECK(link.capacity == Bandwidth(31'000'000'000));
    if (link.tier == Tier::leaf) CHECK(link.capacity == Bandwidth(12'000'000'000));
    if (link.tier == Tier::core) CHECK(link.capacity == Bandwidth(12'500'000'000));
  }
}

// GPU 3 is the second GPU of host 1; minipod 1's second spine has the node after its first.
TEST_CASE("clos: names are derived from hosts and minipods, parallel links are numbered") {
  const Topology topology = build_text(kSmall);
  CHECK(topology.node_name(topology.gpu_node(GpuId{3})) == "host-1/gpu1");
  CHECK(topology.node_name(topology.nic_node(GpuId{3})) == "host-1/nic1");
  CHECK(topology.node_name(NodeId{2}) == "host-0/nvswitch");
  CHECK(topology.leaf_name(LeafId{2}) == "minipod-1/leaf-0");
  CHECK(topology.minipod_name(MinipodId{1}) == "minipod-1");
  std::vector<std::string> from_first_leaf;
  for (std::size_t i = 0; i < topology.links().size(); ++i) {
    const auto id = static_cast<LinkId>(i);
    if (topology.node_name(topology.link(id).from) == "minipod-0/leaf-0" &&
        topology.link(id).tier == Tier::minipod) {
      from_first_leaf.push_back(topology.link_name(id));
    }
  }
  CHECK(from_first_leaf == std::vector<std::string>{"minipod-0/leaf-0->minipod-0/spine-0#0",
                                                    "minipod-0/leaf-0->minipod-0/spine-0#1",
                                                    "minipod-0/leaf-0->minipod-0/spine-1#0",
                                                    "minipod-0/leaf-0->minipod-0/spine-1#1"});
}

// The issue's numbers: 256 hosts, 2,048 GPUs; leaves 5+5+5+5+4+4+4+3 = 35; leaf uplinks 64 × 100G /
// 400G = 16; core uplinks ceil(hosts × 8 × 100G / 4 / 400G) = hosts / 2 = 20, 19, 18, 17, 16, 14,
// 13, 11: 128 in all, 32 on each of 4 cores.
TEST_CASE("clos_minipod_2048: uplinks and oversubscription are those of the issue") {
  const Topology topology = build_file("clos_minipod_2048.json");
  CHECK(topology.gpu_count() == 2048);
  CHECK(topology.hosts().size() == 256);
  CHECK(topology.leaf_count() == 35);
  CHECK(topology.minipod_count() == 8);
  const std::vector<std::size_t> core_uplinks{20, 19, 18, 17, 16, 14, 13, 11};
  const std::vector<std::size_t> hosts{40, 38, 36, 34, 32, 28, 26, 22};
  std::map<std::string, std::size_t> up_of_minipod;
  std::map<std::string, std::size_t> down_of_core;
  std::map<std::string, std::size_t> up_of_leaf;
  for (const Link& link : topology.links()) {
    const std::string from = topology.node_name(link.from);
    if (link.tier == Tier::core && topology.kind(link.from) == NodeKind::spine)
      ++up_of_minipod[from.substr(0, 9)];
    if (link.tier == Tier::core && topology.kind(link.from) == NodeKind::core) ++down_of_core[from];
    if (link.tier == Tier::minipod && topology.kind(link.from) == NodeKind::leaf)
      ++up_of_leaf[from];
  }
  for (std::size_t m = 0; m < hosts.size(); ++m) {
    CHECK(up_of_minipod["minipod-" + std::to_string(m)] == core_uplinks[m]);
    const auto in_minipod = [m](const Host& host) { return index(host.minipod) == m; };
    CHECK(static_cast<std::size_t>(std::ranges::count_if(topology.hosts(), in_minipod)) ==
          hosts[m]);
  }
  CHECK(up_of_leaf.size() == 35);
  for (const auto& leaf : up_of_leaf) CHECK_MESSAGE(leaf.second == 16, leaf.first);
  CHECK(down_of_core.size() == 4);
  for (const auto& core : down_of_core) CHECK_MESSAGE(core.second == 32, core.first);
}

// Same leaf: GPU-NIC, NIC-leaf, leaf-NIC, NIC-GPU. Through the minipod two more, through the core
// four more. Latency of the small fabric: PCIe 0, NIC 1us each way, switch links 0.7us each.
TEST_CASE("clos: routes have the hops, tier and latency of their lowest common switch") {
  const Topology topology = build_text(kSmall);
  const auto routing = make_routing(topology, R"("ecmp")");
  Route route;
  routing->route({GpuId{0}, GpuId{1}, 0}, route);
  CHECK(route.links.size() == 2);
  CHECK(route.tier == Tier::nvlink);
  CHECK(route.latency == std::chrono::nanoseconds(1000));
  routing->route({GpuId{0}, GpuId{2}, 0}, route);
  CHECK(route.links.size() == 4);
  CHECK(route.tier == Tier::leaf);
  CHECK(route.latency == std::chrono::nanoseconds(2000));
  routing->route({GpuId{0}, GpuId{4}, 0}, route);
  CHECK(route.links.size() == 6);
  CHECK(route.tier == Tier::minipod);
  CHECK(route.latency == std::chrono::nanoseconds(3400));
  routing->route({GpuId{0}, GpuId{9}, 0}, route);
  CHECK(route.links.size() == 8);
  CHECK(route.tier == Tier::core);
  CHECK(route.latency == std::chrono::nanoseconds(4800));
}

// Leaf 0 has 4 uplinks: 2 to each of 2 spines. Inside the minipod each spine has 2 parallel
// downlinks to leaf 1: 4 × 2 = 8. Minipod 0's three core uplinks: u = 0, 1, 2 with lcm(2, 2) = 2
// leave spines 0, 1, 0 for cores 0, 1, (2 + 1) mod 2 = 1. Minipod 1's two: spine 0 to core 0, spine
// 1 to core 1. So from leaf 0: over spine 0 (2 uplinks) cores 0 or 1, over spine 1 (2 uplinks) core
// 1; then one link down into minipod 1 and 2 parallel ones to its leaf: (2 × 2 + 2 × 1) × 1 × 2
// = 12.
TEST_CASE("clos: the number of equal paths is the product of the choices") {
  const Topology topology = build_text(kSmall);
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{1}) == 1);
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{2}) == 1);
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{4}) == 8);
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{9}) == 12);
}

// Four GPUs share two NICs: GPU i uses NIC i × 2 / 4.
TEST_CASE("clos: GPUs share NICs when there are fewer") {
  std::string text = replaced(kSmall, "\"gpus_per_host\": 2", "\"gpus_per_host\": 4");
  text = replaced(text, "\"latency\": \"1us\"}", "\"latency\": \"1us\", \"per_host\": 2}");
  const Topology topology = build_text(text);
  CHECK(topology.nic_node(GpuId{0}) == topology.nic_node(GpuId{1}));
  CHECK(topology.nic_node(GpuId{1}) != topology.nic_node(GpuId{2}));
  CHECK(topology.nic_node(GpuId{2}) == topology.nic_node(GpuId{3}));
}

// Without NVLink the GPUs and NICs of a host hang on a PCIe switch: two hops inside the host, and
// one more at each end outside.
TEST_CASE("clos: hosts without NVLink talk over PCIe") {
  const std::string text = replaced(
      kSmall, R"("nvlink": {"bandwidth": "300GB/s", "efficiency": 0.5, "latency": "500ns"},)", "");
  const Topology topology = build_text(text);
  CHECK(count_kind(topology, NodeKind::pcie_switch) == 5);
  const auto routing = make_routing(topology, R"("shortest")");
  Route route;
  routing->route({GpuId{0}, GpuId{1}, 0}, route);
  CHECK(route.links.size() == 2);
  CHECK(route.tier == Tier::host);
  routing->route({GpuId{0}, GpuId{2}, 0}, route);
  CHECK(route.links.size() == 6);
}

// hosts_per_minipod as a shape, and uneven leaves as a list, say the same fabric when the numbers
// agree.
TEST_CASE("clos: the three ways to say how many hosts there are") {
  const std::string shape = replaced(kSmall, "[3, 2]", R"({"minipods": 2, "hosts": 2})");
  CHECK(build_text(shape).hosts().size() == 4);
  const std::string uneven =
      replaced(kSmall, R"("hosts_per_minipod": [3, 2])", R"("leaf_hosts": [[1, 2], [2]])");
  const Topology topology = build_text(uneven);
  CHECK(topology.hosts().size() == 5);
  CHECK(topology.host(HostId{0}).leaf == LeafId{0});
  CHECK(topology.host(HostId{1}).leaf == LeafId{1});
}

// A leaf of 1 of 2 hosts: 2 NICs, so 2 of 4 uplinks when scaled.
TEST_CASE("clos: partly filled leaves keep all uplinks or their share of them") {
  const std::string text =
      replaced(kSmall, "\"cores\": 2", R"("cores": 2, "partial_leaf": "scaled_uplinks")");
  CHECK(count_tier(build_text(text), Tier::minipod) == 2 * (4 + 2 + 4));
}

// Faster core links: minipod 0 needs 3 × 2 × 100G / 1 / 200G = 3 of them, minipod 1 2.
TEST_CASE("clos: core links may have a speed of their own") {
  std::string text = replaced(kSmall, "\"minipod\": 2", "\"minipod\": 1");
  text = replaced(text, "\"cores\": 2",
                  R"("cores": 2, "core_link": {"bandwidth": "200Gbps", "latency": "1us"})");
  const Topology topology = build_text(text);
  CHECK(count_tier(topology, Tier::core) == 10);
  for (const Link& link : topology.links()) {
    if (link.tier == Tier::core) CHECK(link.capacity == Bandwidth(25'000'000'000));
  }
}

TEST_CASE("clos: a single minipod has no core") {
  std::string text = replaced(kSmall, "[3, 2]", "[3]");
  CHECK(refused_with(text,
                     "/oversubscription/minipod: no switches stand above the minipod spines here"));
  CHECK(refused_with(text, "/cores: no switches stand above the minipod spines here"));
  text = replaced(text, ", \"minipod\": 2", "");
  text = replaced(text, ", \"cores\": 2", "");
  CHECK(count_kind(build_text(text), NodeKind::core) == 0);
}

TEST_CASE("clos: every wrong parameter is refused with its place and reason") {
  const auto changed = [](std::string_view from, std::string_view to) {
    return replaced(kSmall, from, to);
  };
  CHECK(refused_with(changed("\"clos\"", "\"close\""),
                     "/builder: unknown builder \"close\"; did you mean \"clos\"?"));
  CHECK(refused_with(changed("\"gpu\": \"A100-80\",", ""), "gpu"));
  CHECK(refused_with(changed("\"gpus_per_host\": 2", "\"gpus_per_host\": 0"), "/gpus_per_host"));
  CHECK(refused_with(changed("\"efficiency\": 0.5", "\"efficiency\": 0"),
                     "/nvlink/efficiency: must be above 0"));
  CHECK(refused_with(changed("\"efficiency\": 0.5", "\"efficiency\": 1.5"), "/nvlink/efficiency"));
  CHECK(refused_with(changed("\"300GB/s\"", "\"0GB/s\""), "/nvlink/bandwidth"));
  CHECK(refused_with(changed("\"300GB/s\"", "300"), "/nvlink/bandwidth"));
  CHECK(refused_with(changed("\"latency\": \"1us\"}", "\"latency\": \"1us\", \"per_host\": 4}"),
                     "/nic/per_host: 4 NICs for 2 GPUs"));
  CHECK(refused_with(changed("\"hosts_per_leaf\": 2", "\"hosts_per_leaf\": 0"), "/hosts_per_leaf"));
  CHECK(refused_with(changed("[3, 2]", "[3, 0]"), "/hosts_per_minipod/1: expected 1 to"));
  CHECK(refused_with(changed("[3, 2]", "[]"), "/hosts_per_minipod: expected at least one minipod"));
  CHECK(refused_with(changed("\"leaf\": 1", "\"leaf\": 3"),
                     "/oversubscription: a full leaf needs 1.33333 uplinks"));
  CHECK(refused_with(changed("\"leaf\": 1", "\"leaf\": 8"),
                     "/oversubscription: a full leaf needs 0.5 uplinks"));
  CHECK(refused_with(changed("\"leaf\": 1", "\"leaf\": 0"), "/oversubscription/leaf"));
  CHECK(
      refused_with(changed("\"spines_per_minipod\": 2", "\"spines_per_minipod\": 3"),
                   "/spines_per_minipod: 4 uplinks of a leaf do not spread evenly over 3 spines"));
  CHECK(refused_with(changed("\"spines_per_minipod\": 2", "\"spines_per_minipod\": 4"),
                     "/spines_per_minipod: minipod-0 has 3 uplinks to the core for 4 spines"));
  CHECK(refused_with(changed("\"cores\": 2", "\"cores\": 3"),
                     "/cores: minipod-1 has 2 uplinks for 3 cores"));
  CHECK(refused_with(changed("\"cores\": 2", "\"cores\": 2, \"radix\": 7"),
                     "/radix: a leaf switch needs 8 ports of 7"));
  CHECK(refused_with(changed("\"cores\": 2", "\"cores\": 2, \"core\": 2"),
                     "unknown key; did you mean \"cores\"?"));
  CHECK(refused_with(changed("\"cores\": 2", "\"cores\": 2, \"leaf_hosts\": [[2, 1], [2]]"),
                     "/hosts_per_minipod: \"leaf_hosts\" already says it"));
  CHECK(refused_with(changed(R"("hosts_per_minipod": [3, 2])", R"("leaf_hosts": [[1, 3], [2]])"),
                     "/leaf_hosts/0/1: 3 hosts on a leaf of 1 to 2"));
  CHECK(refused_with(changed(R"("cores": 2)", R"("cores": 2, "partial_leaf": "full")"),
                     "/partial_leaf"));
  CHECK(refused_with(
      changed(R"("nvlink": {"bandwidth": "300GB/s", "efficiency": 0.5, "latency": "500ns"},
  "pcie": {"bandwidth": "31GB/s"},)",
              ""),
      "missing key \"pcie\""));
}
