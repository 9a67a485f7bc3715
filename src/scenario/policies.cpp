// Policy sets and failures of a scenario: what decides over jobs, and what befalls them.
#include <algorithm>
#include <utility>

#include "railyard/collective/collective.hpp"
#include "railyard/scheduler/catalogs.hpp"
#include "railyard/workload/compression.hpp"
#include "world.hpp"

namespace railyard::scenario {
namespace {

using config::Errors;
using config::Node;
using config::Reader;

constexpr Duration kCheckpointMax = std::chrono::hours(24 * 30);

void read_checkpoints(Reader& reader, cluster::Checkpoints& out) {
  const auto interval = reader.child("checkpoint_interval");
  out.young_daly = interval && interval->is_string() && interval->string() == "young_daly";
  if (!out.young_daly) out.interval = reader.optional<Duration>("checkpoint_interval", Duration{});
  out.cost = reader.optional<Duration>("checkpoint_cost", Duration{});
  out.restart = reader.optional<Duration>("restart_cost", Duration{});
  for (const auto& [key, value] :
       {std::pair("checkpoint_interval", out.interval), std::pair("checkpoint_cost", out.cost),
        std::pair("restart_cost", out.restart)}) {
    if (value > kCheckpointMax) reader.fail(key, "must be at most 30d");
  }
  if (out.young_daly && out.cost <= Duration{}) {
    reader.fail("checkpoint_interval",
                "\"young_daly\" weighs \"checkpoint_cost\" against what "
                "failures lose: give the cost");
  }
}

/// A queue or reservation that plans with run times needs somebody who estimates them.
void check_estimates(const PolicyParts& parts, const PolicySpec& policy, Reader& reader) {
  if (parts.predictor->estimates()) return;
  const auto refuse = [&reader](const char* key, const std::string& value) {
    reader.fail(key, fmt::format("\"{}\" plans with run times: give the policy set a "
                                 "\"predictor\" (`railyard list predictors`)",
                                 value));
  };
  if (parts.queue->needs_estimates()) refuse("queue", policy.queue.name);
  if (parts.reservation && parts.reservation->needs_estimates()) {
    refuse("reservation", policy.reservation.name);
  }
}

/// A member of a family, or its default.
template <typename Factory>
config::Choice read_choice(Reader& reader, std::string_view key, std::string_view family,
                           std::span<const config::CatalogEntry<Factory>> table,
                           std::string_view fallback) {
  const auto entries = config::descriptions(table);
  if (const auto child = reader.child(key)) {
    return config::decode_choice(*child, reader.errors(), family, entries);
  }
  return config::default_choice(fallback, entries);
}

/// The scheduler is composed of the policy set's parts, or it is of another make and takes none of
/// them but the placement, which it then may ask.
void read_scheduler(Reader& reader, const scheduler::Catalogs& catalogs, PolicySpec& policy) {
  using scheduler::table;
  policy.scheduler =
      read_choice(reader, "scheduler", "scheduler", table(catalogs.schedulers), kComposed);
  const Node where = reader.child("scheduler").value_or(reader.node());
  policy.scheduler_place = fmt::format("{} {}", where.place(), where.pointer());
  const bool composed = policy.scheduler.name == kComposed;
  const auto placement = composed ? reader.required_child("placement") : reader.child("placement");
  if (placement) {
    policy.placement = config::decode_choice(*placement, reader.errors(), "placement policy",
                                             config::descriptions(table(catalogs.placements)));
  }
  policy.queue = read_choice(reader, "queue", "queue policy", table(catalogs.queues), "fifo");
  policy.reservation = read_choice(reader, "reservation", "reservation policy",
                                   table(catalogs.reservations), "none");
  for (const char* key : {"queue", "reservation"}) {
    if (composed || !reader.has(key)) continue;
    reader.fail(key, fmt::format("the scheduler \"{}\" decides that itself: leave out one of them",
                                 policy.scheduler.name));
  }
}

PolicySpec read_policy(const std::string& name, const Node& node, const World& world,
                       Errors& errors) {
  PolicySpec policy;
  policy.name = name;
  Reader reader(node, errors);
  read_scheduler(reader, *world.catalogs, policy);
  policy.predictor = read_choice(reader, "predictor", "predictor",
                                 scheduler::table(world.catalogs->predictors), "none");
  policy.interval = reader.optional<Duration>("interval", Duration{});
  policy.decision_latency = reader.optional<Duration>("decision_latency", Duration{});
  read_checkpoints(reader, policy.checkpoints);
  if (const auto child = reader.child("collectives")) {
    policy.collectives = collective::read_choices(*child, errors);
  }
  policy.compression =
      read_choice(reader, "compression", "compression", workload::compression_catalog(), "none");
  policy.traffic =
      read_choice(reader, "traffic", "traffic policy", cluster::traffic_catalog(), "none");
  reader.finish();
  if (!errors.empty()) return policy;
  try {
    check_estimates(make_parts(world, policy), policy, reader);
  } catch (const config::ConfigError& error) {
    // Factories check what crosses parameters (alpha + beta = 1): their sentence gets the place.
    errors.add(node.find("placement").value_or(node), error.lines().front());
  }
  return policy;
}

/// The interval follows from the rate of failures.
void check_young_daly(Reader& scenario, const World& world) {
  for (const PolicySpec& policy : world.policies) {
    if (!policy.checkpoints.young_daly || world.failures.per_host_day > 0) continue;
    scenario.fail("failures",
                  fmt::format("policy set \"{}\" has \"checkpoint_interval\": \"young_daly\", "
                              "which needs a failure model with a rate",
                              policy.name));
  }
}

}  // namespace

void read_policies(Reader& scenario, World& world) {
  const auto node = scenario.required_child("policies");
  const auto baseline = scenario.maybe<std::string>("baseline");
  if (!node) return;
  if (!node->is_object() || node->size() == 0) {
    scenario.fail("policies", "expected an object with at least one policy set");
    return;
  }
  for (std::size_t i = 0; i < node->size(); ++i) {
    world.policies.push_back(
        read_policy(std::string(node->key_at(i)), node->at(i), world, scenario.errors()));
  }
  check_young_daly(scenario, world);
  if (!baseline) return;
  std::vector<std::string_view> names;
  for (const PolicySpec& policy : world.policies) names.push_back(policy.name);
  const auto found = std::find(names.begin(), names.end(), *baseline);
  if (found == names.end()) {
    const std::string_view near = config::nearest(*baseline, names);
    scenario.fail(
        "baseline",
        fmt::format("no policy set is called \"{}\"{}", *baseline,
                    near.empty() ? std::string() : fmt::format("; did you mean \"{}\"?", near)));
    return;
  }
  world.baseline = static_cast<std::size_t>(found - names.begin());
}

std::string placement_text(const PolicySpec& policy) {
  if (!policy.placement) return policy.scheduler.name;
  return fmt::format("{} ({})", policy.placement->name, policy.placement->parameters.canonical());
}

PolicyParts make_parts(const World& world, const PolicySpec& policy) {
  using config::entry_of;
  using scheduler::table;
  const scheduler::Catalogs& catalogs = *world.catalogs;
  PolicyParts parts;
  if (policy.placement) {
    parts.placement = entry_of(table(catalogs.placements), policy.placement->name)
                          .create(policy.placement->parameters);
  }
  parts.queue = entry_of(table(catalogs.queues), policy.queue.name).create(policy.queue.parameters);
  parts.reservation = entry_of(table(catalogs.reservations), policy.reservation.name)
                          .create(policy.reservation.parameters, parts.placement.get());
  parts.predictor = entry_of(table(catalogs.predictors), policy.predictor.name)
                        .create(policy.predictor.parameters);
  parts.scheduler =
      entry_of(table(catalogs.schedulers), policy.scheduler.name)
          .create(policy.scheduler.parameters,
                  {parts.queue.get(), parts.placement.get(), parts.reservation.get()}, catalogs);
  return parts;
}

void read_failures(Reader& scenario, World& world) {
  const auto models = cluster::failure_catalog();
  const auto model = read_choice(scenario, "failures", "failure model", models, "none");
  world.failures = config::entry_of(models, model.name).create(model.parameters);
}

}  // namespace railyard::scenario
