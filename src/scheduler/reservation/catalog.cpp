#include <array>

#include "railyard/scheduler/reservation.hpp"
#include "scheduler/reservation/catalog_entries.hpp"

namespace railyard::scheduler {

namespace {

/// Nothing is kept: no policy at all.
std::unique_ptr<ReservationPolicy> create_no_reservation(const config::Parameters& /*parameters*/,
                                                         const PlacementPolicy* /*placement*/) {
  return nullptr;
}

}  // namespace

ReservationEntry no_reservation_entry() {
  return {{.name = "none", .summary = "nothing is kept for anybody", .parameters = {}},
          &create_no_reservation};
}

std::span<const config::CatalogEntry<ReservationFactory>> reservation_catalog() {
  static const std::array kTable{no_reservation_entry(), pool_entry(), announced_entry()};
  return kTable;
}

}  // namespace railyard::scheduler
