// Files that draw a fabric node by node: read as they stand, refused by line where they contradict
// themselves.
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

/// 8 GPUs in two servers with an NVSwitch each; rails 0 to 3 on four leaves, two spines.
std::string simai() {
  std::string links;
  std::size_t count = 0;
  const auto add = [&](int a, int b, std::string_view rate) {
    links += fmt::format("{} {} {} 0.0005ms 0\n", a, b, rate);
    ++count;
  };
  for (int gpu = 0; gpu < 8; ++gpu) {
    add(gpu, 8 + gpu / 4, "2880Gbps");
    add(gpu, 10 + gpu % 4, "400Gbps");
  }
  for (int leaf = 10; leaf < 14; ++leaf) {
    for (int spine = 14; spine < 16; ++spine) add(leaf, spine, "200Gbps");
  }
  return fmt::format("16 4 2 6 {} H100\n8 9 10 11 12 13 14 15\n{}", count, links);
}

}  // namespace

// 2,880 Gb/s = 360 GB/s; two hops of 0.5 us inside a server, two on a rail, four across rails.
TEST_CASE("a SimAI file has its servers, NVSwitches, leaves and spines") {
  const Topology topology = read(simai());
  CHECK(topology.gpu_kind() == "H100");
  CHECK(topology.hosts().size() == 2);
  CHECK(count_kind(topology, NodeKind::nvswitch) == 2);
  CHECK(count_kind(topology, NodeKind::leaf) == 4);
  CHECK(count_kind(topology, NodeKind::spine) == 2);
  CHECK(count_kind(topology, NodeKind::core) == 0);
  using std::chrono::nanoseconds;
  const Route inside = route_between(topology, 0, 3);
  CHECK(inside.tier == Tier::nvlink);
  CHECK(inside.latency == nanoseconds(1'000));
  CHECK(topology.link(inside.links[0].link).capacity == Bandwidth(360'000'000'000));
  CHECK(route_between(topology, 1, 5).latency == nanoseconds(1'000));
  CHECK(route_between(topology, 1, 6).latency == nanoseconds(2'000));
  CHECK(every_pair_reachable(topology));
}

TEST_CASE("a SimAI file that contradicts itself is refused by its line") {
  const auto changed = [](std::string_view from, std::string_view to, std::string_view words) {
    return says(replaced(simai(), from, to), words);
  };
  CHECK(changed("16 4 2 6 24", "16 4 2 6 25", "x:1: 25 links are announced, and 24 follow"));
  CHECK(changed("16 4 2 6", "16 3 2 6", "x:1: 8 GPUs are no whole servers of 3"));
  CHECK(changed("16 4 2 6", "17 4 2 7", "x:2: line 1 says 9 NVSwitches and switches, here are 8"));
  CHECK(changed("8 9 10", "8 9 9", "x:2: switch 9 stands here twice"));
  CHECK(changed("8 9 10", "8 9 99", "\"99\" is no node: they are 0 to 15"));
  CHECK(changed("0 8 2880Gbps 0.0005ms 0", "0 8 2880Gbps 0.0005ms 0.01",
                "x:3: an error rate of \"0.01\": losses are not modelled"));
  CHECK(changed("0 8 2880Gbps", "0 8 2880", "\"2880\" is no bandwidth with its unit"));
  CHECK(changed("0 8 2880Gbps", "0 0 2880Gbps", "x:3: a cable from node 0 to itself"));
  CHECK(changed("4 9 2880Gbps", "4 8 2880Gbps", "NVSwitch 8 is in server 0 and here in server 1"));
  CHECK(changed("0 10 400Gbps", "0 5 400Gbps", "GPUs 0 and 5 stand in two servers"));
  CHECK(changed("10 14 200Gbps", "8 14 200Gbps", "NVSwitch 8 is cabled to switch 14"));
  CHECK(changed("0 8 2880Gbps 0.0005ms 0", "0 8 2880Gbps 0.0005ms", "found 4 words"));
}

TEST_CASE("a SimAI file is written back the same") {
  const std::string text = written(read(simai()), "simai");
  CHECK(written(read(text), "simai") == text);
  const Topology again = read(text);
  CHECK(again.links().size() == read(simai()).links().size());
}

// The clos has 2 NICs a host for 2 GPUs; from GPU to leaf 0.5 + 1 us and the slower 12.5 GB/s.
TEST_CASE("a fabric with NICs is written for SimAI with one cable for the way to the leaf") {
  const Topology clos = build_text(R"({"builder": "clos", "gpu": "A100-80", "gpus_per_host": 2,
    "nvlink": {"bandwidth": "300GB/s"}, "pcie": {"bandwidth": "31GB/s", "latency": "0.5us"},
    "nic": {"bandwidth": "100Gbps", "latency": "1us", "per_host": 2},
    "hosts_per_minipod": [2, 2], "hosts_per_leaf": 1, "spines_per_minipod": 2, "cores": 2,
    "switch_link": {"bandwidth": "100Gbps", "latency": "1us"}})");
  const Topology back = read(written(clos, "simai"));
  CHECK(back.gpu_kind() == "A100-80");
  CHECK(back.hosts().size() == clos.hosts().size());
  CHECK(back.minipod_count() == 2);
  for (std::uint32_t gpu = 1; gpu < clos.gpu_count(); ++gpu) {
    const Route here = route_between(clos, 0, gpu);
    const Route there = route_between(back, 0, gpu);
    CHECK(here.latency == there.latency);
    CHECK(here.tier == there.tier);
  }
}

// Found by fuzzing: a leaf that comes before its host was taken for a node of a host.
TEST_CASE("a fabric whose switches come first is written for SimAI") {
  const Topology topology = read("from,to,bandwidth,latency\nleaf,a,100Gbps,\nleaf,b,100Gbps,\n");
  CHECK(written(topology, "simai") ==
        "3 1 0 1 2 unknown\n2\n0 2 100Gbps 0ns 0\n1 2 100Gbps 0ns 0\n");
}

// Found by fuzzing: bytes that are no UTF-8 went into JSON, which nobody could read back.
TEST_CASE("names that are no text are not written") {
  const Topology topology =
      read("from,to,bandwidth,latency\nleaf,a\xff,100Gbps,\nleaf,b,100Gbps,\n");
  CHECK_THROWS_AS((void)written(topology, "json"), config::ConfigError);
  CHECK_THROWS_AS((void)written(topology, "graphml"), config::ConfigError);
}

// Found by fuzzing: yaml-cpp 0.7 reads documents for ever.
TEST_CASE("broken YAML ends") {
  CHECK(says("topology: [ Ring ]\nnpus_count: [ 8 ]\n,atency: [ 0 ]\n", "is no YAML"));
}

// 400 GB/s of 2^30 bytes = 429,496,729,600 bytes/s; two hops of 936.25 ns.
TEST_CASE("ASTRA-sim's switch is an NVLink island of one host") {
  const Topology topology = read(
      "topology: [ Switch ]\nnpus_count: [ 8 ]\nbandwidth: [ 400.0 ]  # GB/s\nlatency: [ 936.25 "
      "]\n");
  CHECK(topology.hosts().size() == 1);
  CHECK(topology.gpu_count() == 8);
  for (const Link& link : topology.links()) CHECK(link.capacity == Bandwidth(429'496'729'600));
  const Route route = route_between(topology, 2, 7);
  CHECK(route.tier == Tier::nvlink);
  CHECK(route.latency == std::chrono::nanoseconds(1'872) + Duration(50));  // ticks of 10 ps
}

// On a ring of 8, NPU 0 and 3 are three hops of 500 ns apart; 0 and 4 are four, over two ways.
TEST_CASE("ASTRA-sim's ring forwards at the routers of its NPUs") {
  const Topology topology =
      read("topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n");
  CHECK(topology.hosts().size() == 8);
  CHECK(topology.minipod_count() == 1);
  CHECK(route_between(topology, 0, 3).latency == std::chrono::nanoseconds(1'500));
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{4}) == 2);
  CHECK(every_pair_reachable(topology));
}

// Switch of 2 × Ring of 3: NPU 5 = (1, 2) and NPU 0 = (0, 0) differ in both: 2 × 10 + 30 ns. NPU 1
// = (1, 0) has the switch of the line 0 to itself and NPU 0.
TEST_CASE("dimension 0 of ASTRA-sim counts fastest and makes the minipods") {
  const Topology topology = read(
      "topology: [ Switch, Ring ]\nnpus_count: [ 2, 3 ]\nbandwidth: [ 100, 50 ]\nlatency: [ 10, 30 "
      "]\n");
  CHECK(topology.gpu_count() == 6);
  CHECK(topology.minipod_count() == 3);
  CHECK(route_between(topology, 0, 1).latency == std::chrono::nanoseconds(20));
  CHECK(route_between(topology, 0, 1).tier == Tier::minipod);
  CHECK(route_between(topology, 0, 5).latency == std::chrono::nanoseconds(50));
  CHECK(route_between(topology, 0, 5).tier == Tier::core);
  CHECK(every_pair_reachable(topology));
}

TEST_CASE("an ASTRA-sim file that contradicts itself is refused by its line") {
  const std::string text =
      "topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n";
  const auto changed = [&text](std::string_view from, std::string_view to, std::string_view words) {
    return says(replaced(text, from, to), words);
  };
  CHECK(changed("[ 8 ]", "[ 8, 2 ]", "x:2: 1 dimensions of \"topology\", 2 of \"npus_count\""));
  CHECK(changed("[ 8 ]", "[ 1 ]", "x:2: expected 2 to 65536 NPUs, not 1"));
  CHECK(changed("Ring", "Torus", "x:1: \"Torus\" is none of Ring, FullyConnected, Switch"));
  CHECK(changed("50.0", "fast", "x:3: \"fast\" is no number"));
  CHECK(changed("50.0", "-50.0", "x:3: a link of -53687091200 bytes/s"));
  CHECK(changed("500.0", "5e12", "x:4: a latency of 5000000000000 ns"));
  CHECK(changed("latency:", "latencies:", "unknown key \"latencies\""));
  CHECK(changed("[ 50.0 ]", "[ 50.0", "is no YAML"));
}

TEST_CASE("the published ASTRA-sim files are read") {
  for (const std::string file : {"HGX-H100-validated.yml", "Ring_8npus.yml"}) {
    const auto path = railyard::test::shared_data("formats/astra-sim/" + file);
    if (!path) continue;
    config::Errors errors;
    const Topology topology = build_file(*path, errors);
    errors.throw_if_any();
    CHECK(topology.gpu_count() == 8);
    CHECK(every_pair_reachable(topology));
  }
}

TEST_CASE("GraphML gives back the same nodes and links") {
  const Topology before = build_text(R"({"builder": "clos", "gpu": "A100-80", "gpus_per_host": 2,
    "nvlink": {"bandwidth": "300GB/s"}, "pcie": {"bandwidth": "31GB/s", "latency": "0.5us"},
    "nic": {"bandwidth": "100Gbps", "latency": "1.25us", "per_host": 1, "efficiency": 0.93},
    "hosts_per_minipod": [2, 1], "hosts_per_leaf": 1, "spines_per_minipod": 1, "cores": 1,
    "switch_link": {"bandwidth": "100Gbps", "latency": "1us"}})");
  const std::string text = written(before, "graphml");
  const Topology after = read(text);
  CHECK(after.gpu_kind() == "A100-80");
  CHECK(written(after, "graphml") == text);
  CHECK(written(after, "json") == written(before, "json"));
}

namespace {

constexpr std::string_view kGraphml = R"(<?xml version="1.0"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="k" for="node" attr.name="kind" attr.type="string"/>
  <key id="h" for="node" attr.name="host" attr.type="string"/>
  <key id="b" for="edge" attr.name="bandwidth" attr.type="string"/>
  <key id="l" for="edge" attr.name="latency_ps" attr.type="double"/>
  <graph edgedefault="undirected">
    <node id="a"><data key="k">gpu</data><data key="h">x</data></node>
    <node id="b"><data key="k">gpu</data><data key="h">y</data></node>
    <node id="s"><data key="k">leaf</data></node>
    <edge source="a" target="s"><data key="b">100Gbps</data><data key="l">250000</data></edge>
    <edge source="b" target="s"><data key="b">100Gbps</data></edge>
  </graph>
</graphml>
)";

}  // namespace

TEST_CASE("undirected GraphML of others has cables") {
  const Topology topology = read(kGraphml, R"("gpu": "H100")");
  CHECK(topology.gpu_kind() == "H100");
  CHECK(topology.links().size() == 4);
  CHECK(route_between(topology, 0, 1).latency == std::chrono::nanoseconds(250));
}

TEST_CASE("GraphML that says too little is refused by its line") {
  const auto changed = [](std::string_view from, std::string_view to, std::string_view words) {
    return says(replaced(std::string(kGraphml), from, to), words);
  };
  CHECK(changed(">leaf<", ">router<", "x:10: node \"n2\" needs a kind: gpu, nvswitch"));
  CHECK(changed("<data key=\"h\">y</data>", "", "x:9: a gpu names a host"));
  CHECK(changed("100Gbps</data></edge>", "fast</data></edge>",
                "x:12: n1 to n2: \"fast\" is no bandwidth with its unit"));
  CHECK(changed("target=\"s\"><data key=\"b\">100Gbps</data></edge>",
                "target=\"b\"><data key=\"b\">100Gbps</data></edge>",
                "a link from a node to itself"));
  CHECK(changed("</graph>", "", "is no GraphML"));
  CHECK(changed("<edge source=\"b\" target=\"s\"><data key=\"b\">100Gbps</data></edge>", "",
                "x: disconnected: there is no path from"));
}

// h0, h1 on l0; h2 on l1; both leaves on one spine, two cables each.
TEST_CASE("a list of cables finds its hosts and its tiers") {
  const std::string text =
      "from,to,bandwidth,latency\nh0,l0,100Gbps,500ns\nh1,l0,100Gbps,500ns\nh2,l1,100Gbps,500ns\n"
      "l0,s0,200Gbps,1us\nl0,s0,200Gbps,1us\nl1,s0,200Gbps,1us\nl1,s0,200Gbps,1us\n";
  const Topology topology = read(text);
  CHECK(topology.hosts().size() == 3);
  CHECK(topology.leaf_count() == 2);
  CHECK(count_kind(topology, NodeKind::spine) == 1);
  CHECK(topology.links().size() == 14);
  CHECK(route_between(topology, 0, 1).tier == Tier::leaf);
  CHECK(route_between(topology, 0, 2).latency == std::chrono::nanoseconds(3'000));
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{2}) == 4);
  CHECK(every_pair_reachable(topology));
  CHECK(says(text + "s0,l0,200Gbps,1us\n", "x:9: s0 to l0 stands the other way round at x:5"));
  CHECK(says(text + "h0,h2,1Gbps,\n", "x:9: h0 and h2 are both hosts", R"("host_names": ["h*"])"));
  CHECK(says(text + "h3,h3,1Gbps,\n", "a link from a node to itself"));
  CHECK(says(text + "h3,l0,1,\n", "x:9: \"1\" is no bandwidth with its unit"));
  CHECK(says(text + "a,b,1Gbps,\nb,c,1Gbps,\n", "disconnected"));
}

TEST_CASE("a list of links wants every direction, alike") {
  const std::string head = "from,to,bandwidth,latency\n";
  const std::string half = "h0,s,100Gbps,\nh1,s,100Gbps,\ns,h0,100Gbps,\n";
  const std::string keys = R"("rows": "links")";
  CHECK(error_of(head + half + "s,h1,100Gbps,\n", keys).empty());
  CHECK(says(head + half, "x:3: the link from h1 to s has no link back", keys));
  CHECK(says(head + half + "s,h1,50Gbps,\n",
             "x:3: the links between h1 and s differ in number, bandwidth or latency", keys));
}
