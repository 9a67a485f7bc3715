// Laws of fabrics that are read: every pair is joined, whatever the order of the file and whichever
// links are dead, and a large file is read fast.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "railyard/topology/describe.hpp"
#include "support/infiniband_texts.hpp"
#include "unit/topology/read_support.hpp"

using namespace railyard;
using namespace railyard::topology;
using namespace railyard::topology::test;

namespace {

constexpr std::uint64_t kSeed = 20'261'130;
using railyard::test::FatTree;
using railyard::test::IbFabric;

bool is_disconnected(const ReadText& file) {
  try {
    (void)file.build();
  } catch (const config::ConfigError& error) {
    return std::string(error.what()).find("disconnected") != std::string::npos;
  }
  return false;
}

/// The same nodes and cables in another order, so other LIDs and GUIDs.
IbFabric shuffled(const IbFabric& fabric, Rng& rng) {
  std::vector<std::uint32_t> place(fabric.nodes.size());
  for (std::uint32_t i = 0; i < place.size(); ++i) place[i] = i;
  for (std::size_t i = place.size(); i > 1; --i) std::swap(place[i - 1], place[rng.below(i)]);
  IbFabric out;
  out.nodes.resize(fabric.nodes.size());
  for (std::size_t i = 0; i < place.size(); ++i) out.nodes[place[i]] = fabric.nodes[i];
  out.cables = fabric.cables;
  for (auto& cable : out.cables) {
    cable.a = place[cable.a];
    cable.b = place[cable.b];
  }
  for (std::size_t i = out.cables.size(); i > 1; --i)
    std::swap(out.cables[i - 1], out.cables[rng.below(i)]);
  return out;
}

bool same(const Topology& a, const Topology& b) {
  if (a.node_count() != b.node_count() || a.links().size() != b.links().size()) return false;
  for (std::uint32_t i = 0; i < a.node_count(); ++i) {
    if (a.node_name(NodeId{i}) != b.node_name(NodeId{i})) return false;
  }
  for (std::uint32_t i = 0; i < a.links().size(); ++i) {
    const Link& x = a.link(LinkId{i});
    const Link& y = b.link(LinkId{i});
    if (x.from != y.from || x.to != y.to || x.capacity != y.capacity || x.port != y.port)
      return false;
  }
  return true;
}

}  // namespace

TEST_CASE("the order of nodes and cables in a file changes nothing") {
  Rng rng = RngStreams(kSeed).stream("shuffle");
  const FatTree shapes[] = {
      {.pods = 1, .leaves = 3, .hosts = 4, .spines = 2},
      {.pods = 3, .leaves = 2, .hosts = 3, .spines = 2, .uplinks = 2},
      {.pods = 11, .leaves = 1, .hosts = 2, .spines = 1, .uplinks = 3},
  };
  for (const FatTree& shape : shapes) {
    const IbFabric fabric = railyard::test::infiniband_fat_tree(shape);
    const Topology plain =
        ReadText(railyard::test::ibnetdiscover_text(fabric), "a.ibnetdiscover").build();
    CHECK(plain.minipod_count() == shape.pods);
    check_every_pair(plain);
    for (int turn = 0; turn < 5; ++turn) {
      const IbFabric other = shuffled(fabric, rng);
      CHECK(same(plain,
                 ReadText(railyard::test::ibnetdiscover_text(other), "b.ibnetdiscover").build()));
      CHECK(same(plain, ReadText(railyard::test::iblinkinfo_text(other), "c.iblinkinfo").build()));
    }
  }
}

// Kills one more random link between switches after another until the fabric falls apart: up to
// then every pair is joined, also where no path only climbs and then falls; then it is refused.
TEST_CASE("fabrics that lose link after link join every pair until they are refused") {
  Rng rng = RngStreams(kSeed).stream("dead");
  std::uint64_t read = 0;
  for (int turn = 0; turn < 12; ++turn) {
    IbFabric fabric = railyard::test::infiniband_fat_tree(
        {.pods = 3, .leaves = 2, .hosts = 2, .spines = 2, .uplinks = 2});
    while (true) {
      std::vector<std::size_t> alive;
      for (std::size_t c = 0; c < fabric.cables.size(); ++c) {
        if (!fabric.cables[c].dead && fabric.nodes[fabric.cables[c].b].is_switch)
          alive.push_back(c);
      }
      REQUIRE(!alive.empty());
      fabric.cables[alive[rng.below(alive.size())]].dead = true;
      const ReadText file(railyard::test::iblinkinfo_text(fabric), "a.iblinkinfo");
      if (is_disconnected(file)) break;
      check_every_pair(file.build());
      ++read;
    }
  }
  CHECK(read >= 12 * 2);
}

// 16 pods × 8 leaves × 16 hosts = 2,048 hosts; 16 spines a pod with 8 uplinks each. A cable is two
// ports: 2 × 3 × 2,048 = 12,288. Seconds are of this process's CPU, so that neighbours do not
// count; only optimised builds without sanitizers are held to the bound.
TEST_CASE("an ibnetdiscover file of more than 10,000 ports reads in less than a second") {
  const IbFabric fabric = railyard::test::infiniband_fat_tree(
      {.pods = 16, .leaves = 8, .hosts = 16, .spines = 16, .uplinks = 8, .rate = "4xNDR"});
  CHECK(2 * fabric.cables.size() == 12'288);
  const ReadText file(railyard::test::ibnetdiscover_text(fabric), "a.ibnetdiscover");
  const std::clock_t start = std::clock();
  const Topology topology = file.build();
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  std::printf("ibnetdiscover, %zu ports, %zu GPUs: %.3f s\n", 2 * fabric.cables.size(),
              topology.gpu_count(), seconds);
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(_GLIBCXX_ASSERTIONS)
  CHECK(seconds < 1.0);
#endif
  CHECK(topology.gpu_count() == 2048);
  CHECK(topology.minipod_count() == 16);
  CHECK(topology.paths().path_count(GpuId{0}, GpuId{2047}) == 128);
  check_every_pair(topology);
}
