#include <doctest/doctest.h>
#include <fmt/format.h>

#include "railyard/topology/describe.hpp"
#include "unit/topology/read_support.hpp"

using namespace railyard;
using namespace railyard::topology;
using namespace railyard::topology::test;

namespace {

/// Two leaves under two spines, three hosts, the second with two NICs; widths and speeds differ.
const std::string kSmallFabric = R"(#
# Topology file: written by hand
#
vendid=0x2c9
devid=0xd2f0
sysimgguid=0xa0
switchguid=0xa0(a0)
Switch	36 "S-00000000000000a0"		# "MF0;leaf-1:MQM8700/U1" enhanced port 0 lid 2 lmc 0
[1]	"H-0000000000000010"[1](11) 		# "node-1 mlx5_0" lid 11 4xHDR
[2][ext 2]	"H-0000000000000020"[1](21) 		# "node-2 mlx5_0" lid 12 4xHDR
[35]	"S-00000000000000c0"[1]		# "spine-1" lid 4 4xNDR
[36]	"S-00000000000000c1"[1]		# "spine-2" lid 5 4xNDR
[30]	"H-0000000000000999"[1](999) 		# "Mellanox Technologies Aggregation Node" lid 9 4xHDR

Switch	36 "S-00000000000000a1"		# "leaf-2" enhanced port 0 lid 3 lmc 0
[1]	"H-0000000000000030"[1](31) 		# "node-10 mlx5_0" lid 13 2xHDR
[2]	"H-0000000000000024"[1](25) 		# "node-2 mlx5_1" lid 14 4xEDR
[35]	"S-00000000000000c0"[2]		# "spine-1" lid 4 4xNDR
[36]	"S-00000000000000c1"[2]		# "spine-2" lid 5 4xNDR

Switch	36 "S-00000000000000c0"		# "spine-1" enhanced port 0 lid 4 lmc 0
[1]	"S-00000000000000a0"[35]		# "MF0;leaf-1:MQM8700/U1" lid 2 4xNDR
[2]	"S-00000000000000a1"[35]		# "leaf-2" lid 3 4xNDR

Switch	36 "S-00000000000000c1"		# "spine-2" enhanced port 0 lid 5 lmc 0
[1]	"S-00000000000000a0"[36]		# "MF0;leaf-1:MQM8700/U1" lid 2 4xNDR
[2]	"S-00000000000000a1"[36]		# "leaf-2" lid 3 4xNDR

Ca	1 "H-0000000000000010"		# "node-1 mlx5_0"
[1](11) 	"S-00000000000000a0"[1]		# lid 11 lmc 0 "MF0;leaf-1:MQM8700/U1" lid 2 4xHDR

Ca	2 "H-0000000000000020"		# "node-2 mlx5_0"
[1](21) 	"S-00000000000000a0"[2]		# lid 12 lmc 0 "MF0;leaf-1:MQM8700/U1" lid 2 4xHDR

Ca	1 "H-0000000000000024"		# "node-2 mlx5_1"
[1](25) 	"S-00000000000000a1"[2]		# lid 14 lmc 0 "leaf-2" lid 3 4xEDR

Ca	1 "H-0000000000000030"		# "node-10 mlx5_0"
[1](31) 	"S-00000000000000a1"[1]		# lid 13 lmc 0 "leaf-2" lid 3 2xHDR

Ca	1 "H-0000000000000999"		# "Mellanox Technologies Aggregation Node"
[1](999) 	"S-00000000000000a0"[30]		# lid 9 lmc 0 "MF0;leaf-1:MQM8700/U1" lid 2 4xHDR
)";
const std::string kNvlink = R"("nvlink": {"bandwidth": "300GB/s"})";

}  // namespace

// Payload per lane in Gb/s: HDR 50, NDR 100, EDR 25; so 4xHDR 200, 2xHDR 100, 4xEDR 100, 4xNDR 400
// Gb/s. Hosts in order of numbers; node-2 has two NICs, hence two GPUs.
TEST_CASE("ibnetdiscover: hosts, NICs, tiers and speeds of a small fabric") {
  const ReadText file(kSmallFabric, "small.ibnetdiscover");
  const Topology topology = file.build(kNvlink);
  CHECK(topology.builder() == "ibnetdiscover");
  REQUIRE(topology.hosts().size() == 3);
  CHECK(topology.host_name(HostId{0}) == "node-1");
  CHECK(topology.host_name(HostId{1}) == "node-2");
  CHECK(topology.host_name(HostId{2}) == "node-10");
  CHECK(topology.gpu_count() == 4);
  CHECK(topology.node_name(topology.nic_node(GpuId{2})) == "node-2/mlx5_1");
  CHECK(topology.leaf_name(topology.host(HostId{0}).leaf) == "MF0;leaf-1:MQM8700/U1");
  CHECK(topology.leaf_name(topology.host(HostId{2}).leaf) == "leaf-2");
  CHECK(topology.minipod_count() == 1);
  CHECK(count_kind(topology, NodeKind::leaf) == 2);
  CHECK(count_kind(topology, NodeKind::spine) == 2);
  CHECK(count_kind(topology, NodeKind::core) == 0);
  const auto gbps = [&](std::uint32_t gpu) {
    return topology.out_links(topology.nic_node(GpuId{gpu})).back().capacity.bytes_per_s() * 8 /
           1'000'000'000;
  };
  CHECK(gbps(0) == 200);
  CHECK(gbps(2) == 100);
  CHECK(gbps(3) == 100);
  for (const Link& link : topology.links()) {
    if (link.tier == Tier::minipod) CHECK(link.capacity == Bandwidth(50'000'000'000));
  }
  CHECK(validate(topology).empty());
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{3}) == 2);
  check_every_pair(topology);
}

TEST_CASE("ibnetdiscover: latency and efficiency come from the description") {
  const ReadText file(kSmallFabric, "small.ibnetdiscover");
  const Topology topology = file.build(
      kNvlink +
      R"(, "nic": {"latency": "1us", "efficiency": 0.5}, "switch_link": {"latency": "600ns"})");
  for (const Link& link : topology.links()) {
    if (link.tier == Tier::leaf) CHECK(link.latency == std::chrono::microseconds(1));
    if (link.tier == Tier::minipod) CHECK(link.latency == std::chrono::nanoseconds(600));
  }
  CHECK(topology.out_links(topology.nic_node(GpuId{0})).back().capacity ==
        Bandwidth(12'500'000'000));
}

TEST_CASE("ibnetdiscover: what contradicts itself is refused with its lines") {
  const auto refused = [](const std::string& from, const std::string& to,
                          const std::string& words) {
    const ReadText file(replaced(kSmallFabric, from, to), "small.ibnetdiscover");
    return file.refused_with(kNvlink, words);
  };
  // Line 9 is leaf-1 port 1, line 36 the CA's end of it; line 12 leaf-1 port 36.
  CHECK(
      refused("[1](11) \t\"S-00000000000000a0\"[1]", "[1](11) \t\"S-00000000000000a0\"[7]",
              "small.ibnetdiscover:9: MF0;leaf-1:MQM8700/U1 port 1 leads to node-1 mlx5_0 port 1, "
              "which at "));
  CHECK(refused("# lid 11 lmc 0 \"MF0;leaf-1:MQM8700/U1\" lid 2 4xHDR",
                "# lid 11 lmc 0 \"MF0;leaf-1:MQM8700/U1\" lid 2 4xEDR",
                "port 1 runs at 200Gbps, but its other end"));
  CHECK(refused("[2]\t\"S-00000000000000a1\"[36]\t\t# \"leaf-2\" lid 3 4xNDR\n", "\n",
                "leads to spine-2 port 2, which does not lead back"));
  CHECK(refused("# \"node-10 mlx5_0\"\n", "# \"node-1 mlx5_0\"\n",
                "duplicate name \"node-1 mlx5_0\": first at "));
  CHECK(refused("\"S-00000000000000a1\"\t\t# \"leaf-2\" enh",
                "\"S-00000000000000a0\"\t\t# \"leaf-2\" enh",
                "\"S-00000000000000a0\" is described twice: first at "));
  CHECK(refused("[36]\t\"S-00000000000000c1\"[2]", "[35]\t\"S-00000000000000c1\"[2]",
                "leaf-2 port 35 is stated twice: first at "));
  CHECK(refused("lid 13 2xHDR", "lid 13 2xHDRR", "no width and speed that are known"));
  CHECK(refused("Ca\t1 \"H-0000000000000010\"", "Ca\t1 H-0000000000000010", "expected: Ca PORTS"));
  CHECK(refused("[1]\t\"H-0000000000000030\"", "[37]\t\"H-0000000000000030\"",
                "port 37 of a node of 36 ports"));
  CHECK(refused("vendid=0x2c9", "hello", "unknown line: \"hello\""));
}

TEST_CASE("ibnetdiscover: hosts that do not fit the description are refused or left out") {
  const ReadText file(kSmallFabric, "small.ibnetdiscover");
  CHECK(file.refused_with("", "nothing says how they talk to each other"));
  CHECK(file.refused_with(kNvlink + R"(, "gpus_per_host": 3)",
                          "has 2 NIC ports, which do not divide 3 GPUs"));
  CHECK(
      file.refused_with(kNvlink + R"(, "ignore": ["disk*"])", "no host or NIC matches \"disk*\""));
  CHECK(file.refused_with(kNvlink + R"(, "nic": {"bandwidth": "10Gbps"})", "leave this key out"));
  CHECK(file.refused_with(kNvlink + R"(, "gpus": 3)", "unknown key"));
  const Topology without = file.build(R"("ignore": ["node-10", "* mlx5_1"])");
  CHECK(without.hosts().size() == 2);
  CHECK(without.gpu_count() == 2);
  const Topology eight = file.build(kNvlink + R"(, "gpus_per_host": 8, "gpu": "H100-80")");
  CHECK(eight.gpu_count() == 24);
  CHECK(eight.gpu_kind() == "H100-80");
  CHECK(eight.nic_node(GpuId{8}) != eight.nic_node(GpuId{12}));
  CHECK(eight.nic_node(GpuId{8}) == eight.nic_node(GpuId{11}));
  check_every_pair(eight);
}

// two_level: 4 leaves of 8 hosts under 4 spines, all links 4xSDR = 8 Gb/s of payload. Leaves have 8
// links down and 4 up. Pairs of one leaf are 4 links apart (GPU, NIC, leaf, NIC, GPU), others 6
// with 4 paths.
TEST_CASE("ibnetdiscover: true output of a two-level fabric") {
  const auto path = railyard::test::shared_data("formats/infiniband/two_level.ibnetdiscover");
  if (!path) return;
  const Topology topology = build_path(*path, "");
  CHECK(topology.gpu_count() == 32);
  CHECK(count_kind(topology, NodeKind::leaf) == 4);
  CHECK(count_kind(topology, NodeKind::spine) == 4);
  CHECK(topology.minipod_count() == 1);
  CHECK(topology.host_name(HostId{31}) == "gpu-032");
  CHECK(count_tier(topology, Tier::leaf) == 2 * 32);
  CHECK(count_tier(topology, Tier::minipod) == 2 * 16);
  for (const Link& link : topology.links()) CHECK(link.capacity == Bandwidth(1'000'000'000));
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{7}) == 1);
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{8}) == 4);
  CHECK(describe(topology).leaf.overall == 2.0);
  check_every_pair(topology);
}

// three_level: 4 pods of 4 leaves × 4 hosts and 4 spines; spine s of a pod has 4 uplinks to cores
// 4 s … 4 s + 3. The link from core06 to pod3-spine2 is dead, so pod 3 has 15 core links instead of
// 16, and 15 paths lead to each other pod.
TEST_CASE("ibnetdiscover: true output of a three-level fabric with a dead link") {
  const auto path = railyard::test::shared_data("formats/infiniband/three_level.ibnetdiscover");
  if (!path) return;
  const Topology topology = build_path(*path, "");
  CHECK(topology.gpu_count() == 64);
  CHECK(count_kind(topology, NodeKind::leaf) == 16);
  CHECK(count_kind(topology, NodeKind::spine) == 16);
  CHECK(count_kind(topology, NodeKind::core) == 16);
  CHECK(topology.minipod_count() == 4);
  CHECK(count_tier(topology, Tier::core) == 2 * 63);
  CHECK(topology.host_name(HostId{32}) == "gpu-033");
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{63}) == 16);
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{32}) == 15);
  CHECK(topology.paths().path_count(GpuId{32}, GpuId{0}) == 15);
  CHECK(validate(topology).empty());
  check_every_pair(topology);
}
