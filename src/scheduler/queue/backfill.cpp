// Backfilling: jobs go by an order, usually of submission, and a later one may start before an
// earlier one where it does not delay it. EASY (Lifka, "The ANL/IBM SP scheduling system",
// JSSPP'95) protects the first job that waits, conservative backfilling every one (Mu'alem and
// Feitelson, TPDS 2001). Who is protected gets hosts and a time from the estimates of run times:
// the first time at which the placement policy finds a place for it if all running jobs end when
// they are expected to.
#include "railyard/core/check.hpp"
#include "scheduler/queue/catalog_entries.hpp"

namespace railyard::scheduler {

namespace {

config::ParameterSpec order_parameter() {
  return {.name = "order",
          .type = config::ParameterType::choice,
          .fallback = "\"fifo\"",
          .help = "order of the jobs",
          .choices = {"fifo", "priority", "sjf"}};
}

std::unique_ptr<QueueOrder> order_of(const config::Parameters& parameters) {
  const auto& word = parameters.get<std::string>("order");
  if (word == "priority") return priority_order();
  if (word == "sjf") return shortest_order();
  return arrival_order();
}

std::unique_ptr<QueuePolicy> create_easy(const config::Parameters& parameters) {
  auto policy = std::make_unique<QueuePolicy>();
  policy->order = order_of(parameters);
  policy->hold = {.kind = HoldRule::Kind::reserve, .reservations = 1};
  return policy;
}

std::unique_ptr<QueuePolicy> create_conservative(const config::Parameters& parameters) {
  auto policy = std::make_unique<QueuePolicy>();
  policy->order = order_of(parameters);
  policy->hold = {.kind = HoldRule::Kind::reserve,
                  .reservations = 0xffffffff,
                  .depth = static_cast<std::uint32_t>(parameters.get<std::int64_t>("depth"))};
  return policy;
}

}  // namespace

QueueEntry easy_backfill_entry() {
  return {{.name = "easy_backfill",
           .summary = "order of submission; jobs may overtake where, by the estimates, they do not "
                      "delay the first that waits",
           .parameters = {order_parameter()}},
          &create_easy};
}

QueueEntry conservative_backfill_entry() {
  return {{.name = "conservative_backfill",
           .summary = "order of submission; jobs may overtake where, by the estimates, they delay "
                      "nobody who waits",
           .parameters = {order_parameter(),
                          {.name = "depth",
                           .type = config::ParameterType::integer,
                           .fallback = "100",
                           .help = "jobs planned in one decision; those behind wait (Slurm's "
                                   "bf_max_job_test)",
                           .min = 1,
                           .max = 1'000'000}}},
          &create_conservative};
}

}  // namespace railyard::scheduler
