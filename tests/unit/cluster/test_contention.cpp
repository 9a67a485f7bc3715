#include <doctest/doctest.h>

#include "cluster/contention.hpp"
#include "support/fabric.hpp"

using namespace railyard;

namespace {

/// Some link of capacity 50 GB/s (400 Gb/s) of the fabric, the n-th.
LinkId switch_link(const topology::Topology& topology, std::size_t n) {
  for (std::uint32_t l = 0; l < topology.links().size(); ++l) {
    if (topology.link(static_cast<LinkId>(l)).tier == topology::Tier::minipod && n-- == 0) {
      return static_cast<LinkId>(l);
    }
  }
  return LinkId{};
}

}  // namespace

// A link of 50 GB/s asked for 30 + 20 GB/s cannot bind; asked for 30 + 21 it can. The bound from
// both sides.
TEST_CASE("jobs are joined exactly where their demands exceed a shared link") {
  const auto topology = test::build_fabric(test::plain_clos("[8]"));
  const LinkId link = switch_link(topology, 0);
  const std::vector<training::LinkDemand> first{{link, 30e9, false}};
  for (const auto& [second_demand, expected] : {std::pair{20e9, 2U}, std::pair{21e9, 1U}}) {
    const std::vector<training::LinkDemand> second{{link, second_demand, false}};
    const std::vector<const std::vector<training::LinkDemand>*> demands{&first, &second};
    CHECK(cluster::components(demands, topology).size() == expected);
  }
}

// a-b share link 0, b-c share link 1: one component of three, whatever the order of links; d alone.
TEST_CASE("components are chains of shared links in the order of their first job") {
  const auto topology = test::build_fabric(test::plain_clos("[8]"));
  const LinkId x = switch_link(topology, 0);
  const LinkId y = switch_link(topology, 1);
  const LinkId z = switch_link(topology, 2);
  const std::vector<training::LinkDemand> a{{x, 40e9, false}};
  const std::vector<training::LinkDemand> b{{x, 40e9, false}, {y, 40e9, false}};
  const std::vector<training::LinkDemand> c{{y, 40e9, false}};
  const std::vector<training::LinkDemand> d{{z, 60e9, false}};
  const std::vector<const std::vector<training::LinkDemand>*> demands{&a, &d, &b, &c};
  const auto parts = cluster::components(demands, topology);
  REQUIRE(parts.size() == 2);
  CHECK(parts[0] == std::vector<std::uint32_t>{0, 2, 3});
  CHECK(parts[1] == std::vector<std::uint32_t>{1});
}
