// Routes whose flows share one fate: the network needs to see one of them.
//
// A send between two hosts of a tensor group is one flow a rank, each from its own NIC, over links
// that the other ranks use just so; the gradients of a tensor group leave in as many equal rings.
// Such flows start together, move at one rate and end together. This finds them: the coarsest
// partition of routes and links into classes in which
//   - routes of a class belong to the same activities, or to siblings (sibling_streams.hpp) whose
//     routes are in the same classes throughout, with the same sizes;
//   - every route of a class loads the links of a class alike in all;
//   - every link of a class has the same capacity and is loaded alike by the routes of a class
// (an equitable partition of the weighted graph of routes and links, found by colour refinement).
// Max-min rates are unique, so they are equal within such classes, and the network of one link a
// class, loaded by one flow a class with the usages of all its members on that link, has the same
// rates (cf. Grohe, Kersting, Mladenov, Selman, "Dimension Reduction via Colour Refinement", ESA
// 2014, section 5, on linear programs).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "railyard/training/program.hpp"

namespace railyard::training {

/// The links of a job's routes, by route; empty: no flow takes it.
using RouteLinks = std::vector<std::span<const topology::LinkUse>>;

class RouteClasses {
 public:
  RouteClasses(std::span<const std::shared_ptr<const Program>> jobs,
               std::span<const RouteLinks> links, const topology::Topology& topology);

  /// Whether the network sees the flows of the route; one of its class does.
  [[nodiscard]] bool leads(std::size_t job, std::size_t route) const {
    const std::size_t at = first_[job] + route;
    return first_use_[at] < first_use_[at + 1];
  }
  /// Of a route that leads: one link of each class, with the usages of the whole class.
  [[nodiscard]] std::span<const topology::LinkUse> links(std::size_t job, std::size_t route) const {
    const std::size_t at = first_[job] + route;
    return {uses_.data() + first_use_[at], first_use_[at + 1] - first_use_[at]};
  }
  /// Streams whose tasks start and end with those of this one; none of their routes leads.
  [[nodiscard]] std::span<const std::uint32_t> followers(std::size_t job,
                                                         std::uint32_t stream) const {
    const auto& of_job = followers_[job];
    return of_job.empty() ? std::span<const std::uint32_t>{} : of_job[stream];
  }

 private:
  std::vector<std::size_t> first_;  ///< by job: its first route among all
  std::vector<topology::LinkUse> uses_;
  std::vector<std::uint32_t> first_use_;
  std::vector<std::vector<std::vector<std::uint32_t>>> followers_;  ///< by job and stream
};

}  // namespace railyard::training
