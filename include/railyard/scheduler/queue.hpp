// Queue policies: in which order jobs are tried (QueueOrder), what a job that finds no place means
// for those behind it (HoldRule), and whether running jobs give way (preemption).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "railyard/config/catalog.hpp"
#include "railyard/scheduler/view.hpp"

namespace railyard::scheduler {

/// An order of jobs, waiting and running alike. May keep state of its own from the events.
class QueueOrder {
 public:
  virtual ~QueueOrder() = default;
  /// Lower goes first. Ties go by submission, then by job.
  [[nodiscard]] virtual double key(const JobView& job, TimePoint now) const = 0;
  /// When the key of a running job next changes by leaps, with no event to tell of it. Empty:
  /// never.
  [[nodiscard]] virtual std::optional<TimePoint> next_leap(const JobView& /*job*/,
                                                           TimePoint /*now*/) const {
    return std::nullopt;
  }
  virtual void observe(const Event& /*event*/, const ClusterView& /*view*/) {}
  [[nodiscard]] virtual bool needs_estimates() const { return false; }
};

/// What a job that finds no place means for those behind it.
struct HoldRule {
  enum class Kind : std::uint8_t {
    block,   ///< they wait
    pass,    ///< nothing: whoever fits starts
    reserve  ///< the first `depth` such jobs get a place and time from the estimates, and nobody
             ///< may start who would delay them; behind the last of them nobody is planned
  };
  Kind kind = Kind::block;
  /// How many get a reservation: 1 is EASY backfilling (Lifka, JSSPP'95), all is conservative
  /// backfilling (Mu'alem and Feitelson, TPDS 2001).
  std::uint32_t reservations = 0;
  /// Jobs looked at in one decision, from the first.
  std::uint32_t depth = 0xffffffff;
};

/// A row of the queue catalog, made.
struct QueuePolicy {
  std::unique_ptr<QueueOrder> order;
  HoldRule hold;
  /// May a job take the GPUs of running ones whose key is larger than its own?
  bool preempts = false;

  /// Without estimates of run times such a policy has no meaning.
  [[nodiscard]] bool needs_estimates() const {
    return hold.kind == HoldRule::Kind::reserve || order->needs_estimates();
  }
  /// Sorts jobs of the view into the order in which they are tried.
  void sort(std::span<JobId> jobs, const ClusterView& view) const;
};

using QueueFactory = std::unique_ptr<QueuePolicy> (*)(const config::Parameters&);
[[nodiscard]] std::span<const config::CatalogEntry<QueueFactory>> queue_catalog();

}  // namespace railyard::scheduler
