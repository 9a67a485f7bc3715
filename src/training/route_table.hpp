// The links each flow of a run shows to the network.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "railyard/training/program.hpp"
#include "route_classes.hpp"

namespace railyard::training {

/// All links, for link statistics and for routes by load, or only those that can change a rate.
/// Left out are links which the ports of all jobs together cannot fill, and of links that every
/// flow uses alike all but the tightest: the lists (flow, usage) of two links are equal, so the
/// larger never binds before the smaller. Of flows that share one fate one is left
/// (route_classes.hpp). Rates are the same, to the last unit where links fill up together (which of
/// them holds a flow is rounding then); what is lost is the load of the links left out. Constant:
/// engines of the same jobs can share it.
class RouteTable {
 public:
  RouteTable(std::span<const std::shared_ptr<const Program>> jobs,
             const topology::Topology& topology, bool all_links);

  [[nodiscard]] bool all_links() const { return all_links_; }
  /// Some flow chooses its route when it starts.
  [[nodiscard]] bool by_load() const { return by_load_; }

  /// False: a flow of another route stands for those of this one.
  [[nodiscard]] bool leads(std::uint32_t job, std::uint32_t route) const {
    return !classes_ || classes_->leads(job, route);
  }
  /// Streams whose tasks start and end with those of this one; none of their routes leads.
  [[nodiscard]] std::span<const std::uint32_t> followers(std::uint32_t job,
                                                         std::uint32_t stream) const {
    return classes_ ? classes_->followers(job, stream) : std::span<const std::uint32_t>{};
  }
  /// Of a route that leads.
  [[nodiscard]] std::span<const topology::LinkUse> links(std::uint32_t job,
                                                         std::uint32_t route) const {
    return classes_ ? classes_->links(job, route) : links_[job][route];
  }

 private:
  bool all_links_;
  bool by_load_;
  std::vector<RouteLinks> links_;
  std::vector<topology::LinkUse> pool_;
  std::optional<RouteClasses> classes_;
};

}  // namespace railyard::training
