#include "network/distinct_links.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "railyard/network/dominated_links.hpp"

namespace railyard::network {
namespace {

/// Splits classes route by route.
class Refinement {
 public:
  explicit Refinement(const FlowRoutes& routes) : class_of_(routes.capacities.size()) {
    std::map<Bandwidth, std::uint32_t> of_capacity;
    for (std::size_t link = 0; link < class_of_.size(); ++link) {
      const auto [at, fresh] =
          of_capacity.emplace(routes.capacities[link], static_cast<std::uint32_t>(parts_.size()));
      if (fresh) parts_.emplace_back();
      class_of_[link] = at->second;
      ++parts_[at->second].links;
    }
    for (std::size_t route = 0; route + 1 < routes.first_use.size(); ++route)
      split(routes.route(route));
  }
  [[nodiscard]] std::uint32_t class_of(std::size_t link) const { return class_of_[link]; }
  [[nodiscard]] std::size_t classes() const { return parts_.size(); }

 private:
  /// A class, and what the route at hand takes out of it: members with one usage, which become the
  /// class `taken_to`. Members with other usages form a chain of further parts.
  struct Part {
    std::uint32_t links = 0;
    std::uint32_t taken = 0;
    double usage = 0;
    std::uint32_t taken_to = 0;
  };

  void split(std::span<const topology::LinkUse> route) {
    // A class that the route takes whole, with one usage, stays as it is.
    met_.clear();
    for (const topology::LinkUse& use : route) {
      Part& part = parts_[class_of_[index(use.link)]];
      if (part.taken++ == 0) {
        part.usage = use.usage;
        met_.push_back(class_of_[index(use.link)]);
      } else if (part.usage != use.usage) {
        part.usage = -1;  // several usages: below
      }
    }
    for (const std::uint32_t one : met_) {
      Part& part = parts_[one];
      part.taken_to = one;
      if (part.usage > 0 && part.taken < part.links) {
        part.taken_to = static_cast<std::uint32_t>(parts_.size());
        part.links -= part.taken;
        const std::uint32_t taken = part.taken;
        parts_.push_back({taken, 0, 0, 0});
      }
    }
    for (const topology::LinkUse& use : route) {
      std::uint32_t& own = class_of_[index(use.link)];
      if (parts_[own].taken == 0) continue;  // moved already: its class is new
      own = parts_[own].usage > 0 ? parts_[own].taken_to : class_with(own, use.usage);
    }
    for (const std::uint32_t one : met_) parts_[one].taken = 0;
    several_.clear();
  }

  /// The new class of those members of a class that have this usage among several.
  std::uint32_t class_with(std::uint32_t old, double usage) {
    --parts_[old].links;
    for (const auto& [from, of_usage, to] : several_) {
      if (from != old || of_usage != usage) continue;
      ++parts_[to].links;
      return to;
    }
    const auto fresh = static_cast<std::uint32_t>(parts_.size());
    several_.emplace_back(old, usage, fresh);
    parts_.push_back({1, 0, 0, 0});
    return fresh;
  }

  std::vector<std::uint32_t> class_of_;
  std::vector<Part> parts_;
  std::vector<std::uint32_t> met_;
  std::vector<std::tuple<std::uint32_t, double, std::uint32_t>> several_;
};

}  // namespace

DistinctLinks::DistinctLinks(const FlowRoutes& routes, double spray_efficiency, bool keep_all) {
  if (keep_all) {
    capacities_ = routes.capacities;
    uses_ = routes.uses;
    for (topology::LinkUse& use : uses_) {
      if (use.usage < 1.0) use.usage /= spray_efficiency;
    }
    first_use_ = routes.first_use;
    return;
  }
  const Refinement refinement(routes);
  constexpr std::uint32_t kNone = UINT32_MAX;
  std::vector<std::uint32_t> kept(refinement.classes(), kNone);
  std::vector<std::uint32_t> seen_by;  // by kept link: route + 1 that has it already
  for (std::size_t route = 0; route + 1 < routes.first_use.size(); ++route) {
    for (const topology::LinkUse& use : routes.route(route)) {
      std::uint32_t& link = kept[refinement.class_of(index(use.link))];
      if (link == kNone) {
        link = static_cast<std::uint32_t>(capacities_.size());
        capacities_.push_back(routes.capacities[index(use.link)]);
        seen_by.push_back(0);
      }
      if (seen_by[link] == route + 1) continue;
      seen_by[link] = static_cast<std::uint32_t>(route + 1);
      const double usage = use.usage < 1.0 ? use.usage / spray_efficiency : use.usage;
      uses_.push_back({static_cast<LinkId>(link), usage});
    }
    first_use_.push_back(static_cast<std::uint32_t>(uses_.size()));
  }
  drop_dominated();
}

void DistinctLinks::drop_dominated() {
  const std::vector<bool> dominated = dominated_links(uses_, first_use_, capacities_);
  std::uint32_t kept = 0;
  std::uint32_t begin = 0;
  for (std::size_t route = 1; route < first_use_.size(); ++route) {
    for (std::uint32_t use = begin; use < first_use_[route]; ++use) {
      if (!dominated[index(uses_[use].link)]) uses_[kept++] = uses_[use];
    }
    begin = first_use_[route];
    first_use_[route] = kept;
  }
  uses_.resize(kept);
}

}  // namespace railyard::network
