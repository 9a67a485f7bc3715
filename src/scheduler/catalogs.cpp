#include "railyard/scheduler/catalogs.hpp"

namespace railyard::scheduler {

namespace {

template <typename Factory>
std::vector<config::CatalogEntry<Factory>> copy(
    std::span<const config::CatalogEntry<Factory>> table) {
  return {table.begin(), table.end()};
}

}  // namespace

Catalogs in_tree_catalogs() {
  return {.placements = copy(placement_catalog()),
          .queues = copy(queue_catalog()),
          .predictors = copy(predictor_catalog()),
          .reservations = copy(reservation_catalog()),
          .schedulers = copy(scheduler_catalog())};
}

}  // namespace railyard::scheduler
