// Queue policies: in which order waiting jobs are tried, and whether one that does not fit holds up
// those behind it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "railyard/config/catalog.hpp"
#include "railyard/core/ids.hpp"
#include "railyard/core/time.hpp"

namespace railyard::scheduler {

/// A waiting job as a policy may see it: never the true duration.
struct QueuedJob {
  JobId job{};
  TimePoint submitted{};
  std::uint32_t gpus = 0;
};

class QueuePolicy {
 public:
  virtual ~QueuePolicy() = default;
  /// Sorts the waiting jobs into the order in which they are tried. Ties by submission, then job.
  virtual void order(std::span<QueuedJob> waiting) const = 0;
  /// True: a job that cannot be placed holds up all behind it.
  [[nodiscard]] virtual bool head_blocks() const = 0;
};

using QueueFactory = std::unique_ptr<QueuePolicy> (*)(const config::Parameters&);
[[nodiscard]] std::span<const config::CatalogEntry<QueueFactory>> queue_catalog();

}  // namespace railyard::scheduler
