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

/// A rate that a solve moves by less than this is not moved: it is the rounding of another order of
/// levels. It is compared with the rate in use, so that nothing adds up.
constexpr double kSameRate = 1e-12;

/// Sums of rates are integers in units of 2^-60 byte/s, so that they do not depend on their order.
constexpr double kRateUnits = 0x1p60;
Int128 in_units(double bytes_per_s) {
  return static_cast<Int128>(bytes_per_s * kRateUnits);
}

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
  std::uint64_t visited = 0;  ///< the settle that has put it into the problem
  std::uint32_t first_hop = 0;
  std::uint32_t hops = 0;       ///< 0: a free slot
  std::uint32_t hop_block = 0;  ///< hops allocated: more than `hops` when links were merged
};

struct Visitor {
  std::uint32_t flow;
  std::uint32_t hop;  ///< index in the hop pool
};

struct Link {
  double capacity_bytes_per_s = 0;
  Int128 load = 0;               ///< exact sum of the hops' loads
  Int128 rates = 0;              ///< exact sum of usage × rate; kept while `summed`
  Int128 rates_in_problem = 0;   ///< the part of it whose flows are being solved
  std::vector<Visitor> flows;    ///< unordered; hops know their place
  std::uint64_t visited = 0;     ///< the settle that has put it into the problem
  std::uint64_t last_start = 0;  ///< order + 1 of the last flow that was started on it
  std::uint32_t local = 0;       ///< index in the problem; while a flow starts, its hop
  std::uint32_t flows_in_problem = 0;
  std::uint32_t bound = 0;  ///< flows that have it as a bottleneck
  bool can_bind = false;
  bool summed = false;
  bool dirty = false;          ///< listed in dirty_links
  bool bound_visited = false;  ///< its bound flows are in the problem

  [[nodiscard]] bool overloaded() const { return load > static_cast<Int128>(kFullLoad); }
};

struct Usage {
  double bytes = 0;
  std::int64_t busy = 0;
  std::int64_t busy_since = 0;
  std::int64_t binding = 0;
  std::int64_t binding_since = 0;
};

/// The flows being solved, in the form the solver takes.
struct Problem {
  std::vector<std::uint32_t> flows;
  std::vector<std::uint32_t> links;
  std::vector<double> capacity;  ///< what the flows outside leave
  std::vector<std::uint32_t> first_use;
  std::vector<std::uint32_t> link_of_use;
  std::vector<double> usage;
  std::vector<double> share;
  std::vector<double> cap;
  std::vector<double> rate;
  std::vector<double> level;
  std::vector<std::uint32_t> binding_link;
  std::vector<double> link_level;

  void clear() {
    flows.clear();
    links.clear();
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
  [[nodiscard]] std::size_t running() const { return flows.size() - free_flows.size(); }

  std::vector<Link> links;
  std::vector<Usage> usage;
  std::vector<Flow> flows;
  std::vector<std::uint32_t> free_flows;
  HopPool hops;
  CompletionHeap completions;
  std::vector<std::uint32_t> started;      ///< flows without a rate yet
  std::vector<std::uint32_t> dirty_links;  ///< bottlenecks that lost a flow
  Problem problem;
  MaxMinWorkspace workspace;
  NetworkCounters counters;
  std::int64_t now = 0;
  std::uint64_t settles = 0;

 private:
  std::uint32_t take_slot();
  void check_route(std::span<const topology::LinkUse> route) const;
  void copy_route(std::uint32_t slot, std::span<const topology::LinkUse> route);
  void enter_links(std::int64_t now, std::uint32_t slot);
  void set_bound(std::int64_t now, Hop& hop, bool bound);
  void seed(std::int64_t now);
  [[nodiscard]] bool can_be_held(const Flow& flow) const;
  void visit_bound_flows(std::uint32_t link);
  void visit_link(std::uint32_t link);
  void visit_flow(std::uint32_t slot);
  void solve();
  [[nodiscard]] bool differs(std::size_t local) const;
  void visit_those_freed();
  void visit_those_above();
  void visit_component();
  void commit(std::int64_t now);
  void set_rate(std::int64_t now, std::uint32_t slot, double rate);
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
  RAILYARD_CHECK(!route.empty() && route.size() < UINT32_MAX,
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
    hop.bound = false;
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
  enter_links(at, slot);
  started.push_back(slot);
  return static_cast<FlowId>(slot);
}

/// Marks or clears a link as a bottleneck of the flow, and keeps the link's binding time.
void FlowNetwork::State::set_bound(std::int64_t at, Hop& hop, bool bound) {
  if (hop.bound == bound) return;
  hop.bound = bound;
  Link& link = links[hop.link];
  if (bound) {
    if (link.bound++ == 0) usage[hop.link].binding_since = at;
  } else if (--link.bound == 0) {
    usage[hop.link].binding += at - usage[hop.link].binding_since;
  }
}

void FlowNetwork::State::finish(std::int64_t at, std::uint32_t slot,
                                std::vector<FinishedFlow>& done) {
  Flow& flow = flows[slot];
  const auto size = static_cast<double>(flow.size);
  done.push_back(FinishedFlow{static_cast<FlowId>(slot), flow.tag,
                              to_ticks(size * kTicksPerSecondReal / flow.solo_bytes_per_s),
                              TimePoint(Duration(flow.started))});
  completions.remove(slot);
  for (std::uint32_t index = flow.first_hop; index < flow.first_hop + flow.hops; ++index) {
    Hop& hop = hops[index];
    Link& link = links[hop.link];
    set_bound(at, hop, false);
    if (link.summed) link.rates -= in_units(hop.usage * flow.rate_bytes_per_s);
    const Visitor moved = link.flows.back();
    link.flows[hop.position] = moved;
    hops[moved.hop].position = hop.position;
    link.flows.pop_back();
    link.load -= static_cast<Int128>(hop.load);
    link.can_bind = link.overloaded();
    link.summed = link.summed && link.can_bind;
    Usage& totals = usage[hop.link];
    totals.bytes += hop.usage * size;
    if (link.flows.empty()) totals.busy += at - totals.busy_since;
    // Only flows that have this link as a bottleneck can become faster; all others keep one that is
    // full.
    if (link.bound > 0 && !link.dirty) {
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
  if (started.empty() && dirty_links.empty()) return;
  ++settles;
  problem.clear();
  seed(at);
  if (problem.flows.empty()) return;
  std::size_t work = 0;
  for (std::size_t before = 0; before < problem.flows.size();) {
    before = problem.flows.size();
    solve();
    work += before;
    visit_those_freed();
    visit_those_above();
    if (problem.flows.size() > before && 2 * work > running()) visit_component();
  }
  commit(at);
}

/// Puts into the problem the flows that the changes of this tick touch first: the new ones, those
/// held by a link of a new one, and those held by a link that lost a flow.
void FlowNetwork::State::seed(std::int64_t at) {
  for (const std::uint32_t slot : started) {
    if (can_be_held(flows[slot])) {
      visit_flow(slot);
    } else {
      set_rate(at, slot, flows[slot].solo_bytes_per_s);
    }
  }
  started.clear();
  const std::size_t of_new_flows = problem.links.size();
  for (std::size_t local = 0; local < of_new_flows; ++local) {
    visit_bound_flows(problem.links[local]);
  }
  for (const std::uint32_t id : dirty_links) {
    links[id].dirty = false;
    for (const Visitor& visitor : links[id].flows) {
      if (hops[visitor.hop].bound) visit_flow(visitor.flow);
    }
  }
  dirty_links.clear();
}

bool FlowNetwork::State::can_be_held(const Flow& flow) const {
  for (std::uint32_t hop = flow.first_hop; hop < flow.first_hop + flow.hops; ++hop) {
    if (links[hops[hop].link].can_bind) return true;
  }
  return false;
}

/// Adds all flows that have the link as a bottleneck. They do not change while the tick is settled.
void FlowNetwork::State::visit_bound_flows(std::uint32_t id) {
  Link& link = links[id];
  if (link.bound_visited) return;
  link.bound_visited = true;
  if (link.bound == 0) return;
  for (const Visitor& visitor : link.flows) {
    if (hops[visitor.hop].bound) visit_flow(visitor.flow);
  }
}

void FlowNetwork::State::visit_link(std::uint32_t id) {
  Link& link = links[id];
  link.visited = settles;
  link.local = static_cast<std::uint32_t>(problem.links.size());
  link.rates_in_problem = 0;
  link.flows_in_problem = 0;
  link.bound_visited = false;
  problem.links.push_back(id);
  if (link.summed) return;
  link.summed = true;
  link.rates = 0;
  for (const Visitor& visitor : link.flows) {
    link.rates += in_units(hops[visitor.hop].usage * flows[visitor.flow].rate_bytes_per_s);
  }
}

/// Adds a flow, and those of its links that can bind, to the problem.
void FlowNetwork::State::visit_flow(std::uint32_t slot) {
  Flow& flow = flows[slot];
  if (flow.visited == settles) return;
  flow.visited = settles;
  for (std::uint32_t index = flow.first_hop; index < flow.first_hop + flow.hops; ++index) {
    const Hop& hop = hops[index];
    Link& link = links[hop.link];
    if (!link.can_bind) continue;
    if (link.visited != settles) visit_link(hop.link);
    link.rates_in_problem += in_units(hop.usage * flow.rate_bytes_per_s);
    ++link.flows_in_problem;
    problem.link_of_use.push_back(link.local);
    problem.usage.push_back(hop.usage);
  }
  problem.flows.push_back(slot);
  problem.first_use.push_back(static_cast<std::uint32_t>(problem.link_of_use.size()));
  problem.share.push_back(flow.share);
  problem.cap.push_back(flow.solo_bytes_per_s);
}

/// Solves the problem as if all flows outside kept their rates.
void FlowNetwork::State::solve() {
  Problem& p = problem;
  p.capacity.resize(p.links.size());
  for (std::size_t local = 0; local < p.links.size(); ++local) {
    const Link& link = links[p.links[local]];
    const Int128 left = in_units(link.capacity_bytes_per_s) - link.rates + link.rates_in_problem;
    p.capacity[local] = std::max(0.0, static_cast<double>(left) / kRateUnits);
  }
  p.rate.resize(p.flows.size());
  p.level.resize(p.flows.size());
  p.binding_link.resize(p.flows.size());
  p.link_level.resize(p.links.size());
  solve_max_min(MaxMinProblem{p.capacity, p.first_use, p.link_of_use, p.usage, p.share, p.cap},
                workspace, MaxMinRates{p.rate, p.level, p.binding_link, p.link_level});
  ++counters.solves;
  counters.flows_touched += p.flows.size();
  counters.links_touched += p.links.size();
}

bool FlowNetwork::State::differs(std::size_t local) const {
  const double old = flows[problem.flows[local]].rate_bytes_per_s;
  return std::abs(problem.rate[local] - old) > kSameRate * old;
}

/// A flow outside keeps its bottleneck only if nothing on that link has changed.
void FlowNetwork::State::visit_those_freed() {
  const std::size_t solved = problem.rate.size();
  for (std::size_t local = 0; local < solved; ++local) {
    if (!differs(local)) continue;
    for (std::uint32_t use = problem.first_use[local]; use < problem.first_use[local + 1]; ++use) {
      visit_bound_flows(problem.links[problem.link_of_use[use]]);
    }
  }
}

/// A bottleneck holds back every flow that stands higher on it: those outside must come in.
void FlowNetwork::State::visit_those_above() {
  const std::size_t solved = problem.link_level.size();
  for (std::size_t local = 0; local < solved; ++local) {
    const double level = problem.link_level[local] * (1 + kSameRate);
    const Link& link = links[problem.links[local]];
    if (!(level < std::numeric_limits<double>::infinity())) continue;
    if (link.flows_in_problem == link.flows.size()) continue;
    for (const Visitor& visitor : link.flows) {
      const Flow& flow = flows[visitor.flow];
      if (flow.rate_bytes_per_s > level * flow.share) visit_flow(visitor.flow);
    }
  }
}

/// Adds all that is connected to the problem over links that can bind: nothing outside is left to
/// be wrong about.
void FlowNetwork::State::visit_component() {
  for (std::size_t local = 0; local < problem.links.size(); ++local) {
    for (const Visitor& visitor : links[problem.links[local]].flows) visit_flow(visitor.flow);
  }
}

/// Passes the solution on to flows and links.
void FlowNetwork::State::commit(std::int64_t at) {
  const Problem& p = problem;
  for (std::size_t local = 0; local < p.flows.size(); ++local) {
    const std::uint32_t slot = p.flows[local];
    const bool held = p.binding_link[local] != kOwnCap;
    RAILYARD_CHECK(p.rate[local] > 0, "flow {} got the rate {} B/s", slot, p.rate[local]);
    std::uint32_t use = p.first_use[local];
    for (std::uint32_t index = flows[slot].first_hop;
         index < flows[slot].first_hop + flows[slot].hops; ++index) {
      Hop& hop = hops[index];
      const bool in_problem = links[hop.link].can_bind;
      set_bound(at, hop, in_problem && held && p.level[local] == p.link_level[p.link_of_use[use]]);
      if (in_problem) ++use;
    }
    if (differs(local)) set_rate(at, slot, p.rate[local]);
  }
}

/// Gives a flow another rate from now on. What remains is known from the last such change.
void FlowNetwork::State::set_rate(std::int64_t at, std::uint32_t slot, double rate) {
  Flow& flow = flows[slot];
  if (at > flow.since) {
    const double sent =
        flow.rate_bytes_per_s * static_cast<double>(at - flow.since) / kTicksPerSecondReal;
    flow.remaining_bytes = std::max(0.0, flow.remaining_bytes - sent);
  }
  for (std::uint32_t index = flow.first_hop; index < flow.first_hop + flow.hops; ++index) {
    const Hop& hop = hops[index];
    Link& link = links[hop.link];
    if (!link.summed) continue;
    link.rates += in_units(hop.usage * rate) - in_units(hop.usage * flow.rate_bytes_per_s);
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
  return state_->running();
}

std::vector<LinkUsage> FlowNetwork::link_usage(TimePoint now) const {
  const std::int64_t at = now.time_since_epoch().count();
  std::vector<LinkUsage> result(state_->usage.size());
  for (std::size_t link = 0; link < result.size(); ++link) {
    const Usage& totals = state_->usage[link];
    const bool busy = !state_->links[link].flows.empty();
    const bool binds = state_->links[link].bound > 0;
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
