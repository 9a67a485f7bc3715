// What is written is read back the same; what a format cannot say is refused by name.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "railyard/topology/describe.hpp"
#include "railyard/topology/writer.hpp"
#include "topology/readers/htsim.hpp"
#include "unit/topology/support.hpp"

using namespace railyard;
using namespace railyard::topology;
using namespace railyard::topology::test;

namespace {

std::string refused(const Topology& topology, std::string_view format) {
  try {
    (void)written(topology, format);
  } catch (const config::ConfigError& error) {
    return error.what();
  }
  return {};
}

/// Every link by the names of its ends, with what it can do: an order that no numbering changes.
std::vector<std::string> links_of(const Topology& topology) {
  std::vector<std::string> out;
  for (const Link& link : topology.links()) {
    out.push_back(fmt::format("{} {} {} {} {}", topology.node_name(link.from),
                              topology.node_name(link.to), link.capacity.bytes_per_s(),
                              link.latency.count(), name(link.tier)));
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> nodes_of(const Topology& topology) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < topology.node_count(); ++i) {
    const auto node = static_cast<NodeId>(i);
    out.push_back(fmt::format("{} {}", topology.node_name(node), name(topology.kind(node))));
  }
  return out;
}

std::vector<std::string> hosts_of(const Topology& topology) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < topology.gpu_count(); ++i) {
    const auto gpu = static_cast<GpuId>(i);
    const HostId host = topology.host_of(gpu);
    out.push_back(fmt::format("{} {} {} {}", topology.node_name(topology.gpu_node(gpu)),
                              topology.node_name(topology.nic_node(gpu)), topology.host_name(host),
                              topology.minipod_name(topology.host(host).minipod)));
  }
  return out;
}

constexpr std::string_view kClos = R"({"builder": "clos", "gpu": "A100-80", "gpus_per_host": 4,
  "nvlink": {"bandwidth": "300GB/s", "latency": "40ns"}, "pcie": {"bandwidth": "31GB/s"},
  "nic": {"bandwidth": "100Gbps", "latency": "1.5us", "per_host": 2, "efficiency": 0.91},
  "hosts_per_minipod": [3, 2], "hosts_per_leaf": 2, "spines_per_minipod": 2, "cores": 2,
  "switch_link": {"bandwidth": "100Gbps", "latency": "0.55us"}})";

constexpr std::string_view kXgft = R"({"builder": "fat_tree", "gpu": "A100-80", "gpus_per_host": 1,
  "pcie": {"bandwidth": "31GB/s", "latency": "100ns"},
  "nic": {"bandwidth": "100Gbps", "latency": "1us"},
  "switch_link": {"bandwidth": "200Gbps", "latency": "700ns"},
  "xgft": {"m": [4, 2, 2], "w": [1, 1, 2], "parallel": [1, 2, 1]}})";

}  // namespace

TEST_CASE("our JSON gives back the same nodes, links and hosts") {
  for (const std::string_view text : {kClos, kXgft}) {
    const Topology before = build_text(text);
    const Topology after = build_text(written(before, "json"));
    CHECK(nodes_of(after) == nodes_of(before));
    CHECK(links_of(after) == links_of(before));
    CHECK(hosts_of(after) == hosts_of(before));
    CHECK(after.gpu_kind() == before.gpu_kind());
  }
}

// Links in their own order too: the numbers of a result stay the same.
TEST_CASE("our JSON keeps the order of links") {
  const Topology before = build_text(kClos);
  const Topology after = build_text(written(before, "json"));
  REQUIRE(after.links().size() == before.links().size());
  for (std::size_t i = 0; i < before.links().size(); ++i) {
    CHECK(after.link_name(static_cast<LinkId>(i)) == before.link_name(static_cast<LinkId>(i)));
  }
}

TEST_CASE("our JSON says one-way links, parallel ones, foreign tiers and a NIC out of order") {
  const std::string text = R"({"builder": "graph", "gpu": "A100-80",
    "nodes": [{"name": "a", "kind": "gpu", "host": "x", "nic": "q"},
              {"name": "b", "kind": "gpu", "host": "x", "nic": "p"},
              {"name": "p", "kind": "nic", "host": "x"}, {"name": "q", "kind": "nic", "host": "x"},
              {"name": "s", "kind": "leaf", "minipod": "m"}],
    "links": [{"from": "a", "to": "b", "bandwidth": "1000000001B/s", "latency": "10ps", "count": 2},
              {"from": "a", "to": "q", "bandwidth": "25GB/s"},
              {"from": "b", "to": "p", "bandwidth": "25GB/s"},
              {"from": "p", "to": "s", "bandwidth": "100Gbps", "tier": "core"},
              {"from": "q", "to": "s", "bandwidth": "100Gbps", "one_way": true},
              {"from": "s", "to": "q", "bandwidth": "200Gbps", "one_way": true}]})";
  const Topology before = build_text(text);
  CHECK(before.node_name(before.nic_node(GpuId{0})) == "q");
  const Topology after = build_text(written(before, "json"));
  CHECK(links_of(after) == links_of(before));
  CHECK(hosts_of(after) == hosts_of(before));
  CHECK(refused(before, "simai").find("q->s has no equal link back") != std::string::npos);
}

TEST_CASE("a GPU that names a NIC of another host is refused") {
  CHECK(refused_with(R"({"builder": "graph", "gpu": "A100-80",
    "nodes": [{"name": "a", "kind": "gpu", "host": "x", "nic": "q"},
              {"name": "b", "kind": "gpu", "host": "y"},
              {"name": "q", "kind": "nic", "host": "y"}],
    "links": [{"from": "a", "to": "b", "bandwidth": "1GB/s"}]})",
                     "a names \"q\", which is no NIC of host \"x\""));
}

// The xgft has 4·2·2 = 16 hosts in 2 minipods; its way to the leaf costs 100 + 100 + 1000 ns.
TEST_CASE("htsim's .topo is written for a fat-tree that htsim would wire alike") {
  const std::string text = written(build_text(kXgft), "htsim");
  CHECK(text.find("Nodes 16\nTiers 3\nPodsize 8\n") == 0);
  CHECK(text.find("Downlink_Latency_ns 1200") != std::string::npos);
  config::Errors errors;
  const Topology once = read_htsim(config::TextLines::parse_text(text, "x.topo"), "", errors);
  errors.throw_if_any();
  CHECK(written(once, "htsim") == text);
}

TEST_CASE("htsim's .topo is refused where htsim has no words for a fabric") {
  CHECK(refused(build_text(kClos), "htsim").find("serves several GPUs") != std::string::npos);
  const auto changed = [](std::string_view from, std::string_view to) {
    return refused(build_text(replaced(std::string(kXgft), from, to)), "htsim");
  };
  CHECK(changed("\"200Gbps\"", "\"150Gbps\"").find("1.33333:1, no whole number") !=
        std::string::npos);
  CHECK(changed("700ns", "700.5ns").find("700500ps is no whole number of ns") != std::string::npos);
}

// One host more than the first minipod: htsim's pods are all alike.
TEST_CASE("htsim's .topo is refused for uneven minipods") {
  constexpr std::string_view kUneven = R"({"builder": "clos", "gpu": "A100-80",
    "gpus_per_host": 1, "pcie": {"bandwidth": "31GB/s"}, "nic": {"bandwidth": "100Gbps"},
    "leaf_hosts": [[2, 2], [2, 1]], "hosts_per_leaf": 2, "spines_per_minipod": 2, "cores": 2,
    "switch_link": {"bandwidth": "100Gbps"}})";
  CHECK(!refused(build_text(kUneven), "htsim").empty());
}

// Two hosts h-8, h-9 on leaf-0, h-10 on leaf-1: runs of one width only.
TEST_CASE("Slurm's topology.conf lists leaves, minipods and the core") {
  CHECK(written(build_text(kClos), "slurm") ==
        "SwitchName=minipod-0/leaf-0 Nodes=host-[0-1]\n"
        "SwitchName=minipod-0/leaf-1 Nodes=host-2\n"
        "SwitchName=minipod-1/leaf-0 Nodes=host-[3-4]\n"
        "SwitchName=minipod-0 Switches=minipod-0/leaf-[0-1]\n"
        "SwitchName=minipod-1 Switches=minipod-1/leaf-0\n"
        "SwitchName=core Switches=minipod-[0-1]\n");
}

TEST_CASE("a drawing names every node and cable") {
  const Topology topology = build_text(kClos);
  const std::string text = written(topology, "graphviz");
  for (std::size_t i = 0; i < topology.node_count(); ++i)
    CHECK(text.find(topology.node_name(static_cast<NodeId>(i))) != std::string::npos);
  std::size_t edges = 0;
  for (std::size_t at = text.find("->"); at != std::string::npos; at = text.find("->", at + 1))
    ++edges;
  CHECK(edges <= topology.links().size() / 2);
  CHECK(text.find("×") != std::string::npos);
}
