#include "route_table.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include "activity_flows.hpp"
#include "colour.hpp"
#include "railyard/core/check.hpp"

namespace railyard::training {
namespace {

/// Routes that flows take: those of edges that only serve as parts of coupled ones are left out.
std::vector<bool> routes_of_flows(const Program& program) {
  std::vector<bool> used(program.routes.size(), false);
  for (const Activity& activity : program.activities) {
    for_each_flow(program, activity, [&](const BoundFlow& flow) { used[flow.route] = true; });
  }
  return used;
}

class Reduction {
 public:
  Reduction(std::span<const std::shared_ptr<const Program>> jobs,
            const topology::Topology& topology)
      : jobs_(jobs), topology_(topology), keep_(topology.links().size(), false) {
    for (const auto& job : jobs) used_.push_back(routes_of_flows(*job));
    drop_unfillable();
    drop_alike();
  }

  [[nodiscard]] bool keeps(LinkId link) const { return keep_[index(link)]; }
  [[nodiscard]] bool used(std::size_t job, std::size_t route) const { return used_[job][route]; }

 private:
  void drop_unfillable() {
    std::vector<double> total(keep_.size(), 0.0);
    for (const auto& job : jobs_) {
      for (const LinkDemand& entry : job->demand) total[index(entry.link)] += entry.bytes_per_s;
    }
    for (const auto& job : jobs_) {
      for (const LinkDemand& entry : job->demand) {
        const auto capacity =
            static_cast<double>(topology_.link(entry.link).capacity.bytes_per_s());
        if (entry.port || total[index(entry.link)] > capacity) keep_[index(entry.link)] = true;
      }
    }
  }

  void drop_alike() {
    std::vector<Colour> colour(keep_.size());  // of the list (job, route, usage)
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      for (std::size_t r = 0; r < jobs_[j]->routes.size(); ++r) {
        if (!used_[j][r]) continue;
        for (const topology::LinkUse& use : jobs_[j]->routes[r].links) {
          if (keeps(use.link)) colour[index(use.link)].add((j << 32U) | r, use.usage);
        }
      }
    }
    using Entry = std::tuple<Colour, std::int64_t, std::uint32_t>;
    std::vector<Entry> kept;
    for (std::uint32_t l = 0; l < keep_.size(); ++l) {
      if (!keep_[l]) continue;
      kept.emplace_back(colour[l], topology_.link(static_cast<LinkId>(l)).capacity.bytes_per_s(),
                        l);
    }
    std::sort(kept.begin(), kept.end());
    for (std::size_t i = 1; i < kept.size(); ++i) {
      const bool alike = std::get<Colour>(kept[i]) == std::get<Colour>(kept[i - 1]);
      if (alike) keep_[std::get<std::uint32_t>(kept[i])] = false;
    }
  }

  std::span<const std::shared_ptr<const Program>> jobs_;
  const topology::Topology& topology_;
  std::vector<std::vector<bool>> used_;
  std::vector<bool> keep_;
};

}  // namespace

RouteTable::RouteTable(std::span<const std::shared_ptr<const Program>> jobs,
                       const topology::Topology& topology, bool all_links)
    : all_links_(all_links),
      by_load_(std::any_of(jobs.begin(), jobs.end(),
                           [](const auto& job) { return job->by_load.has_value(); })),
      links_(jobs.size()) {
  if (all_links_ || by_load_) {
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      for (const BoundRoute& route : jobs[j]->routes) links_[j].emplace_back(route.links);
    }
    return;
  }
  const Reduction reduction(jobs, topology);
  std::vector<std::vector<std::uint32_t>> first(jobs.size());
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    for (std::size_t r = 0; r < jobs[j]->routes.size(); ++r) {
      first[j].push_back(static_cast<std::uint32_t>(pool_.size()));
      if (!reduction.used(j, r)) continue;
      for (const topology::LinkUse& use : jobs[j]->routes[r].links) {
        if (reduction.keeps(use.link)) pool_.push_back(use);
      }
      RAILYARD_CHECK(pool_.size() > first[j].back(), "a route lost all of its links");
    }
    first[j].push_back(static_cast<std::uint32_t>(pool_.size()));
  }
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    for (std::size_t r = 0; r < jobs[j]->routes.size(); ++r) {
      links_[j].emplace_back(pool_.data() + first[j][r], first[j][r + 1] - first[j][r]);
    }
  }
  // Without shared links no flow is slowed, and each is on its own.
  const auto is_fluid = [](const auto& job) {
    return job->model.fidelity == network::Fidelity::fluid;
  };
  if (std::all_of(jobs.begin(), jobs.end(), is_fluid)) classes_.emplace(jobs, links_, topology);
}

}  // namespace railyard::training
