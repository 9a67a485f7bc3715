#include "railyard/network/dominated_links.hpp"

#include <doctest/doctest.h>

#include <map>
#include <vector>

#include "railyard/core/rng.hpp"
#include "railyard/network/flow_network.hpp"
#include "unit/network/link_use.hpp"

using railyard::Bandwidth;
using railyard::Bytes;
using railyard::LinkId;
using railyard::Rng;
using railyard::TimePoint;
using railyard::network::dominated_links;
using railyard::network::FlowNetwork;
using railyard::network::FlowSpec;
using railyard::test::on;
using railyard::topology::LinkUse;

namespace {

std::vector<bool> dominated_on(const std::vector<std::vector<LinkUse>>& routes,
                               const std::vector<Bandwidth>& capacities) {
  std::vector<LinkUse> uses;
  std::vector<std::uint32_t> first_use{0};
  for (const auto& route : routes) {
    uses.insert(uses.end(), route.begin(), route.end());
    first_use.push_back(static_cast<std::uint32_t>(uses.size()));
  }
  return dominated_links(uses, first_use, capacities);
}

}  // namespace

// Link 1 (20) is only used together with link 0 (10): full only when 0 is. Link 2 (5) is used
// with 0 but fills up first. Link 3 has a flow of its own and is the wider one of its routes.
// Links 4 and 5 are equal and always together: the last one stays. Link 6 is used by nobody.
TEST_CASE("a link is dominated when another one is on all its routes and fills up no later") {
  const std::vector<std::vector<LinkUse>> routes = {
      {on(0), on(1), on(3)}, {on(0), on(2)}, {on(3), on(4), on(5)}, {on(1), on(0)}};
  std::vector<Bandwidth> capacities;
  for (const std::int64_t each : {10, 20, 5, 20, 10, 10, 10}) capacities.emplace_back(each);
  const std::vector<bool> expected = {false, true, false, false, true, false, false};
  CHECK(dominated_on(routes, capacities) == expected);
}

// Usage 3 of a link of 20 fills up before usage 1 of a link of 10.
TEST_CASE("usages count") {
  const std::vector<std::vector<LinkUse>> routes = {{on(0), on(1, 3.0)}, {on(1)}};
  CHECK(dominated_on(routes, std::vector<Bandwidth>{Bandwidth(10), Bandwidth(20)}) ==
        std::vector<bool>{true, false});
  const std::vector<std::vector<LinkUse>> lighter = {{on(0), on(1)}, {on(1)}};
  CHECK(dominated_on(lighter, std::vector<Bandwidth>{Bandwidth(10), Bandwidth(20)}) ==
        std::vector<bool>{false, false});
}

// Random routes with random subsets of flows running: rates with and without the dominated links
// are the same, up to the rounding of a level (1e-11).
TEST_CASE("leaving dominated links out changes no rate") {
  std::size_t left_out = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    const std::uint32_t links = 4 + static_cast<std::uint32_t>(rng.below(12));
    std::vector<Bandwidth> capacities;
    for (std::uint32_t l = 0; l < links; ++l) {
      capacities.emplace_back(static_cast<std::int64_t>(1'000'000'000 * (1 + rng.below(4))));
    }
    std::vector<std::vector<LinkUse>> routes(2 + rng.below(12));
    for (auto& route : routes) {
      for (std::uint32_t l = 0; l < links; ++l) {
        if (rng.below(3) == 0)
          route.push_back(on(l, 0.5 + 0.5 * static_cast<double>(rng.below(3))));
      }
      if (route.empty()) route.push_back(on(0));
    }
    const std::vector<bool> dominated = dominated_on(routes, capacities);
    FlowNetwork whole(capacities);
    FlowNetwork pruned(capacities);
    std::vector<std::pair<railyard::network::FlowId, railyard::network::FlowId>> flows;
    for (std::size_t i = 0; i < 30; ++i) {
      const auto& route = routes[rng.below(routes.size())];
      std::vector<LinkUse> kept;
      for (const LinkUse& use : route) {
        if (!dominated[index(use.link)]) kept.push_back(use);
      }
      left_out += route.size() - kept.size();
      flows.emplace_back(whole.start(TimePoint{}, FlowSpec{Bytes(1'000'000), route}),
                         pruned.start(TimePoint{}, FlowSpec{Bytes(1'000'000), kept}));
    }
    whole.settle(TimePoint{});
    pruned.settle(TimePoint{});
    for (const auto& [with, without] : flows) {
      CHECK(pruned.rate_bytes_per_s(without) ==
            doctest::Approx(whole.rate_bytes_per_s(with)).epsilon(1e-11));
    }
  }
  CHECK(left_out > 1'000);
}
