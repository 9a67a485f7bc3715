// The flows of one priority class over time, on what the classes above leave of the links. Private
// to the network; what times and rates mean stands in railyard/network/flow_network.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "network/fixed_point.hpp"
#include "network/flow_store.hpp"
#include "network/indexed_heap.hpp"
#include "network/level_solver.hpp"
#include "railyard/network/flow_network.hpp"

namespace railyard::network {

/// What all classes together do to a link, for statistics.
struct LinkTimes {
  std::uint32_t users = 0;    ///< classes with flows on it
  std::uint32_t binders = 0;  ///< classes whose flows it holds up
  std::int64_t busy = 0;
  std::int64_t busy_since = 0;
  std::int64_t binding = 0;
  std::int64_t binding_since = 0;

  void use(std::int64_t at, bool begins) { count(users, busy, busy_since, at, begins); }
  void bind(std::int64_t at, bool begins) { count(binders, binding, binding_since, at, begins); }

 private:
  static void count(std::uint32_t& classes, std::int64_t& time, std::int64_t& since,
                    std::int64_t at, bool begins) {
    if (begins) {
      if (classes++ == 0) since = at;
    } else if (--classes == 0) {
      time += at - since;
    }
  }
};

/// Of the whole network, in the keeping of its face.
struct SharedLinks {
  std::vector<std::int64_t> capacity_bytes_per_s;  ///< whole
  std::vector<LinkTimes> times;                    ///< empty: no statistics
};

class FlowClass {
 public:
  /// A class that has all of the links.
  explicit FlowClass(SharedLinks& shared);

  RouteId add_route(std::span<const topology::LinkUse> links, bool lasting);
  /// The links of a stored route.
  [[nodiscard]] std::vector<topology::LinkUse> route(RouteId route) const;
  /// `order`: of the flow among all classes.
  FlowId start(std::int64_t at, const FlowSpec& spec, std::uint64_t order);
  /// Appends by completion: (order, flow).
  void finish_due(std::int64_t at, std::vector<std::pair<std::uint64_t, FinishedFlow>>& done);
  double stop(std::int64_t at, std::uint32_t slot);
  /// What this class has of some links from now on.
  struct Capacity {
    std::uint32_t link;
    std::int64_t bytes_per_s;
  };
  void set_capacities(std::int64_t at, std::span<const Capacity> changes);
  void settle(std::int64_t at);
  /// INT64_MAX: no flow will end.
  [[nodiscard]] std::int64_t next_completion() const {
    return completions_.empty() ? INT64_MAX : completions_.top().key;
  }

  [[nodiscard]] std::size_t running() const {
    return store_.flows.size() - store_.free_flows.size();
  }
  [[nodiscard]] bool settled() const {
    return started_.empty() && !levels_.pending() && levels_.regrouped().empty();
  }
  [[nodiscard]] double rate_bytes_per_s(std::uint32_t slot) const;
  [[nodiscard]] double alone_bytes_per_s(std::uint32_t slot) const;
  [[nodiscard]] std::int64_t capacity_bytes_per_s(std::uint32_t link) const {
    return store_.links[link].capacity_bytes_per_s;
  }
  /// What the class takes of a link, exactly.
  [[nodiscard]] Load carried(std::uint32_t link) const;
  [[nodiscard]] std::uint32_t flows_on(std::uint32_t link) const {
    return store_.links[link].flows;
  }

  /// From now on the links whose load may have changed are marked.
  void mark_changes() { marks_changes_ = true; }
  /// Marked since this was last called, some perhaps twice.
  void take_marks(std::vector<std::uint32_t>& links);

  /// From now on every flow's limits are kept.
  void watch_limits();
  /// Hands over what has ended. `all`: what still lasts up to the present tick, too.
  void take_limits(FlowLimits& limits, bool all);

  /// Adds bytes by link.
  void add_bytes(std::vector<LinkUsage>& links) const;
  void reset_bytes();
  void add_counters(NetworkCounters& counters) const;

 private:
  static std::uint32_t item_of_flow(std::uint32_t slot) { return 2 * slot; }
  static std::uint32_t item_of_group(std::uint32_t contention) { return 2 * contention + 1; }

  [[nodiscard]] bool statistics() const { return !shared_.times.empty(); }
  void advance_to(std::int64_t at);
  void check_route(std::span<const topology::LinkUse> route) const;
  void derive(StoredRoute& route);
  void drop_route(std::uint32_t route);
  std::uint32_t take_slot();
  void enter(std::int64_t at, std::uint32_t slot);
  void stall(std::int64_t at, std::uint32_t slot);
  void bind_denied(std::int64_t at, const Flow& flow, bool begins);
  void enter_link(std::int64_t at, std::uint32_t hop, const RouteHop& planned);
  void leave(std::int64_t at, std::uint32_t slot);
  void leave_link(std::int64_t at, std::uint32_t hop, const RouteHop& planned);
  void finish(std::uint32_t slot);
  void wake(std::int64_t at, std::uint32_t link);
  void run_solo(std::int64_t at, std::uint32_t slot);
  [[nodiscard]] Work remaining(std::int64_t at, const Flow& flow) const;
  void loosen(std::int64_t at, std::uint32_t slot);
  void set_binding(std::int64_t at, std::uint32_t link, bool binding);
  void pass_on(std::int64_t at);
  void mark_route(const Flow& flow);
  static constexpr std::int64_t kNotBegun = -1;
  struct Limit {
    LinkId link = kNoLink;
    LimitCause cause = LimitCause::alone;
    std::int64_t since = kNotBegun;
  };
  [[nodiscard]] Limit limit_of(std::uint32_t slot) const;
  [[nodiscard]] Limit slowest_link(const Flow& flow) const;
  void begin_limit(std::int64_t at, std::uint32_t slot);
  void end_limit(std::int64_t at, std::uint32_t slot);
  void renew_limits(std::int64_t at);
  [[nodiscard]] Level level(const Flow& flow) const;
  [[nodiscard]] Level level_alone(const Flow& flow) const;

  SharedLinks& shared_;
  FlowStore store_;
  LevelSolver levels_;
  /// Ends of flows that run at their solo rate (item 2 × slot), and of the first member of each
  /// group (2 × contention + 1).
  IndexedHeap completions_;
  std::vector<std::uint32_t> started_;  ///< flows without a rate yet
  std::vector<std::uint32_t> stalled_;
  std::vector<std::uint32_t> waking_;  ///< links whose flows do not fit any more
  std::vector<std::uint32_t> marked_;
  std::vector<double> link_bytes_;  ///< of flows whose routes are gone
  NetworkCounters counters_;
  std::int64_t now_ = 0;
  bool marks_changes_ = false;
  bool keeps_limits_ = false;
  std::vector<Limit> limits_;           ///< by slot
  std::vector<FlowLimit> past_limits_;  ///< since they were last taken
  bool has_all_ = true;                 ///< of every link, at all times
  std::vector<std::uint32_t> loose_;
  std::vector<std::uint32_t> affected_;
  std::uint64_t routes_read_ = 0;
  std::uint64_t capacities_read_ = 0;  ///< counts their changes
};

}  // namespace railyard::network
