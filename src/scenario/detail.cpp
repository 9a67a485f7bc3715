// What a page shows beside a result: histories, places of groups, loads of links.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "outcome.hpp"
#include "railyard/core/check.hpp"
#include "world.hpp"

namespace railyard::scenario {
namespace {

constexpr std::size_t kSamples = 600;  // as many as a screen has columns to tell apart
constexpr std::size_t kLinks = 4000;   // as many as a picture of a fabric can show

metrics::ClusterSample exact(const cluster::Sample& sample, double gpus) {
  return {.t_s = in_seconds(sample.at),
          .allocated_share = static_cast<double>(sample.allocated_gpus) / gpus,
          .queued_jobs = static_cast<double>(sample.queued_jobs),
          .fragmentation = sample.fragmentation};
}

/// Sums over a slice of time.
struct Slice {
  double allocated = 0;
  double queued = 0;
  double fragmentation = 0;
  double fragmented = 0;  ///< time in which it was defined

  void add(const metrics::ClusterSample& sample, double span) {
    allocated += span * sample.allocated_share;
    queued += span * sample.queued_jobs;
    if (!sample.fragmentation) return;
    fragmentation += span * *sample.fragmentation;
    fragmented += span;
  }
};

/// Samples up to `end_s`; where they are many, means over equal slices of time.
std::vector<metrics::ClusterSample> samples_of(const std::vector<cluster::Sample>& all, double gpus,
                                               double end_s) {
  std::vector<metrics::ClusterSample> out;
  for (const cluster::Sample& sample : all) {
    if (in_seconds(sample.at) < end_s) out.push_back(exact(sample, gpus));
  }
  if (out.size() <= kSamples) return out;
  const double width = end_s / kSamples;
  std::vector<Slice> slices(kSamples);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double until = i + 1 < out.size() ? out[i + 1].t_s : end_s;
    double from = out[i].t_s;
    for (auto s = static_cast<std::size_t>(from / width); s < kSamples && from < until; ++s) {
      const double to =
          s + 1 == kSamples ? until : std::min(until, width * static_cast<double>(s + 1));
      if (to > from) slices[s].add(out[i], to - from);
      from = std::max(from, to);
    }
  }
  std::vector<metrics::ClusterSample> means;
  for (std::size_t s = 0; s < kSamples; ++s) {
    const Slice& slice = slices[s];
    metrics::ClusterSample mean{.t_s = width * static_cast<double>(s),
                                .allocated_share = slice.allocated / width,
                                .queued_jobs = slice.queued / width,
                                .fragmentation = std::nullopt};
    if (slice.fragmented > 0) mean.fragmentation = slice.fragmentation / slice.fragmented;
    means.push_back(mean);
  }
  return means;
}

std::optional<metrics::GroupPlaces> groups_of(const World& world,
                                              const std::vector<cluster::JobSpec>& jobs,
                                              const cluster::Outcome& outcome) {
  const auto largest = largest_inline(jobs, outcome);
  if (!largest || !outcome.jobs[*largest].placement) return std::nullopt;
  const scheduler::GangShape& shape = jobs[*largest].shape;
  const auto gpus =
      scheduler::gpu_of_rank(*outcome.jobs[*largest].placement, shape, world.topology);
  metrics::GroupPlaces out{
      .job = jobs[*largest].name, .pipeline = shape.pipeline, .data = shape.data, .minipod = {}};
  for (std::uint32_t cell = 0; cell < shape.pipeline * shape.data; ++cell) {
    const HostId host = world.topology.host_of(gpus.at(cell * shape.tensor));
    out.minipod.push_back(static_cast<std::uint32_t>(index(world.topology.host(host).minipod)));
  }
  return out;
}

bool between_switches(const topology::Topology& topology, const topology::Link& link) {
  return is_switch(topology.kind(link.from)) && is_switch(topology.kind(link.to));
}

/// Minipods below every node, upwards from the hosts' NICs, at most two of each: more says no more.
std::vector<std::set<std::uint32_t>> minipods_below(const topology::Topology& topology) {
  std::vector<std::set<std::uint32_t>> below(topology.node_count());
  std::vector<NodeId> level;
  for (std::uint32_t gpu = 0; gpu < topology.gpu_count(); ++gpu) {
    const auto id = static_cast<GpuId>(gpu);
    const NodeId nic = topology.nic_node(id);
    const topology::Host& host = topology.host(topology.host_of(id));
    if (below[index(nic)].insert(static_cast<std::uint32_t>(index(host.minipod))).second)
      level.push_back(nic);
  }
  while (!level.empty()) {
    std::vector<NodeId> next;
    for (const NodeId node : level) {
      for (const topology::Link& link : topology.out_links(node)) {
        const auto kind = topology.kind(link.to);
        if (!is_switch(kind) || kind <= topology.kind(node)) continue;
        auto& above = below[index(link.to)];
        const std::size_t before = above.size();
        if (before < 2) above.insert(below[index(node)].begin(), below[index(node)].end());
        if (above.size() > before) next.push_back(link.to);
      }
    }
    level = std::move(next);
  }
  return below;
}

/// The links to draw: those between switches, and if they are too many those used most.
std::vector<std::uint32_t> drawn_links(const topology::Topology& topology,
                                       const std::vector<metrics::PolicyDetail>& policies) {
  std::map<std::uint32_t, double> most;
  for (const metrics::PolicyDetail& policy : policies) {
    for (const metrics::LinkLoad& load : policy.links)
      most[load.link] = std::max(most[load.link], load.utilization);
  }
  std::vector<std::pair<double, std::uint32_t>> order;
  for (std::uint32_t l = 0; l < topology.links().size(); ++l) {
    if (!between_switches(topology, topology.link(static_cast<LinkId>(l)))) continue;
    const auto found = most.find(l);
    order.emplace_back(found == most.end() ? 0.0 : -found->second, l);
  }
  std::sort(order.begin(), order.end());
  if (order.size() > kLinks) order.resize(kLinks);
  std::vector<std::uint32_t> out;
  for (const auto& [use, link] : order) out.push_back(link);
  std::sort(out.begin(), out.end());
  return out;
}

metrics::Fabric fabric_of(const topology::Topology& topology,
                          const std::vector<std::uint32_t>& links) {
  metrics::Fabric out;
  const auto below = minipods_below(topology);
  std::map<NodeId, std::uint32_t> number;
  for (std::uint32_t n = 0; n < topology.node_count(); ++n) {
    const auto node = static_cast<NodeId>(n);
    if (!is_switch(topology.kind(node))) continue;
    number[node] = static_cast<std::uint32_t>(out.switches.size());
    metrics::Fabric::Switch entry;
    entry.name = topology.node_name(node);
    entry.kind = topology::name(topology.kind(node));
    if (below[n].size() == 1) entry.minipod = *below[n].begin();
    out.switches.push_back(std::move(entry));
  }
  for (const std::uint32_t l : links) {
    const auto id = static_cast<LinkId>(l);
    const topology::Link& link = topology.link(id);
    out.links.push_back({number.at(link.from), number.at(link.to), topology.link_name(id),
                         std::string(topology::name(link.tier)),
                         static_cast<double>(link.capacity.bytes_per_s())});
  }
  const auto all = std::count_if(
      topology.links().begin(), topology.links().end(),
      [&topology](const topology::Link& link) { return between_switches(topology, link); });
  out.links_left_out = static_cast<std::uint32_t>(static_cast<std::size_t>(all) - out.links.size());
  for (std::uint32_t m = 0; m < topology.minipod_count(); ++m)
    out.minipods.push_back({topology.minipod_name(static_cast<MinipodId>(m)), 0});
  for (const topology::Host& host : topology.hosts())
    out.minipods[index(host.minipod)].gpus += host.gpus;
  return out;
}

std::string_view name_of(cluster::Incident::Kind kind) {
  using Kind = cluster::Incident::Kind;
  switch (kind) {
    case Kind::announced:
      return "announced";
    case Kind::arrived:
      return "arrived";
    case Kind::rejected:
      return "rejected";
    case Kind::placed:
      return "placed";
    case Kind::started:
      return "started";
    case Kind::preempted:
      return "preempted";
    case Kind::failed:
      return "failed";
    case Kind::finished:
      return "finished";
    case Kind::host_failed:
      return "host_failed";
    case Kind::host_repaired:
      return "host_repaired";
    case Kind::held_back:
      return "held_back";
    case Kind::hosts_closed:
      return "hosts_closed";
    case Kind::hosts_opened:
      return "hosts_opened";
    case Kind::refused:
      return "refused";
  }
  return "";
}

metrics::LoggedEvent logged(const World& world, const std::vector<cluster::JobSpec>& jobs,
                            const cluster::Incident& incident) {
  using Kind = cluster::Incident::Kind;
  metrics::LoggedEvent out;
  out.ticks = incident.at.time_since_epoch().count();
  out.event = name_of(incident.kind);
  out.why = incident.why;
  if (incident.kind == Kind::host_failed || incident.kind == Kind::host_repaired) {
    out.host = world.topology.host_name(static_cast<HostId>(incident.subject));
  } else if (incident.kind != Kind::refused && incident.kind != Kind::hosts_closed &&
             incident.kind != Kind::hosts_opened) {
    out.job = jobs[incident.subject].name;
  }
  for (const HostId host : incident.hosts) out.hosts.push_back(world.topology.host_name(host));
  return out;
}

}  // namespace

metrics::PolicyDetail policy_detail(const World& world, const std::vector<cluster::JobSpec>& jobs,
                                    const cluster::Outcome& outcome) {
  metrics::PolicyDetail out;
  out.end_s = in_seconds(outcome.end);
  out.samples =
      samples_of(outcome.samples, static_cast<double>(world.topology.gpu_count()), out.end_s);
  for (const cluster::Holding& one : outcome.holdings) {
    if (one.to <= one.from) continue;
    out.holdings.push_back({one.job, static_cast<std::uint32_t>(index(one.minipod)), one.gpus,
                            in_seconds(one.from), in_seconds(one.to)});
  }
  for (const cluster::Incident& one : outcome.incidents) {
    out.events.push_back(logged(world, jobs, one));
  }
  out.groups = groups_of(world, jobs, outcome);
  const double window = in_seconds(outcome.links_window);
  for (std::uint32_t l = 0; window > 0 && l < outcome.links.size(); ++l) {
    const topology::Link& link = world.topology.link(static_cast<LinkId>(l));
    const network::LinkUsage& usage = outcome.links[l];
    if (usage.bytes <= 0 || !between_switches(world.topology, link)) continue;
    const double possible = static_cast<double>(link.capacity.bytes_per_s()) * window;
    out.links.push_back({l, usage.bytes, usage.bytes / possible, in_seconds(usage.busy) / window,
                         in_seconds(usage.binding) / window, outcome.link_connections[l]});
  }
  return out;
}

metrics::Detail detail(const Spec& spec, std::vector<metrics::PolicyDetail> policies,
                       const std::vector<std::string>& timelines) {
  const World& world = spec.world();
  metrics::Detail out;
  const auto drawn = drawn_links(world.topology, policies);
  out.fabric = fabric_of(world.topology, drawn);
  out.fabric.occupied_gpus = scheduler::gpu_count(world.background);
  for (metrics::PolicyDetail& policy : policies) {
    std::vector<metrics::LinkLoad> kept;
    for (metrics::LinkLoad load : policy.links) {
      const auto at = std::lower_bound(drawn.begin(), drawn.end(), load.link);
      if (at == drawn.end() || *at != load.link) continue;
      load.link = static_cast<std::uint32_t>(at - drawn.begin());
      kept.push_back(load);
    }
    policy.links = std::move(kept);
  }
  out.policies = std::move(policies);
  if (world.jobs.empty() || !world.jobs.front().iterations) return out;
  const auto names = spec.policy_names();
  for (const std::string& name : timelines) {
    const auto at = std::find(names.begin(), names.end(), name);
    RAILYARD_CHECK(at != names.end(), "no policy set is named {}", name);
    try {
      out.timelines.push_back(
          pipeline_timeline(spec, static_cast<std::size_t>(at - names.begin())));
    } catch (const config::ConfigError&) {
      // The job finds no place on the cluster as the scenario starts: there is no such iteration.
    }
  }
  return out;
}

}  // namespace railyard::scenario
