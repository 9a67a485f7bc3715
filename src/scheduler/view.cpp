#include "railyard/scheduler/view.hpp"

#include <algorithm>

#include "railyard/core/check.hpp"

namespace railyard::scheduler {

Duration JobView::held(TimePoint now) const {
  return state == JobState::running ? held_before + std::max(now - started, Duration{})
                                    : held_before;
}

Duration JobView::progress(TimePoint now) const {
  return state == JobState::running ? kept_before + std::max(now - productive, Duration{})
                                    : kept_before;
}

double JobView::service_gpu_s(TimePoint now) const {
  return in_seconds(held(now)) * shape.gpus;
}

Duration JobView::remaining(TimePoint now) const {
  RAILYARD_CHECK(estimate.has_value(), "job {} has no estimate", name);
  const Duration done = progress(now);
  Duration run = std::max(estimate->run, Duration{1});
  while (run <= done) {
    if (run > kHorizonMax / 2) return kHorizonMax;
    run *= 2;
  }
  return run - done;
}

}  // namespace railyard::scheduler
