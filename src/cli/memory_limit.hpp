// --memory-limit: the program ends by itself, with a line that says why, before it takes more
// memory than it may.
#pragma once

#include "railyard/core/units.hpp"

namespace railyard::cli {

/// Data of this process (heap, stacks, buffers) may not exceed the limit from now on: an allocation
/// beyond it ends in the new-handler of main.cpp. What was finished before is on disk.
/// Throws ConfigError where that is less than any run needs.
void limit_memory(Bytes limit);

}  // namespace railyard::cli
