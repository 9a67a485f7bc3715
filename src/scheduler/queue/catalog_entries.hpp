// The rows of the queue catalog, one a file, and what they share.
#pragma once

#include <memory>

#include "railyard/scheduler/queue.hpp"

namespace railyard::scheduler {

using QueueEntry = config::CatalogEntry<QueueFactory>;
[[nodiscard]] QueueEntry fifo_entry();
[[nodiscard]] QueueEntry priority_entry();
[[nodiscard]] QueueEntry sjf_entry();
[[nodiscard]] QueueEntry srtf_entry();
[[nodiscard]] QueueEntry las_entry();
[[nodiscard]] QueueEntry fair_share_entry();
[[nodiscard]] QueueEntry easy_backfill_entry();
[[nodiscard]] QueueEntry conservative_backfill_entry();

/// The "hold" parameter: block, pass, easy or conservative.
[[nodiscard]] config::ParameterSpec hold_parameter(std::string_view fallback);
[[nodiscard]] HoldRule hold_of(const config::Parameters& parameters);

/// Orders that backfilling can be combined with.
[[nodiscard]] std::unique_ptr<QueueOrder> arrival_order();
[[nodiscard]] std::unique_ptr<QueueOrder> priority_order();
[[nodiscard]] std::unique_ptr<QueueOrder> shortest_order();

}  // namespace railyard::scheduler
