// The rows of the queue catalog, one a file.
#pragma once

#include "railyard/scheduler/queue.hpp"

namespace railyard::scheduler {

using QueueEntry = config::CatalogEntry<QueueFactory>;
[[nodiscard]] QueueEntry fifo_entry();

}  // namespace railyard::scheduler
