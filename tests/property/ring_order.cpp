// Laws of ring orders that follow the fabric.
#include "railyard/topology/ring_order.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "railyard/core/rng.hpp"
#include "railyard/training/collective_run.hpp"
#include "support/fabric.hpp"

namespace railyard::test {

using collective::Operation;
using collective::RingOrder;

namespace {

/// So many GPUs drawn from all of the fabric, in any order.
std::vector<GpuId> random_group(const topology::Topology& fabric, std::uint64_t seed,
                                std::size_t count) {
  std::vector<GpuId> gpus;
  for (std::size_t g = 0; g < fabric.gpu_count(); ++g) gpus.push_back(static_cast<GpuId>(g));
  RngStreams(seed).stream("group").shuffle(std::span(gpus));
  gpus.resize(count);
  return gpus;
}

std::vector<GpuId> along_ring(const topology::Topology& fabric, const std::vector<GpuId>& group) {
  std::vector<GpuId> ring;
  for (const std::uint32_t rank : topology::ring_order(fabric, group)) ring.push_back(group[rank]);
  return ring;
}

/// Changes that no ring over so many different places can do without.
std::uint32_t least(std::size_t places) {
  return places > 1 ? static_cast<std::uint32_t>(places) : 0;
}

}  // namespace

// A ring has to enter every island, leaf and minipod that holds one of its GPUs: so many changes
// are the least there can be, and the order has no more.
TEST_CASE("a ring that follows the fabric enters each island, leaf and minipod once") {
  const auto fabric = build_fabric(plain_clos("[24, 16, 8]"));
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const auto group = random_group(fabric, seed, 2 + seed * 7 % 150);
    const auto ring = along_ring(fabric, group);
    CHECK(std::is_permutation(ring.begin(), ring.end(), group.begin(), group.end()));
    std::set<HostId> hosts;
    std::set<LeafId> leaves;
    std::set<MinipodId> minipods;
    for (const GpuId gpu : group) {
      hosts.insert(fabric.host_of(gpu));
      leaves.insert(fabric.host(fabric.host_of(gpu)).leaf);
      minipods.insert(fabric.host(fabric.host_of(gpu)).minipod);
    }
    const auto crossings = topology::ring_crossings(fabric, ring);
    CHECK(crossings.islands == least(hosts.size()));
    CHECK(crossings.leaves == least(leaves.size()));
    CHECK(crossings.minipods == least(minipods.size()));
  }
}

TEST_CASE("a group that lies in order keeps its order") {
  const auto fabric = build_fabric(plain_clos("[16, 16]"));
  std::vector<GpuId> group;
  for (std::uint32_t g = 0; g < 256; ++g) group.push_back(GpuId{g});
  const auto order = topology::ring_order(fabric, group);
  CHECK(std::is_sorted(order.begin(), order.end()));
}

// 4:1 above the leaves, 2:1 above the minipods, sprayed: whatever the placement, on an idle fabric
// no ring is slower for following it, in either form.
TEST_CASE("following the fabric never takes longer than the order of ranks") {
  const auto fabric = build_fabric(plain_clos("[24, 16]", 4, 2));
  auto network = free_of_latency(fabric, "spray");
  network.protocol = collective::Protocol{};
  std::size_t faster = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const auto group = random_group(fabric, seed, 4 + seed * 5 % 44);
    for (const auto form : {training::Execution::coupled, training::Execution::stepped}) {
      network.execution = form;
      for (const auto operation : {Operation::all_reduce, Operation::all_gather}) {
        const auto size = static_cast<std::int64_t>(group.size()) << 20U;  // equal chunks
        const collective::Request request{operation, Bytes(size), {}};
        const auto by_rank = training::collective_time(fabric, group, request, "ring", network);
        const auto by_fabric =
            training::collective_time(fabric, group, request, "ring", network, RingOrder::topology);
        CHECK(by_fabric <= by_rank);
        if (by_fabric < by_rank) ++faster;
      }
    }
  }
  CHECK(faster > 60);
}

// Fewer flows cross the spines, so fewer meet there; which ones meet is another draw of the hash,
// so one placement alone may lose.
TEST_CASE("under ECMP rings that follow the fabric collide less in the mean") {
  const auto fabric = build_fabric(plain_clos("[24, 16]", 4, 2));
  auto network = free_of_latency(fabric, "ecmp");
  double by_rank = 0;
  double by_fabric = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const auto group = random_group(fabric, seed, 32);
    const collective::Request request{Operation::all_reduce, Bytes(std::int64_t{32} << 20U), {}};
    by_rank += in_seconds(training::collective_time(fabric, group, request, "ring", network));
    by_fabric += in_seconds(
        training::collective_time(fabric, group, request, "ring", network, RingOrder::topology));
  }
  CHECK(by_fabric < by_rank);
}

// Eight rails: GPU 7 of one host and GPU 7 of the next hang on one leaf switch, GPU 7 and GPU 0 do
// not. A ring that turns around in every other host stays below the spines.
TEST_CASE("on rails a ring leaves a host on the rail on which it enters the next") {
  const auto fabric = build_fabric(
      R"({"builder": "rail_optimized", "gpu": "A100-80", "gpus_per_host": 8,
          "nvlink": {"bandwidth": "300GB/s", "latency": "0ns"},
          "pcie": {"bandwidth": "100GB/s", "latency": "0ns"},
          "nic": {"bandwidth": "100Gbps", "latency": "0ns", "per_host": 8},
          "hosts_per_minipod": [4],
          "switch_link": {"bandwidth": "400Gbps", "latency": "0ns"}})");
  std::vector<GpuId> group;
  for (std::uint32_t g = 0; g < 32; ++g) group.push_back(GpuId{g});
  const auto ring = along_ring(fabric, group);
  const auto routing = make_routing(fabric, "spray");
  topology::Route route;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    routing->route({ring[i], ring[(i + 1) % ring.size()], 0}, route);
    CHECK(route.tier <= topology::Tier::leaf);
  }
}

}  // namespace railyard::test
