// First in, first out: order of submission, and the head waits for its gang while all behind it
// wait for the head.
#include <algorithm>
#include <tuple>

#include "scheduler/queue/catalog_entries.hpp"

namespace railyard::scheduler {

namespace {

class Fifo final : public QueuePolicy {
 public:
  void order(std::span<QueuedJob> waiting) const override {
    std::ranges::sort(waiting, [](const QueuedJob& a, const QueuedJob& b) {
      return std::tuple(a.submitted, a.job) < std::tuple(b.submitted, b.job);
    });
  }
  bool head_blocks() const override { return true; }
};

std::unique_ptr<QueuePolicy> create(const config::Parameters& /*parameters*/) {
  return std::make_unique<Fifo>();
}

}  // namespace

QueueEntry fifo_entry() {
  return {{.name = "fifo",
           .summary = "order of submission; a job that cannot be placed holds up all behind it",
           .parameters = {}},
          &create};
}

}  // namespace railyard::scheduler
