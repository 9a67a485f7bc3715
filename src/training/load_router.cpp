#include "load_router.hpp"

#include "railyard/core/check.hpp"

namespace railyard::training {
void LoadRouter::add_path(std::span<const topology::LinkUse> links, double share) {
  const std::size_t before = uses_.size();
  for (const topology::LinkUse& use : links) uses_.push_back({use.link, use.usage * share});
  loads_.add(std::span(uses_).subspan(before));
}

std::span<const topology::LinkUse> LoadRouter::choose(const Program& program, std::uint32_t route) {
  const LoadRoutes& plan = *program.by_load;
  uses_.clear();
  for (std::uint32_t p = plan.first_part[route]; p < plan.first_part[route + 1]; ++p) {
    const Edge& edge = program.edges[plan.parts[p].edge];
    if (edge.tier == topology::Tier::nvlink) {
      add_path(program.routes[edge.route].links, plan.parts[p].share);
      continue;
    }
    plan.routing->route_by_load({edge.source, edge.destination, edge.label}, loads_, nullptr,
                                path_);
    add_path(path_.links, plan.parts[p].share);
  }
  return uses_;
}

void LoadRouter::started(network::FlowId flow) {
  const bool is_new = running_.emplace(flow, uses_).second;
  RAILYARD_CHECK(is_new, "flow {} started twice", index(flow));
}

void LoadRouter::left(network::FlowId flow) {
  const auto found = running_.find(flow);
  if (found == running_.end()) return;  // of a program with fixed routes
  loads_.remove(found->second);
  running_.erase(found);
}

}  // namespace railyard::training
