// htsim's .topo: as htsim's loader builds it, refused by line where its numbers disagree.
#include "topology/readers/htsim.hpp"
#include <doctest/doctest.h>
#include "support/shared_data.hpp"
#include "unit/topology/support.hpp"

using namespace railyard;
using namespace railyard::topology;
using namespace railyard::topology::test;

namespace {

/// 16 hosts in 2 pods: 2 ToRs of 4 hosts a pod, 2 aggregation switches a pod, 4 cores.
constexpr std::string_view kSmallTopo = R"(# a comment
Nodes 16
Tiers 3
Podsize 8

Tier 0
Downlink_speed_Gbps 100
Radix_Down 4
Radix_Up 2
Oversubscribed 1
Downlink_Latency_ns 500
Switch_Latency_ns 300
Tier 1
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 700
Switch_Latency_ns 400
Bundle 1
Tier 2
Downlink_speed_Gbps 200
Radix_Down 2
Downlink_Latency_ns 900
Switch_Latency_ns 600
)";

Topology read(std::string_view text) {
  config::Errors errors;
  Topology out =
      read_htsim(config::TextLines::parse_text(std::string(text), "x.topo"), "A100-80", errors);
  errors.throw_if_any();
  return out;
}

std::string error_of(std::string_view text) {
  try {
    (void)read(text);
  } catch (const config::ConfigError& error) {
    return error.what();
  }
  return {};
}

bool says(std::string_view from, std::string_view to, std::string_view words) {
  const std::string message = error_of(replaced(std::string(kSmallTopo), from, to));
  if (message.find(words) != std::string::npos) return true;
  std::printf("says: %s\n", message.c_str());
  return false;
}

Duration latency(const Topology& topology, std::uint32_t a, std::uint32_t b) {
  Route route;
  make_routing(topology, "\"shortest\"")
      ->route({static_cast<GpuId>(a), static_cast<GpuId>(b)}, route);
  return route.latency;
}

std::string link_names(const Topology& topology, NodeId node) {
  std::string out;
  for (std::size_t i = 0; i < topology.out_links(node).size(); ++i) {
    out += topology.link_name(static_cast<LinkId>(index(topology.first_out_link(node)) + i)) + " ";
  }
  return out;
}

NodeId node_named(const Topology& topology, std::string_view name) {
  for (std::size_t i = 0; i < topology.node_count(); ++i) {
    if (topology.node_name(static_cast<NodeId>(i)) == name) return static_cast<NodeId>(i);
  }
  throw std::logic_error("no node " + std::string(name));
}

}  // namespace

// 16 hosts + 4 ToRs + 4 aggregation switches + 2 × 2 cores = 28 nodes. Cables: 16 to hosts, 4 ToRs
// × 2, 4 aggregation switches × 2 = 32, two directions each.
TEST_CASE("an htsim fat-tree has the nodes, cables and speeds that its file says") {
  const Topology topology = read(kSmallTopo);
  CHECK(topology.node_count() == 28);
  CHECK(topology.links().size() == 64);
  CHECK(topology.hosts().size() == 16);
  CHECK(topology.leaf_count() == 4);
  CHECK(topology.minipod_count() == 2);
  CHECK(count_kind(topology, NodeKind::core) == 4);
  for (const Link& link : topology.links()) {
    CHECK(link.capacity == Bandwidth(link.tier == Tier::leaf ? 12'500'000'000 : 25'000'000'000));
  }
  CHECK(topology.host(HostId{9}).minipod == MinipodId{1});
  CHECK(topology.host(HostId{9}).leaf == LeafId{2});
}

// Aggregation switch 3 is number 1 of pod 1: it goes to the cores 1 and 1 + 2.
TEST_CASE("aggregation switches meet the cores that htsim gives them") {
  const Topology topology = read(kSmallTopo);
  CHECK(link_names(topology, node_named(topology, "US3")) ==
        "US3->LS2 US3->LS3 US3->CS1 US3->CS3 ");
  CHECK(link_names(topology, node_named(topology, "HOST5")) == "HOST5->LS1 ");
}

// One way, cables + switches, as htsim's pipes and switches add them up:
//   same ToR   500 + 300 + 500                                                      = 1,300 ns
//   same pod   500 + 300 + 700 + 400 + 700 + 300 + 500                              = 3,400 ns
//   other pod  500 + 300 + 700 + 400 + 900 + 600 + 900 + 400 + 700 + 300 + 500      = 6,200 ns
TEST_CASE("a path through htsim's switches pays each cable and each switch once") {
  using std::chrono::nanoseconds;
  const Topology topology = read(kSmallTopo);
  CHECK(latency(topology, 0, 3) == nanoseconds(1'300));
  CHECK(latency(topology, 0, 4) == nanoseconds(3'400));
  CHECK(latency(topology, 0, 15) == nanoseconds(6'200));
}

TEST_CASE("an htsim file that contradicts itself is refused by its line") {
  REQUIRE(error_of(kSmallTopo).empty());
  CHECK(says("Nodes 16", "Nodes 17", "x.topo:4: pods of 8 do not divide 17 nodes evenly"));
  CHECK(says("Radix_Down 4", "Radix_Down 3", "x.topo:8: 3 hosts a ToR do not divide the pod of 8"));
  CHECK(says("Oversubscribed 1", "Oversubscribed 2",
             "x.topo:10: tier 0 is said to be oversubscribed 2:1, but its 4 ports down and 2 up "
             "make 1:1"));
  CHECK(says("Tier 1\nDownlink_speed_Gbps 200", "Tier 1\nDownlink_speed_Gbps 100",
             "oversubscribed 1:1, but its 4 ports down and 2 up make 2:1"));
  CHECK(says("Radix_Down 2\nRadix_Up 2", "Radix_Down 3\nRadix_Up 2",
             "x.topo:15: 2 ToRs of a pod by bundles of 1 need 2 ports down, not 3"));
  CHECK(says("Radix_Down 2\nDownlink_Latency_ns 900", "Radix_Down 4\nDownlink_Latency_ns 900",
             "2 pods by bundles of 1 need 2 ports down, not 4"));
  CHECK(says("Bundle 1", "Bundle 3", "bundles of 3 do not divide 2 ports"));
  CHECK(says("Tier 2\n", "Tier 2\nRadix_Up 2\n", "tier 2 is the top"));
  CHECK(says("Tiers 3", "Tiers 2", "x.topo:20: tier 2 of 2 tiers"));
  CHECK(says("Tier 1\n", "Tier 0\n", "tier 0 again: first at x.topo:6"));
  CHECK(says("Podsize 8", "Podsise 8", "unknown key \"podsise\"; did you mean \"podsize\"?"));
  CHECK(says("Podsize 8\n", "", "there is no \"podsize\""));
  CHECK(says("Radix_Up 2\nOversub", "Oversub", "tier 0 has no radix_up"));
  CHECK(says("Radix_Up 2", "Radix_Up two", "\"Radix_Up\" needs a whole number, not \"two\""));
  CHECK(says("Radix_Up 2", "Radix_Up 0", "radix_up must be from 1 to"));
  CHECK(says("Radix_Up 2", "Radix_Up 2 2", "expected a key and a number, found 3 words"));
}

// 8,192 hosts on 128 leaves of 64, 16 spines: the file's own numbers; 4:1 by 64 down and 16 up.
TEST_CASE("the published htsim topologies are read") {
  struct Sample {
    std::string file;
    std::size_t hosts;
    std::size_t leaves;
    std::size_t spines;
    std::size_t cores;
  };
  const std::vector<Sample> samples = {{"fat_tree_128_1os.topo", 128, 32, 32, 16},
                                       {"fat_tree_128_4os.topo", 128, 32, 32, 4},
                                       {"fat_tree_1024_1os.topo", 1024, 128, 128, 64},
                                       {"leaf_spine_tiny.topo", 32, 4, 2, 0},
                                       {"leaf_spine_8192_400g_4_to_1.topo", 8192, 128, 16, 0}};
  for (const Sample& sample : samples) {
    const auto path = railyard::test::shared_data("formats/htsim/" + sample.file);
    if (!path) continue;
    config::Errors errors;
    const Topology topology = build_file(*path, errors);
    errors.throw_if_any();
    CAPTURE(sample.file);
    CHECK(topology.hosts().size() == sample.hosts);
    CHECK(count_kind(topology, NodeKind::leaf) == sample.leaves);
    CHECK(count_kind(topology, NodeKind::spine) == sample.spines);
    CHECK(count_kind(topology, NodeKind::core) == sample.cores);
  }
}
