// The GPU that most tests of the training step run on.
#pragma once

#include "railyard/workload/transformer.hpp"

namespace railyard::test {

[[nodiscard]] inline const workload::GpuSpec& a100() {
  return *workload::find_gpu("A100-80");
}

}  // namespace railyard::test
