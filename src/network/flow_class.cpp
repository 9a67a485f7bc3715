#include "network/flow_class.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

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

}  // namespace

FlowClass::FlowClass(SharedLinks& shared) : shared_(shared), levels_(store_, statistics()) {
  store_.links.resize(shared.capacity_bytes_per_s.size());
  if (statistics()) link_bytes_.resize(store_.links.size());
  for (std::size_t link = 0; link < store_.links.size(); ++link) {
    store_.links[link].capacity_bytes_per_s = shared.capacity_bytes_per_s[link];
  }
}

void FlowClass::advance_to(std::int64_t to) {
  RAILYARD_CHECK(to >= now_, "the network is at tick {} and cannot go back to {}", now_, to);
  if (to == now_) return;
  RAILYARD_CHECK(settled(), "tick {} was left for {} without settle", now_, to);
  RAILYARD_CHECK(completions_.empty() || completions_.top().key >= to,
                 "a flow ended at tick {} but the network went on to {}: call finish_due first",
                 completions_.top().key, to);
  now_ = to;
}

// ---- Routes

void FlowClass::check_route(std::span<const topology::LinkUse> route) const {
  RAILYARD_CHECK(!route.empty() && route.size() < UINT32_MAX,
                 "a flow needs 1 to 2^32 - 2 links, not {}", route.size());
  for (const topology::LinkUse& use : route) {
    RAILYARD_CHECK(index(use.link) < store_.links.size(), "link {} of {}", index(use.link),
                   store_.links.size());
    RAILYARD_CHECK(use.usage > 0 && use.usage < kUsageMax, "usage {} of link {}", use.usage,
                   index(use.link));
  }
}

/// Stores a route. Usages of a link that occurs twice add up.
RouteId FlowClass::add_route(std::span<const topology::LinkUse> links, bool lasting) {
  check_route(links);
  std::uint32_t at = 0;
  if (store_.free_routes.empty()) {
    at = static_cast<std::uint32_t>(store_.routes.size());
    store_.routes.emplace_back();
  } else {
    at = store_.free_routes.back();
    store_.free_routes.pop_back();
  }
  StoredRoute& route = store_.routes[at];
  route.block = static_cast<std::uint32_t>(links.size());
  route.first = store_.route_hops.allocate(route.block);
  route.lasting = lasting;
  route.bytes = 0;
  ++routes_read_;
  std::uint32_t count = 0;
  for (const topology::LinkUse& use : links) {
    const auto at_link = static_cast<std::uint32_t>(index(use.link));
    Link& link = store_.links[at_link];
    if (link.read_last != routes_read_) {
      link.read_last = routes_read_;
      link.read_as = route.first + count++;
      store_.route_hops[link.read_as] = RouteHop{at_link, 0, 0, 0};
    }
    store_.route_hops[link.read_as].usage += use.usage;
  }
  route.hops = count;
  derive(route);
  return static_cast<RouteId>(at);
}

std::vector<topology::LinkUse> FlowClass::route(RouteId at) const {
  const StoredRoute& stored = store_.routes[index(at)];
  std::vector<topology::LinkUse> links;
  for (std::uint32_t h = stored.first; h < stored.first + stored.hops; ++h) {
    const RouteHop& hop = store_.route_hops[h];
    links.push_back({static_cast<LinkId>(hop.link), hop.usage});
  }
  return links;
}

/// What follows from the capacities of its links.
void FlowClass::derive(StoredRoute& route) {
  route.solo = kLevelMax;
  route.derived = capacities_read_;
  double solo_bytes_per_s = std::numeric_limits<double>::infinity();
  for (std::uint32_t h = route.first; h < route.first + route.hops; ++h) {
    RouteHop& hop = store_.route_hops[h];
    const std::int64_t capacity = store_.links[hop.link].capacity_bytes_per_s;
    hop.weight = weight_of(hop.usage);
    route.solo = std::min(route.solo, level_in(load_of_capacity(capacity), hop.weight));
    solo_bytes_per_s = std::min(solo_bytes_per_s, static_cast<double>(capacity) / hop.usage);
  }
  RAILYARD_CHECK(route.solo < kLevelMax, "a flow at {} B/s is faster than this network can count",
                 solo_bytes_per_s);
  for (std::uint32_t h = route.first; h < route.first + route.hops; ++h) {
    RouteHop& hop = store_.route_hops[h];
    const auto capacity = static_cast<double>(store_.links[hop.link].capacity_bytes_per_s);
    const double fraction = capacity > 0 ? hop.usage * solo_bytes_per_s / capacity : 0;
    hop.load =
        std::min(kFullLoad, static_cast<std::uint64_t>(fraction * static_cast<double>(kFullLoad)));
  }
}

void FlowClass::drop_route(std::uint32_t at) {
  StoredRoute& route = store_.routes[at];
  if (statistics() && route.bytes > 0) {
    for (std::uint32_t h = route.first; h < route.first + route.hops; ++h) {
      link_bytes_[store_.route_hops[h].link] += store_.route_hops[h].usage * route.bytes;
    }
  }
  store_.route_hops.release(route.first, route.block);
  route.hops = 0;
  store_.free_routes.push_back(at);
}

// ---- Flows on links

std::uint32_t FlowClass::take_slot() {
  if (!store_.free_flows.empty()) {
    const std::uint32_t slot = store_.free_flows.back();
    store_.free_flows.pop_back();
    return slot;
  }
  store_.flows.emplace_back();
  store_.owners.push_back(kNone);
  const auto slot = static_cast<std::uint32_t>(store_.flows.size() - 1);
  completions_.resize(item_of_flow(slot) + std::size_t{1});
  return slot;
}

FlowId FlowClass::start(std::int64_t at, const FlowSpec& spec, std::uint64_t order) {
  advance_to(at);
  RAILYARD_CHECK(spec.size.count() > 0, "a flow of {} bytes: run empty transfers inline",
                 spec.size.count());
  RAILYARD_CHECK(spec.share > 0 && spec.share < kShareMax, "a flow with the share {}", spec.share);
  RAILYARD_CHECK(spec.route.empty() != (spec.registered == kUnregistered),
                 "a flow needs a route or a registered one");
  const RouteId route =
      spec.registered == kUnregistered ? add_route(spec.route, false) : spec.registered;
  const std::uint32_t slot = take_slot();
  Flow& flow = store_.flows[slot];
  flow.route = static_cast<std::uint32_t>(route);
  flow.hops = store_.routes[flow.route].hops;
  flow.first_hop = store_.hops.allocate(flow.hops + 1);
  flow.order = order;
  flow.tag = spec.tag;
  flow.size = spec.size.count();
  flow.share = spec.share;
  flow.started = at;
  flow.due = work_of(flow.size, flow.share);
  flow.limit = kLevelMax;
  if (spec.cap.bytes_per_s() > 0) {
    flow.limit = level_in(load_of_capacity(spec.cap.bytes_per_s()), weight_of(spec.share));
  }
  ++counters_.flows_started;
  enter(at, slot);
  return static_cast<FlowId>(slot);
}

/// Puts a flow on its links; it gets its rate when the tick is settled.
void FlowClass::enter(std::int64_t at, std::uint32_t slot) {
  Flow& flow = store_.flows[slot];
  StoredRoute& route = store_.routes[flow.route];
  if (route.derived != capacities_read_) derive(route);
  flow.solo = route.solo;
  store_.owners[slot] = kNone;
  if (flow.share != 1.0) {
    flow.solo = kLevelMax;
    for (std::uint32_t h = route.first; h < route.first + route.hops; ++h) {
      const RouteHop& hop = store_.route_hops[h];
      flow.solo = std::min(flow.solo,
                           level_in(load_of_capacity(store_.links[hop.link].capacity_bytes_per_s),
                                    weight_of(hop.usage * flow.share)));
    }
  }
  flow.solo = std::min(flow.solo, flow.limit);
  if (route.solo == 0) {
    stall(at, slot);
    return;
  }
  RAILYARD_CHECK(flow.solo > 0 && flow.solo < kLevelMax, "a flow of share {} at {} B/s", flow.share,
                 bytes_per_s_of(flow.solo, flow.share));
  flow.state = FlowState::fresh;
  for (std::uint32_t i = 0; i < flow.hops; ++i) {
    const RouteHop& planned = store_.route_hops[route.first + i];
    Hop& hop = store_.hops[flow.first_hop + i];
    hop.flow = slot;
    hop.weight = flow.share == 1.0 ? planned.weight : weight_of(planned.usage * flow.share);
    enter_link(at, flow.first_hop + i, planned);
  }
  Hop& own_limit = store_.hops[flow.first_hop + flow.hops];
  own_limit.link = kNone;
  own_limit.flow = slot;
  own_limit.weight = kWholeWeight;
  own_limit.contention = kNone;
  started_.push_back(slot);
}

/// A link of its route has nothing for it.
void FlowClass::stall(std::int64_t at, std::uint32_t slot) {
  Flow& flow = store_.flows[slot];
  flow.state = FlowState::stalled;
  flow.since = at;
  stalled_.push_back(slot);
  if (statistics()) bind_denied(at, flow, true);
  if (keeps_limits_) begin_limit(at, slot);
}

/// A link that the classes above have filled holds up the flows that stand still because of it.
void FlowClass::bind_denied(std::int64_t at, const Flow& flow, bool begins) {
  const StoredRoute& route = store_.routes[flow.route];
  for (std::uint32_t h = route.first; h < route.first + route.hops; ++h) {
    const std::uint32_t link = store_.route_hops[h].link;
    if (store_.links[link].denied) shared_.times[link].bind(at, begins);
  }
}

void FlowClass::enter_link(std::int64_t at, std::uint32_t hop_at, const RouteHop& planned) {
  Hop& hop = store_.hops[hop_at];
  Link& link = store_.links[planned.link];
  hop.link = planned.link;
  hop.next = link.first_hop;
  hop.previous = kNone;
  hop.contention = kNone;
  if (link.contention != kNone) levels_.join(hop_at, link.contention);
  if (link.first_hop != kNone) store_.hops[link.first_hop].previous = hop_at;
  link.first_hop = hop_at;
  if (link.flows++ == 0 && statistics()) shared_.times[planned.link].use(at, true);
  if (marks_changes_) marked_.push_back(planned.link);
  link.load += static_cast<Int128>(planned.load);
  if (link.contention == kNone && !link.waking && overloaded(link)) {
    link.waking = true;
    waking_.push_back(planned.link);
  }
}

void FlowClass::leave_link(std::int64_t at, std::uint32_t hop_at, const RouteHop& planned) {
  const Hop& hop = store_.hops[hop_at];
  Link& link = store_.links[hop.link];
  if (hop.contention != kNone) levels_.part(hop_at);
  if (hop.next != kNone) store_.hops[hop.next].previous = hop.previous;
  if (hop.previous != kNone) {
    store_.hops[hop.previous].next = hop.next;
  } else {
    link.first_hop = hop.next;
  }
  link.load -= static_cast<Int128>(planned.load);
  if (marks_changes_) marked_.push_back(planned.link);
  if (--link.flows > 0) return;
  if (statistics()) shared_.times[planned.link].use(at, false);
  if (link.contention == kNone) return;
  set_binding(at, planned.link, false);
  levels_.close(link.contention);
  link.contention = kNone;
}

/// Takes a flow off its links; `due` is then the work that remains.
void FlowClass::leave(std::int64_t at, std::uint32_t slot) {
  Flow& flow = store_.flows[slot];
  if (keeps_limits_) end_limit(at, slot);
  if (flow.state == FlowState::stalled) {
    std::erase(stalled_, slot);
    if (statistics()) bind_denied(at, flow, false);
    return;
  }
  if (flow.state == FlowState::solo) {
    flow.due = remaining(at, flow);
    if (completions_.contains(item_of_flow(slot))) completions_.remove(item_of_flow(slot));
  } else if (flow.state == FlowState::held) {
    levels_.detach(slot, at);
  }
  const StoredRoute& route = store_.routes[flow.route];
  for (std::uint32_t i = 0; i < flow.hops; ++i) {
    leave_link(at, flow.first_hop + i, store_.route_hops[route.first + i]);
  }
  const std::uint32_t own_limit = flow.first_hop + flow.hops;
  if (store_.hops[own_limit].contention == kNone) return;
  const std::uint32_t contention = store_.hops[own_limit].contention;
  levels_.part(own_limit);
  levels_.close(contention);
}

/// Frees the slot of a flow that has left.
void FlowClass::finish(std::uint32_t slot) {
  Flow& flow = store_.flows[slot];
  if (!store_.routes[flow.route].lasting) drop_route(flow.route);
  store_.hops.release(flow.first_hop, flow.hops + 1);
  flow.state = FlowState::free;
  store_.free_flows.push_back(slot);
}

void FlowClass::finish_due(std::int64_t at,
                           std::vector<std::pair<std::uint64_t, FinishedFlow>>& done) {
  advance_to(at);
  const auto end = [this, at, &done](std::uint32_t slot) {
    const Flow& flow = store_.flows[slot];
    const auto size = static_cast<double>(flow.size);
    const double solo_rate = bytes_per_s_of(level_alone(flow), flow.share);
    done.emplace_back(flow.order, FinishedFlow{static_cast<FlowId>(slot), flow.tag,
                                               to_ticks(size * kTicksPerSecondReal / solo_rate),
                                               TimePoint(Duration(flow.started))});
    if (statistics()) store_.routes[flow.route].bytes += size;
    leave(at, slot);
    finish(slot);
    ++counters_.flows_finished;
  };
  while (!completions_.empty() && completions_.top().key == at) {
    const std::uint32_t item = completions_.top().item;
    completions_.remove(item);
    if (item % 2 == 0) {
      end(item / 2);
      continue;
    }
    const std::uint32_t group = item / 2;
    while (!levels_.group(group).members.empty() && levels_.ends_by(group, at)) {
      end(levels_.group(group).members.front().flow);
    }
  }
}

double FlowClass::stop(std::int64_t at, std::uint32_t slot) {
  advance_to(at);
  RAILYARD_CHECK(slot < store_.flows.size() && store_.flows[slot].state != FlowState::free,
                 "flow {} does not run", slot);
  leave(at, slot);
  const Flow& flow = store_.flows[slot];
  const double left = bytes_of(flow.due, flow.share);
  if (statistics()) {
    store_.routes[flow.route].bytes += std::max(0.0, static_cast<double>(flow.size) - left);
  }
  finish(slot);
  return left;
}

/// Costs what leaving and entering does for the flows on these links.
void FlowClass::set_capacities(std::int64_t at, std::span<const Capacity> changes) {
  if (changes.empty()) return;
  advance_to(at);
  affected_.assign(stalled_.begin(), stalled_.end());
  for (const Capacity& change : changes) {
    RAILYARD_CHECK(change.bytes_per_s >= 0, "link {} with the capacity {} B/s", change.link,
                   change.bytes_per_s);
    std::uint32_t hop = store_.links[change.link].first_hop;
    for (; hop != kNone; hop = store_.hops[hop].next) affected_.push_back(store_.hops[hop].flow);
  }
  std::sort(affected_.begin(), affected_.end());
  affected_.erase(std::unique(affected_.begin(), affected_.end()), affected_.end());
  for (const std::uint32_t slot : affected_) leave(at, slot);
  for (const Capacity& change : changes) {
    Link& link = store_.links[change.link];
    const std::int64_t whole = shared_.capacity_bytes_per_s[change.link];
    link.capacity_bytes_per_s = change.bytes_per_s;
    link.denied = change.bytes_per_s == 0 && whole > 0;
    has_all_ = has_all_ && change.bytes_per_s == whole;
  }
  ++capacities_read_;
  for (const std::uint32_t slot : affected_) enter(at, slot);
}

// ---- Rates

Work FlowClass::remaining(std::int64_t at, const Flow& flow) const {
  if (flow.state != FlowState::solo) return flow.due;
  return std::max<Work>(0, flow.due - static_cast<Work>(flow.solo) * (at - flow.since));
}

void FlowClass::run_solo(std::int64_t at, std::uint32_t slot) {
  Flow& flow = store_.flows[slot];
  flow.state = FlowState::solo;
  flow.since = at;
  completions_.set(end_of(flow.due, flow.solo, at), item_of_flow(slot));
  if (keeps_limits_) begin_limit(at, slot);
}

/// The link's flows do not fit any more: it takes part in rates until it is empty.
void FlowClass::wake(std::int64_t at, std::uint32_t link_at) {
  Link& link = store_.links[link_at];
  link.waking = false;
  if (link.contention != kNone || !overloaded(link)) return;
  link.contention = levels_.open(link_at, load_of_capacity(link.capacity_bytes_per_s), at);
  completions_.resize(item_of_group(link.contention) + std::size_t{1});
  for (std::uint32_t h = link.first_hop; h != kNone; h = store_.hops[h].next) {
    levels_.join(h, link.contention);
    const std::uint32_t slot = store_.hops[h].flow;
    Flow& flow = store_.flows[slot];
    if (flow.state != FlowState::solo) continue;
    flow.due = remaining(at, flow);
    completions_.remove(item_of_flow(slot));
    flow.state = FlowState::loose;
    loose_.push_back(slot);
  }
}

/// A flow that takes part; it gets a limit of its own where no link is as tight as the tightest of
/// its route.
void FlowClass::loosen(std::int64_t at, std::uint32_t slot) {
  const Flow& flow = store_.flows[slot];
  bool limited = false;
  for (std::uint32_t h = flow.first_hop; h < flow.first_hop + flow.hops; ++h) {
    const Hop& hop = store_.hops[h];
    if (hop.contention == kNone) continue;
    limited =
        limited || levels_.group(hop.contention).capacity < load_of(flow.solo + 1, hop.weight);
  }
  const std::uint32_t own_limit = flow.first_hop + flow.hops;
  if (!limited && store_.hops[own_limit].contention == kNone) {
    const std::uint32_t opened = levels_.open(kNone, load_of(flow.solo, kWholeWeight), at);
    completions_.resize(item_of_group(opened) + std::size_t{1});
    levels_.join(own_limit, opened);
  }
  levels_.loosen(slot);
}

void FlowClass::settle(std::int64_t at) {
  advance_to(at);
  loose_.clear();
  for (const std::uint32_t link : waking_) wake(at, link);
  waking_.clear();
  for (const std::uint32_t slot : started_) {
    Flow& flow = store_.flows[slot];
    if (flow.state != FlowState::fresh) continue;
    bool takes_part = false;
    for (std::uint32_t h = flow.first_hop; h < flow.first_hop + flow.hops && !takes_part; ++h) {
      takes_part = store_.hops[h].contention != kNone;
    }
    if (takes_part) {
      flow.state = FlowState::loose;
      loose_.push_back(slot);
    } else {
      run_solo(at, slot);
    }
  }
  started_.clear();
  for (const std::uint32_t slot : loose_) loosen(at, slot);
  levels_.solve(at);
  pass_on(at);
}

/// Hands what the solver changed to completions and statistics.
void FlowClass::pass_on(std::int64_t at) {
  for (const std::uint32_t group : levels_.regrouped()) {
    const std::uint32_t item = item_of_group(group);
    const std::vector<Member>& members = levels_.group(group).members;
    if (!members.empty()) {
      completions_.set(levels_.first_end(group), item);
    } else if (completions_.contains(item)) {
      completions_.remove(item);
    }
    if (!marks_changes_) continue;
    for (const Member& member : members) mark_route(store_.flows[member.flow]);
  }
  for (const std::uint32_t touched : levels_.touched()) {
    const Contention& contention = levels_[touched];
    if (contention.link == kNone) continue;
    // Full to the rounding of the levels on it, and more was wanted.
    const Load rounding = levels_.group(touched).capacity >> 36;
    set_binding(at, contention.link,
                overloaded(store_.links[contention.link]) && contention.free <= rounding);
  }
  if (keeps_limits_) renew_limits(at);
  levels_.clear_lists();
}

/// Keeps the time in which a link held somebody back.
void FlowClass::set_binding(std::int64_t at, std::uint32_t link_at, bool binding) {
  Link& link = store_.links[link_at];
  if (link.binding == binding) return;
  link.binding = binding;
  shared_.times[link_at].bind(at, binding);
}

Level FlowClass::level(const Flow& flow) const {
  switch (flow.state) {
    case FlowState::solo:
      return flow.solo;
    case FlowState::held:
      return levels_[store_.owners[static_cast<std::size_t>(&flow - store_.flows.data())]].level;
    default:
      return 0;
  }
}

/// What the whole links of its route would allow it.
Level FlowClass::level_alone(const Flow& flow) const {
  if (has_all_) return flow.solo;
  Level alone = flow.limit;
  const StoredRoute& route = store_.routes[flow.route];
  for (std::uint32_t h = route.first; h < route.first + route.hops; ++h) {
    const RouteHop& hop = store_.route_hops[h];
    alone = std::min(alone, level_in(load_of_capacity(shared_.capacity_bytes_per_s[hop.link]),
                                     weight_of(hop.usage * flow.share)));
  }
  return alone;
}

double FlowClass::rate_bytes_per_s(std::uint32_t slot) const {
  const Flow& flow = store_.flows[slot];
  return bytes_per_s_of(level(flow), flow.share);
}
double FlowClass::alone_bytes_per_s(std::uint32_t slot) const {
  const Flow& flow = store_.flows[slot];
  return bytes_per_s_of(level_alone(flow), flow.share);
}

Load FlowClass::carried(std::uint32_t link) const {
  Load sum = 0;
  for (std::uint32_t h = store_.links[link].first_hop; h != kNone; h = store_.hops[h].next) {
    const Hop& hop = store_.hops[h];
    sum += load_of(level(store_.flows[hop.flow]), hop.weight);
  }
  return sum;
}

void FlowClass::mark_route(const Flow& flow) {
  for (std::uint32_t h = flow.first_hop; h < flow.first_hop + flow.hops; ++h) {
    marked_.push_back(store_.hops[h].link);
  }
}

void FlowClass::take_marks(std::vector<std::uint32_t>& links) {
  links.insert(links.end(), marked_.begin(), marked_.end());
  marked_.clear();
}

// ---- What limits a flow

void FlowClass::watch_limits() {
  if (keeps_limits_) return;
  keeps_limits_ = true;
  levels_.list_adopted();
  for (std::uint32_t slot = 0; slot < store_.flows.size(); ++slot) {
    const FlowState state = store_.flows[slot].state;
    if (state == FlowState::solo || state == FlowState::held || state == FlowState::stalled)
      begin_limit(now_, slot);
  }
}

/// The link of its route that allows it least, as far as this class has it, or its own cap.
FlowClass::Limit FlowClass::slowest_link(const Flow& flow) const {
  const StoredRoute& route = store_.routes[flow.route];
  Limit found;
  Level least = kLevelMax;
  for (std::uint32_t h = route.first; h < route.first + route.hops; ++h) {
    const RouteHop& hop = store_.route_hops[h];
    const Link& link = store_.links[hop.link];
    const Level level =
        level_in(load_of_capacity(link.capacity_bytes_per_s), weight_of(hop.usage * flow.share));
    if (level >= least) continue;
    least = level;
    found.link = static_cast<LinkId>(hop.link);
    const std::int64_t whole = shared_.capacity_bytes_per_s[hop.link];
    found.cause = whole == 0                          ? LimitCause::down
                  : link.capacity_bytes_per_s < whole ? LimitCause::priority
                                                      : LimitCause::alone;
  }
  if (flow.limit < least) return {kNoLink, LimitCause::cap};
  return found;
}

FlowClass::Limit FlowClass::limit_of(std::uint32_t slot) const {
  const Flow& flow = store_.flows[slot];
  if (flow.state != FlowState::held) return slowest_link(flow);
  const std::uint32_t link = levels_[store_.owners[slot]].link;
  if (link == kNone) return slowest_link(flow);
  // The record of a link outlives the crowd on it.
  if (!overloaded(store_.links[link])) return slowest_link(flow);
  const bool has_all =
      store_.links[link].capacity_bytes_per_s == shared_.capacity_bytes_per_s[link];
  return {static_cast<LinkId>(link), has_all ? LimitCause::shared : LimitCause::priority};
}

void FlowClass::begin_limit(std::int64_t at, std::uint32_t slot) {
  if (limits_.size() <= slot) limits_.resize(store_.flows.size());
  limits_[slot] = limit_of(slot);
  limits_[slot].since = at;
}

void FlowClass::end_limit(std::int64_t at, std::uint32_t slot) {
  if (slot >= limits_.size() || limits_[slot].since == kNotBegun) return;
  const Limit& limit = limits_[slot];
  past_limits_.push_back(
      {store_.flows[slot].tag, limit.link, limit.cause, Duration(at - limit.since)});
  limits_[slot].since = kNotBegun;
}

/// Of the flows with another owner, and of groups whose link is crowded now or no more: all members
/// of a group have one cause, so the first tells.
void FlowClass::renew_limits(std::int64_t at) {
  const auto renew = [this, at](std::uint32_t slot) {
    end_limit(at, slot);
    begin_limit(at, slot);
  };
  for (const std::uint32_t slot : levels_.adopted()) renew(slot);
  for (const std::uint32_t group : levels_.regrouped()) {
    const std::vector<Member>& members = levels_.group(group).members;
    if (members.empty()) continue;
    const std::uint32_t first = members.front().flow;
    const Limit now = limit_of(first);
    if (limits_[first].link == now.link && limits_[first].cause == now.cause) continue;
    for (const Member& member : members) renew(member.flow);
  }
}

void FlowClass::take_limits(FlowLimits& limits, bool all) {
  for (std::uint32_t slot = 0; all && slot < limits_.size(); ++slot) {
    if (limits_[slot].since == kNotBegun) continue;
    end_limit(now_, slot);
    begin_limit(now_, slot);
  }
  for (const FlowLimit& limit : past_limits_) limits.add(limit);
  past_limits_.clear();
}

// ---- Totals

void FlowClass::add_bytes(std::vector<LinkUsage>& links) const {
  for (std::size_t link = 0; link < links.size(); ++link) links[link].bytes += link_bytes_[link];
  for (const StoredRoute& route : store_.routes) {
    if (route.bytes <= 0) continue;
    for (std::uint32_t h = route.first; h < route.first + route.hops; ++h) {
      links[store_.route_hops[h].link].bytes += store_.route_hops[h].usage * route.bytes;
    }
  }
}

void FlowClass::reset_bytes() {
  std::fill(link_bytes_.begin(), link_bytes_.end(), 0.0);
  for (StoredRoute& route : store_.routes) route.bytes = 0;
}

void FlowClass::add_counters(NetworkCounters& counters) const {
  const LevelSolver::Counters& solver = levels_.counters();
  counters.flows_started += counters_.flows_started;
  counters.flows_finished += counters_.flows_finished;
  counters.solves += solver.solves;
  counters.flows_touched += solver.moved;
  counters.links_touched += solver.visits;
}

}  // namespace railyard::network
