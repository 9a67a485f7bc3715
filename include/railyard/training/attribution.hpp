// Where one iteration's time goes: a partition of its critical path.
#pragma once

#include "railyard/core/time.hpp"

namespace railyard::training {

/// Sums to the iteration time to the tick. The critical path is walked back from the task that
/// ended last, always to the task whose end let the next one start. Computation and tensor
/// collectives beyond what the busiest actor does itself are the pipeline's bubble; exposed_* is
/// communication on the path at the rate it has alone on its route.
struct Attribution {
  Duration compute{};
  Duration bubble{};
  Duration exposed_tp{};
  Duration exposed_pp{};
  Duration exposed_dp{};
  Duration exposed_ep{};
  Duration exposed_cp{};
  Duration latency{};     ///< fixed costs of communication on the path
  Duration contention{};  ///< communication on the path beyond its time alone
  // Of the contention, what sends between stages and gradient collectives suffer.
  Duration contention_pp{};
  Duration contention_dp{};

  [[nodiscard]] constexpr Duration total() const { return compute + bubble + communication(); }
  /// Communication on the critical path, or waiting for it.
  [[nodiscard]] constexpr Duration communication() const {
    return exposed_tp + exposed_pp + exposed_dp + exposed_ep + exposed_cp + latency + contention;
  }
  friend constexpr bool operator==(const Attribution&, const Attribution&) = default;
};

}  // namespace railyard::training
