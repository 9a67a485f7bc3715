// The rows of the reservation catalog, one a file.
#pragma once

#include "railyard/scheduler/reservation.hpp"

namespace railyard::scheduler {

using ReservationEntry = config::CatalogEntry<ReservationFactory>;
[[nodiscard]] ReservationEntry no_reservation_entry();
[[nodiscard]] ReservationEntry pool_entry();
[[nodiscard]] ReservationEntry announced_entry();

}  // namespace railyard::scheduler
