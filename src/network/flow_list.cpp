#include "railyard/network/flow_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "network/alive_route.hpp"
#include "network/distinct_links.hpp"
#include "railyard/core/check.hpp"
#include "railyard/core/event_queue.hpp"
#include "railyard/core/rng.hpp"
#include "railyard/network/link_loads.hpp"
#include "railyard/network/loggp.hpp"

namespace railyard::network {
namespace {

/// What the delays of a message on a route follow from.
struct RoutePace {
  double solo_bytes_per_s = 0;        ///< of the slowest hop
  double store_s_per_byte = 0;        ///< sum over the hops but the slowest
  double acknowledge_s_per_byte = 0;  ///< sum over all hops
};

RoutePace pace_of(std::span<const topology::LinkUse> route, std::span<const Bandwidth> capacities) {
  RoutePace pace{std::numeric_limits<double>::infinity(), 0, 0};
  for (const topology::LinkUse& use : route) {
    const auto capacity = static_cast<double>(capacities[index(use.link)].bytes_per_s());
    pace.solo_bytes_per_s = std::min(pace.solo_bytes_per_s, capacity / use.usage);
    pace.acknowledge_s_per_byte += use.usage / capacity;
  }
  pace.store_s_per_byte = std::max(0.0, pace.acknowledge_s_per_byte - 1.0 / pace.solo_bytes_per_s);
  return pace;
}

Duration spent(Bytes bytes, double s_per_byte) {
  return from_seconds(static_cast<double>(bytes.count()) * s_per_byte);
}

struct Event {
  enum class Kind : std::uint8_t {
    begin,
    enter,
    ramped,
    left,
    arrive,
    taken_in,
    received,
    sent,
    fault,
    give_up,
    repath
  };
  Kind kind = Kind::begin;
  std::uint32_t flow = 0;  ///< or fault
};

/// Who waits for the signals of each flow, in CSR form: `received` at 2 × flow, `sent` behind it.
struct Waiters {
  struct Waiter {
    std::uint32_t index = 0;  ///< of a flow or a relay
    bool is_relay = false;
  };
  std::vector<std::uint32_t> first;
  std::vector<Waiter> list;

  explicit Waiters(const FlowList& flows) : first(2 * flows.flows.size() + 1, 0) {
    for (const Dependency& one : flows.dependencies) ++first[slot(one.before, one.signal) + 1];
    for (const Relay& relay : flows.relays) {
      for (const auto& [before, signal] : relay.inputs) ++first[slot(before, signal) + 1];
    }
    for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
    list.resize(first.back());
    std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
    for (const Dependency& one : flows.dependencies)
      list[next[slot(one.before, one.signal)]++] = {one.flow, false};
    for (std::uint32_t relay = 0; relay < flows.relays.size(); ++relay) {
      for (const auto& [before, signal] : flows.relays[relay].inputs)
        list[next[slot(before, signal)]++] = {relay, true};
    }
  }
  [[nodiscard]] std::span<const Waiter> of(std::uint32_t flow, Signal signal) const {
    const std::size_t at = slot(flow, signal);
    return {list.data() + first[at], first[at + 1] - first[at]};
  }

 private:
  static std::size_t slot(std::uint32_t flow, Signal signal) {
    return 2 * std::size_t{flow} + (signal == Signal::sent ? 1 : 0);
  }
};

bool same_links(const topology::Route& a, const topology::Route& b) {
  return std::ranges::equal(a.links, b.links, {}, &topology::LinkUse::link,
                            &topology::LinkUse::link);
}

class Run {
 public:
  Run(const FlowList& list, const FlowRoutes& routes, const NetworkModel& model,
      const Transport& transport, const FaultPlan& plan, FlowRecords records);
  FlowListResult run();

 private:
  using Kind = Event::Kind;
  void release(std::uint32_t flow, TimePoint now);
  void handle(const Event& event, TimePoint now);
  void enter(std::uint32_t flow, TimePoint now);
  void transfer(std::uint32_t flow, TimePoint now);
  void enter_loggp(std::uint32_t flow, TimePoint now);
  void arrive_loggp(std::uint32_t flow, TimePoint now);
  void deliver_loggp(std::uint32_t flow, TimePoint now);
  void left(std::uint32_t flow, TimePoint now);
  void finish(std::uint32_t flow, TimePoint now);
  void start(std::uint32_t flow, Bytes bytes, TimePoint now);
  void strike(const Fault& fault, TimePoint now);
  void route_anew(std::uint32_t flow, TimePoint now);
  bool lead_around(std::uint32_t flow);
  void give_up(std::uint32_t flow, TimePoint now);
  void move(std::uint32_t flow, TimePoint now);
  void repath_all(TimePoint now);
  void repath_later(TimePoint now);
  [[nodiscard]] bool is_cut(std::span<const topology::LinkUse> route) const;
  void signal(std::uint32_t flow, Signal signal, TimePoint now);
  void record(TimePoint now);
  void at(TimePoint time, TimePoint now, Kind kind, std::uint32_t flow);

  /// Its route is its own: found at its start, or around a failed link.
  [[nodiscard]] bool has_own_route(std::uint32_t flow) const {
    return !own_.empty() && !own_[flow].links.empty();
  }
  /// All links of the flow's route, and those that the solver sees.
  [[nodiscard]] std::span<const topology::LinkUse> links_of(std::uint32_t flow) const {
    if (has_own_route(flow)) return own_[flow].links;
    return routes_.route(routes_.route_of_flow[flow]);
  }
  [[nodiscard]] std::span<const topology::LinkUse> solver_links_of(std::uint32_t flow) const {
    if (has_own_route(flow)) return own_[flow].links;
    return links_.route(routes_.route_of_flow[flow]);
  }
  [[nodiscard]] RoutePace pace(std::uint32_t flow) const {
    if (has_own_route(flow)) return pace_of(own_[flow].links, routes_.capacities);
    return paces_[routes_.route_of_flow[flow]];
  }
  [[nodiscard]] Duration latency(std::uint32_t flow) const {
    if (has_own_route(flow)) return own_[flow].latency;
    return routes_.latencies[routes_.route_of_flow[flow]];
  }
  [[nodiscard]] Bytes wire(std::uint32_t flow) const {
    return transport_.wire_bytes(list_.flows[flow].size);
  }
  [[nodiscard]] double share(std::uint32_t flow) const;
  [[nodiscard]] Bytes with_losses(std::uint32_t flow) const;
  [[nodiscard]] Duration alone_transfer(std::uint32_t flow) const;
  [[nodiscard]] Duration to_receiver(std::uint32_t flow) const;
  [[nodiscard]] Duration way_back(std::uint32_t flow) const;
  [[nodiscard]] Duration start_up(std::uint32_t flow) const;
  [[nodiscard]] Duration loggp_latency(std::uint32_t flow) const;
  [[nodiscard]] Duration loggp_long(std::uint32_t flow) const;

  const FlowList& list_;
  const FlowRoutes& routes_;
  const NetworkModel& model_;
  const Transport& transport_;
  const FaultPlan& plan_;
  FlowRecords records_;
  bool has_acknowledgements_;
  bool corrects_single_paths_;  ///< of sprayed ones only the efficiency is corrected
  bool keeps_loads_;
  Waiters waiters_;
  std::vector<RoutePace> paces_;
  double efficiency_;  ///< of sprayed links
  DistinctLinks links_;
  FlowNetwork network_;
  EventQueue<Event> queue_;
  std::vector<Event> now_;            ///< due in this tick: no need to queue
  std::vector<std::uint32_t> waits_;  ///< by flow
  std::vector<topology::Route> own_;  ///< by flow, of those routed at their start
  std::vector<RouteId> registered_;   ///< by route
  std::vector<FlowId> running_;       ///< by flow, where flows may move
  std::vector<bool> is_running_;
  std::vector<TimePoint> stands_since_;  ///< by flow; kNever: it does not stand still
  std::vector<topology::LinkUse> scratch_;
  std::vector<double> factors_;  ///< by link, with faults only
  Duration repath_interval_{};   ///< zero: flows keep the route of their start
  bool repath_pending_ = false;
  LinkLoads loads_;
  std::vector<std::uint32_t> relayed_;  ///< by relay: targets started
  LogGpEnds loggp_ends_;
  FlowListResult result_;
};

Run::Run(const FlowList& list, const FlowRoutes& routes, const NetworkModel& model,
         const Transport& transport, const FaultPlan& plan, FlowRecords records)
    : list_(list),
      routes_(routes),
      model_(model),
      transport_(transport),
      plan_(plan),
      records_(records),
      has_acknowledgements_(transport.finish == Finish::acknowledged),
      corrects_single_paths_(model.fidelity == Fidelity::packet_corrected && !routes.sprayed),
      keeps_loads_(routes.by_load != nullptr || corrects_single_paths_),
      waiters_(list),
      efficiency_(model.fidelity == Fidelity::packet_corrected && routes.sprayed
                      ? transport.spray_efficiency
                      : 1.0),
      links_(routes, efficiency_,
             routes.by_load != nullptr || !plan.faults.empty() || records.series != nullptr ||
                 records.limits != nullptr),
      network_(links_.capacities(), LinkStatistics::off),
      waits_(list.flows.size(), 0),
      own_(routes.by_load == nullptr && plan.faults.empty() ? 0 : list.flows.size()),
      loads_(routes.capacities.size()),
      relayed_(list.relays.size(), 0),
      loggp_ends_(model.loggp, list.endpoints.size()) {
  for (std::size_t route = 0; route + 1 < routes.first_use.size(); ++route)
    paces_.push_back(pace_of(routes.route(route), routes.capacities));
  for (const Dependency& one : list.dependencies) ++waits_[one.flow];
  for (const Relay& relay : list.relays) {
    for (const std::uint32_t target : relay.targets) ++waits_[target];
  }
  result_.times.resize(list.flows.size());
  if (records.series != nullptr) network_.watch_links();
  if (records.limits != nullptr) network_.watch_limits();
  if (routes.by_load != nullptr) repath_interval_ = routes.by_load->repath_interval();
  if (repath_interval_ > Duration{} || !plan.faults.empty()) {
    running_.resize(list.flows.size());
    is_running_.assign(list.flows.size(), false);
  }
  if (plan.faults.empty()) {
    for (std::size_t route = 0; route + 1 < routes.first_use.size(); ++route)
      registered_.push_back(network_.add_route(links_.route(route)));
    return;
  }
  stands_since_.assign(list.flows.size(), kNever);
  factors_.assign(routes.capacities.size(), 1.0);
}

/// Shares are multiples of 1/1024, so that the solver sums them exactly.
double Run::share(std::uint32_t flow) const {
  const double given = list_.flows[flow].share;
  if (!corrects_single_paths_ || transport_.unfairness == 0) return given;
  const std::uint64_t source = list_.flows[flow].source;
  const double drawn = static_cast<double>(mix64(mix64(model_.seed) ^ source) >> 11U) * 0x1p-53;
  const double share = 1.0 + transport_.unfairness * (2.0 * drawn - 1.0);
  return given * std::max(1.0, std::floor(share * 1024.0)) / 1024.0;
}

/// Bytes on the wire, with what the flow loses because it meets others inside the fabric.
Bytes Run::with_losses(std::uint32_t flow) const {
  const Bytes bytes = wire(flow);
  if (!corrects_single_paths_ || transport_.collision_loss == 0) return bytes;
  const auto route = links_of(flow);
  bool meets = false;
  for (std::size_t hop = 1; hop + 1 < route.size(); ++hop)
    meets = meets || loads_.flows(route[hop].link) > 0;
  if (!meets) return bytes;
  const double lost = transport_.collision_loss * static_cast<double>(bytes.count());
  return bytes + Bytes(std::llround(lost));
}

Duration Run::alone_transfer(std::uint32_t flow) const {
  double rate = pace(flow).solo_bytes_per_s;
  const auto cap = static_cast<double>(list_.flows[flow].cap.bytes_per_s());
  if (cap > 0) rate = std::min(rate, cap);
  return spent(wire(flow), 1.0 / rate);
}

Duration Run::to_receiver(std::uint32_t flow) const {
  if (!transport_.has_packets()) return latency(flow);
  return latency(flow) +
         spent(transport_.longest_packet(list_.flows[flow].size), pace(flow).store_s_per_byte);
}

Duration Run::way_back(std::uint32_t flow) const {
  return latency(flow) + spent(transport_.acknowledgement, pace(flow).acknowledge_s_per_byte);
}

Duration Run::start_up(std::uint32_t flow) const {
  return transport_.start_up(list_.flows[flow].size, pace(flow).solo_bytes_per_s,
                             to_receiver(flow) + way_back(flow));
}

Duration Run::loggp_latency(std::uint32_t flow) const {
  return model_.loggp.latency.value_or(latency(flow));
}

/// (k - 1)G
Duration Run::loggp_long(std::uint32_t flow) const {
  const double rate = model_.loggp.rate ? static_cast<double>(model_.loggp.rate->bytes_per_s())
                                        : pace(flow).solo_bytes_per_s;
  return spent(wire(flow) - Bytes(1), 1.0 / rate);
}

/// Now or later.
void Run::at(TimePoint time, TimePoint now, Kind kind, std::uint32_t flow) {
  if (time == now) {
    now_.push_back({kind, flow});
  } else {
    queue_.push(time, Phase::arrival, {kind, flow});
  }
}

void Run::release(std::uint32_t flow, TimePoint now) {
  at(std::max(now, list_.flows[flow].start), now, Kind::begin, flow);
}

void Run::handle(const Event& event, TimePoint now) {
  ++result_.events;
  const std::uint32_t flow = event.flow;
  switch (event.kind) {
    case Kind::begin:
      result_.times[flow].start = now;
      at(now + transport_.message_overhead, now, Kind::enter, flow);
      return;
    case Kind::enter:
      enter(flow, now);
      return;
    case Kind::ramped:
      transfer(flow, now);
      return;
    case Kind::left:
      left(flow, now);
      return;
    case Kind::arrive:
      arrive_loggp(flow, now);
      return;
    case Kind::taken_in:
      deliver_loggp(flow, now);
      return;
    case Kind::fault:
      strike(plan_.faults[flow], now);
      return;
    case Kind::give_up:
      give_up(flow, now);
      return;
    case Kind::repath:
      repath_all(now);
      return;
    case Kind::received:
      if (!has_acknowledgements_) finish(flow, now);
      signal(flow, Signal::received, now);
      return;
    case Kind::sent:
      if (has_acknowledgements_) finish(flow, now);
      signal(flow, Signal::sent, now);
      return;
  }
}

void Run::enter(std::uint32_t flow, TimePoint now) {
  if (routes_.route_of_flow[flow] == kRouteAtStart) {
    const ListedFlow& one = list_.flows[flow];
    routes_.by_load->route_by_load({routes_.gpus[one.source], routes_.gpus[one.destination], flow},
                                   loads_, nullptr, own_[flow]);
  }
  if (transport_.initial_window.count() == 0) {
    transfer(flow, now);
  } else {
    at(now + start_up(flow), now, Kind::ramped, flow);
  }
}

/// The first byte leaves.
void Run::transfer(std::uint32_t flow, TimePoint now) {
  const Bytes bytes = with_losses(flow);
  if (keeps_loads_) loads_.add(links_of(flow));
  repath_later(now);
  switch (model_.fidelity) {
    case Fidelity::fluid:
    case Fidelity::packet_corrected:
      start(flow, bytes, now);
      return;
    case Fidelity::analytic:
      at(now + alone_transfer(flow), now, Kind::left, flow);
      return;
    case Fidelity::loggp:
      enter_loggp(flow, now);
      return;
  }
}

void Run::start(std::uint32_t flow, Bytes bytes, TimePoint now) {
  FlowSpec spec{.size = bytes, .route = {}, .share = share(flow), .tag = flow};
  spec.cap = list_.flows[flow].cap;
  spec.priority = list_.flows[flow].priority;
  if (has_own_route(flow) || registered_.empty()) {
    spec.route = solver_links_of(flow);
    if (has_own_route(flow) && efficiency_ < 1.0) {
      scratch_.assign(spec.route.begin(), spec.route.end());
      for (topology::LinkUse& use : scratch_) {
        if (use.usage < 1.0) use.usage /= efficiency_;
      }
      spec.route = scratch_;
    }
  } else {
    spec.registered = registered_[routes_.route_of_flow[flow]];
  }
  const FlowId id = network_.start(now, spec);
  if (running_.empty()) return;
  running_[flow] = id;
  is_running_[flow] = true;
  if (is_cut(links_of(flow))) route_anew(flow, now);
}

bool Run::is_cut(std::span<const topology::LinkUse> route) const {
  if (factors_.empty()) return false;
  return std::any_of(route.begin(), route.end(), [this](const topology::LinkUse& use) {
    return factors_[index(use.link)] <= 0;
  });
}

void Run::strike(const Fault& fault, TimePoint now) {
  for (const LinkId link : fault.links) {
    factors_[index(link)] = fault.factor;
    const auto whole = static_cast<double>(routes_.capacities[index(link)].bytes_per_s());
    network_.set_capacity(now, link, Bandwidth(std::llround(whole * fault.factor)));
  }
  for (std::uint32_t flow = 0; flow < running_.size(); ++flow) {
    if (!is_running_[flow]) continue;
    const bool may_go_back = has_own_route(flow) && routes_.route_of_flow[flow] != kRouteAtStart;
    const bool cut = is_cut(links_of(flow));
    if (!cut) stands_since_[flow] = kNever;
    if (may_go_back || cut) route_anew(flow, now);
  }
}

/// Fills the flow's own route with one over links that are up; false where there is none.
bool Run::lead_around(std::uint32_t flow) {
  const bool has_links = !list_.own_links.empty() && !list_.own_links[flow].empty();
  if (routes_.fabric == nullptr || has_links) return false;
  const ListedFlow& one = list_.flows[flow];
  topology::Route around;
  if (!alive_route(*routes_.fabric, routes_.gpus[one.source], routes_.gpus[one.destination],
                   factors_, {routes_.sprayed, mix64(flow)}, around))
    return false;
  own_[flow] = std::move(around);
  return true;
}

/// A running flow whose links have changed: back to its own links where they are up, else around
/// them, else it stands still until they are.
void Run::route_anew(std::uint32_t flow, TimePoint now) {
  const std::uint32_t planned = routes_.route_of_flow[flow];
  const bool was_own = has_own_route(flow);
  const bool is_planned_up = planned != kRouteAtStart && !is_cut(routes_.route(planned));
  if (keeps_loads_) loads_.remove(links_of(flow));
  bool moved = false;
  if (is_planned_up) {
    own_[flow].clear();
    moved = was_own;
  } else if (is_cut(links_of(flow))) {
    moved = lead_around(flow);
    if (!moved && stands_since_[flow] == kNever) {
      stands_since_[flow] = now;
      if (plan_.timeout) queue_.push(now + *plan_.timeout, Phase::failure, {Kind::give_up, flow});
    }
  }
  if (keeps_loads_) loads_.add(links_of(flow));
  if (!moved) return;
  stands_since_[flow] = kNever;
  move(flow, now);
}

/// What a running flow has left goes on over its present links.
void Run::move(std::uint32_t flow, TimePoint now) {
  ++result_.repaths;
  const double left = network_.stop(now, running_[flow]);
  is_running_[flow] = false;
  start(flow, Bytes(std::max<std::int64_t>(1, std::llround(std::ceil(left)))), now);
}

/// At a multiple of the re-path interval, where loads have changed since flows were last asked.
void Run::repath_later(TimePoint now) {
  if (repath_interval_ <= Duration{} || repath_pending_) return;
  repath_pending_ = true;
  const Duration since_last = now.time_since_epoch() % repath_interval_;
  queue_.push(now + (repath_interval_ - since_last), Phase::rate_update, {Kind::repath, 0});
}

/// Running flows, one after the other, move where the routing has a better path for them now.
void Run::repath_all(TimePoint now) {
  repath_pending_ = false;
  topology::Route found;
  for (std::uint32_t flow = 0; flow < running_.size(); ++flow) {
    if (!is_running_[flow] || routes_.route_of_flow[flow] != kRouteAtStart) continue;
    if (is_cut(links_of(flow))) continue;
    const ListedFlow& one = list_.flows[flow];
    loads_.remove(links_of(flow));
    found.clear();
    routes_.by_load->route_by_load({routes_.gpus[one.source], routes_.gpus[one.destination], flow},
                                   loads_, &own_[flow], found);
    const bool moves = !same_links(found, own_[flow]) && !is_cut(found.links);
    if (moves) own_[flow] = found;
    loads_.add(links_of(flow));
    if (!moves) continue;
    move(flow, now);
    repath_later(now);
  }
}

/// After the timeout: a flow that still cannot move ends without an end.
void Run::give_up(std::uint32_t flow, TimePoint now) {
  if (!is_running_[flow] || stands_since_[flow] == kNever) return;
  if (now - stands_since_[flow] < *plan_.timeout) return;  // it moved and stands again
  if (keeps_loads_) loads_.remove(links_of(flow));
  network_.stop(now, running_[flow]);
  is_running_[flow] = false;
}

void Run::enter_loggp(std::uint32_t flow, TimePoint now) {
  const auto message =
      loggp_ends_.depart(list_.flows[flow].source, now, wire(flow), loggp_long(flow));
  at(message.first + loggp_latency(flow), now, Kind::arrive, flow);
  if (!has_acknowledgements_) at(message.last, now, Kind::sent, flow);
}

void Run::arrive_loggp(std::uint32_t flow, TimePoint now) {
  if (keeps_loads_) loads_.remove(links_of(flow));
  const TimePoint last = loggp_ends_.take_in(list_.flows[flow].destination, now, loggp_long(flow));
  at(last, now, Kind::taken_in, flow);
}

void Run::deliver_loggp(std::uint32_t flow, TimePoint now) {
  const TimePoint received = loggp_ends_.deliver(list_.flows[flow].destination, now, wire(flow));
  at(received, now, Kind::received, flow);
  if (has_acknowledgements_) at(received + loggp_latency(flow), now, Kind::sent, flow);
}

/// The last byte has left the source.
void Run::left(std::uint32_t flow, TimePoint now) {
  if (keeps_loads_) loads_.remove(links_of(flow));
  repath_later(now);
  if (!is_running_.empty()) is_running_[flow] = false;
  const TimePoint received = now + to_receiver(flow);
  at(received, now, Kind::received, flow);
  at(has_acknowledgements_ ? received + way_back(flow) : now, now, Kind::sent, flow);
}

void Run::finish(std::uint32_t flow, TimePoint now) {
  FlowTimes& times = result_.times[flow];
  times.finish = now;
  times.alone = transport_.message_overhead + start_up(flow) + alone_transfer(flow) +
                to_receiver(flow) + (has_acknowledgements_ ? way_back(flow) : Duration{});
}

void Run::signal(std::uint32_t flow, Signal signal, TimePoint now) {
  for (const Waiters::Waiter& waiter : waiters_.of(flow, signal)) {
    std::uint32_t target = waiter.index;
    if (waiter.is_relay) {
      const Relay& relay = list_.relays[waiter.index];
      std::uint32_t& next = relayed_[waiter.index];
      if (next == relay.targets.size()) continue;
      target = relay.targets[next++];
    }
    if (--waits_[target] == 0) release(target, now);
  }
}

void Run::record(TimePoint now) {
  if (records_.limits != nullptr) network_.take_limits(*records_.limits, false);
  if (records_.series == nullptr) return;
  for (const LinkId link : network_.changed_links()) {
    const FlowNetwork::LinkLoad load = network_.link_load(link);
    records_.series->set(now, link, load.bytes_per_s, load.flows);
  }
}

FlowListResult Run::run() {
  for (std::uint32_t flow = 0; flow < waits_.size(); ++flow) {
    if (waits_[flow] == 0)
      queue_.push(list_.flows[flow].start, Phase::arrival, {Kind::begin, flow});
  }
  for (std::uint32_t fault = 0; fault < plan_.faults.size(); ++fault)
    queue_.push(plan_.faults[fault].time, Phase::failure, {Kind::fault, fault});
  std::vector<FinishedFlow> done;
  TimePoint last{};
  while (!queue_.empty() || network_.running() > 0) {
    TimePoint now = network_.next_completion();
    if (queue_.empty() && now == TimePoint::max()) break;  // what is left stands still for ever
    if (!queue_.empty()) now = std::min(now, queue_.top().key.time);
    done.clear();
    network_.finish_due(now, done);
    for (const FinishedFlow& flow : done) left(static_cast<std::uint32_t>(flow.tag), now);
    while (!queue_.empty() && queue_.top().key.time == now) now_.push_back(queue_.pop().payload);
    // Grows while it is walked: what happens now may let more happen now.
    for (std::size_t i = 0; i < now_.size(); ++i) handle(Event(now_[i]), now);
    now_.clear();
    network_.settle(now);
    last = now;
    record(now);
  }
  if (records_.series != nullptr) records_.series->close(last);
  if (records_.limits != nullptr) network_.take_limits(*records_.limits, true);
  result_.counters = network_.counters();
  return std::move(result_);
}

}  // namespace

std::string FlowList::place(std::size_t flow) const {
  return fmt::format("{}:{}", name, flows[flow].line);
}

FlowListResult run_flow_list(const FlowList& list, const FlowRoutes& routes,
                             const NetworkModel& model, const Transport& transport,
                             const FaultPlan& faults, FlowRecords records) {
  RAILYARD_CHECK(routes.route_of_flow.size() == list.flows.size(), "{} routes for {} flows",
                 routes.route_of_flow.size(), list.flows.size());
  return Run(list, routes, model, transport, faults, records).run();
}

}  // namespace railyard::network
