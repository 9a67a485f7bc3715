// The order in which a stage of a pipeline runs its passes.
#pragma once

#include <cstdint>
#include <vector>

#include "railyard/workload/transformer.hpp"

namespace railyard::workload {

/// One pass of one micro-batch through one chunk.
struct Pass {
  enum Kind : std::uint8_t {
    forward,
    backward,        ///< with the gradients of weights
    backward_input,  ///< without them
    backward_weight  ///< what backward_input left
  };
  Kind kind = forward;
  std::uint32_t chunk = 0;
  std::uint32_t micro_batch = 0;
  /// Runs together with the pass behind it: the exchanges of both hide behind the work of both.
  bool paired = false;
  friend bool operator==(const Pass&, const Pass&) = default;
};

/// All passes of stage `stage` of `stages` in order.
///
///   1F1B             min(p − s − 1, m) warm-up forwards, then one forward and one backward in
///   turn,
///                    then the rest (SC'21, §2.2.1); with v > 1 chunks a stage, interleaved (SC'21,
///                    §2.2.2; m divides into groups of p), 2(p − s − 1) + (v − 1)p warm-up
///                    forwards.
///   GPipe            all forwards, all backwards.
///   ZB-H1            1F1B whose weight gradients run s micro-batches late on stage s, so that the
///                    way back is one input gradient a stage: bubble (p − 1)(F + B − W).
///   DualPipe         half of the micro-batches enter at either end; forward and backward passes of
///                    opposite directions are paired. p even, m even and at least 2p: bubble
///                    (p/2 − 1)(F&B + B − 3W), F&B being a pair (DeepSeek-V3, Table 2).
[[nodiscard]] std::vector<Pass> passes_of_stage(Schedule schedule, std::uint32_t stage,
                                                std::uint32_t stages, std::uint32_t virtual_stages,
                                                std::uint32_t micro_batches);

}  // namespace railyard::workload
