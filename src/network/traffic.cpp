#include "railyard/network/traffic.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>

#include "railyard/core/check.hpp"
#include "railyard/core/rng.hpp"
#include "railyard/network/max_min.hpp"

namespace railyard::network {

using topology::Connection;
using topology::Route;
using topology::Routing;
using topology::Tier;
using topology::Topology;

std::string_view name(Pattern pattern) {
  constexpr std::array<std::string_view, kPatterns> kNames{"permutation", "all_to_all", "ring",
                                                           "shift", "incast"};
  return kNames.at(static_cast<std::size_t>(pattern));
}

std::vector<Connection> flows_of(const Topology& topology, const PatternSpec& spec) {
  const std::size_t gpus = topology.gpu_count();
  std::vector<Connection> out;
  const auto add = [&out](std::size_t from, std::size_t to) {
    if (from != to) out.push_back({static_cast<GpuId>(from), static_cast<GpuId>(to)});
  };
  std::vector<std::size_t> to(gpus);
  std::iota(to.begin(), to.end(), std::size_t{0});
  if (spec.pattern == Pattern::permutation) {
    Rng rng = RngStreams(spec.seed).stream("network.permutation");
    rng.shuffle(std::span<std::size_t>(to));
  }
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
    switch (spec.pattern) {
      case Pattern::permutation:
        add(gpu, to[gpu]);
        break;
      case Pattern::all_to_all:
        for (std::size_t other = 0; other < gpus; ++other) add(gpu, other);
        break;
      case Pattern::ring:
        add(gpu, (gpu + 1) % gpus);
        break;
      case Pattern::shift:
        add(gpu, (gpu + spec.distance % gpus) % gpus);
        break;
      case Pattern::incast:
        add(gpu, index(spec.target));
        break;
    }
  }
  return out;
}

namespace {

/// Flows on every link so far, for routings that look at it.
class Counts final : public topology::LoadView {
 public:
  explicit Counts(std::size_t links) : flows_(links, 0.0) {}
  [[nodiscard]] double flows(LinkId link) const override { return flows_[index(link)]; }
  void add(const Route& route) {
    for (const auto& use : route.links) flows_[index(use.link)] += use.usage;
  }

 private:
  std::vector<double> flows_;
};

/// A max-min problem in which the only links are those in use.
class Problem {
 public:
  explicit Problem(const Topology& topology)
      : topology_(topology), number_(topology.links().size(), kUnused) {}

  void add(const Route& route) {
    for (const auto& use : route.links) {
      std::uint32_t& number = number_[index(use.link)];
      if (number == kUnused) {
        number = static_cast<std::uint32_t>(links_.size());
        links_.push_back(use.link);
        capacity_.push_back(static_cast<double>(topology_.link(use.link).capacity.bytes_per_s()));
      }
      link_.push_back(number);
      usage_.push_back(use.usage);
    }
    first_use_.push_back(static_cast<std::uint32_t>(link_.size()));
  }

  void solve(Traffic& out) {
    const std::size_t flows = first_use_.size() - 1;
    const std::vector<double> share(flows, 1.0);
    const std::vector<double> cap(flows, std::numeric_limits<double>::infinity());
    std::vector<double> level(flows);
    std::vector<double> link_level(links_.size());
    std::vector<std::uint32_t> binding(flows);
    out.rate_bytes_per_s.resize(flows);
    MaxMinWorkspace workspace;
    solve_max_min({capacity_, first_use_, link_, usage_, share, cap}, workspace,
                  {out.rate_bytes_per_s, level, binding, link_level});
    for (const std::uint32_t link : binding) out.bottleneck.push_back(links_[link]);
    find_alone(out);
  }

  /// Load and utilisation of the links. `flows_of_source` by flow.
  void load(const std::vector<double>& flows_of_source, Traffic& out) const {
    out.links.resize(topology_.links().size());
    for (std::size_t flow = 0; flow + 1 < first_use_.size(); ++flow) {
      for (std::uint32_t use = first_use_[flow]; use < first_use_[flow + 1]; ++use) {
        LinkLoad& link = out.links[index(links_[link_[use]])];
        const double share = usage_[use] / capacity_[link_[use]];
        ++link.flows;
        link.load += share * out.alone_bytes_per_s[flow] / flows_of_source[flow];
        link.utilization += share * out.rate_bytes_per_s[flow];
      }
    }
  }

 private:
  void find_alone(Traffic& out) const {
    for (std::size_t flow = 0; flow + 1 < first_use_.size(); ++flow) {
      double alone = std::numeric_limits<double>::infinity();
      for (std::uint32_t use = first_use_[flow]; use < first_use_[flow + 1]; ++use)
        alone = std::min(alone, capacity_[link_[use]] / usage_[use]);
      out.alone_bytes_per_s.push_back(alone);
    }
  }

  static constexpr std::uint32_t kUnused = UINT32_MAX;
  const Topology& topology_;
  std::vector<std::uint32_t> number_;
  std::vector<LinkId> links_;
  std::vector<double> capacity_;
  std::vector<std::uint32_t> first_use_{0};
  std::vector<std::uint32_t> link_;
  std::vector<double> usage_;
};

}  // namespace

Traffic carry(const Topology& topology, const Routing& routing, std::span<const Connection> flows) {
  Problem problem(topology);
  Counts counts(topology.links().size());
  Route route;
  std::vector<double> of_gpu(topology.gpu_count(), 0.0);
  for (const Connection& flow : flows) {
    if (routing.needs_load()) {
      routing.route_by_load(flow, counts, nullptr, route);
      counts.add(route);
    } else {
      routing.route(flow, route);
    }
    problem.add(route);
    of_gpu[index(flow.source)] += 1;
  }
  Traffic out;
  if (flows.empty()) {
    out.links.resize(topology.links().size());
    return out;
  }
  std::vector<double> flows_of_source;
  for (const Connection& flow : flows) flows_of_source.push_back(of_gpu[index(flow.source)]);
  problem.solve(out);
  problem.load(flows_of_source, out);
  return out;
}

namespace {

/// Where a GPU finds partners of every level: hosts by minipod and leaf, in order.
class Partners {
 public:
  explicit Partners(const Topology& topology) : topology_(topology) {
    place_.resize(topology.hosts().size());
    std::vector<std::size_t> group_of_leaf(topology.leaf_count(), SIZE_MAX);
    minipods_.resize(topology.minipod_count());
    for (std::size_t h = 0; h < topology.hosts().size(); ++h) {
      const topology::Host& host = topology.hosts()[h];
      const std::size_t minipod = index(host.minipod);
      std::size_t& group = group_of_leaf[index(host.leaf)];
      if (group == SIZE_MAX) {
        group = minipods_[minipod].size();
        minipods_[minipod].emplace_back();
      }
      auto& hosts = minipods_[minipod][group];
      place_[h] = {minipod, group, hosts.size()};
      hosts.push_back(static_cast<HostId>(h));
    }
    minipods_.erase(std::remove_if(minipods_.begin(), minipods_.end(),
                                   [](const auto& leaves) { return leaves.empty(); }),
                    minipods_.end());
    for (std::size_t m = 0; m < minipods_.size(); ++m) {
      for (const auto& hosts : minipods_[m]) {
        for (const HostId host : hosts) place_[index(host)].minipod = m;
      }
    }
  }

  /// The next GPU of the host; the same and the next GPU of the next host of the leaf, of the next
  /// leaf of the minipod and of the next minipod.
  [[nodiscard]] std::vector<GpuId> of(GpuId gpu) const {
    const HostId host = topology_.host_of(gpu);
    const std::size_t local = index(gpu) - index(topology_.host(host).first_gpu);
    const Place& place = place_[index(host)];
    const auto& leaves = minipods_[place.minipod];
    const auto& next_minipod = minipods_[(place.minipod + 1) % minipods_.size()];
    const auto& leaf_there = next_minipod[place.leaf % next_minipod.size()];
    const auto& next_leaf = leaves[(place.leaf + 1) % leaves.size()];
    const auto& hosts = leaves[place.leaf];
    std::vector<GpuId> out{gpu_of(host, local + 1)};
    for (const std::size_t offset : {std::size_t{0}, std::size_t{1}}) {
      out.push_back(gpu_of(hosts[(place.host + 1) % hosts.size()], local + offset));
      out.push_back(gpu_of(next_leaf[place.host % next_leaf.size()], local + offset));
      out.push_back(gpu_of(leaf_there[place.host % leaf_there.size()], local + offset));
    }
    return out;
  }

 private:
  struct Place {
    std::size_t minipod = 0;
    std::size_t leaf = 0;
    std::size_t host = 0;
  };
  [[nodiscard]] GpuId gpu_of(HostId host, std::size_t local) const {
    const topology::Host& it = topology_.host(host);
    return static_cast<GpuId>(index(it.first_gpu) + local % it.gpus);
  }

  const Topology& topology_;
  std::vector<std::vector<std::vector<HostId>>> minipods_;  ///< hosts by minipod and leaf
  std::vector<Place> place_;
};

LevelBandwidth measure(const Topology& topology, const Routing& routing, Tier tier,
                       const std::vector<Connection>& flows) {
  LevelBandwidth out;
  out.tier = tier;
  out.example = flows.front();
  out.flows = flows.size();
  Route route;
  routing.route(out.example, route);
  out.latency = route.latency;
  std::vector<LinkId> path;
  class First final : public topology::HopChooser {
   public:
    std::uint32_t choose(NodeId, std::uint32_t, std::uint32_t) override { return 0; }
  } first;
  topology.paths().path(out.example.source, out.example.destination, first, path);
  out.hops = path.size();
  out.alone_bytes_per_s = carry(topology, routing, {&out.example, 1}).rate_bytes_per_s.front();
  const Traffic traffic = carry(topology, routing, flows);
  const auto& rates = traffic.rate_bytes_per_s;
  out.fair_bytes_per_s =
      std::accumulate(rates.begin(), rates.end(), 0.0) / static_cast<double>(rates.size());
  out.fair_bytes_per_s_min = *std::min_element(rates.begin(), rates.end());
  return out;
}

}  // namespace

std::vector<LevelBandwidth> level_bandwidths(const Topology& topology, const Routing& routing) {
  const Partners partners(topology);
  std::array<std::vector<Connection>, topology::kTiers> flows;
  Route route;
  for (std::size_t i = 0; i < topology.gpu_count(); ++i) {
    const auto gpu = static_cast<GpuId>(i);
    std::array<bool, topology::kTiers> found{};
    for (const GpuId partner : partners.of(gpu)) {
      if (partner == gpu) continue;
      routing.route({gpu, partner}, route);
      const auto tier = static_cast<std::size_t>(route.tier);
      if (found.at(tier)) continue;
      found.at(tier) = true;
      flows.at(tier).push_back({gpu, partner});
    }
  }
  std::vector<LevelBandwidth> out;
  for (std::size_t tier = 0; tier < topology::kTiers; ++tier) {
    if (flows.at(tier).empty()) continue;
    out.push_back(measure(topology, routing, static_cast<Tier>(tier), flows.at(tier)));
  }
  return out;
}

}  // namespace railyard::network
