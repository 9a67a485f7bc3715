#include "railyard/network/flow_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "network/distinct_links.hpp"
#include "railyard/core/check.hpp"
#include "railyard/core/event_queue.hpp"
#include "railyard/core/rng.hpp"

namespace railyard::network {
namespace {

/// What the delays of a message on a route follow from.
struct RoutePace {
  double solo_bytes_per_s = 0;        ///< of the slowest hop
  double store_s_per_byte = 0;        ///< sum over the hops but the slowest
  double acknowledge_s_per_byte = 0;  ///< sum over all hops
};

RoutePace pace_of(const FlowRoutes& routes, std::size_t route) {
  RoutePace pace{std::numeric_limits<double>::infinity(), 0, 0};
  for (const topology::LinkUse& use : routes.route(route)) {
    const auto capacity = static_cast<double>(routes.capacities[index(use.link)].bytes_per_s());
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
  enum class Kind : std::uint8_t { begin, enter, left, arrive, received, sent };
  Kind kind = Kind::begin;
  std::uint32_t flow = 0;
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

class Run {
 public:
  Run(const FlowList& list, const FlowRoutes& routes, const NetworkModel& model,
      const Transport& transport);
  FlowListResult run();

 private:
  using Kind = Event::Kind;
  void release(std::uint32_t flow, TimePoint now);
  void handle(const Event& event, TimePoint now);
  void enter(std::uint32_t flow, TimePoint now);
  void enter_loggp(std::uint32_t flow, TimePoint now);
  void arrive_loggp(std::uint32_t flow, TimePoint now);
  void left(std::uint32_t flow, TimePoint now);
  void finish(std::uint32_t flow, TimePoint now);
  void signal(std::uint32_t flow, Signal signal, TimePoint now);
  void at(TimePoint time, TimePoint now, Kind kind, std::uint32_t flow);

  [[nodiscard]] std::size_t route_of(std::uint32_t flow) const {
    return routes_.route_of_flow[flow];
  }
  [[nodiscard]] Bytes wire(std::uint32_t flow) const {
    return transport_.wire_bytes(list_.flows[flow].size);
  }
  [[nodiscard]] double share(std::uint32_t flow) const;
  [[nodiscard]] Duration alone_transfer(std::uint32_t flow) const;
  [[nodiscard]] Duration to_receiver(std::uint32_t flow) const;
  [[nodiscard]] Duration way_back(std::uint32_t flow) const;
  [[nodiscard]] Duration loggp_latency(std::uint32_t flow) const;
  [[nodiscard]] Duration loggp_long(std::uint32_t flow) const;

  const FlowList& list_;
  const FlowRoutes& routes_;
  const NetworkModel& model_;
  const Transport& transport_;
  bool has_acknowledgements_;
  Waiters waiters_;
  std::vector<RoutePace> paces_;
  DistinctLinks links_;
  FlowNetwork network_;
  EventQueue<Event> queue_;
  std::vector<Event> now_;              ///< due in this tick: no need to queue
  std::vector<std::uint32_t> waits_;    ///< by flow
  std::vector<std::uint32_t> relayed_;  ///< by relay: targets started
  std::vector<TimePoint> source_free_;  ///< by endpoint, LogGP
  std::vector<TimePoint> target_free_;
  FlowListResult result_;
};

Run::Run(const FlowList& list, const FlowRoutes& routes, const NetworkModel& model,
         const Transport& transport)
    : list_(list),
      routes_(routes),
      model_(model),
      transport_(transport),
      has_acknowledgements_(transport.finish == Finish::acknowledged),
      waiters_(list),
      links_(routes, model.fidelity == Fidelity::packet_corrected && routes.sprayed
                         ? transport.spray_efficiency
                         : 1.0),
      network_(links_.capacities()),
      waits_(list.flows.size(), 0),
      relayed_(list.relays.size(), 0),
      source_free_(list.endpoints.size()),
      target_free_(list.endpoints.size()) {
  for (std::size_t route = 0; route + 1 < routes.first_use.size(); ++route)
    paces_.push_back(pace_of(routes, route));
  for (const Dependency& one : list.dependencies) ++waits_[one.flow];
  for (const Relay& relay : list.relays) {
    for (const std::uint32_t target : relay.targets) ++waits_[target];
  }
  result_.times.resize(list.flows.size());
}

/// Shares are multiples of 1/1024, so that the solver sums them exactly.
double Run::share(std::uint32_t flow) const {
  if (model_.fidelity != Fidelity::packet_corrected || transport_.unfairness == 0) return 1.0;
  const double drawn = static_cast<double>(mix64(mix64(model_.seed) ^ flow) >> 11U) * 0x1p-53;
  const double share = 1.0 + transport_.unfairness * (2.0 * drawn - 1.0);
  return std::max(1.0, std::floor(share * 1024.0)) / 1024.0;
}

Duration Run::alone_transfer(std::uint32_t flow) const {
  return spent(wire(flow), 1.0 / paces_[route_of(flow)].solo_bytes_per_s);
}

Duration Run::to_receiver(std::uint32_t flow) const {
  const Duration latency = routes_.latencies[route_of(flow)];
  if (!transport_.has_packets()) return latency;
  return latency + spent(transport_.longest_packet(list_.flows[flow].size),
                         paces_[route_of(flow)].store_s_per_byte);
}

Duration Run::way_back(std::uint32_t flow) const {
  return routes_.latencies[route_of(flow)] +
         spent(transport_.acknowledgement, paces_[route_of(flow)].acknowledge_s_per_byte);
}

Duration Run::loggp_latency(std::uint32_t flow) const {
  return model_.loggp.latency.value_or(routes_.latencies[route_of(flow)]);
}

/// (k - 1)G
Duration Run::loggp_long(std::uint32_t flow) const {
  const double rate = model_.loggp.rate ? static_cast<double>(model_.loggp.rate->bytes_per_s())
                                        : paces_[route_of(flow)].solo_bytes_per_s;
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
    case Kind::left:
      left(flow, now);
      return;
    case Kind::arrive:
      arrive_loggp(flow, now);
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
  switch (model_.fidelity) {
    case Fidelity::fluid:
    case Fidelity::packet_corrected:
      network_.start(now, FlowSpec{wire(flow), links_.route(route_of(flow)), share(flow), flow});
      return;
    case Fidelity::analytic:
      at(now + alone_transfer(flow), now, Kind::left, flow);
      return;
    case Fidelity::loggp:
      enter_loggp(flow, now);
      return;
  }
}

void Run::enter_loggp(std::uint32_t flow, TimePoint now) {
  TimePoint& free = source_free_[list_.flows[flow].source];
  const TimePoint first = std::max(now + model_.loggp.overhead, free);
  const TimePoint last = first + loggp_long(flow);
  free = last + model_.loggp.gap;
  at(first + loggp_latency(flow), now, Kind::arrive, flow);
  if (!has_acknowledgements_) at(last, now, Kind::sent, flow);
}

void Run::arrive_loggp(std::uint32_t flow, TimePoint now) {
  TimePoint& free = target_free_[list_.flows[flow].destination];
  const TimePoint last = std::max(now, free) + loggp_long(flow);
  free = last + model_.loggp.gap;
  const TimePoint received = last + model_.loggp.overhead;
  at(received, now, Kind::received, flow);
  if (has_acknowledgements_) at(received + loggp_latency(flow), now, Kind::sent, flow);
}

/// The last byte has left the source.
void Run::left(std::uint32_t flow, TimePoint now) {
  const TimePoint received = now + to_receiver(flow);
  at(received, now, Kind::received, flow);
  at(has_acknowledgements_ ? received + way_back(flow) : now, now, Kind::sent, flow);
}

void Run::finish(std::uint32_t flow, TimePoint now) {
  FlowTimes& times = result_.times[flow];
  times.finish = now;
  times.alone = transport_.message_overhead + alone_transfer(flow) + to_receiver(flow) +
                (has_acknowledgements_ ? way_back(flow) : Duration{});
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

FlowListResult Run::run() {
  for (std::uint32_t flow = 0; flow < waits_.size(); ++flow) {
    if (waits_[flow] == 0)
      queue_.push(list_.flows[flow].start, Phase::arrival, {Kind::begin, flow});
  }
  std::vector<FinishedFlow> done;
  while (!queue_.empty() || network_.running() > 0) {
    TimePoint now = network_.next_completion();
    if (!queue_.empty()) now = std::min(now, queue_.top().key.time);
    done.clear();
    network_.finish_due(now, done);
    for (const FinishedFlow& flow : done) left(static_cast<std::uint32_t>(flow.tag), now);
    while (!queue_.empty() && queue_.top().key.time == now) now_.push_back(queue_.pop().payload);
    // Grows while it is walked: what happens now may let more happen now.
    for (std::size_t i = 0; i < now_.size(); ++i) handle(Event(now_[i]), now);
    now_.clear();
    network_.settle(now);
  }
  result_.counters = network_.counters();
  return std::move(result_);
}

}  // namespace

std::string FlowList::place(std::size_t flow) const {
  return fmt::format("{}:{}", name, flows[flow].line);
}

FlowListResult run_flow_list(const FlowList& list, const FlowRoutes& routes,
                             const NetworkModel& model, const Transport& transport) {
  RAILYARD_CHECK(routes.route_of_flow.size() == list.flows.size(), "{} routes for {} flows",
                 routes.route_of_flow.size(), list.flows.size());
  return Run(list, routes, model, transport).run();
}

}  // namespace railyard::network
