// Loads and rates of patterns on a fabric small enough to count by hand: two minipods of one leaf
// with two hosts of two GPUs; NVLink 300 GB/s, PCIe 100 GB/s, NICs 12.5 GB/s a GPU, 4:1
// oversubscribed at the minipod.
#include "railyard/network/traffic.hpp"

#include <doctest/doctest.h>

#include <set>

#include "support/fabric.hpp"

using namespace railyard;
using namespace railyard::network;
using topology::Tier;

namespace {

topology::Topology small() {
  return test::build_fabric(R"({"builder": "clos", "gpu": "A100-80", "gpus_per_host": 2,
    "nvlink": {"bandwidth": "300GB/s", "latency": "10ns"},
    "pcie": {"bandwidth": "100GB/s", "latency": "20ns"},
    "nic": {"bandwidth": "100Gbps", "latency": "300ns", "per_host": 2},
    "hosts_per_minipod": [2, 2], "hosts_per_leaf": 2, "spines_per_minipod": 1, "cores": 1,
    "switch_link": {"bandwidth": "100Gbps", "latency": "400ns"},
    "oversubscription": {"leaf": 1, "minipod": 4}})");
}

constexpr double kNic = 12.5e9;

}  // namespace

// 8 GPUs: ring and shift have 8 flows, all-to-all 8·7, incast 7; a shift of 8 is no traffic at all.
TEST_CASE("patterns have the flows they are named for") {
  const auto fabric = small();
  const auto count = [&fabric](PatternSpec spec) { return flows_of(fabric, spec).size(); };
  CHECK(count({.pattern = Pattern::ring}) == 8);
  CHECK(count({.pattern = Pattern::shift, .distance = 3}) == 8);
  CHECK(count({.pattern = Pattern::shift, .distance = 8}) == 0);
  CHECK(count({.pattern = Pattern::all_to_all}) == 56);
  CHECK(count({.pattern = Pattern::incast, .target = GpuId{3}}) == 7);
  std::set<GpuId> targets;
  for (const auto& flow : flows_of(fabric, {.pattern = Pattern::permutation, .seed = 7})) {
    CHECK(targets.insert(flow.destination).second);
    CHECK(flow.source != flow.destination);
  }
}

// A shift of 4 sends all 4 GPUs of a minipod to the other one: 4 × 12.5 GB/s over one uplink of
// 12.5 GB/s is a load of 4, every flow gets a quarter, and the uplink is full.
TEST_CASE("a shift across minipods loads the uplinks four times over") {
  const auto fabric = small();
  const auto routing = test::make_routing(fabric, "spray");
  const auto flows = flows_of(fabric, {.pattern = Pattern::shift, .distance = 4});
  const Traffic traffic = carry(fabric, *routing, flows);
  for (const double rate : traffic.rate_bytes_per_s) CHECK(rate == doctest::Approx(kNic / 4));
  for (const double alone : traffic.alone_bytes_per_s) CHECK(alone == doctest::Approx(kNic));
  std::size_t hot = 0;
  for (std::size_t i = 0; i < fabric.links().size(); ++i) {
    if (fabric.links()[i].tier != Tier::core) continue;
    CHECK(traffic.links[i].flows == 4);
    CHECK(traffic.links[i].load == doctest::Approx(4));
    CHECK(traffic.links[i].utilization == doctest::Approx(1));
    ++hot;
  }
  CHECK(hot == 4);
  for (const LinkId link : traffic.bottleneck) CHECK(fabric.link(link).tier == Tier::core);
}

// All to all: a GPU's 7 flows share its NIC, so the load that GPU 0 puts on its own NVLink is
// 300/7/300 = 1/7, and on its NIC 6 × 12.5/7/12.5 = 6/7.
TEST_CASE("a sender with many flows demands no more than it could send") {
  const auto fabric = small();
  const auto routing = test::make_routing(fabric, "spray");
  const Traffic traffic =
      carry(fabric, *routing, flows_of(fabric, {.pattern = Pattern::all_to_all}));
  for (std::size_t i = 0; i < fabric.links().size(); ++i) {
    const auto& link = fabric.links()[i];
    if (link.from != fabric.gpu_node(GpuId{0})) continue;
    if (link.tier == Tier::nvlink) CHECK(traffic.links[i].load == doctest::Approx(1.0 / 7));
    if (link.tier == Tier::host)
      CHECK(traffic.links[i].load == doctest::Approx(6.0 / 7 * kNic / 100e9));
  }
}

// Alone a pair gets its NVLink or its NIC. When all 8 GPUs talk to another minipod, 4 share an
// uplink. Latencies: 2·10; 20+300+300+20; and across 4 more links of 400 ns each.
TEST_CASE("levels have the bandwidth of a pair alone and their share when all talk") {
  const auto fabric = small();
  const auto levels = level_bandwidths(fabric, *test::make_routing(fabric, "spray"));
  REQUIRE(levels.size() == 3);
  CHECK(levels[0].tier == Tier::nvlink);
  CHECK(levels[0].alone_bytes_per_s == doctest::Approx(300e9));
  CHECK(levels[0].fair_bytes_per_s == doctest::Approx(300e9));
  CHECK(levels[0].latency == std::chrono::nanoseconds(20));
  CHECK(levels[1].tier == Tier::leaf);
  CHECK(levels[1].alone_bytes_per_s == doctest::Approx(kNic));
  CHECK(levels[1].fair_bytes_per_s == doctest::Approx(kNic));
  CHECK(levels[1].hops == 4);
  CHECK(levels[1].latency == std::chrono::nanoseconds(640));
  CHECK(levels[2].tier == Tier::core);
  CHECK(levels[2].flows == 8);
  CHECK(levels[2].alone_bytes_per_s == doctest::Approx(kNic));
  CHECK(levels[2].fair_bytes_per_s == doctest::Approx(kNic / 4));
  CHECK(levels[2].fair_bytes_per_s_min == doctest::Approx(kNic / 4));
  CHECK(levels[2].latency == std::chrono::nanoseconds(640 + 1600));
}

TEST_CASE("a routing that looks at the load spreads what one that does not piles up") {
  const auto fabric = test::build_fabric(R"({"builder": "fat_tree", "gpu": "A100-80",
    "gpus_per_host": 1, "pcie": {"bandwidth": "100GB/s"}, "nic": {"bandwidth": "100Gbps"},
    "switch_link": {"bandwidth": "100Gbps"}, "k": 4})");
  const auto flows = flows_of(fabric, {.pattern = Pattern::shift, .distance = 4});
  const auto least = [&](const char* routing) {
    const Traffic traffic = carry(fabric, *test::make_routing(fabric, routing), flows);
    return *std::min_element(traffic.rate_bytes_per_s.begin(), traffic.rate_bytes_per_s.end());
  };
  CHECK(least("shortest") < 0.6 * kNic);
  CHECK(least("adaptive") > least("shortest"));
  CHECK(least("spray") == doctest::Approx(kNic));
}
