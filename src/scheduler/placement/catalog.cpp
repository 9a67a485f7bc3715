#include <array>

#include "railyard/scheduler/placement.hpp"
#include "scheduler/placement/catalog_entries.hpp"

namespace railyard::scheduler {

std::span<const config::CatalogEntry<PlacementFactory>> placement_catalog() {
  static const std::array kTable{arnold_entry(),      best_fit_entry(), blocks_entry(),
                                 gpu_packing_entry(), listed_entry(),   random_fit_entry()};
  return kTable;
}

}  // namespace railyard::scheduler
