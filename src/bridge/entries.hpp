// The rows that bridge adds to the catalogs, one a file.
#pragma once

#include "railyard/scheduler/catalogs.hpp"

namespace railyard::bridge {

using SchedulerEntry = config::CatalogEntry<scheduler::SchedulerFactory>;
[[nodiscard]] SchedulerEntry process_entry();

}  // namespace railyard::bridge
