#include <array>

#include "railyard/scheduler/queue.hpp"
#include "scheduler/queue/catalog_entries.hpp"

namespace railyard::scheduler {

std::span<const config::CatalogEntry<QueueFactory>> queue_catalog() {
  static const std::array kTable{fifo_entry()};
  return kTable;
}

}  // namespace railyard::scheduler
