#include "contention.hpp"

#include <numeric>

namespace railyard::cluster {
namespace {

class DisjointSets {
 public:
  explicit DisjointSets(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), 0U);
  }
  std::uint32_t root(std::uint32_t member) {
    while (parent_[member] != member) member = parent_[member] = parent_[parent_[member]];
    return member;
  }
  /// The smaller index stays the root, so that results do not depend on the order of joins.
  void join(std::uint32_t a, std::uint32_t b) {
    a = root(a);
    b = root(b);
    if (a < b) {
      parent_[b] = a;
    } else {
      parent_[a] = b;
    }
  }

 private:
  std::vector<std::uint32_t> parent_;
};

}  // namespace

std::vector<std::vector<std::uint32_t>> components(
    std::span<const std::vector<training::LinkDemand>* const> demands,
    const topology::Topology& topology) {
  constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  std::vector<double> total(topology.links().size(), 0.0);
  for (const auto* demand : demands) {
    for (const auto& entry : *demand) total[index(entry.link)] += entry.bytes_per_s;
  }
  std::vector<std::uint32_t> first_user(topology.links().size(), kNobody);
  DisjointSets sets(demands.size());
  for (std::uint32_t j = 0; j < demands.size(); ++j) {
    for (const auto& entry : *demands[j]) {
      const std::size_t link = index(entry.link);
      const auto capacity = static_cast<double>(topology.link(entry.link).capacity.bytes_per_s());
      if (total[link] <= capacity) continue;
      if (first_user[link] == kNobody) {
        first_user[link] = j;
      } else {
        sets.join(first_user[link], j);
      }
    }
  }
  std::vector<std::vector<std::uint32_t>> result;
  std::vector<std::uint32_t> component_of(demands.size(), kNobody);
  for (std::uint32_t j = 0; j < demands.size(); ++j) {
    std::uint32_t& component = component_of[sets.root(j)];
    if (component == kNobody) {
      component = static_cast<std::uint32_t>(result.size());
      result.emplace_back();
    }
    result[component].push_back(j);
  }
  return result;
}

}  // namespace railyard::cluster
