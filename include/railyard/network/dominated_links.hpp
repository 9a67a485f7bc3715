// Links that can never hold anybody back, whatever flows run on a known set of routes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "railyard/core/units.hpp"
#include "railyard/topology/routing.hpp"

namespace railyard::network {

/// By link: true where some other link is on every route that the link is on and fills up no later
/// (usage / capacity at least as large on each of them). Such a link is full only when the other is
/// full too, and everybody on it is on the other: leaving it out of all routes changes no rate. Of
/// links that dominate each other the last one stays. A route has a link at most once. Links on no
/// route are not dominated. Costs the sum of the squares of the routes' lengths.
/// Route r uses uses[first_use[r] … first_use[r+1]).
[[nodiscard]] std::vector<bool> dominated_links(std::span<const topology::LinkUse> uses,
                                                std::span<const std::uint32_t> first_use,
                                                std::span<const Bandwidth> capacities);

}  // namespace railyard::network
