// Flows over time on a fabric: exact weighted max-min rates, re-solved once per tick and only where
// something changed.
//
// A flow is a size, a route with a usage per link, and a share. It occupies its links from its
// start until its last byte has left (the receiver has it a path latency later: that is the
// caller's business). The caller drives time:
//
//   network.start(now, spec);             // any number of changes inside one tick
//   network.finish_due(now, done);
//   network.settle(now);                  // then one solve
//   next = network.next_completion();     // never before now
//
// Exactness. Rates, what links carry and what flows have left are integers (src/network/
// fixed_point.hpp): sums do not depend on the order of flows or links, and nothing drifts. A link
// whose flows cannot fill it together (the sum of their solo rates fits) takes no part in rates; a
// flow none of whose links takes part runs at exactly its solo rate. Of the others a change is
// propagated from link to link as far as it changes rates (docs/adr/0013). Permuting simultaneous
// starts moves no completion.
//
// A link without capacity is down: the flows on it stall, use nothing elsewhere, and go on when it
// is back.
//
// Priorities are strict: the flows of the highest have all of the links, and are max-min fair among
// themselves; the others get what is left, in turn. What is left counts in whole bytes per second,
// and less than 2^-30 of a link is nothing: flows that would need it stand still. A run with one
// priority costs nothing more; with several, a settle also costs, for each link on which a rate of
// a higher class may have changed, a pass over the flows on it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "railyard/core/ids.hpp"
#include "railyard/core/time.hpp"
#include "railyard/core/units.hpp"
#include "railyard/network/flow_limit.hpp"
#include "railyard/topology/graph.hpp"
#include "railyard/topology/routing.hpp"

namespace railyard::network {

/// A route stored with add_route. Valid for the life of the network.
enum class RouteId : std::uint32_t {};
inline constexpr RouteId kUnregistered = static_cast<RouteId>(UINT32_MAX);

enum class FlowId : std::uint32_t {};  ///< of a running flow; reused after it has finished

/// Strict priority classes, as many as Ethernet's priority code points (IEEE 802.1Q) tell apart.
inline constexpr std::uint8_t kPriorities = 8;

struct FlowSpec {
  Bytes size;                                ///< > 0
  std::span<const topology::LinkUse> route;  ///< at least one link, copied; or empty
  double share = 1.0;                        ///< weight among others, > 0
  std::uint64_t tag = 0;                     ///< handed back on completion
  RouteId registered = kUnregistered;        ///< instead of `route`, without a copy
  Bandwidth cap{};                           ///< the flow is never faster; zero: no cap
  std::uint8_t priority = 0;                 ///< higher goes first, below kPriorities
};

/// A usage as the network counts it, to the nearest 2^-44. Sums of such usages are exact, so that
/// one flow with the usages of several loads a link as they do.
[[nodiscard]] double counted_usage(double usage);

struct FinishedFlow {
  FlowId flow{};
  std::uint64_t tag = 0;
  Duration solo{};  ///< what the flow would have taken alone on its route, to the nearest tick
  TimePoint started{};
};

/// What a link did since the last reset.
struct LinkUsage {
  double bytes = 0;    ///< of finished flows, usage × size
  Duration busy{};     ///< some flow was on it
  Duration binding{};  ///< it was the bottleneck of at least one flow that ran below its solo rate
};

struct NetworkCounters {
  std::uint64_t flows_started = 0;
  std::uint64_t flows_finished = 0;
  std::uint64_t solves = 0;         ///< ticks in which rates were solved
  std::uint64_t flows_touched = 0;  ///< flows that another link holds than before, summed
  std::uint64_t links_touched = 0;  ///< visits of links in solves, summed
};

/// Whether per-link totals are kept; without them flows cost less.
enum class LinkStatistics : std::uint8_t { off, on };

class FlowNetwork {
 public:
  /// Capacities of the topology's links.
  explicit FlowNetwork(const topology::Topology& topology,
                       LinkStatistics statistics = LinkStatistics::on);
  /// Link i has capacities[i] > 0.
  explicit FlowNetwork(std::span<const Bandwidth> capacities,
                       LinkStatistics statistics = LinkStatistics::on);
  ~FlowNetwork();
  FlowNetwork(const FlowNetwork&) = delete;
  FlowNetwork& operator=(const FlowNetwork&) = delete;

  /// Stores a route that many flows will take. Usages of a link that occurs twice add up.
  RouteId add_route(std::span<const topology::LinkUse> links);
  /// The flow takes part in rates from the next settle on.
  FlowId start(TimePoint now, const FlowSpec& spec);
  /// Removes flows whose completion tick is `now` and appends them in order of their start.
  /// Checked: none lies before.
  void finish_due(TimePoint now, std::vector<FinishedFlow>& done);
  /// Takes a running flow out; the bytes it had left. Settle afterwards.
  double stop(TimePoint now, FlowId flow);
  /// Another capacity from now on; zero: the link is down. Costs what stopping and starting the
  /// flows on it does.
  /// Settle afterwards.
  void set_capacity(TimePoint now, LinkId link, Bandwidth capacity);
  /// Solves what has changed in this tick. Idempotent.
  void settle(TimePoint now);
  /// TimePoint::max() when no flow runs. Valid after settle. May equal the tick of that settle: a
  /// flow of less than half a tick ends in the tick in which it starts, and finish_due must then be
  /// called again in the same tick.
  [[nodiscard]] TimePoint next_completion() const;

  /// From now on every settle lists the links whose load may have changed.
  void watch_links();
  /// Since the settle before the last one, ascending.
  [[nodiscard]] std::span<const LinkId> changed_links() const;
  struct LinkLoad {
    double bytes_per_s = 0;
    std::uint32_t flows = 0;
  };
  [[nodiscard]] LinkLoad link_load(LinkId link) const;

  /// From now on the network keeps who is limited by what.
  void watch_limits();
  /// Hands over what has ended since the last call. `all`: what still lasts up to the
  /// tick of the last settle, too.
  void take_limits(FlowLimits& limits, bool all);

  [[nodiscard]] double rate_bytes_per_s(FlowId flow) const;
  [[nodiscard]] double solo_rate_bytes_per_s(FlowId flow) const;
  [[nodiscard]] std::size_t running() const;

  /// Per-link totals (LinkStatistics::on); busy and binding times are closed at `now`.
  [[nodiscard]] std::vector<LinkUsage> link_usage(TimePoint now) const;
  void reset_usage(TimePoint now);
  [[nodiscard]] NetworkCounters counters() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace railyard::network
