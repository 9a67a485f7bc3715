#include "route_binder.hpp"

#include <algorithm>
#include <utility>

#include "railyard/core/check.hpp"
#include "railyard/core/rng.hpp"

namespace railyard::training {

using topology::LinkUse;

RouteBinder::RouteBinder(Program& program, const topology::Topology& topology,
                         const topology::Routing& routing, std::uint64_t label)
    : program_(program),
      topology_(topology),
      routing_(routing),
      label_(label),
      usage_(topology.links().size(), 0.0) {}

std::uint32_t RouteBinder::new_edge(const Edge& ends, BoundRoute route) {
  Edge edge = ends;
  edge.route = static_cast<std::uint32_t>(program_.routes.size());
  program_.routes.push_back(std::move(route));
  program_.edges.push_back(edge);
  if (program_.by_load) {
    program_.by_load->parts.push_back({static_cast<std::uint32_t>(program_.edges.size() - 1), 1.0});
    close_parts();
  }
  return static_cast<std::uint32_t>(program_.edges.size() - 1);
}

std::uint32_t RouteBinder::edge_of(GpuId source, GpuId destination, std::uint32_t connection) {
  const auto [found, inserted] = edges_.try_emplace(Key{source, destination, connection}, 0);
  if (inserted) {
    const std::uint64_t label = connection == 0 ? label_ : mix64(label_ + connection);
    routing_.route({source, destination, label}, scratch_);
    found->second = new_edge({source, destination, 0, scratch_.tier, label},
                             BoundRoute{scratch_.links, scratch_.latency});
  }
  return found->second;
}

/// The parts added last are those of the route added last.
void RouteBinder::close_parts() {
  LoadRoutes& by_load = *program_.by_load;
  by_load.first_part.push_back(static_cast<std::uint32_t>(by_load.parts.size()));
}

std::optional<std::uint32_t> RouteBinder::reducer_edge(GpuId gpu, bool upwards) {
  const auto key = std::pair(gpu, upwards);
  if (const auto found = reducer_edges_.find(key); found != reducer_edges_.end())
    return found->second;
  const NodeId node = topology_.gpu_node(gpu);
  const auto links = topology_.out_links(node);
  const auto up = std::find_if(links.begin(), links.end(), [&](const topology::Link& link) {
    return topology_.kind(link.to) == topology::NodeKind::nvswitch;
  });
  if (up == links.end()) return std::nullopt;
  auto link = static_cast<LinkId>(index(topology_.first_out_link(node)) +
                                  static_cast<std::uint32_t>(up - links.begin()));
  if (!upwards) {
    const auto back = topology_.out_links(up->to);
    const auto down = std::find_if(back.begin(), back.end(),
                                   [&](const topology::Link& one) { return one.to == node; });
    RAILYARD_CHECK(down != back.end(), "an NVLink with one direction");
    link = static_cast<LinkId>(index(topology_.first_out_link(up->to)) +
                               static_cast<std::uint32_t>(down - back.begin()));
  }
  const BoundRoute route{{LinkUse{link, 1.0}}, topology_.link(link).latency};
  return reducer_edges_[key] = new_edge({gpu, gpu, 0, topology::Tier::nvlink, 0}, route);
}

Duration RouteBinder::message_latency(const Edge& edge,
                                      const collective::TransferLatency& protocol) const {
  return (edge.tier == topology::Tier::nvlink ? protocol.nvlink : protocol.network) +
         program_.routes[edge.route].latency;
}

Duration RouteBinder::alone_on(std::uint32_t route, Bytes size) const {
  double ticks = 0;
  for (const LinkUse& use : program_.routes[route].links) {
    const double rate =
        static_cast<double>(topology_.link(use.link).capacity.bytes_per_s()) / use.usage;
    ticks = std::max(ticks, static_cast<double>(size.count()) * kTicksPerSecond / rate);
  }
  return to_ticks(ticks);
}

void RouteBinder::add_usage(std::uint32_t edge, double share) {
  if (program_.by_load) pending_.push_back({edge, share});
  for (const LinkUse& use : program_.routes[program_.edges[edge].route].links) {
    double& sum = usage_[index(use.link)];
    if (sum == 0.0) touched_.push_back(use.link);
    sum += use.usage * share;
  }
}

std::uint32_t RouteBinder::add_route() {
  std::sort(touched_.begin(), touched_.end());
  BoundRoute route;
  for (const LinkId link : touched_) {
    route.links.push_back(LinkUse{link, std::exchange(usage_[index(link)], 0.0)});
  }
  touched_.clear();
  program_.routes.push_back(std::move(route));
  if (program_.by_load) {
    auto& parts = program_.by_load->parts;
    parts.insert(parts.end(), pending_.begin(), pending_.end());
    pending_.clear();
    close_parts();
  }
  return static_cast<std::uint32_t>(program_.routes.size() - 1);
}

}  // namespace railyard::training
