// The inside of hosts, and hierarchies that schedulers know.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "railyard/topology/fabric_reader.hpp"
#include "railyard/topology/writer.hpp"
#include "unit/topology/reader_support.hpp"
#include "unit/topology/support.hpp"

using namespace railyard;
using namespace railyard::topology;
using namespace railyard::topology::test;

namespace {

/// Two CPUs; on each a bridge with two GPUs and a NIC of 200 Gb/s; NVLinks to an NVSwitch.
std::string nccl() {
  std::string text = "<system version=\"1\">\n";
  for (int cpu = 0; cpu < 2; ++cpu) {
    text += fmt::format(
        "  <cpu numaid=\"{}\" arch=\"x86_64\" vendor=\"AuthenticAMD\" familyid=\"143\" "
        "modelid=\"49\">\n    <pci busid=\"0000:0{}:00.0\" class=\"0x060400\" link_speed=\"16.0 "
        "GT/s PCIe\" link_width=\"16\">\n",
        cpu, cpu);
    for (int i = 0; i < 2; ++i) {
      text += fmt::format(
          "      <pci busid=\"0000:{}{}:00.0\" class=\"0x030200\" link_speed=\"16 GT/s\" "
          "link_width=\"16\">\n        <gpu dev=\"{}\" sm=\"80\" rank=\"0\" gdr=\"1\">\n"
          "          <nvlink target=\"0000:c4:00.0\" count=\"12\" tclass=\"0x068000\"/>\n"
          "        </gpu>\n      </pci>\n",
          cpu, 5 + i, 2 * cpu + i);
    }
    text += fmt::format(
        "      <pci busid=\"0000:{}9:00.0\" class=\"0x020700\" link_speed=\"16 GT/s\" "
        "link_width=\"16\">\n        <nic>\n          <net name=\"mlx5_{}\" dev=\"{}\" "
        "speed=\"200000\" port=\"1\"/>\n        </nic>\n      </pci>\n    </pci>\n  </cpu>\n",
        cpu, cpu, cpu);
  }
  return text + "</system>\n";
}

Bandwidth capacity_between(const Topology& topology, std::string_view a, std::string_view b) {
  for (const Link& link : topology.links()) {
    if (topology.node_name(link.from) == a && topology.node_name(link.to) == b)
      return link.capacity;
  }
  return {};
}

constexpr std::string_view kMatrix =
    R"(	GPU0	GPU1	GPU2	GPU3	NIC0	NIC1	CPU Affinity	NUMA Affinity
GPU0	 X 	NV12	NV12	NV12	PXB	SYS	0-31	0
GPU1	NV12	 X 	NV12	NV12	PXB	SYS	0-31	0
GPU2	NV12	NV12	 X 	NV12	SYS	PXB	32-63	1
GPU3	NV12	NV12	NV12	 X 	SYS	PXB	32-63	1
NIC0	PXB	PXB	SYS	SYS	 X 	SYS
NIC1	SYS	SYS	PXB	PXB	SYS	 X

Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_1
)";

const std::string kSpeeds = R"("nvlink": {"bandwidth": "25GB/s"}, "pcie": {"bandwidth": "31GB/s"},
  "cpu_link": {"bandwidth": "40GB/s"}, "nic": {"bandwidth": "200Gbps"})";

}  // namespace

// 12 NVLinks of 20 GB/s (sm 80); PCIe 4 x16 is 24 GB/s to NCCL; 200,000 Mb/s = 25 GB/s; AMD 16.
TEST_CASE("NCCL's XML is a host with its NVLinks, PCIe tree and NICs") {
  const Topology topology = read(nccl(), R"("gpu": "A100-80")");
  CHECK(topology.gpu_count() == 4);
  CHECK(topology.hosts().size() == 1);
  CHECK(capacity_between(topology, "host-0/gpu0", "host-0/nvswitch") == Bandwidth(240'000'000'000));
  CHECK(capacity_between(topology, "host-0/gpu3", "host-0/pci-0000:01:00.0") ==
        Bandwidth(24'000'000'000));
  CHECK(capacity_between(topology, "host-0/mlx5_1", "network") == Bandwidth(25'000'000'000));
  CHECK(capacity_between(topology, "host-0/cpu0", "host-0/cpu1") == Bandwidth(16'000'000'000));
  CHECK(topology.node_name(topology.nic_node(GpuId{1})) == "host-0/mlx5_0");
  CHECK(topology.node_name(topology.nic_node(GpuId{2})) == "host-0/mlx5_1");
  CHECK(route_between(topology, 0, 3).tier == Tier::nvlink);
  CHECK(every_pair_reachable(topology));
}

TEST_CASE("NCCL's XML that contradicts itself is refused by its line") {
  const auto changed = [](std::string_view from, std::string_view to, std::string_view words) {
    return says(replaced(nccl(), from, to), words);
  };
  CHECK(changed("dev=\"1\"", "dev=\"0\"", "gpu0 stands here twice"));
  CHECK(changed("count=\"12\"", "count=\"many\"",
                "x:6: nvlink: count must be a whole number from 1 to 64, not \"many\""));
  CHECK(changed("tclass=\"0x068000\"", "tclass=\"0x030200\"",
                "x:6: nvlink: there is no GPU at \"0000:c4:00.0\""));
  CHECK(changed("target=\"0000:c4:00.0\" count=\"12\" tclass=\"0x068000\"",
                "target=\"0000:06:00.0\" count=\"2\" tclass=\"0x030200\"",
                "says otherwise of the links to"));
  CHECK(changed("16.0 GT/s PCIe", "17 GT/s", "x:3: pci: unknown link_speed \"17 GT/s\""));
  CHECK(changed("speed=\"200000\"", "", "net: has no speed"));
  CHECK(changed("AuthenticAMD", "Unheard", "no speed between CPUs"));
  CHECK(changed("</system>", "", "x:"));
  CHECK(says("<system><cpu numaid=\"0\"></cpu></system>", "there is no gpu"));
}

// NV12 between four GPUs would be 36 links each: it can only be an NVSwitch, 12 × 25 GB/s.
TEST_CASE("nvidia-smi's matrix is a host of that shape") {
  const Topology topology = read(kMatrix, kSpeeds);
  CHECK(topology.gpu_count() == 4);
  CHECK(capacity_between(topology, "host-0/GPU2", "host-0/nvswitch") == Bandwidth(300'000'000'000));
  CHECK(topology.node_name(topology.nic_node(GpuId{0})) == "host-0/NIC0");
  CHECK(topology.node_name(topology.nic_node(GpuId{3})) == "host-0/NIC1");
  CHECK(count_kind(topology, NodeKind::pcie_switch) == 3);
  CHECK(every_pair_reachable(topology));
}

// Without NVLink GPU0 and GPU2 talk over two PCIe switches and the CPUs: 31, 40, 40, 31 GB/s.
TEST_CASE("GPUs without NVLink talk over PCIe and the CPUs") {
  const std::string text =
      "\tGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\nGPU0\tX\tPIX\tSYS\tPIX\nGPU1\tPIX\tX\tSYS\tPIX\n"
      "GPU2\tSYS\tSYS\tX\tSYS\nNIC0\tPIX\tPIX\tSYS\tX\n";
  const Topology topology = read(text, kSpeeds);
  const Route route = route_between(topology, 0, 2);
  CHECK(route.links.size() == 3);
  CHECK(route.tier == Tier::host);
  CHECK(topology.link(route.links[1].link).capacity == Bandwidth(40'000'000'000));
  CHECK(says(text, "missing key \"cpu_link\"", R"("pcie": {"bandwidth": "31GB/s"},
    "nic": {"bandwidth": "200Gbps"})"));
}

// NCCL's host as the host of a clos: 240 GB/s to the NVSwitch, the way to the NIC as fast as its
// slowest link, 24 GB/s, two NICs of 25 GB/s for four GPUs.
TEST_CASE("the inside of a host becomes the host of any builder") {
  const auto host_of = [](const Topology& topology) {
    for (const WriterEntry& writer : writer_catalog()) {
      if (writer.name == "host") return writer.write(topology);
    }
    throw std::logic_error("no writer of hosts");
  };
  std::string keys = host_of(read(nccl(), R"("gpu": "A100-80")"));
  keys = keys.substr(1, keys.rfind('}') - 1);
  const Topology clos = build_text(R"({"builder": "clos", "hosts_per_minipod": [2, 2],
    "hosts_per_leaf": 2, "spines_per_minipod": 1, "cores": 1,
    "switch_link": {"bandwidth": "200Gbps"}, )" +
                                   keys + "}");
  CHECK(clos.gpu_count() == 16);
  CHECK(clos.gpu_kind() == "A100-80");
  CHECK(capacity_between(clos, "host-3/gpu1", "host-3/nvswitch") == Bandwidth(240'000'000'000));
  CHECK(capacity_between(clos, "host-3/gpu1", "host-3/nic0") == Bandwidth(24'000'000'000));
  CHECK(capacity_between(clos, "host-3/nic1", "minipod-1/leaf-0") == Bandwidth(25'000'000'000));
  CHECK_THROWS_AS((void)host_of(clos), config::ConfigError);
  CHECK_THROWS_AS((void)host_of(read(replaced(nccl(), "count=\"12\"", "count=\"8\""))),
                  config::ConfigError);
}

TEST_CASE("nvidia-smi's matrix that contradicts itself is refused by its line") {
  const auto changed = [](std::string_view from, std::string_view to, std::string_view words) {
    return says(replaced(std::string(kMatrix), from, to), words, kSpeeds);
  };
  CHECK(changed("GPU1\tNV12\t X", "GPU1\tNV4\t X", "x:3: GPU1 to GPU0 differs from GPU0 to GPU1"));
  CHECK(changed("GPU1\tNV12\t X", "GPU1\tNVX\t X", "\"NVX\" is none of X, NV#, PIX"));
  CHECK(changed("GPU1\tNV12\t X", "GPU1\tNV12\tPIX", "X stands on the diagonal"));
  CHECK(changed("GPU3\tNV12\tNV12\tNV12\t X \tSYS\tPXB\t32-63\t1\n", "",
                "x:5: expected the row of GPU3"));
  const std::string near =
      replaced(replaced(std::string(kMatrix), "GPU0\t X \tNV12", "GPU0\t X \tSYS"), "GPU1\tNV12",
               "GPU1\tSYS");
  CHECK(says(near, "GPU1 and GPU0 are SYS apart, but others join them within PXB", kSpeeds));
  CHECK(says(kMatrix, "missing key \"nic\""));
  const std::string pair =
      "\tGPU0\tGPU1\tGPU2\tCPU Affinity\nGPU0\tX\tNV4\tNV4\nGPU1\tNV4\tX\tNV4\n"
      "GPU2\tNV4\tNV4\tX\n";
  CHECK(says(pair, "missing key \"nvswitch\": NV4 between all GPUs", kSpeeds));
  const std::string speeds = R"("nvlink": {"bandwidth": "25GB/s"}, "nvswitch": )";
  CHECK(capacity_between(read(pair, speeds + "false"), "host-0/GPU0", "host-0/GPU1") ==
        Bandwidth(100'000'000'000));
  CHECK(capacity_between(read(pair, speeds + "true"), "host-0/GPU0", "host-0/nvswitch") ==
        Bandwidth(100'000'000'000));
}

namespace {

std::string hypernodes() {
  const auto member = [](std::string_view type, std::string_view name) {
    return fmt::format("  - type: {}\n    selector:\n      exactMatch:\n        name: {}\n", type,
                       name);
  };
  std::string text;
  for (int leaf = 0; leaf < 2; ++leaf) {
    text += fmt::format(
        "apiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\nmetadata:\n  name: s{}\nspec:\n"
        "  tier: 1\n  members:\n",
        leaf);
    for (int node = 0; node < 2; ++node)
      text += member("Node", fmt::format("node-{}", 2 * leaf + node));
    text += "---\n";
  }
  return text +
         "apiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\nmetadata:\n  name: top\n"
         "spec:\n  tier: 2\n  members:\n" +
         member("HyperNode", "s0") + member("HyperNode", "s1");
}

const std::string kLinks = R"("gpu": "A100-80", "nic": {"bandwidth": "100Gbps", "latency": "1us"},
  "switch_link": {"bandwidth": "400Gbps", "latency": "2us", "count": 2})";

constexpr std::string_view kKueue = R"(apiVersion: kueue.x-k8s.io/v1beta1
kind: Topology
metadata: {name: default}
spec:
  levels:
  - nodeLabel: cloud/block
  - nodeLabel: cloud/rack
  - nodeLabel: kubernetes.io/hostname
---
apiVersion: v1
kind: List
items:
- {kind: Node, metadata: {name: a, labels: {cloud/block: b1, cloud/rack: r1}}}
- {kind: Node, metadata: {name: b, labels: {cloud/block: b1, cloud/rack: r1}}}
- {kind: Node, metadata: {name: c, labels: {cloud/block: b1, cloud/rack: r2}}}
- {kind: Node, metadata: {name: d, labels: {cloud/block: b2, cloud/rack: r1}}}
- {kind: Node, metadata: {name: control, labels: {role: none}}}
)";

}  // namespace

// Leaves s0 and s1 below top: two cables each; 1 + 2 + 2 + 1 us across.
TEST_CASE("HyperNodes are the tree of switches that Volcano has") {
  const Topology topology = read(hypernodes(), kLinks);
  CHECK(topology.hosts().size() == 4);
  CHECK(topology.leaf_count() == 2);
  CHECK(route_between(topology, 0, 1).tier == Tier::leaf);
  CHECK(route_between(topology, 0, 3).latency == std::chrono::microseconds(6));
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{3}) == 4);
  CHECK(every_pair_reachable(topology));
  const auto changed = [](std::string_view from, std::string_view to, std::string_view words) {
    return says(replaced(hypernodes(), from, to), words, kLinks);
  };
  CHECK(changed("name: node-3", "name: node-0", "node node-0 is a member of s0 and of s1"));
  CHECK(changed("name: s1\nspec", "name: s9\nspec", "there is no HyperNode \"s1\""));
  CHECK(changed("tier: 2", "tier: 1", "s0 of tier 1 is a member of top of tier 1"));
  CHECK(changed("exactMatch", "regexMatch", "without selector.exactMatch.name"));
  CHECK(changed("tier: 2", "tier: two", "top has no spec.tier"));
  CHECK(says(hypernodes(), "states no speed of this link: give \"nic\""));
}

// Rack r1 of block b1 is not rack r1 of b2; one switch joins the blocks: racks, blocks, top.
TEST_CASE("Kueue's levels and the labels of nodes are a tree of switches") {
  const Topology topology = read(kKueue, kLinks);
  CHECK(topology.hosts().size() == 4);
  CHECK(topology.leaf_count() == 3);
  CHECK(route_between(topology, 0, 1).tier == Tier::leaf);
  CHECK(route_between(topology, 0, 3).latency == std::chrono::microseconds(2 + 4 * 2));
  CHECK(every_pair_reachable(topology));
  CHECK(says(replaced(std::string(kKueue), "name: b,", "name: a,"),
             "x:14: duplicate node a: first at x:13", kLinks));
  CHECK(says(replaced(std::string(kKueue), "cloud/rack\n", "cloud/row\n"),
             "no node has all labels of the Topology: cloud/block, cloud/row", kLinks));
  CHECK(says(replaced(std::string(kKueue), "cloud/rack\n", "cloud/block\n"),
             "x:7: level cloud/block stands here twice", kLinks));
}
