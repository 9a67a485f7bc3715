// All families of policies together, as a value that can grow: a program fills it with what is in
// the tree and what its user brings along, and hands it down to whoever reads a scenario.
#pragma once

#include <vector>

#include "railyard/config/catalog.hpp"
#include "railyard/scheduler/placement.hpp"
#include "railyard/scheduler/predictor.hpp"
#include "railyard/scheduler/queue.hpp"
#include "railyard/scheduler/reservation.hpp"
#include "railyard/scheduler/scheduler.hpp"

namespace railyard::scheduler {

/// Names are unique within a family.
struct Catalogs {
  std::vector<config::CatalogEntry<PlacementFactory>> placements;
  std::vector<config::CatalogEntry<QueueFactory>> queues;
  std::vector<config::CatalogEntry<PredictorFactory>> predictors;
  std::vector<config::CatalogEntry<ReservationFactory>> reservations;
  std::vector<config::CatalogEntry<SchedulerFactory>> schedulers;
};

/// What is in the tree.
[[nodiscard]] Catalogs in_tree_catalogs();

/// A row as a span, for what takes the table of a family.
template <typename Factory>
[[nodiscard]] std::span<const config::CatalogEntry<Factory>> table(
    const std::vector<config::CatalogEntry<Factory>>& entries) {
  return entries;
}

}  // namespace railyard::scheduler
