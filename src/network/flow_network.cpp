// The face of the network: one FlowClass a priority that is used, the highest first.
#include "railyard/network/flow_network.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "network/flow_class.hpp"
#include "railyard/core/check.hpp"

namespace railyard::network {
namespace {

/// A FlowId is the slot in the class, and above it the priority.
constexpr std::uint32_t kSlotBits = 29;
static_assert(kPriorities <= 1U << (32 - kSlotBits));

/// Less than this part of a link is nothing: what rounding leaves of one that is full.
constexpr int kNothingBits = 30;

std::uint32_t slot_of(FlowId flow) {
  return static_cast<std::uint32_t>(flow) & ((1U << kSlotBits) - 1);
}
std::size_t priority_of(FlowId flow) {
  return static_cast<std::uint32_t>(flow) >> kSlotBits;
}
FlowId id_of(std::size_t priority, FlowId slot) {
  RAILYARD_DCHECK(slot_of(slot) == index(slot), "flow slot {}", index(slot));
  return static_cast<FlowId>(static_cast<std::uint32_t>(slot) | static_cast<std::uint32_t>(priority)
                                                                    << kSlotBits);
}
std::int64_t ticks(TimePoint time) {
  return time.time_since_epoch().count();
}

std::vector<Bandwidth> capacities_of(const topology::Topology& topology) {
  std::vector<Bandwidth> capacities;
  capacities.reserve(topology.links().size());
  for (const topology::Link& link : topology.links()) capacities.push_back(link.capacity);
  return capacities;
}

}  // namespace

double counted_usage(double usage) {
  return static_cast<double>(weight_of(usage)) / static_cast<double>(kWholeWeight);
}

struct FlowNetwork::State {
  State(std::span<const Bandwidth> capacities, LinkStatistics statistics);

  FlowClass& of(FlowId flow) {
    const std::size_t priority = priority_of(flow);
    RAILYARD_CHECK(priority < kPriorities && classes[priority] != nullptr, "flow {} does not run",
                   index(flow));
    return *classes[priority];
  }
  FlowClass& class_for(std::uint8_t priority);
  RouteId route_in(std::uint8_t priority, RouteId route);
  void set_capacity(std::int64_t at, std::uint32_t link, std::int64_t bytes_per_s);
  void settle(std::int64_t at);
  [[nodiscard]] std::int64_t left_by_others(std::size_t priority, std::uint32_t link) const;
  void take_what_is_left(std::int64_t at, std::size_t priority);

  SharedLinks shared;
  std::array<std::unique_ptr<FlowClass>, kPriorities> classes;  ///< by priority
  std::vector<std::uint8_t> used;                               ///< priorities, highest first
  /// By priority and RouteId: the same route in that class; those of class 0 are the ids.
  std::array<std::vector<RouteId>, kPriorities> routes;
  std::uint64_t started = 0;
  /// Links of which classes below may have another part than before.
  std::vector<std::uint32_t> marked;
  bool watched = false;
  bool limited = false;         ///< classes keep who was limited by what
  std::vector<LinkId> changed;  ///< where watched
  std::vector<FlowClass::Capacity> changes;
  std::vector<std::pair<std::uint64_t, FinishedFlow>> finished;
};

FlowNetwork::State::State(std::span<const Bandwidth> capacities, LinkStatistics statistics) {
  shared.capacity_bytes_per_s.reserve(capacities.size());
  for (const Bandwidth capacity : capacities) {
    RAILYARD_CHECK(capacity.bytes_per_s() > 0, "link {} has the capacity {} B/s",
                   shared.capacity_bytes_per_s.size(), capacity.bytes_per_s());
    shared.capacity_bytes_per_s.push_back(capacity.bytes_per_s());
  }
  if (statistics == LinkStatistics::on) shared.times.resize(capacities.size());
  classes[0] = std::make_unique<FlowClass>(shared);
  used.push_back(0);
}

FlowClass& FlowNetwork::State::class_for(std::uint8_t priority) {
  RAILYARD_CHECK(priority < kPriorities, "a flow of priority {} of {}", priority, kPriorities);
  if (classes[priority] != nullptr) return *classes[priority];
  classes[priority] = std::make_unique<FlowClass>(shared);
  if (limited) classes[priority]->watch_limits();
  used.insert(std::ranges::find_if(used, [=](std::uint8_t other) { return other < priority; }),
              priority);
  for (const std::uint8_t each : used) classes[each]->mark_changes();
  marked.resize(shared.capacity_bytes_per_s.size());
  for (std::uint32_t link = 0; link < marked.size(); ++link) marked[link] = link;
  return *classes[priority];
}

RouteId FlowNetwork::State::route_in(std::uint8_t priority, RouteId route) {
  if (priority == 0 || route == kUnregistered) return route;
  std::vector<RouteId>& known = routes[priority];
  if (known.size() <= index(route)) known.resize(index(route) + std::size_t{1}, kUnregistered);
  RouteId& own = known[index(route)];
  if (own == kUnregistered) own = classes[priority]->add_route(classes[0]->route(route), true);
  return own;
}

/// Whole bytes per second of a link that the classes above do not take.
std::int64_t FlowNetwork::State::left_by_others(std::size_t priority, std::uint32_t link) const {
  const std::int64_t whole = shared.capacity_bytes_per_s[link];
  Load free = load_of_capacity(whole);
  for (std::size_t above = priority + 1; above < kPriorities; ++above) {
    if (classes[above] != nullptr) free -= classes[above]->carried(link);
  }
  const auto left = static_cast<std::int64_t>(free >> (kLevelBits + kWeightBits));
  return left > whole >> kNothingBits ? left : 0;
}

void FlowNetwork::State::take_what_is_left(std::int64_t at, std::size_t priority) {
  changes.clear();
  for (const std::uint32_t link : marked) {
    const std::int64_t left = left_by_others(priority, link);
    if (left != classes[priority]->capacity_bytes_per_s(link)) changes.push_back({link, left});
  }
  classes[priority]->set_capacities(at, changes);
}

void FlowNetwork::State::settle(std::int64_t at) {
  if (used.size() == 1 && !watched) {
    classes[used.front()]->settle(at);
    return;
  }
  for (const std::uint8_t priority : used) {
    if (!marked.empty()) take_what_is_left(at, priority);
    classes[priority]->settle(at);
    classes[priority]->take_marks(marked);
    std::ranges::sort(marked);
    marked.erase(std::unique(marked.begin(), marked.end()), marked.end());
  }
  changed.clear();
  for (const std::uint32_t link : marked) {
    if (watched) changed.push_back(static_cast<LinkId>(link));
  }
  marked.clear();
}

void FlowNetwork::State::set_capacity(std::int64_t at, std::uint32_t link,
                                      std::int64_t bytes_per_s) {
  RAILYARD_CHECK(link < shared.capacity_bytes_per_s.size(), "link {} of {}", link,
                 shared.capacity_bytes_per_s.size());
  shared.capacity_bytes_per_s[link] = bytes_per_s;
  const FlowClass::Capacity change{link, bytes_per_s};
  classes[used.front()]->set_capacities(at, std::span(&change, 1));
  if (used.size() > 1) marked.push_back(link);
}

FlowNetwork::FlowNetwork(const topology::Topology& topology, LinkStatistics statistics)
    : FlowNetwork(capacities_of(topology), statistics) {}
FlowNetwork::FlowNetwork(std::span<const Bandwidth> capacities, LinkStatistics statistics)
    : state_(std::make_unique<State>(capacities, statistics)) {}
FlowNetwork::~FlowNetwork() = default;

RouteId FlowNetwork::add_route(std::span<const topology::LinkUse> links) {
  return state_->classes[0]->add_route(links, true);
}

FlowId FlowNetwork::start(TimePoint now, const FlowSpec& spec) {
  const std::uint64_t order = state_->started++;
  if (spec.priority == 0) return state_->classes[0]->start(ticks(now), spec, order);
  FlowClass& flows = state_->class_for(spec.priority);
  FlowSpec own = spec;
  own.registered = state_->route_in(spec.priority, spec.registered);
  return id_of(spec.priority, flows.start(ticks(now), own, order));
}

void FlowNetwork::finish_due(TimePoint now, std::vector<FinishedFlow>& done) {
  auto& finished = state_->finished;
  finished.clear();
  for (const std::uint8_t priority : state_->used) {
    const std::size_t before = finished.size();
    state_->classes[priority]->finish_due(ticks(now), finished);
    for (std::size_t i = before; i < finished.size() && priority > 0; ++i) {
      finished[i].second.flow = id_of(priority, finished[i].second.flow);
    }
  }
  std::sort(finished.begin(), finished.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [order, flow] : finished) done.push_back(flow);
}

double FlowNetwork::stop(TimePoint now, FlowId flow) {
  return state_->of(flow).stop(ticks(now), slot_of(flow));
}

void FlowNetwork::set_capacity(TimePoint now, LinkId link, Bandwidth capacity) {
  state_->set_capacity(ticks(now), static_cast<std::uint32_t>(index(link)), capacity.bytes_per_s());
}

void FlowNetwork::settle(TimePoint now) {
  state_->settle(ticks(now));
}

TimePoint FlowNetwork::next_completion() const {
  std::int64_t next = INT64_MAX;
  for (const std::uint8_t priority : state_->used) {
    const FlowClass& flows = *state_->classes[priority];
    RAILYARD_CHECK(flows.settled(), "next_completion before settle");
    next = std::min(next, flows.next_completion());
  }
  return next == INT64_MAX ? TimePoint::max() : TimePoint(Duration(next));
}

void FlowNetwork::watch_links() {
  state_->watched = true;
  for (const std::uint8_t priority : state_->used) state_->classes[priority]->mark_changes();
}

std::span<const LinkId> FlowNetwork::changed_links() const {
  return state_->changed;
}

void FlowNetwork::watch_limits() {
  state_->limited = true;
  for (const std::uint8_t priority : state_->used) state_->classes[priority]->watch_limits();
}

void FlowNetwork::take_limits(FlowLimits& limits, bool all) {
  for (const std::uint8_t priority : state_->used)
    state_->classes[priority]->take_limits(limits, all);
}

FlowNetwork::LinkLoad FlowNetwork::link_load(LinkId link) const {
  LinkLoad out;
  for (const std::uint8_t priority : state_->used) {
    const FlowClass& flows = *state_->classes[priority];
    const auto at = static_cast<std::uint32_t>(index(link));
    out.bytes_per_s +=
        std::ldexp(static_cast<double>(flows.carried(at)), -(kLevelBits + kWeightBits));
    out.flows += flows.flows_on(at);
  }
  return out;
}

double FlowNetwork::rate_bytes_per_s(FlowId flow) const {
  return state_->of(flow).rate_bytes_per_s(slot_of(flow));
}
double FlowNetwork::solo_rate_bytes_per_s(FlowId flow) const {
  return state_->of(flow).alone_bytes_per_s(slot_of(flow));
}

std::size_t FlowNetwork::running() const {
  std::size_t running = 0;
  for (const std::uint8_t priority : state_->used) running += state_->classes[priority]->running();
  return running;
}

std::vector<LinkUsage> FlowNetwork::link_usage(TimePoint now) const {
  const std::vector<LinkTimes>& times = state_->shared.times;
  RAILYARD_CHECK(!times.empty(), "this network keeps no link statistics");
  std::vector<LinkUsage> result(times.size());
  for (std::size_t at = 0; at < result.size(); ++at) {
    const LinkTimes& link = times[at];
    result[at].busy = Duration(link.busy + (link.users > 0 ? ticks(now) - link.busy_since : 0));
    result[at].binding =
        Duration(link.binding + (link.binders > 0 ? ticks(now) - link.binding_since : 0));
  }
  for (const std::uint8_t priority : state_->used) state_->classes[priority]->add_bytes(result);
  return result;
}

void FlowNetwork::reset_usage(TimePoint now) {
  for (LinkTimes& link : state_->shared.times) {
    link.busy = 0;
    link.busy_since = ticks(now);
    link.binding = 0;
    link.binding_since = ticks(now);
  }
  for (const std::uint8_t priority : state_->used) state_->classes[priority]->reset_bytes();
}

NetworkCounters FlowNetwork::counters() const {
  NetworkCounters counters;
  for (const std::uint8_t priority : state_->used) {
    state_->classes[priority]->add_counters(counters);
  }
  return counters;
}

}  // namespace railyard::network
