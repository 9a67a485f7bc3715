#include "railyard/network/flow_network.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "network/completion_heap.hpp"
#include "network/hop_pool.hpp"
#include "railyard/core/check.hpp"
#include "railyard/network/max_min.hpp"

namespace railyard::network {
namespace {

__extension__ using Int128 = __int128;

/// The load of a link that its flows can just fill. Loads are fractions of the capacity in units of
/// 2^-52, rounded down per flow. n flows within n × 2^-52 of the capacity thus count as fitting:
/// less than the sum of n rounded rates can resolve.
constexpr std::uint64_t kFullLoad = std::uint64_t{1} << 52U;

constexpr std::uint32_t kNoLink = UINT32_MAX;
constexpr double kTicksPerSecondReal = static_cast<double>(kTicksPerSecond);

struct Flow {
  double remaining_bytes = 0;  ///< at `since`
  double rate_bytes_per_s = 0;
  double solo_bytes_per_s = 0;
  double share = 1;
  std::int64_t since = 0;  ///< tick of the last true change of the rate
  std::int64_t started = 0;
  std::int64_t size = 0;
  std::uint64_t order = 0;
  std::uint64_t tag = 0;
  std::uint64_t visited = 0;  ///< the settle that has put it into a component
  std::uint32_t first_hop = 0;
  std::uint32_t hops = 0;           ///< 0: a free slot
  std::uint32_t hop_block = 0;      ///< hops allocated: more than `hops` when links were merged
  std::uint32_t binding = kNoLink;  ///< link counted in Link::bound
};

struct Visitor {
  std::uint32_t flow;
  std::uint32_t hop;  ///< index in the hop pool
};

struct Link {
  double capacity_bytes_per_s = 0;
  Int128 load = 0;               ///< exact sum of the hops' loads
  std::vector<Visitor> flows;    ///< unordered; hops know their place
  std::uint64_t visited = 0;     ///< the settle that has put it into a component
  std::uint64_t last_start = 0;  ///< order + 1 of the last flow that was started on it
  std::uint32_t local = 0;  ///< index in the component being solved; while a flow starts, its hop
  std::uint32_t bound = 0;  ///< flows that have it as their bottleneck
  bool can_bind = false;
  bool binds = false;  ///< bottleneck of a flow below its solo rate
  bool dirty = false;  ///< listed in dirty_links

  [[nodiscard]] bool overloaded() const { return load > static_cast<Int128>(kFullLoad); }
};

struct Usage {
  double bytes = 0;
  std::int64_t busy = 0;
  std::int64_t busy_since = 0;
  std::int64_t binding = 0;
  std::int64_t binding_since = 0;
};

/// The component being solved, in the form the solver takes.
struct Component {
  std::vector<std::uint32_t> flows;
  std::vector<std::uint32_t> links;
  std::vector<double> capacity;
  std::vector<std::uint32_t> first_use;
  std::vector<std::uint32_t> link_of_use;
  std::vector<double> usage;
  std::vector<double> share;
  std::vector<double> cap;
  std::vector<double> rate;
  std::vector<std::uint32_t> binding_link;
  std::vector<std::uint8_t> link_binds;

  void clear() {
    flows.clear();
    links.clear();
    capacity.clear();
    first_use.assign(1, 0);
    link_of_use.clear();
    usage.clear();
    share.clear();
    cap.clear();
  }
};

std::vector<Bandwidth> capacities_of(const topology::Topology& topology) {
  std::vector<Bandwidth> capacities;
  capacities.reserve(topology.links().size());
  for (const topology::Link& link : topology.links()) capacities.push_back(link.capacity);
  return capacities;
}

}  // namespace

struct FlowNetwork::State {
  explicit State(std::span<const Bandwidth> capacities);

  FlowId start(std::int64_t now, const FlowSpec& spec);
  void finish(std::int64_t now, std::uint32_t slot, std::vector<FinishedFlow>& done);
  void settle(std::int64_t now);
  void advance_to(std::int64_t now);

  std::vector<Link> links;
  std::vector<Usage> usage;
  std::vector<Flow> flows;
  std::vector<std::uint32_t> free_flows;
  HopPool hops;
  CompletionHeap completions;
  std::vector<std::uint32_t> started;      ///< flows without a rate yet
  std::vector<std::uint32_t> dirty_links;  ///< bottlenecks that lost a flow
  Component component;
  MaxMinWorkspace workspace;
  NetworkCounters counters;
  std::int64_t now = 0;
  std::uint64_t settles = 0;

 private:
  std::uint32_t take_slot();
  void check_route(std::span<const topology::LinkUse> route) const;
  void copy_route(std::uint32_t slot, std::span<const topology::LinkUse> route);
  void enter_links(std::int64_t now, std::uint32_t slot);
  void set_binds(std::int64_t now, std::uint32_t link, bool binds);
  void settle_flow(std::int64_t now, std::uint32_t slot);
  void visit_link(std::uint32_t link);
  void visit_flow(std::uint32_t slot);
  void solve_component(std::int64_t now);
  void set_rate(std::int64_t now, std::uint32_t slot, double rate);
  void set_binding(Flow& flow, std::uint32_t link);
};

FlowNetwork::State::State(std::span<const Bandwidth> capacities)
    : links(capacities.size()), usage(capacities.size()) {
  for (std::size_t link = 0; link < capacities.size(); ++link) {
    RAILYARD_CHECK(capacities[link].bytes_per_s() > 0, "link {} has the capacity {} B/s", link,
                   capacities[link].bytes_per_s());
    links[link].capacity_bytes_per_s = static_cast<double>(capacities[link].bytes_per_s());
  }
}

void FlowNetwork::State::advance_to(std::int64_t to) {
  RAILYARD_CHECK(to >= now, "the network is at tick {} and cannot go back to {}", now, to);
  if (to == now) return;
  RAILYARD_CHECK(started.empty() && dirty_links.empty(), "tick {} was left for {} without settle",
                 now, to);
  RAILYARD_CHECK(completions.empty() || completions.top().tick >= to,
                 "a flow ended at tick {} but the network went on to {}: call finish_due first",
                 completions.top().tick, to);
  now = to;
}

std::uint32_t FlowNetwork::State::take_slot() {
  if (!free_flows.empty()) {
    const std::uint32_t slot = free_flows.back();
    free_flows.pop_back();
    return slot;
  }
  flows.emplace_back();
  completions.resize(flows.size());
  return static_cast<std::uint32_t>(flows.size() - 1);
}

void FlowNetwork::State::check_route(std::span<const topology::LinkUse> route) const {
  RAILYARD_CHECK(!route.empty() && route.size() < kNoLink,
                 "a flow needs 1 to 2^32 - 2 links, not {}", route.size());
  for (const topology::LinkUse& use : route) {
    RAILYARD_CHECK(index(use.link) < links.size(), "link {} of {}", index(use.link), links.size());
    RAILYARD_CHECK(use.usage > 0 && use.usage < std::numeric_limits<double>::infinity(),
                   "usage {} of link {}", use.usage, index(use.link));
  }
}

/// Copies the route, adds up usages of a link that occurs twice, and finds the solo rate: the least
/// capacity / usage.
void FlowNetwork::State::copy_route(std::uint32_t slot, std::span<const topology::LinkUse> route) {
  Flow& flow = flows[slot];
  flow.hop_block = static_cast<std::uint32_t>(route.size());
  flow.first_hop = hops.allocate(flow.hop_block);
  std::uint32_t count = 0;
  for (const topology::LinkUse& use : route) {
    Link& link = links[index(use.link)];
    if (link.last_start == flow.order + 1) {
      hops[flow.first_hop + link.local].usage += use.usage;
      continue;
    }
    link.last_start = flow.order + 1;
    link.local = count;
    Hop& hop = hops[flow.first_hop + count];
    hop.link = static_cast<std::uint32_t>(index(use.link));
    hop.usage = use.usage;
    ++count;
  }
  flow.hops = count;
  flow.solo_bytes_per_s = std::numeric_limits<double>::infinity();
  for (std::uint32_t hop = flow.first_hop; hop < flow.first_hop + count; ++hop) {
    flow.solo_bytes_per_s = std::min(flow.solo_bytes_per_s,
                                     links[hops[hop].link].capacity_bytes_per_s / hops[hop].usage);
  }
}

void FlowNetwork::State::enter_links(std::int64_t at, std::uint32_t slot) {
  const Flow& flow = flows[slot];
  for (std::uint32_t index = flow.first_hop; index < flow.first_hop + flow.hops; ++index) {
    Hop& hop = hops[index];
    Link& link = links[hop.link];
    const double fraction = hop.usage * flow.solo_bytes_per_s / link.capacity_bytes_per_s;
    hop.load =
        std::min(kFullLoad, static_cast<std::uint64_t>(fraction * static_cast<double>(kFullLoad)));
    hop.position = static_cast<std::uint32_t>(link.flows.size());
    if (link.flows.empty()) usage[hop.link].busy_since = at;
    link.flows.push_back(Visitor{slot, index});
    link.load += static_cast<Int128>(hop.load);
    link.can_bind = link.overloaded();
  }
}

FlowId FlowNetwork::State::start(std::int64_t at, const FlowSpec& spec) {
  advance_to(at);
  RAILYARD_CHECK(spec.size.count() > 0, "a flow of {} bytes: run empty transfers inline",
                 spec.size.count());
  RAILYARD_CHECK(spec.share > 0 && spec.share < std::numeric_limits<double>::infinity(),
                 "a flow with the share {}", spec.share);
  check_route(spec.route);
  const std::uint32_t slot = take_slot();
  Flow& flow = flows[slot];
  flow.order = counters.flows_started++;
  copy_route(slot, spec.route);
  flow.size = spec.size.count();
  flow.remaining_bytes = static_cast<double>(flow.size);
  flow.rate_bytes_per_s = 0;
  flow.share = spec.share;
  flow.since = at;
  flow.started = at;
  flow.tag = spec.tag;
  flow.binding = kNoLink;
  enter_links(at, slot);
  started.push_back(slot);
  return static_cast<FlowId>(slot);
}

void FlowNetwork::State::set_binds(std::int64_t at, std::uint32_t id, bool binds) {
  Link& link = links[id];
  if (link.binds == binds) return;
  link.binds = binds;
  if (binds) {
    usage[id].binding_since = at;
  } else {
    usage[id].binding += at - usage[id].binding_since;
  }
}

void FlowNetwork::State::set_binding(Flow& flow, std::uint32_t link) {
  if (flow.binding == link) return;
  if (flow.binding != kNoLink) --links[flow.binding].bound;
  if (link != kNoLink) ++links[link].bound;
  flow.binding = link;
}

void FlowNetwork::State::finish(std::int64_t at, std::uint32_t slot,
                                std::vector<FinishedFlow>& done) {
  Flow& flow = flows[slot];
  const auto size = static_cast<double>(flow.size);
  done.push_back(FinishedFlow{static_cast<FlowId>(slot), flow.tag,
                              to_ticks(size * kTicksPerSecondReal / flow.solo_bytes_per_s),
                              TimePoint(Duration(flow.started))});
  completions.remove(slot);
  set_binding(flow, kNoLink);
  for (std::uint32_t index = flow.first_hop; index < flow.first_hop + flow.hops; ++index) {
    const Hop& hop = hops[index];
    Link& link = links[hop.link];
    const Visitor moved = link.flows.back();
    link.flows[hop.position] = moved;
    hops[moved.hop].position = hop.position;
    link.flows.pop_back();
    link.load -= static_cast<Int128>(hop.load);
    link.can_bind = link.overloaded();
    Usage& totals = usage[hop.link];
    totals.bytes += hop.usage * size;
    if (link.flows.empty()) totals.busy += at - totals.busy_since;
    // Only flows that had this link as their bottleneck can become faster; all others keep a
    // bottleneck that is full.
    if (link.bound == 0) {
      set_binds(at, hop.link, false);
    } else if (!link.dirty) {
      link.dirty = true;
      dirty_links.push_back(hop.link);
    }
  }
  hops.release(flow.first_hop, flow.hop_block);
  flow.hops = 0;
  free_flows.push_back(slot);
  ++counters.flows_finished;
}

void FlowNetwork::State::settle(std::int64_t at) {
  advance_to(at);
  ++settles;
  for (std::size_t next = 0; next < dirty_links.size(); ++next) {
    const std::uint32_t id = dirty_links[next];
    Link& link = links[id];
    link.dirty = false;
    if (link.can_bind) {
      if (link.visited == settles) continue;
      component.clear();
      visit_link(id);
      solve_component(at);
      continue;
    }
    set_binds(at, id, false);
    for (const Visitor& visitor : link.flows) {
      if (flows[visitor.flow].binding == id) settle_flow(at, visitor.flow);
    }
  }
  dirty_links.clear();
  for (const std::uint32_t slot : started) settle_flow(at, slot);
  started.clear();
}

/// Gives one flow its rate: the solo rate when none of its links can bind, else by solving its
/// component.
void FlowNetwork::State::settle_flow(std::int64_t at, std::uint32_t slot) {
  Flow& flow = flows[slot];
  if (flow.visited == settles) return;
  component.clear();
  visit_flow(slot);
  if (component.links.empty()) {
    set_binding(flow, kNoLink);
    set_rate(at, slot, flow.solo_bytes_per_s);
    return;
  }
  solve_component(at);
}

void FlowNetwork::State::visit_link(std::uint32_t id) {
  Link& link = links[id];
  link.visited = settles;
  link.local = static_cast<std::uint32_t>(component.links.size());
  component.links.push_back(id);
  component.capacity.push_back(link.capacity_bytes_per_s);
}

/// Adds a flow, and those of its links that can bind, to the component.
void FlowNetwork::State::visit_flow(std::uint32_t slot) {
  Flow& flow = flows[slot];
  flow.visited = settles;
  for (std::uint32_t index = flow.first_hop; index < flow.first_hop + flow.hops; ++index) {
    const Hop& hop = hops[index];
    const Link& link = links[hop.link];
    if (!link.can_bind) continue;
    if (link.visited != settles) visit_link(hop.link);
    component.link_of_use.push_back(link.local);
    component.usage.push_back(hop.usage);
  }
  component.flows.push_back(slot);
  component.first_use.push_back(static_cast<std::uint32_t>(component.link_of_use.size()));
  component.share.push_back(flow.share);
  component.cap.push_back(flow.solo_bytes_per_s);
}

/// Completes the component from the links it has so far, solves it, and passes on what has changed.
void FlowNetwork::State::solve_component(std::int64_t at) {
  Component& c = component;
  for (std::size_t next = 0; next < c.links.size(); ++next) {
    for (const Visitor& visitor : links[c.links[next]].flows) {
      if (flows[visitor.flow].visited != settles) visit_flow(visitor.flow);
    }
  }
  c.rate.resize(c.flows.size());
  c.binding_link.resize(c.flows.size());
  c.link_binds.resize(c.links.size());
  solve_max_min(MaxMinProblem{c.capacity, c.first_use, c.link_of_use, c.usage, c.share, c.cap},
                workspace, MaxMinRates{c.rate, c.binding_link, c.link_binds});
  ++counters.solves;
  counters.flows_touched += c.flows.size();
  counters.links_touched += c.links.size();
  for (std::size_t local = 0; local < c.flows.size(); ++local) {
    const std::uint32_t binding = c.binding_link[local];
    set_binding(flows[c.flows[local]], binding == kOwnCap ? kNoLink : c.links[binding]);
    set_rate(at, c.flows[local], c.rate[local]);
  }
  for (std::size_t local = 0; local < c.links.size(); ++local) {
    set_binds(at, c.links[local], c.link_binds[local] != 0);
  }
}

/// Nothing happens unless the rate differs in some bit: what remains is then still known from the
/// last true change.
void FlowNetwork::State::set_rate(std::int64_t at, std::uint32_t slot, double rate) {
  Flow& flow = flows[slot];
  if (flow.rate_bytes_per_s == rate) return;
  RAILYARD_CHECK(rate > 0, "flow {} got the rate {} B/s", slot, rate);
  if (at > flow.since) {
    const double sent =
        flow.rate_bytes_per_s * static_cast<double>(at - flow.since) / kTicksPerSecondReal;
    flow.remaining_bytes = std::max(0.0, flow.remaining_bytes - sent);
  }
  flow.since = at;
  flow.rate_bytes_per_s = rate;
  const std::int64_t left = to_ticks(flow.remaining_bytes * kTicksPerSecondReal / rate).count();
  RAILYARD_CHECK(left <= std::numeric_limits<std::int64_t>::max() - 1 - at,
                 "a flow of {} bytes at {} B/s ends beyond the clock", flow.size, rate);
  completions.set(CompletionHeap::Entry{at + left, flow.order, slot});
}

FlowNetwork::FlowNetwork(const topology::Topology& topology)
    : FlowNetwork(capacities_of(topology)) {}
FlowNetwork::FlowNetwork(std::span<const Bandwidth> capacities)
    : state_(std::make_unique<State>(capacities)) {}
FlowNetwork::~FlowNetwork() = default;

FlowId FlowNetwork::start(TimePoint now, const FlowSpec& spec) {
  return state_->start(now.time_since_epoch().count(), spec);
}

void FlowNetwork::finish_due(TimePoint now, std::vector<FinishedFlow>& done) {
  const std::int64_t at = now.time_since_epoch().count();
  state_->advance_to(at);
  while (!state_->completions.empty() && state_->completions.top().tick == at) {
    state_->finish(at, state_->completions.top().flow, done);
  }
}

void FlowNetwork::settle(TimePoint now) {
  state_->settle(now.time_since_epoch().count());
}

TimePoint FlowNetwork::next_completion() const {
  RAILYARD_CHECK(state_->started.empty() && state_->dirty_links.empty(),
                 "next_completion before settle at tick {}", state_->now);
  if (state_->completions.empty()) return TimePoint::max();
  return TimePoint(Duration(state_->completions.top().tick));
}

double FlowNetwork::rate_bytes_per_s(FlowId flow) const {
  return state_->flows[index(flow)].rate_bytes_per_s;
}
double FlowNetwork::solo_rate_bytes_per_s(FlowId flow) const {
  return state_->flows[index(flow)].solo_bytes_per_s;
}

std::size_t FlowNetwork::running() const {
  return static_cast<std::size_t>(state_->counters.flows_started - state_->counters.flows_finished);
}

std::vector<LinkUsage> FlowNetwork::link_usage(TimePoint now) const {
  const std::int64_t at = now.time_since_epoch().count();
  std::vector<LinkUsage> result(state_->usage.size());
  for (std::size_t link = 0; link < result.size(); ++link) {
    const Usage& totals = state_->usage[link];
    const bool busy = !state_->links[link].flows.empty();
    const bool binds = state_->links[link].binds;
    result[link].bytes = totals.bytes;
    result[link].busy = Duration(totals.busy + (busy ? at - totals.busy_since : 0));
    result[link].binding = Duration(totals.binding + (binds ? at - totals.binding_since : 0));
  }
  return result;
}

void FlowNetwork::reset_usage(TimePoint now) {
  const std::int64_t at = now.time_since_epoch().count();
  for (Usage& totals : state_->usage) totals = Usage{0, 0, at, 0, at};
}

const NetworkCounters& FlowNetwork::counters() const {
  return state_->counters;
}

}  // namespace railyard::network
