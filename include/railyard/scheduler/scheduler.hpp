// A scheduler: at each scheduling point it sees the cluster and answers with decisions, which the
// cluster checks one by one. A refused decision changes nothing, is counted, and its reason reaches
// the warnings.
//
// The scheduler of a policy set is composed of small parts (docs/adr/0015): queue order, hold rule,
// preemption, reservation, placement. A scheduler of another make replaces them all.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "railyard/scheduler/queue.hpp"
#include "railyard/scheduler/reservation.hpp"
#include "railyard/scheduler/view.hpp"

namespace railyard::scheduler {

/// Starts a waiting job on free GPUs: the whole gang, in rank order.
struct Start {
  JobId job{};
  Placement placement;
};
/// Takes the GPUs from a running job; it waits again, with the work that its checkpoints saved.
struct Preempt {
  JobId job{};
};
/// Refuses a waiting job for good.
struct Reject {
  JobId job{};
  std::string reason;
};
/// Asks for a scheduling point at or after that time.
struct Wake {
  TimePoint at{};
};
using Decision = std::variant<Start, Preempt, Reject, Wake>;

class Scheduler {
 public:
  virtual ~Scheduler() = default;
  /// Called at every scheduling point with jobs waiting. The decisions are applied in order.
  [[nodiscard]] virtual std::vector<Decision> decide(const ClusterView& view) = 0;
  /// Called once, before anything happens.
  virtual void begin(const ClusterView& /*view*/) {}
  /// Called after every event, before the decision that may follow.
  virtual void observe(const Event& /*event*/, const ClusterView& /*view*/) {}
  /// How long before their submission jobs are announced; zero: not at all.
  [[nodiscard]] virtual Duration lead(const JobView& /*job*/) const { return Duration{}; }
  /// Hosts kept for somebody who may not be there yet, ascending. Changes with events only.
  [[nodiscard]] virtual std::vector<HostId> reserved() const { return {}; }
};

/// The parts of a composed scheduler. They outlive it; `reservation` may be null.
struct Parts {
  QueuePolicy* queue = nullptr;
  const PlacementPolicy* placement = nullptr;
  ReservationPolicy* reservation = nullptr;
};
[[nodiscard]] std::unique_ptr<Scheduler> compose(const Parts& parts);

}  // namespace railyard::scheduler
