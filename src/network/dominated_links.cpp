#include "railyard/network/dominated_links.hpp"

#include <cstdint>
#include <utility>

namespace railyard::network {
namespace {

using Place = std::pair<std::uint32_t, std::uint32_t>;  // route, index on it

/// Whether `other` fills up no later than `link` on a route that uses both.
bool as_tight(const topology::LinkUse& other, const topology::LinkUse& link,
              std::span<const Bandwidth> capacities) {
  return other.usage * static_cast<double>(capacities[index(link.link)].bytes_per_s()) >=
         link.usage * static_cast<double>(capacities[index(other.link)].bytes_per_s());
}

}  // namespace

std::vector<bool> dominated_links(std::span<const std::vector<topology::LinkUse>> routes,
                                  std::span<const Bandwidth> capacities) {
  const std::size_t links = capacities.size();
  std::vector<std::uint32_t> first(links + 1, 0);
  for (const auto& route : routes) {
    for (const topology::LinkUse& use : route) ++first[index(use.link) + 1];
  }
  for (std::size_t link = 0; link < links; ++link) first[link + 1] += first[link];
  std::vector<Place> places(first[links]);
  std::vector<std::uint32_t> filled(first.begin(), first.end() - 1);
  for (std::uint32_t r = 0; r < routes.size(); ++r) {
    for (std::uint32_t i = 0; i < routes[r].size(); ++i) {
      places[filled[index(routes[r][i].link)]++] = Place{r, i};
    }
  }
  std::vector<bool> dominated(links, false);
  std::vector<std::uint32_t> together(links, 0);
  std::vector<std::size_t> counted;
  for (std::size_t link = 0; link < links; ++link) {
    counted.clear();
    for (std::uint32_t p = first[link]; p < first[link + 1]; ++p) {
      const auto& route = routes[places[p].first];
      const topology::LinkUse& use = route[places[p].second];
      for (const topology::LinkUse& other : route) {
        // A link that is left out already leaves the choice to the one that dominates it.
        if (other.link == use.link || dominated[index(other.link)]) continue;
        if (!as_tight(other, use, capacities)) continue;
        if (together[index(other.link)]++ == 0) counted.push_back(index(other.link));
      }
    }
    const std::uint32_t routes_of_link = first[link + 1] - first[link];
    for (const std::size_t other : counted) {
      if (together[other] == routes_of_link) dominated[link] = true;
      together[other] = 0;
    }
  }
  return dominated;
}

}  // namespace railyard::network
