// A scheduler: at each scheduling point it sees the cluster and answers with decisions, which the
// cluster checks one by one. A refused decision changes nothing, is counted, and its reason reaches
// the warnings.
//
// The scheduler of a policy set is composed of small parts (docs/adr/0015): queue order, hold rule,
// preemption, reservation, placement. A scheduler of another make replaces them all.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
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

/// A scheduler from outside fell silent, or said what cannot be understood: its author's fault. The
/// text says what and the fix, not where the scheduler was named.
class SchedulerError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Scheduler {
 public:
  virtual ~Scheduler() = default;
  /// Called at every scheduling point with jobs waiting. The decisions are applied in order.
  [[nodiscard]] virtual std::vector<Decision> decide(const ClusterView& view) = 0;
  /// Called once, before anything happens.
  virtual void begin(const ClusterView& /*view*/) {}
  /// A decision of the last answer was refused: of which job (none: a wish to be woken), and why.
  virtual void refused(std::optional<JobId> /*job*/, std::string_view /*reason*/) {}
  /// Asked when all decisions of an answer have been applied: is it to be asked once more at the
  /// same time, to go on with what they made of the cluster?
  [[nodiscard]] virtual bool again() { return false; }
  /// May it preempt? Asked once, after `begin`. Then the run has preemptions to report, be they
  /// none; who says no and does is refused.
  [[nodiscard]] virtual bool displaces() const { return true; }
  /// Called after every event, before the decision that may follow.
  virtual void observe(const Event& /*event*/, const ClusterView& /*view*/) {}
  /// How long before their submission jobs are announced; zero: not at all.
  [[nodiscard]] virtual Duration lead(const JobView& /*job*/) const { return Duration{}; }
  /// Does it ever keep hosts? Then the run has a curve of them.
  [[nodiscard]] virtual bool reserves() const { return false; }
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

struct Catalogs;
/// Of the policy set's parts a scheduler of another make gets the placement, where one is named,
/// and no more. The catalogs outlive it.
using SchedulerFactory = std::unique_ptr<Scheduler> (*)(const config::Parameters&, const Parts&,
                                                        const Catalogs&);
[[nodiscard]] std::span<const config::CatalogEntry<SchedulerFactory>> scheduler_catalog();

}  // namespace railyard::scheduler
