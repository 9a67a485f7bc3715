#include "railyard/topology/describe.hpp"

#include <doctest/doctest.h>

#include "unit/topology/support.hpp"

using namespace railyard;
using namespace railyard::topology;
using namespace railyard::topology::test;

namespace {

std::uint64_t nodes(const Description& description, NodeKind kind) {
  return description.nodes[static_cast<std::size_t>(kind)];
}
const TierSummary& tier(const Description& description, Tier which) {
  return description.tiers[static_cast<std::size_t>(which)];
}

}  // namespace

// NICs: 2,048 × 12.5 GB/s × 0.96 = 24,576 GB/s. Leaf uplinks 35 × 16, of 50 × 0.96 = 48 GB/s. Full
// leaf: 64 × 12 / (16 × 48) = 1; the emptiest last leaf has 2 hosts (34 = 4 × 8 + 2; 26 = 3 × 8 +
// 2): 16 × 12 / 768 = 0.25. Minipod: hosts × 96 GB/s over hosts/2 links of 48 = 4 for all. Halves:
// 40|38, then 36 to the second, 34 to the first, 32 → 74 each so the first, 28 → second, 26 →
// second (106 to 102), 22 → first; the halves have 128 hosts each, so 64 links × 48 GB/s.
TEST_CASE("describe: clos_minipod_2048 in numbers") {
  const Description out = describe(build_file("clos_minipod_2048.json"));
  CHECK(out.gpus == 2048);
  CHECK(nodes(out, NodeKind::nvswitch) == 256);
  CHECK(nodes(out, NodeKind::spine) == 32);
  CHECK(nodes(out, NodeKind::core) == 4);
  CHECK(out.hosts_per_minipod == std::vector<std::uint32_t>{40, 38, 36, 34, 32, 28, 26, 22});
  CHECK(tier(out, Tier::leaf).links == 2 * 2048);
  CHECK(tier(out, Tier::leaf).capacity == Bandwidth(24'576'000'000'000));
  CHECK(tier(out, Tier::minipod).capacity == Bandwidth(35 * 16 * 48'000'000'000));
  CHECK(tier(out, Tier::core).capacity == Bandwidth(128 * 48'000'000'000));
  CHECK(out.leaf.most == doctest::Approx(1.0));
  CHECK(out.leaf.least == doctest::Approx(0.25));
  CHECK(out.leaf.overall == doctest::Approx(24'576.0 / (35 * 16 * 48)));
  CHECK(out.minipod.overall == doctest::Approx(4.0));
  CHECK(out.minipod.least == doctest::Approx(4.0));
  CHECK(out.minipod.most == doctest::Approx(4.0));
  CHECK(out.uplinks_per_minipod[7] == Bandwidth(11 * 48'000'000'000));
  CHECK(out.bisection == Bandwidth(64 * 48'000'000'000));
}

// Inside a host 2 links, on a leaf 4, in a minipod 6, across 8. Two of 2,048 GPUs share a host
// with probability 7/2,047.
TEST_CASE("describe: a seeded sample of pairs gives the same histogram again") {
  const Topology topology = build_file("clos_minipod_2048.json");
  const Description out = describe(topology, 7, 20'000);
  REQUIRE(out.hops.size() == 4);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(out.hops[i].value == static_cast<std::int64_t>(2 + 2 * i));
    CHECK(out.hops[i].pairs == describe(topology, 7, 20'000).hops[i].pairs);
    sum += out.hops[i].pairs;
  }
  CHECK(sum == 20'000);
  CHECK(static_cast<double>(out.hops[0].pairs) ==
        doctest::Approx(20'000.0 * 7 / 2047).epsilon(0.3));
  CHECK(out.latencies.size() == 4);
}

// Rails share their spines: what leaves a unit are all uplinks of its leaves. 8 leaves × 32 × 47.5
// GB/s; 1:1.
TEST_CASE("describe: shared spines belong to no minipod") {
  const Description out = describe(build_file("superpod_h100.json"));
  CHECK(out.uplinks_per_minipod[0] == Bandwidth(8 * 32 * 47'500'000'000));
  CHECK(out.minipod.overall == doctest::Approx(1.0));
  CHECK(out.bisection == Bandwidth(2 * 8 * 32 * 47'500'000'000));
}

TEST_CASE("validate: the shipped fabrics have no fault") {
  for (const char* name : {"clos_minipod_2048.json", "superpod_a100.json", "superpod_h100.json",
                           "lingjun_2023.json"}) {
    CHECK(validate(build_file(name)).empty());
  }
}

TEST_CASE("validate: asymmetric cables are named") {
  const Topology topology = build_text(R"({"builder": "graph", "gpu": "A100-80",
    "nodes": [{"name": "a", "kind": "gpu", "host": "h"}, {"name": "b", "kind": "gpu", "host": "h"},
              {"name": "c", "kind": "gpu", "host": "h"}, {"name": "s", "kind": "nvswitch", "host": "h"}],
    "links": [{"from": "a", "to": "s", "bandwidth": "10GB/s", "one_way": true},
              {"from": "s", "to": "a", "bandwidth": "20GB/s", "one_way": true},
              {"from": "b", "to": "s", "bandwidth": "10GB/s"}, {"from": "c", "to": "s", "bandwidth": "10GB/s"},
              {"from": "a", "to": "b", "bandwidth": "10GB/s", "one_way": true}]})");
  CHECK(validate(topology) ==
        std::vector<std::string>{
            "the link from a to b has no link back",
            "the links between a and s differ in number, capacity or latency by direction"});
}

TEST_CASE("validate: an empty topology has no GPU") {
  CHECK(validate(Topology()).front() == "there is no GPU");
}
