#include "load_router.hpp"

#include <cmath>

#include "railyard/core/check.hpp"

namespace railyard::training {
namespace {

/// Loads are whole multiples of this part of a flow, so that what left leaves nothing behind.
constexpr double kUnit = 0x1p-20;

std::int64_t units(double usage) {
  return std::llround(usage / kUnit);
}

}  // namespace

double LoadRouter::flows(LinkId link) const {
  return static_cast<double>(load_[index(link)]) * kUnit;
}

void LoadRouter::add_path(std::span<const topology::LinkUse> links, double share) {
  for (const topology::LinkUse& use : links) {
    uses_.push_back({use.link, use.usage * share});
    load_[index(use.link)] += units(use.usage * share);
  }
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
    plan.routing->route_by_load({edge.source, edge.destination, edge.label}, *this, nullptr, path_);
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
  for (const topology::LinkUse& use : found->second) load_[index(use.link)] -= units(use.usage);
  running_.erase(found);
}

}  // namespace railyard::training
