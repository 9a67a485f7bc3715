#include <doctest/doctest.h>
#include <fmt/format.h>

#include "railyard/topology/hostlist.hpp"
#include "railyard/topology/writer.hpp"
#include "unit/topology/read_support.hpp"

using namespace railyard;
using namespace railyard::topology;
using namespace railyard::topology::test;

namespace {

const std::string kTreeConf = R"(# two racks and a third
SwitchName=leaf1 Nodes=node[01-03,10]
switchname=leaf2   Nodes=node[04-05],login
SwitchName=leaf3 Nodes=gpu[1-2]n[1-2]
SwitchName=top \
               Switches=leaf[1-2],leaf3
)";
const std::string kLinks =
    R"("nic": {"bandwidth": "200Gbps"}, "switch_link": {"bandwidth": "400Gbps", "latency": "1us"})";

std::vector<std::string> expanded(std::string_view text) {
  std::vector<std::string> out;
  const std::string fault = expand_hostlist(text, 1000, out);
  if (!fault.empty()) return {"fault: " + fault};
  return out;
}
using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("host lists: ranges keep their zeros, several brackets multiply") {
  CHECK(expanded("a") == Names{"a"});
  CHECK(expanded("n[08-11]") == Names{"n08", "n09", "n10", "n11"});
  CHECK(expanded("n[1,3-4],m2") == Names{"n1", "n3", "n4", "m2"});
  CHECK(expanded("r[1-2]n[1-2]x") == Names{"r1n1x", "r1n2x", "r2n1x", "r2n2x"});
  CHECK(expanded("n[9-8]") == Names{"fault: the range 9-8 runs backwards"});
  CHECK(expanded("n[1-2") == Names{"fault: a [ without its ]"});
  CHECK(expanded("n1-2]") == Names{"fault: a ] without its ["});
  CHECK(expanded("n[a-b]") == Names{"fault: \"a-b\" is no number and no range of numbers"});
  CHECK(expanded("a,,b") == Names{"fault: an empty name"});
  CHECK(expanded("n[0-999]").size() == 1000);
  CHECK(expanded("n[0-1000]") == Names{"fault: more than 1000 names"});
}

// 4 + 3 + 4 hosts. One cable joins each leaf to the top.
TEST_CASE("slurm: a tree of switches, with links of the description's choice") {
  const ReadText file(kTreeConf, "topology.conf");
  CHECK(file.refused_with("", "give \"nic\""));
  CHECK(file.refused_with(R"("nic": {"bandwidth": "200Gbps"})", "give \"switch_link\""));
  CHECK(file.refused_with(kLinks + R"(, "link_speed_unit": "1Gbps")", "the file has no LinkSpeed"));
  CHECK(file.refused_with(kLinks + R"(, "core_link": {"bandwidth": "400Gbps"})",
                          "\"core_link\": the fabric has no such links"));
  const Topology topology = file.build(kLinks);
  CHECK(topology.builder() == "slurm");
  CHECK(topology.hosts().size() == 11);
  CHECK(topology.leaf_count() == 3);
  CHECK(topology.minipod_count() == 1);
  CHECK(topology.minipod_name(MinipodId{0}) == "top");
  CHECK(count_tier(topology, Tier::minipod) == 6);
  for (const Link& link : topology.links()) {
    if (link.tier == Tier::minipod) CHECK(link.capacity == Bandwidth(50'000'000'000));
    if (link.tier == Tier::leaf) CHECK(link.capacity == Bandwidth(25'000'000'000));
  }
  check_every_pair(topology);
}

// 8 NICs a host on its leaf, 4 cables from each leaf to the top.
TEST_CASE("slurm: several GPUs and NICs a host, several cables a line") {
  const Topology topology =
      ReadText(kTreeConf, "topology.conf")
          .build(
              R"("gpus_per_host": 8, "nvlink": {"bandwidth": "450GB/s"}, "gpu": "H100-80",
         "nic": {"bandwidth": "400Gbps"}, "switch_link": {"bandwidth": "400Gbps", "count": 4})");
  CHECK(topology.gpu_count() == 88);
  CHECK(count_tier(topology, Tier::leaf) == 2 * 88);
  CHECK(count_tier(topology, Tier::minipod) == 2 * 12);
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{87}) == 16);
  check_every_pair(topology);
}

// LinkSpeed=400 of 1 Gb/s each on the cables below "top"; the hosts' cables have none.
TEST_CASE("slurm: LinkSpeed needs a unit, and then decides") {
  const ReadText file(replaced(kTreeConf, "SwitchName=top", "SwitchName=top LinkSpeed=400"),
                      "topology.conf");
  const std::string nic = R"("nic": {"bandwidth": "200Gbps"})";
  CHECK(file.refused_with(nic, "topology.conf:5: LinkSpeed=400 has no unit in Slurm"));
  CHECK(file.refused_with(kLinks + R"(, "link_speed_unit": "1Gbps")",
                          "\"switch_link\": the file states the speed of all these links"));
  const Topology topology = file.build(nic + R"(, "link_speed_unit": "1Gbps")");
  for (const Link& link : topology.links()) {
    if (link.tier == Tier::minipod) CHECK(link.capacity == Bandwidth(50'000'000'000));
  }
}

TEST_CASE("slurm: what contradicts itself is refused with its lines") {
  const auto refused = [](const std::string& from, const std::string& to,
                          const std::string& words) {
    return ReadText(replaced(kTreeConf, from, to), "topology.conf").refused_with(kLinks, words);
  };
  CHECK(refused("node[04-05]", "node[03-05]",
                "topology.conf:3: node node03 is below leaf2 here, and listed before at "));
  CHECK(refused("SwitchName=leaf3", "SwitchName=leaf2",
                "topology.conf:4: duplicate name \"leaf2\": first at "));
  CHECK(refused("leaf[1-2],", "leaf[1-2],leaf4,", "topology.conf:5: there is no switch \"leaf4\""));
  CHECK(refused("leaf[1-2],", "leaf[1-2],top,", "switch top is above itself"));
  CHECK(refused("leaf[1-2],", "leaf[1,1-2],", "switch top lists leaf1 twice"));
  CHECK(refused("leaf[1-2],", "leaf1,", "disconnected: there is no path from switch"));
  CHECK(refused("Nodes=node[01", "Node=node[01", "unknown key \"node\"; did you mean \"Nodes\"?"));
  CHECK(refused("Nodes=node[01-03,10]", "Nodes=node[03-01]", "the range 03-01 runs backwards"));
  CHECK(refused("SwitchName=leaf3 Nodes", "SwitchName=leaf3 Switches=leaf1 Nodes",
                "has Nodes and Switches"));
  CHECK(refused("SwitchName=leaf3", "BlockName=leaf3", "a tree or blocks, not both"));
}

// Four blocks of 4 nodes; sizes 4 and 8 join blocks by two, and one switch joins the two pairs:
// three levels, so pairs are minipods.
TEST_CASE("slurm: blocks and their sizes") {
  const std::string text = R"(BlockName=b1 Nodes=n[01-04]
BlockName=b2 Nodes=n[05-08]
BlockName=b3 Nodes=n[09-12]
BlockName=b4 Nodes=n[13-16]
BlockSizes=4,8
)";
  const Topology topology = ReadText(text, "topology.conf").build(kLinks);
  CHECK(topology.hosts().size() == 16);
  CHECK(topology.leaf_count() == 4);
  CHECK(topology.minipod_count() == 2);
  CHECK(topology.minipod_name(MinipodId{1}) == "blocks-of-8-nodes-1");
  CHECK(count_kind(topology, NodeKind::core) == 1);
  check_every_pair(topology);
  const auto refused = [&text](const std::string& from, const std::string& to,
                               const std::string& words) {
    return ReadText(replaced(text, from, to), "topology.conf").refused_with(kLinks, words);
  };
  CHECK(refused("4,8", "4,12", "BlockSizes: 12 is not 4 times a power of two above 1"));
  CHECK(refused("4,8", "5", "block b1 has 4 nodes, fewer than the block size 5 at "));
  CHECK(refused("n[05-08]", "n[04-08]", "listed before at "));
  CHECK(refused("BlockName=b2 ", "BlockName=b2 LinkSpeed=1 ", "a block has Nodes only"));
}

// 3 minipods of 2 leaves × 2 hosts: what our own writer says of them reads back with the same hosts
// below the same leaves and minipods.
TEST_CASE("slurm: what our writer writes is read back") {
  const Topology before = build_text(
      R"({"builder": "clos", "gpu": "A100-80", "gpus_per_host": 1, "nvlink": {"bandwidth": "300GB/s"},
          "nic": {"bandwidth": "100Gbps"}, "hosts_per_minipod": [4, 4, 4], "hosts_per_leaf": 2,
          "switch_link": {"bandwidth": "100Gbps"}})");
  std::string text;
  for (const WriterEntry& writer : writer_catalog()) {
    if (writer.name == "slurm") text = writer.write(before);
  }
  const Topology after = ReadText(text, "topology.conf").build(kLinks);
  REQUIRE(after.hosts().size() == 12);
  CHECK(after.leaf_count() == before.leaf_count());
  CHECK(after.minipod_count() == 3);
  for (std::uint32_t h = 0; h < 12; ++h) {
    CHECK(after.host_name(HostId{h}) == before.host_name(HostId{h}));
    CHECK(after.host(HostId{h}).minipod == before.host(HostId{h}).minipod);
    CHECK(after.host(HostId{h}).leaf == before.host(HostId{h}).leaf);
  }
}
