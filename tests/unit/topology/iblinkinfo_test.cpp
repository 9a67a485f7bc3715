#include <doctest/doctest.h>
#include <fmt/format.h>

#include "support/infiniband_texts.hpp"
#include "unit/topology/read_support.hpp"

using namespace railyard;
using namespace railyard::topology;
using namespace railyard::topology::test;

namespace {

/// Two leaves of two hosts under two spines; HDR to hosts, NDR between switches.
railyard::test::IbFabric small() {
  auto fabric = railyard::test::infiniband_fat_tree({.pods = 1,
                                                     .leaves = 2,
                                                     .hosts = 2,
                                                     .spines = 2,
                                                     .rate = "4xNDR",
                                                     .lanes_and_speed = "4X      106.25 Gbps"});
  for (auto& cable : fabric.cables) {
    if (fabric.nodes[cable.b].is_switch) continue;
    cable.rate = "4xHDR";
    cable.lanes_and_speed = "4X       53.125 Gbps";
  }
  return fabric;
}

/// Empty when two fabrics have the same nodes and links, ports included; else the first difference.
std::string difference(const Topology& a, const Topology& b) {
  if (a.node_count() != b.node_count() || a.links().size() != b.links().size()) {
    return fmt::format("{} nodes and {} links, or {} and {}", a.node_count(), a.links().size(),
                       b.node_count(), b.links().size());
  }
  for (std::uint32_t i = 0; i < a.node_count(); ++i) {
    const NodeId node{i};
    if (a.node_name(node) != b.node_name(node) || a.kind(node) != b.kind(node))
      return fmt::format("node {}: {} or {}", i, a.node_name(node), b.node_name(node));
  }
  for (std::uint32_t i = 0; i < a.links().size(); ++i) {
    const Link& x = a.link(LinkId{i});
    const Link& y = b.link(LinkId{i});
    if (x.from != y.from || x.to != y.to || x.capacity != y.capacity || x.port != y.port ||
        x.tier != y.tier) {
      return fmt::format("link {} or {}", a.link_name(LinkId{i}), b.link_name(LinkId{i}));
    }
  }
  return {};
}

}  // namespace

// 4 hosts × 2 directions on HDR (4 × 50 Gb/s), 2 × 2 cables × 2 directions on NDR (4 × 100 Gb/s).
TEST_CASE("iblinkinfo: the same fabric as ibnetdiscover, port for port") {
  const auto fabric = small();
  const Topology a = ReadText(railyard::test::iblinkinfo_text(fabric), "a.txt").build();
  const Topology b = ReadText(railyard::test::ibnetdiscover_text(fabric), "b.txt").build();
  CHECK(a.builder() == "iblinkinfo");
  CHECK(b.builder() == "ibnetdiscover");
  CHECK(difference(a, b).empty());
  CHECK(count_tier(a, Tier::leaf) == 8);
  CHECK(count_tier(a, Tier::minipod) == 8);
  for (const Link& link : a.links()) {
    if (link.tier == Tier::leaf) CHECK(link.capacity == Bandwidth(25'000'000'000));
    if (link.tier == Tier::minipod) CHECK(link.capacity == Bandwidth(50'000'000'000));
  }
  check_every_pair(a);
}

TEST_CASE("iblinkinfo: ports that are down have no cable") {
  auto fabric = small();
  fabric.cables[0].dead = true;  // spine 1 to leaf 1
  const Topology topology = ReadText(railyard::test::iblinkinfo_text(fabric), "a.txt").build();
  CHECK(count_tier(topology, Tier::minipod) == 6);
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{3}) == 1);
  check_every_pair(topology);
}

TEST_CASE("iblinkinfo: what contradicts itself is refused with its lines") {
  const auto text = railyard::test::iblinkinfo_text(small());
  const auto refused = [&text](const std::string& from, const std::string& to,
                               const std::string& words) {
    return ReadText(replaced(text, from, to), "a.iblinkinfo").refused_with("", words);
  };
  CHECK(refused("106.25 Gbps", "25.78125 Gbps", "runs at 100Gbps, but its other end"));
  CHECK(refused("106.25 Gbps", "7.5 Gbps", "a.iblinkinfo:2: no width and speed that are known"));
  CHECK(refused("\"gpu-0001\"", "\"gpu-0009\"", "here called \"gpu-0009\", but \"gpu-0001\" at"));
  CHECK(ReadText(replaced(replaced(text, "CA: gpu-0002:", "CA: gpu-0001:"), "\"gpu-0002\"",
                          "\"gpu-0001\""),
                 "a.iblinkinfo")
            .refused_with("", "duplicate name \"gpu-0001\": first at"));
  CHECK(refused("Switch: 0x0000000000200000 pod1-spine1:\n    ",
                "0x0000000000200000 \"pod1-spine1\" ", "print it without --line"));
  CHECK(refused("      1    1[  ] ==(", "      0    1[  ] ==(", "no subnet manager"));
  CHECK(refused("      1    1[  ] ==(", "      2    1[  ] ==(", "LID 2 of "));
  CHECK(refused("[  ] ==( 4X", "[  ] ==> 4X", "unknown line"));
}

// The samples print one fabric both ways; the dead link is Down at both ends in one and absent in
// the other.
TEST_CASE("iblinkinfo: true output equals what ibnetdiscover printed of the same fabric") {
  for (const std::string name : {"two_level", "three_level"}) {
    CAPTURE(name);
    const auto a = railyard::test::shared_data("formats/infiniband/" + name + ".iblinkinfo");
    const auto b = railyard::test::shared_data("formats/infiniband/" + name + ".ibnetdiscover");
    if (!a || !b) return;
    const Topology linkinfo = build_path(*a, "");
    const std::string differs = difference(linkinfo, build_path(*b, ""));
    CHECK_MESSAGE(differs.empty(), differs);
    check_every_pair(linkinfo);
  }
}
