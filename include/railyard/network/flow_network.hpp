// Flows over time on a fabric: exact weighted max-min rates, re-solved once per tick and only where
// something changed.
//
// A flow is a size, a route with a usage per link, and a share. It occupies its links from its
// start until its last byte has left (the receiver has it a path latency later: that is the
// caller's business). The caller drives time:
//
//   network.start(now, spec);  network.finish_due(now, done);   // any number of changes inside one
//   tick network.settle(now);                                        // then one solve TimePoint
//   next = network.next_completion();                 // never before now
//
// Exactness. A link whose flows cannot fill it together (the sum of their solo rates fits) cannot
// bind and does not enter solves; the sum is kept in integers, so that this never depends on
// history. A flow none of whose links can bind runs at exactly its solo rate. For the others a tick
// is settled from the certificate of max_min.hpp: solve the flows that the changes touch first, as
// if all others kept their rates; take in (a) all flows with a bottleneck on which a rate has
// changed, and (b) all flows that stand higher on a bottleneck found; solve again until nobody
// comes in. Then every flow has a bottleneck, and rates with that property are unique
// (docs/adr/0010).
//
// The sets (a) and (b) and all sums of rates (integers) do not depend on the order of flows or
// links: permuting simultaneous starts moves no completion. Rates that a solve would move by less
// than 1e-12 relative stay, because that is the rounding of another order of levels.
//
// Link bytes are credited at completion from integer sizes. `remaining` is kept at the true last
// change of the rate and the completion tick derived from it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "railyard/core/ids.hpp"
#include "railyard/core/time.hpp"
#include "railyard/core/units.hpp"
#include "railyard/topology/graph.hpp"
#include "railyard/topology/routing.hpp"

namespace railyard::network {

enum class FlowId : std::uint32_t {};  ///< slot of a running flow; reused after it has finished

struct FlowSpec {
  Bytes size;                                ///< > 0
  std::span<const topology::LinkUse> route;  ///< at least one link; copied
  double share = 1.0;                        ///< weight among others, > 0
  std::uint64_t tag = 0;                     ///< handed back on completion
};

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
  std::uint64_t solves = 0;         ///< calls of the solver
  std::uint64_t flows_touched = 0;  ///< flows in solved problems, summed
  std::uint64_t links_touched = 0;  ///< links in solved problems, summed
};

class FlowNetwork {
 public:
  /// Capacities of the topology's links.
  explicit FlowNetwork(const topology::Topology& topology);
  /// Link i has capacities[i] > 0.
  explicit FlowNetwork(std::span<const Bandwidth> capacities);
  ~FlowNetwork();
  FlowNetwork(const FlowNetwork&) = delete;
  FlowNetwork& operator=(const FlowNetwork&) = delete;

  /// The flow takes part in rates from the next settle on. Usages of a link that occurs twice in
  /// the route add up.
  FlowId start(TimePoint now, const FlowSpec& spec);
  /// Removes flows whose completion tick is `now` and appends them in order of their start.
  /// Checked: none lies before.
  void finish_due(TimePoint now, std::vector<FinishedFlow>& done);
  /// Solves what has changed in this tick. Idempotent.
  void settle(TimePoint now);
  /// TimePoint::max() when no flow runs. Valid after settle. May equal the tick of that settle: a
  /// flow of less than half a tick ends in the tick in which it starts, and finish_due must then be
  /// called again in the same tick.
  [[nodiscard]] TimePoint next_completion() const;

  [[nodiscard]] double rate_bytes_per_s(FlowId flow) const;
  [[nodiscard]] double solo_rate_bytes_per_s(FlowId flow) const;
  [[nodiscard]] std::size_t running() const;

  /// Per-link totals; busy and binding times are closed at `now`.
  [[nodiscard]] std::vector<LinkUsage> link_usage(TimePoint now) const;
  void reset_usage(TimePoint now);
  [[nodiscard]] const NetworkCounters& counters() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace railyard::network
