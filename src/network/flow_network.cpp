#include "railyard/network/flow_network.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "network/fixed_point.hpp"
#include "network/flow_store.hpp"
#include "network/indexed_heap.hpp"
#include "network/level_solver.hpp"
#include "railyard/core/check.hpp"

namespace railyard::network {
namespace {

/// The load of a link that its flows can just fill. Loads are fractions of the capacity in units of
/// 2^-52, rounded down per flow. n flows within n × 2^-52 of the capacity thus count as fitting:
/// less than the sum of n rounded rates can resolve.
constexpr std::uint64_t kFullLoad = std::uint64_t{1} << 52U;

/// What one link can count; their product is checked where flows contend.
constexpr double kUsageMax = 0x1p18;
constexpr double kShareMax = 0x1p12;

constexpr double kTicksPerSecondReal = static_cast<double>(kTicksPerSecond);

bool overloaded(const Link& link) {
  return link.load > static_cast<Int128>(kFullLoad);
}

std::vector<Bandwidth> capacities_of(const topology::Topology& topology) {
  std::vector<Bandwidth> capacities;
  capacities.reserve(topology.links().size());
  for (const topology::Link& link : topology.links()) capacities.push_back(link.capacity);
  return capacities;
}

}  // namespace

struct FlowNetwork::State {
  State(std::span<const Bandwidth> capacities, LinkStatistics statistics);

  RouteId add_route(std::span<const topology::LinkUse> links, bool lasting);
  FlowId start(std::int64_t at, const FlowSpec& spec);
  void finish_due(std::int64_t at, std::vector<FinishedFlow>& done);
  double stop(std::int64_t at, std::uint32_t slot);
  void set_capacity(std::int64_t at, std::uint32_t link, std::int64_t bytes_per_s);
  void settle(std::int64_t at);
  void advance_to(std::int64_t at);
  [[nodiscard]] Level level(const Flow& flow) const;
  [[nodiscard]] std::size_t running() const { return store.flows.size() - store.free_flows.size(); }
  [[nodiscard]] bool settled() const {
    return started.empty() && !levels.pending() && levels.regrouped().empty();
  }

  bool statistics;
  FlowStore store;
  LevelSolver levels;
  /// Ends of flows that run at their solo rate (item 2 × slot), and of the first member of each
  /// group (2 × contention + 1).
  IndexedHeap completions;
  std::vector<std::uint32_t> started;  ///< flows without a rate yet
  std::vector<std::uint32_t> stalled;
  std::vector<std::uint32_t> waking;  ///< links whose flows do not fit any more
  std::vector<double> link_bytes;     ///< of flows whose routes are gone
  NetworkCounters counters;
  std::int64_t now = 0;

 private:
  static std::uint32_t item_of_flow(std::uint32_t slot) { return 2 * slot; }
  static std::uint32_t item_of_group(std::uint32_t contention) { return 2 * contention + 1; }

  void check_route(std::span<const topology::LinkUse> route) const;
  void derive(StoredRoute& route);
  void drop_route(std::uint32_t route);
  std::uint32_t take_slot();
  void enter(std::int64_t at, std::uint32_t slot);
  void enter_link(std::int64_t at, std::uint32_t hop, const RouteHop& planned);
  void leave(std::int64_t at, std::uint32_t slot);
  void leave_link(std::int64_t at, std::uint32_t hop, const RouteHop& planned);
  void finish(std::uint32_t slot);
  void wake(std::int64_t at, std::uint32_t link);
  void run_solo(std::int64_t at, std::uint32_t slot);
  [[nodiscard]] Work remaining(std::int64_t at, const Flow& flow) const;
  void loosen(std::int64_t at, std::uint32_t slot);
  void set_binding(std::int64_t at, Link& link, bool binding) const;
  void pass_on(std::int64_t at);

  std::vector<std::uint32_t> loose_;
  std::vector<std::pair<std::uint64_t, FinishedFlow>> finished_;
  std::uint64_t routes_read_ = 0;
};

FlowNetwork::State::State(std::span<const Bandwidth> capacities, LinkStatistics wanted)
    : statistics(wanted == LinkStatistics::on),
      levels(store, statistics),
      link_bytes(statistics ? capacities.size() : 0) {
  store.links.resize(capacities.size());
  for (std::size_t link = 0; link < capacities.size(); ++link) {
    RAILYARD_CHECK(capacities[link].bytes_per_s() > 0, "link {} has the capacity {} B/s", link,
                   capacities[link].bytes_per_s());
    store.links[link].capacity_bytes_per_s = capacities[link].bytes_per_s();
  }
}

void FlowNetwork::State::advance_to(std::int64_t to) {
  RAILYARD_CHECK(to >= now, "the network is at tick {} and cannot go back to {}", now, to);
  if (to == now) return;
  RAILYARD_CHECK(settled(), "tick {} was left for {} without settle", now, to);
  RAILYARD_CHECK(completions.empty() || completions.top().key >= to,
                 "a flow ended at tick {} but the network went on to {}: call finish_due first",
                 completions.top().key, to);
  now = to;
}

// ---- Routes

void FlowNetwork::State::check_route(std::span<const topology::LinkUse> route) const {
  RAILYARD_CHECK(!route.empty() && route.size() < UINT32_MAX,
                 "a flow needs 1 to 2^32 - 2 links, not {}", route.size());
  for (const topology::LinkUse& use : route) {
    RAILYARD_CHECK(index(use.link) < store.links.size(), "link {} of {}", index(use.link),
                   store.links.size());
    RAILYARD_CHECK(use.usage > 0 && use.usage < kUsageMax, "usage {} of link {}", use.usage,
                   index(use.link));
  }
}

/// Stores a route. Usages of a link that occurs twice add up.
RouteId FlowNetwork::State::add_route(std::span<const topology::LinkUse> links, bool lasting) {
  check_route(links);
  std::uint32_t at = 0;
  if (store.free_routes.empty()) {
    at = static_cast<std::uint32_t>(store.routes.size());
    store.routes.emplace_back();
  } else {
    at = store.free_routes.back();
    store.free_routes.pop_back();
  }
  StoredRoute& route = store.routes[at];
  route.block = static_cast<std::uint32_t>(links.size());
  route.first = store.route_hops.allocate(route.block);
  route.lasting = lasting;
  route.bytes = 0;
  ++routes_read_;
  std::uint32_t count = 0;
  for (const topology::LinkUse& use : links) {
    const auto at_link = static_cast<std::uint32_t>(index(use.link));
    Link& link = store.links[at_link];
    if (link.read_last != routes_read_) {
      link.read_last = routes_read_;
      link.read_as = route.first + count++;
      store.route_hops[link.read_as] = RouteHop{at_link, 0, 0, 0};
    }
    store.route_hops[link.read_as].usage += use.usage;
  }
  route.hops = count;
  derive(route);
  return static_cast<RouteId>(at);
}

/// What follows from the capacities of its links.
void FlowNetwork::State::derive(StoredRoute& route) {
  route.solo = kLevelMax;
  double solo_bytes_per_s = std::numeric_limits<double>::infinity();
  for (std::uint32_t h = route.first; h < route.first + route.hops; ++h) {
    RouteHop& hop = store.route_hops[h];
    const std::int64_t capacity = store.links[hop.link].capacity_bytes_per_s;
    hop.weight = weight_of(hop.usage);
    route.solo = std::min(route.solo, level_in(load_of_capacity(capacity), hop.weight));
    solo_bytes_per_s = std::min(solo_bytes_per_s, static_cast<double>(capacity) / hop.usage);
  }
  RAILYARD_CHECK(route.solo < kLevelMax, "a flow at {} B/s is faster than this network can count",
                 solo_bytes_per_s);
  for (std::uint32_t h = route.first; h < route.first + route.hops; ++h) {
    RouteHop& hop = store.route_hops[h];
    const auto capacity = static_cast<double>(store.links[hop.link].capacity_bytes_per_s);
    const double fraction = capacity > 0 ? hop.usage * solo_bytes_per_s / capacity : 0;
    hop.load =
        std::min(kFullLoad, static_cast<std::uint64_t>(fraction * static_cast<double>(kFullLoad)));
  }
}

void FlowNetwork::State::drop_route(std::uint32_t at) {
  StoredRoute& route = store.routes[at];
  if (statistics && route.bytes > 0) {
    for (std::uint32_t h = route.first; h < route.first + route.hops; ++h) {
      link_bytes[store.route_hops[h].link] += store.route_hops[h].usage * route.bytes;
    }
  }
  store.route_hops.release(route.first, route.block);
  route.hops = 0;
  store.free_routes.push_back(at);
}

// ---- Flows on links

std::uint32_t FlowNetwork::State::take_slot() {
  if (!store.free_flows.empty()) {
    const std::uint32_t slot = store.free_flows.back();
    store.free_flows.pop_back();
    return slot;
  }
  store.flows.emplace_back();
  store.owners.push_back(kNone);
  const auto slot = static_cast<std::uint32_t>(store.flows.size() - 1);
  completions.resize(item_of_flow(slot) + std::size_t{1});
  return slot;
}

FlowId FlowNetwork::State::start(std::int64_t at, const FlowSpec& spec) {
  advance_to(at);
  RAILYARD_CHECK(spec.size.count() > 0, "a flow of {} bytes: run empty transfers inline",
                 spec.size.count());
  RAILYARD_CHECK(spec.share > 0 && spec.share < kShareMax, "a flow with the share {}", spec.share);
  RAILYARD_CHECK(spec.route.empty() != (spec.registered == kUnregistered),
                 "a flow needs a route or a registered one");
  const RouteId route =
      spec.registered == kUnregistered ? add_route(spec.route, false) : spec.registered;
  const std::uint32_t slot = take_slot();
  Flow& flow = store.flows[slot];
  flow.route = static_cast<std::uint32_t>(route);
  flow.hops = store.routes[flow.route].hops;
  flow.first_hop = store.hops.allocate(flow.hops + 1);
  flow.order = counters.flows_started++;
  flow.tag = spec.tag;
  flow.size = spec.size.count();
  flow.share = spec.share;
  flow.started = at;
  flow.due = work_of(flow.size, flow.share);
  flow.limit = kLevelMax;
  if (spec.cap.bytes_per_s() > 0) {
    flow.limit = level_in(load_of_capacity(spec.cap.bytes_per_s()), weight_of(spec.share));
  }
  enter(at, slot);
  return static_cast<FlowId>(slot);
}

/// Puts a flow on its links; it gets its rate when the tick is settled.
void FlowNetwork::State::enter(std::int64_t at, std::uint32_t slot) {
  Flow& flow = store.flows[slot];
  const StoredRoute& route = store.routes[flow.route];
  flow.solo = route.solo;
  store.owners[slot] = kNone;
  if (flow.share != 1.0) {
    flow.solo = kLevelMax;
    for (std::uint32_t h = route.first; h < route.first + route.hops; ++h) {
      const RouteHop& hop = store.route_hops[h];
      flow.solo =
          std::min(flow.solo, level_in(load_of_capacity(store.links[hop.link].capacity_bytes_per_s),
                                       weight_of(hop.usage * flow.share)));
    }
  }
  flow.solo = std::min(flow.solo, flow.limit);
  if (route.solo == 0) {
    flow.state = FlowState::stalled;
    flow.since = at;
    stalled.push_back(slot);
    return;
  }
  RAILYARD_CHECK(flow.solo > 0 && flow.solo < kLevelMax, "a flow of share {} at {} B/s", flow.share,
                 bytes_per_s_of(flow.solo, flow.share));
  flow.state = FlowState::fresh;
  for (std::uint32_t i = 0; i < flow.hops; ++i) {
    const RouteHop& planned = store.route_hops[route.first + i];
    Hop& hop = store.hops[flow.first_hop + i];
    hop.flow = slot;
    hop.weight = flow.share == 1.0 ? planned.weight : weight_of(planned.usage * flow.share);
    enter_link(at, flow.first_hop + i, planned);
  }
  Hop& own_limit = store.hops[flow.first_hop + flow.hops];
  own_limit.link = kNone;
  own_limit.flow = slot;
  own_limit.weight = kWholeWeight;
  own_limit.contention = kNone;
  started.push_back(slot);
}

void FlowNetwork::State::enter_link(std::int64_t at, std::uint32_t hop_at,
                                    const RouteHop& planned) {
  Hop& hop = store.hops[hop_at];
  Link& link = store.links[planned.link];
  hop.link = planned.link;
  hop.next = link.first_hop;
  hop.previous = kNone;
  hop.contention = kNone;
  if (link.contention != kNone) levels.join(hop_at, link.contention);
  if (link.first_hop != kNone) store.hops[link.first_hop].previous = hop_at;
  link.first_hop = hop_at;
  if (link.flows++ == 0) link.busy_since = at;
  link.load += static_cast<Int128>(planned.load);
  if (link.contention == kNone && !link.waking && overloaded(link)) {
    link.waking = true;
    waking.push_back(planned.link);
  }
}

void FlowNetwork::State::leave_link(std::int64_t at, std::uint32_t hop_at,
                                    const RouteHop& planned) {
  const Hop& hop = store.hops[hop_at];
  Link& link = store.links[hop.link];
  if (hop.contention != kNone) levels.part(hop_at);
  if (hop.next != kNone) store.hops[hop.next].previous = hop.previous;
  if (hop.previous != kNone) {
    store.hops[hop.previous].next = hop.next;
  } else {
    link.first_hop = hop.next;
  }
  link.load -= static_cast<Int128>(planned.load);
  if (--link.flows > 0) return;
  link.busy += at - link.busy_since;
  if (link.contention == kNone) return;
  if (link.binding) set_binding(at, link, false);
  levels.close(link.contention);
  link.contention = kNone;
}

/// Takes a flow off its links; `due` is then the work that remains.
void FlowNetwork::State::leave(std::int64_t at, std::uint32_t slot) {
  Flow& flow = store.flows[slot];
  if (flow.state == FlowState::stalled) {
    std::erase(stalled, slot);
    return;
  }
  if (flow.state == FlowState::solo) {
    flow.due = remaining(at, flow);
    if (completions.contains(item_of_flow(slot))) completions.remove(item_of_flow(slot));
  } else if (flow.state == FlowState::held) {
    levels.detach(slot, at);
  }
  const StoredRoute& route = store.routes[flow.route];
  for (std::uint32_t i = 0; i < flow.hops; ++i) {
    leave_link(at, flow.first_hop + i, store.route_hops[route.first + i]);
  }
  const std::uint32_t own_limit = flow.first_hop + flow.hops;
  if (store.hops[own_limit].contention == kNone) return;
  const std::uint32_t contention = store.hops[own_limit].contention;
  levels.part(own_limit);
  levels.close(contention);
}

/// Frees the slot of a flow that has left.
void FlowNetwork::State::finish(std::uint32_t slot) {
  Flow& flow = store.flows[slot];
  if (!store.routes[flow.route].lasting) drop_route(flow.route);
  store.hops.release(flow.first_hop, flow.hops + 1);
  flow.state = FlowState::free;
  store.free_flows.push_back(slot);
}

void FlowNetwork::State::finish_due(std::int64_t at, std::vector<FinishedFlow>& done) {
  advance_to(at);
  finished_.clear();
  const auto end = [this, at](std::uint32_t slot) {
    const Flow& flow = store.flows[slot];
    const auto size = static_cast<double>(flow.size);
    const double solo_rate = bytes_per_s_of(flow.solo, flow.share);
    finished_.emplace_back(flow.order,
                           FinishedFlow{static_cast<FlowId>(slot), flow.tag,
                                        to_ticks(size * kTicksPerSecondReal / solo_rate),
                                        TimePoint(Duration(flow.started))});
    if (statistics) store.routes[flow.route].bytes += size;
    leave(at, slot);
    finish(slot);
    ++counters.flows_finished;
  };
  while (!completions.empty() && completions.top().key == at) {
    const std::uint32_t item = completions.top().item;
    completions.remove(item);
    if (item % 2 == 0) {
      end(item / 2);
      continue;
    }
    const std::uint32_t group = item / 2;
    while (!levels.group(group).members.empty() && levels.ends_by(group, at)) {
      end(levels.group(group).members.front().flow);
    }
  }
  std::sort(finished_.begin(), finished_.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [order, flow] : finished_) done.push_back(flow);
}

double FlowNetwork::State::stop(std::int64_t at, std::uint32_t slot) {
  advance_to(at);
  RAILYARD_CHECK(slot < store.flows.size() && store.flows[slot].state != FlowState::free,
                 "flow {} does not run", slot);
  leave(at, slot);
  const Flow& flow = store.flows[slot];
  const double left = bytes_of(flow.due, flow.share);
  if (statistics) {
    store.routes[flow.route].bytes += std::max(0.0, static_cast<double>(flow.size) - left);
  }
  finish(slot);
  return left;
}

void FlowNetwork::State::set_capacity(std::int64_t at, std::uint32_t link_at,
                                      std::int64_t bytes_per_s) {
  advance_to(at);
  RAILYARD_CHECK(link_at < store.links.size(), "link {} of {}", link_at, store.links.size());
  RAILYARD_CHECK(bytes_per_s >= 0, "link {} with the capacity {} B/s", link_at, bytes_per_s);
  std::vector<std::uint32_t> affected;
  const auto crosses = [this, link_at](const StoredRoute& route) {
    for (std::uint32_t h = route.first; h < route.first + route.hops; ++h) {
      if (store.route_hops[h].link == link_at) return true;
    }
    return false;
  };
  for (std::uint32_t slot = 0; slot < store.flows.size(); ++slot) {
    const Flow& flow = store.flows[slot];
    if (flow.state == FlowState::free || !crosses(store.routes[flow.route])) continue;
    affected.push_back(slot);
  }
  for (const std::uint32_t slot : affected) leave(at, slot);
  store.links[link_at].capacity_bytes_per_s = bytes_per_s;
  for (StoredRoute& route : store.routes) {
    if (route.hops > 0 && crosses(route)) derive(route);
  }
  for (const std::uint32_t slot : affected) enter(at, slot);
}

// ---- Rates

Work FlowNetwork::State::remaining(std::int64_t at, const Flow& flow) const {
  if (flow.state != FlowState::solo) return flow.due;
  return std::max<Work>(0, flow.due - static_cast<Work>(flow.solo) * (at - flow.since));
}

void FlowNetwork::State::run_solo(std::int64_t at, std::uint32_t slot) {
  Flow& flow = store.flows[slot];
  flow.state = FlowState::solo;
  flow.since = at;
  completions.set(end_of(flow.due, flow.solo, at), item_of_flow(slot));
}

/// The link's flows do not fit any more: it takes part in rates until it is empty.
void FlowNetwork::State::wake(std::int64_t at, std::uint32_t link_at) {
  Link& link = store.links[link_at];
  link.waking = false;
  if (link.contention != kNone || !overloaded(link)) return;
  link.contention = levels.open(link_at, load_of_capacity(link.capacity_bytes_per_s), at);
  completions.resize(item_of_group(link.contention) + std::size_t{1});
  for (std::uint32_t h = link.first_hop; h != kNone; h = store.hops[h].next) {
    levels.join(h, link.contention);
    const std::uint32_t slot = store.hops[h].flow;
    Flow& flow = store.flows[slot];
    if (flow.state != FlowState::solo) continue;
    flow.due = remaining(at, flow);
    completions.remove(item_of_flow(slot));
    flow.state = FlowState::loose;
    loose_.push_back(slot);
  }
}

/// A flow that takes part; it gets a limit of its own where no link is as tight as the tightest of
/// its route.
void FlowNetwork::State::loosen(std::int64_t at, std::uint32_t slot) {
  const Flow& flow = store.flows[slot];
  bool limited = false;
  for (std::uint32_t h = flow.first_hop; h < flow.first_hop + flow.hops; ++h) {
    const Hop& hop = store.hops[h];
    if (hop.contention == kNone) continue;
    limited = limited || levels.group(hop.contention).capacity < load_of(flow.solo + 1, hop.weight);
  }
  const std::uint32_t own_limit = flow.first_hop + flow.hops;
  if (!limited && store.hops[own_limit].contention == kNone) {
    const std::uint32_t opened = levels.open(kNone, load_of(flow.solo, kWholeWeight), at);
    completions.resize(item_of_group(opened) + std::size_t{1});
    levels.join(own_limit, opened);
  }
  levels.loosen(slot);
}

void FlowNetwork::State::settle(std::int64_t at) {
  advance_to(at);
  loose_.clear();
  for (const std::uint32_t link : waking) wake(at, link);
  waking.clear();
  for (const std::uint32_t slot : started) {
    Flow& flow = store.flows[slot];
    if (flow.state != FlowState::fresh) continue;
    bool takes_part = false;
    for (std::uint32_t h = flow.first_hop; h < flow.first_hop + flow.hops && !takes_part; ++h) {
      takes_part = store.hops[h].contention != kNone;
    }
    if (takes_part) {
      flow.state = FlowState::loose;
      loose_.push_back(slot);
    } else {
      run_solo(at, slot);
    }
  }
  started.clear();
  for (const std::uint32_t slot : loose_) loosen(at, slot);
  levels.solve(at);
  pass_on(at);
}

/// Hands what the solver changed to completions and statistics.
void FlowNetwork::State::pass_on(std::int64_t at) {
  for (const std::uint32_t group : levels.regrouped()) {
    const std::uint32_t item = item_of_group(group);
    if (!levels.group(group).members.empty()) {
      completions.set(levels.first_end(group), item);
    } else if (completions.contains(item)) {
      completions.remove(item);
    }
  }
  for (const std::uint32_t touched : levels.touched()) {
    const Contention& contention = levels[touched];
    if (contention.link == kNone) continue;
    Link& link = store.links[contention.link];
    // Full to the rounding of the levels on it, and more was wanted.
    const Load rounding = levels.group(touched).capacity >> 36;
    set_binding(at, link, overloaded(link) && contention.free <= rounding);
  }
  levels.clear_lists();
}

/// Keeps the time in which a link held somebody back.
void FlowNetwork::State::set_binding(std::int64_t at, Link& link, bool binding) const {
  if (link.binding == binding) return;
  link.binding = binding;
  if (binding) {
    link.binding_since = at;
  } else {
    link.binding_time += at - link.binding_since;
  }
}

Level FlowNetwork::State::level(const Flow& flow) const {
  switch (flow.state) {
    case FlowState::solo:
      return flow.solo;
    case FlowState::held:
      return levels[store.owners[static_cast<std::size_t>(&flow - store.flows.data())]].level;
    default:
      return 0;
  }
}

// ---- The face

FlowNetwork::FlowNetwork(const topology::Topology& topology, LinkStatistics statistics)
    : FlowNetwork(capacities_of(topology), statistics) {}
FlowNetwork::FlowNetwork(std::span<const Bandwidth> capacities, LinkStatistics statistics)
    : state_(std::make_unique<State>(capacities, statistics)) {}
FlowNetwork::~FlowNetwork() = default;

RouteId FlowNetwork::add_route(std::span<const topology::LinkUse> links) {
  return state_->add_route(links, true);
}

FlowId FlowNetwork::start(TimePoint now, const FlowSpec& spec) {
  return state_->start(now.time_since_epoch().count(), spec);
}

void FlowNetwork::finish_due(TimePoint now, std::vector<FinishedFlow>& done) {
  state_->finish_due(now.time_since_epoch().count(), done);
}

double FlowNetwork::stop(TimePoint now, FlowId flow) {
  return state_->stop(now.time_since_epoch().count(), static_cast<std::uint32_t>(flow));
}

void FlowNetwork::set_capacity(TimePoint now, LinkId link, Bandwidth capacity) {
  state_->set_capacity(now.time_since_epoch().count(), static_cast<std::uint32_t>(index(link)),
                       capacity.bytes_per_s());
}

void FlowNetwork::settle(TimePoint now) {
  state_->settle(now.time_since_epoch().count());
}

TimePoint FlowNetwork::next_completion() const {
  RAILYARD_CHECK(state_->settled(), "next_completion before settle at tick {}", state_->now);
  if (state_->completions.empty()) return TimePoint::max();
  return TimePoint(Duration(state_->completions.top().key));
}

double FlowNetwork::rate_bytes_per_s(FlowId id) const {
  const Flow& flow = state_->store.flows[index(id)];
  return bytes_per_s_of(state_->level(flow), flow.share);
}
double FlowNetwork::solo_rate_bytes_per_s(FlowId id) const {
  const Flow& flow = state_->store.flows[index(id)];
  return bytes_per_s_of(flow.solo, flow.share);
}

std::size_t FlowNetwork::running() const {
  return state_->running();
}

std::vector<LinkUsage> FlowNetwork::link_usage(TimePoint now) const {
  RAILYARD_CHECK(state_->statistics, "this network keeps no link statistics");
  const std::int64_t at = now.time_since_epoch().count();
  const FlowStore& store = state_->store;
  std::vector<LinkUsage> result(store.links.size());
  for (std::size_t at_link = 0; at_link < result.size(); ++at_link) {
    const Link& link = store.links[at_link];
    result[at_link].bytes = state_->link_bytes[at_link];
    result[at_link].busy = Duration(link.busy + (link.flows > 0 ? at - link.busy_since : 0));
    result[at_link].binding =
        Duration(link.binding_time + (link.binding ? at - link.binding_since : 0));
  }
  for (const StoredRoute& route : store.routes) {
    if (route.bytes <= 0) continue;
    for (std::uint32_t h = route.first; h < route.first + route.hops; ++h) {
      result[store.route_hops[h].link].bytes += store.route_hops[h].usage * route.bytes;
    }
  }
  return result;
}

void FlowNetwork::reset_usage(TimePoint now) {
  const std::int64_t at = now.time_since_epoch().count();
  for (Link& link : state_->store.links) {
    link.busy = 0;
    link.busy_since = at;
    link.binding_time = 0;
    link.binding_since = at;
  }
  std::fill(state_->link_bytes.begin(), state_->link_bytes.end(), 0.0);
  for (StoredRoute& route : state_->store.routes) route.bytes = 0;
}

NetworkCounters FlowNetwork::counters() const {
  NetworkCounters counters = state_->counters;
  const LevelSolver::Counters& solver = state_->levels.counters();
  counters.solves = solver.solves;
  counters.flows_touched = solver.moved;
  counters.links_touched = solver.visits;
  return counters;
}

}  // namespace railyard::network
