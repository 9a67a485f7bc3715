// The flows of an activity, whether it starts them at once or step by step.
#pragma once

#include <cstdint>

#include "railyard/training/program.hpp"

namespace railyard::training {

/// Calls visit(const BoundFlow&).
template <typename Visit>
void for_each_flow(const Program& program, const Activity& activity, Visit visit) {
  for (std::uint32_t f = 0; f < activity.flow_count; ++f) {
    visit(program.flows[activity.first_flow + f]);
  }
  if (activity.stepped == 0) return;
  for (const auto& step : program.stepped[activity.stepped - 1].steps) visit(step.flow);
}

}  // namespace railyard::training
