#include "workload/pipeline_schedule.hpp"

#include <algorithm>
#include <array>
#include <deque>

#include "railyard/core/check.hpp"

namespace railyard::workload {

namespace {

struct ScheduleShape {
  std::uint32_t stage;
  std::uint32_t stages;
  std::uint32_t virtual_stages;
  std::uint32_t micro_batches;
  [[nodiscard]] std::uint32_t passes() const { return micro_batches * virtual_stages; }
};

/// The k-th forward or backward of a stage: groups of p micro-batches go through one chunk after
/// the other, backwards from the last chunk to the first.
Pass interleaved(const ScheduleShape& shape, std::uint32_t k, bool forward) {
  const std::uint32_t group = shape.stages * shape.virtual_stages;
  const std::uint32_t v = k % group / shape.stages;
  const std::uint32_t chunk = forward ? v : shape.virtual_stages - 1 - v;
  const std::uint32_t micro_batch =
      shape.virtual_stages == 1 ? k : k / group * shape.stages + k % shape.stages;
  return {forward ? Pass::forward : Pass::backward, shape.stage + chunk * shape.stages, micro_batch,
          false};
}

std::vector<Pass> one_forward_one_backward(const ScheduleShape& shape) {
  const std::uint32_t all = shape.passes();
  const std::uint32_t below = shape.stages - shape.stage - 1;
  std::uint32_t warm_up = below;
  if (shape.virtual_stages > 1) {
    warm_up = 2 * below + (shape.virtual_stages - 1) * shape.stages;
    if (shape.micro_batches == shape.stages) warm_up = all;
  }
  warm_up = std::min(warm_up, all);
  std::vector<Pass> passes;
  passes.reserve(std::size_t{2} * all);
  for (std::uint32_t i = 0; i < warm_up; ++i) passes.push_back(interleaved(shape, i, true));
  for (std::uint32_t i = warm_up; i < all; ++i) {
    passes.push_back(interleaved(shape, i, true));
    passes.push_back(interleaved(shape, i - warm_up, false));
  }
  for (std::uint32_t i = all - warm_up; i < all; ++i)
    passes.push_back(interleaved(shape, i, false));
  return passes;
}

std::vector<Pass> gpipe(const ScheduleShape& shape) {
  std::vector<Pass> passes;
  for (std::uint32_t i = 0; i < shape.passes(); ++i) passes.push_back(interleaved(shape, i, true));
  for (std::uint32_t i = 0; i < shape.passes(); ++i) passes.push_back(interleaved(shape, i, false));
  return passes;
}

std::vector<Pass> zero_bubble(const ScheduleShape& shape) {
  std::vector<Pass> passes;
  std::uint32_t weights = 0;
  const auto weight = [&] {
    passes.push_back({Pass::backward_weight, shape.stage, weights++, false});
  };
  for (Pass pass : one_forward_one_backward(shape)) {
    if (pass.kind == Pass::backward) pass.kind = Pass::backward_input;
    passes.push_back(pass);
    if (pass.kind == Pass::backward_input && pass.micro_batch >= shape.stage) weight();
  }
  while (weights < shape.micro_batches) weight();
  return passes;
}

/// DeepSeek's schedule in its eight steps. Direction 0 is the one that enters at the nearer end:
/// micro-batches [0, m/2) enter at stage 0, the others at the last stage.
class DualPipe {
 public:
  explicit DualPipe(const ScheduleShape& shape)
      : shape_(shape), second_half_(shape.stage >= shape.stages / 2) {}

  std::vector<Pass> passes() {
    const std::uint32_t half_stages = shape_.stages / 2;
    const std::uint32_t half_stage = std::min(shape_.stage, shape_.stages - 1 - shape_.stage);
    const std::uint32_t to_middle = half_stages - half_stage - 1;
    repeat(2 * to_middle, [&](std::uint32_t) { forward(0); });
    repeat(half_stage + 1, [&](std::uint32_t) {
      forward(0);
      forward(1);
    });
    repeat(to_middle, [&](std::uint32_t) {
      backward(1, true);
      weight();
      forward(1);
    });
    repeat(shape_.micro_batches / 2 - shape_.stages + half_stage + 1, [&](std::uint32_t i) {
      if (i == 0 && to_middle == 0) {  // the middle stages have nothing to overlap yet
        forward(0);
        backward(1, false);
      } else {
        pair(0, 1);
      }
      pair(1, 0);
    });
    repeat(to_middle, [&](std::uint32_t) {
      backward(1, false);
      pair(1, 0);
    });
    drain(half_stage, to_middle);
    return std::move(passes_);
  }

 private:
  template <typename Step>
  static void repeat(std::uint32_t times, Step step) {
    for (std::uint32_t i = 0; i < times; ++i) step(i);
  }
  void drain(std::uint32_t half_stage, std::uint32_t to_middle) {
    bool split = false;
    repeat(half_stage + 1, [&](std::uint32_t i) {
      const bool middle = i == (half_stage + 1) / 2;
      if (middle && half_stage % 2 == 1) split = true;
      backward(1, split);
      if (middle && half_stage % 2 == 0) split = true;
      backward(0, split);
    });
    repeat(to_middle, [&](std::uint32_t) {
      weight();
      backward(0, true);
    });
    while (!waiting_.empty()) weight();
  }

  [[nodiscard]] Pass pass(Pass::Kind kind, std::uint32_t direction, std::uint32_t index) const {
    const bool from_end = (direction == 1) != second_half_;
    const std::uint32_t chunk = from_end ? shape_.stages - 1 - shape_.stage : shape_.stage;
    return {kind, chunk, index + (from_end ? shape_.micro_batches / 2 : 0), false};
  }
  void forward(std::uint32_t direction) {
    passes_.push_back(pass(Pass::forward, direction, forwards_[direction]++));
  }
  void backward(std::uint32_t direction, bool split) {
    const Pass next =
        pass(split ? Pass::backward_input : Pass::backward, direction, backwards_[direction]++);
    passes_.push_back(next);
    if (split) waiting_.push_back({Pass::backward_weight, next.chunk, next.micro_batch, false});
  }
  void pair(std::uint32_t forward_direction, std::uint32_t backward_direction) {
    forward(forward_direction);
    passes_.back().paired = true;
    backward(backward_direction, false);
  }
  void weight() {
    if (waiting_.empty()) return;
    passes_.push_back(waiting_.front());
    waiting_.pop_front();
  }

  const ScheduleShape& shape_;
  bool second_half_;
  std::array<std::uint32_t, 2> forwards_{};
  std::array<std::uint32_t, 2> backwards_{};
  std::deque<Pass> waiting_;  ///< weight gradients put off
  std::vector<Pass> passes_;
};

}  // namespace

std::vector<Pass> passes_of_stage(Schedule schedule, std::uint32_t stage, std::uint32_t stages,
                                  std::uint32_t virtual_stages, std::uint32_t micro_batches) {
  RAILYARD_CHECK(stage < stages && virtual_stages > 0, "stage {} of {} with {} chunks", stage,
                 stages, virtual_stages);
  const ScheduleShape shape{stage, stages, virtual_stages, micro_batches};
  switch (schedule) {
    case Schedule::one_forward_one_backward:
      return one_forward_one_backward(shape);
    case Schedule::gpipe:
      return gpipe(shape);
    case Schedule::zero_bubble:
      return zero_bubble(shape);
    case Schedule::dual_pipe:
      return DualPipe(shape).passes();
  }
  return {};
}

}  // namespace railyard::workload
