// Reservation policies: hosts kept for jobs that may not be there yet, and who may use them
// meanwhile.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "railyard/config/catalog.hpp"
#include "railyard/scheduler/view.hpp"

namespace railyard::scheduler {

/// Where a job may be placed.
struct Access {
  std::vector<HostId> closed;  ///< hosts it may not use, ascending
  /// Tried where the first finds no place: fewer hosts are closed.
  std::optional<std::vector<HostId>> then_closed;
};

class ReservationPolicy {
 public:
  virtual ~ReservationPolicy() = default;
  [[nodiscard]] virtual bool needs_estimates() const { return false; }
  /// Told once, before anything happens: what is free now is what jobs can ever have.
  virtual void begin(const ClusterView& /*view*/) {}
  virtual void observe(const Event& /*event*/, const ClusterView& /*view*/) {}
  /// How long before its submission this job is announced; zero: not at all.
  [[nodiscard]] virtual Duration lead(const JobView& /*job*/) const { return Duration{}; }
  /// All hosts kept, ascending. Changes with events only.
  [[nodiscard]] virtual std::vector<HostId> hosts() const = 0;
  [[nodiscard]] virtual Access access(const JobView& job, const ClusterView& view) const = 0;
  /// Is the job tried before the queue?
  [[nodiscard]] virtual bool first(const JobView& /*job*/) const { return false; }
  /// May `claimant` take the GPUs of the running `victim`?
  [[nodiscard]] virtual bool may_evict(const JobView& /*claimant*/, const JobView& /*victim*/,
                                       const ClusterView& /*view*/) const {
    return false;
  }
  /// Can it ever evict? Then the run has preemptions to report, be they none.
  [[nodiscard]] virtual bool evicts() const { return false; }
};

/// `placement` is the policy set's: an announced job gets the hosts that it would choose.
using ReservationFactory = std::unique_ptr<ReservationPolicy> (*)(const config::Parameters&,
                                                                  const PlacementPolicy* placement);
[[nodiscard]] std::span<const config::CatalogEntry<ReservationFactory>> reservation_catalog();

}  // namespace railyard::scheduler
