#include "railyard/network/dominated_links.hpp"

namespace railyard::network {
namespace {

/// Whether `other` fills up no later than `link` on a route that uses both.
bool as_tight(const topology::LinkUse& other, const topology::LinkUse& link,
              std::span<const Bandwidth> capacities) {
  return other.usage * static_cast<double>(capacities[index(link.link)].bytes_per_s()) >=
         link.usage * static_cast<double>(capacities[index(other.link)].bytes_per_s());
}

}  // namespace

std::vector<bool> dominated_links(std::span<const topology::LinkUse> uses,
                                  std::span<const std::uint32_t> first_use,
                                  std::span<const Bandwidth> capacities) {
  const std::size_t links = capacities.size();
  const std::size_t routes = first_use.size() - 1;
  // By link: the uses of it, and the route of each.
  std::vector<std::uint32_t> first(links + 1, 0);
  for (const topology::LinkUse& use : uses) ++first[index(use.link) + 1];
  for (std::size_t link = 0; link < links; ++link) first[link + 1] += first[link];
  std::vector<std::uint32_t> filled(first.begin(), first.end() - 1);
  std::vector<std::uint32_t> use_at(uses.size());
  std::vector<std::uint32_t> route_of(uses.size());
  for (std::uint32_t route = 0; route < routes; ++route) {
    for (std::uint32_t use = first_use[route]; use < first_use[route + 1]; ++use) {
      use_at[filled[index(uses[use].link)]++] = use;
      route_of[use] = route;
    }
  }
  std::vector<bool> dominated(links, false);
  std::vector<std::uint32_t> together(links, 0);
  std::vector<std::size_t> counted;
  for (std::size_t link = 0; link < links; ++link) {
    counted.clear();
    for (std::uint32_t p = first[link]; p < first[link + 1]; ++p) {
      const topology::LinkUse& use = uses[use_at[p]];
      const std::uint32_t route = route_of[use_at[p]];
      for (std::uint32_t u = first_use[route]; u < first_use[route + 1]; ++u) {
        const topology::LinkUse& other = uses[u];
        // A link that is left out already leaves the choice to the one that dominates it.
        if (other.link == use.link || dominated[index(other.link)]) continue;
        if (!as_tight(other, use, capacities)) continue;
        if (together[index(other.link)]++ == 0) counted.push_back(index(other.link));
      }
    }
    for (const std::size_t other : counted) {
      if (together[other] == first[link + 1] - first[link]) dominated[link] = true;
      together[other] = 0;
    }
  }
  return dominated;
}

}  // namespace railyard::network
