#include <array>

#include "railyard/scheduler/queue.hpp"
#include "scheduler/queue/catalog_entries.hpp"

namespace railyard::scheduler {

std::span<const config::CatalogEntry<QueueFactory>> queue_catalog() {
  static const std::array kTable{
      fifo_entry(), priority_entry(),   sjf_entry(),           srtf_entry(),
      las_entry(),  fair_share_entry(), easy_backfill_entry(), conservative_backfill_entry()};
  return kTable;
}

config::ParameterSpec hold_parameter(std::string_view fallback) {
  return {.name = "hold",
          .type = config::ParameterType::choice,
          .fallback = fallback,
          .help =
              "what a job that finds no place means for those behind it: they wait; nothing; it "
              "gets a reservation (easy), every such job gets one (conservative)",
          .choices = {"block", "pass", "easy", "conservative"}};
}

HoldRule hold_of(const config::Parameters& parameters) {
  const auto& word = parameters.get<std::string>("hold");
  if (word == "block") return {};
  if (word == "pass") return {.kind = HoldRule::Kind::pass};
  return {.kind = HoldRule::Kind::reserve, .reservations = word == "easy" ? 1U : 0xffffffffU};
}

}  // namespace railyard::scheduler
