// A recording in the world of its context.
#pragma once

#include <memory>

#include "railyard/training/program.hpp"
#include "railyard/workload/recording.hpp"
#include "world.hpp"

namespace railyard::scenario {

struct BoundRecording {
  World world;  ///< its topology and network only
  std::shared_ptr<const training::Program> program;
};
/// Throws ConfigError where the recording does not say where it ran.
[[nodiscard]] BoundRecording bind_recording(const workload::Recording& recording);

}  // namespace railyard::scenario
