// Policy sets and failures of a scenario: what decides over jobs, and what befalls them.
#include <algorithm>
#include <utility>

#include "railyard/collective/collective.hpp"
#include "railyard/scheduler/placement.hpp"
#include "railyard/scheduler/predictor.hpp"
#include "railyard/scheduler/queue.hpp"
#include "railyard/scheduler/reservation.hpp"
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
void check_estimates(PolicySpec& policy, Reader& reader) {
  const auto queue = config::entry_of(scheduler::queue_catalog(), policy.queue.name)
                         .create(policy.queue.parameters);
  const auto reservation =
      config::entry_of(scheduler::reservation_catalog(), policy.reservation.name)
          .create(policy.reservation.parameters, nullptr);
  const auto predictor = config::entry_of(scheduler::predictor_catalog(), policy.predictor.name)
                             .create(policy.predictor.parameters);
  policy.preempts = queue->preempts || (reservation && reservation->evicts());
  if (predictor->estimates()) return;
  const auto refuse = [&reader](const char* key, const std::string& value) {
    reader.fail(key, fmt::format("\"{}\" plans with run times: give the policy set a "
                                 "\"predictor\" (`railyard list predictors`)",
                                 value));
  };
  if (queue->needs_estimates()) refuse("queue", policy.queue.name);
  if (reservation && reservation->needs_estimates()) refuse("reservation", policy.reservation.name);
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

PolicySpec read_policy(const std::string& name, const Node& node, Errors& errors) {
  PolicySpec policy;
  policy.name = name;
  Reader reader(node, errors);
  const auto placements = config::descriptions(scheduler::placement_catalog());
  if (const auto child = reader.required_child("placement")) {
    policy.placement = config::decode_choice(*child, errors, "placement policy", placements);
  }
  policy.queue = read_choice(reader, "queue", "queue policy", scheduler::queue_catalog(), "fifo");
  policy.reservation = read_choice(reader, "reservation", "reservation policy",
                                   scheduler::reservation_catalog(), "none");
  policy.predictor =
      read_choice(reader, "predictor", "predictor", scheduler::predictor_catalog(), "none");
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
  if (errors.empty()) check_estimates(policy, reader);
  return policy;
}

/// Factories check what crosses parameters (alpha + beta = 1): their sentence gets the place.
void try_placement(const PolicySpec& policy, const Node& where, Errors& errors) {
  try {
    static_cast<void>(config::entry_of(scheduler::placement_catalog(), policy.placement.name)
                          .create(policy.placement.parameters));
  } catch (const config::ConfigError& error) {
    errors.add(where, error.lines().front());
  }
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
        read_policy(std::string(node->key_at(i)), node->at(i), scenario.errors()));
    const auto placement = node->at(i).is_object() ? node->at(i).find("placement") : std::nullopt;
    if (placement && scenario.errors().empty()) {
      try_placement(world.policies.back(), *placement, scenario.errors());
    }
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

void read_failures(Reader& scenario, World& world) {
  const auto models = cluster::failure_catalog();
  const auto model = read_choice(scenario, "failures", "failure model", models, "none");
  world.failures = config::entry_of(models, model.name).create(model.parameters);
}

}  // namespace railyard::scenario
