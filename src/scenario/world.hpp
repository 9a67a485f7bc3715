// A decoded scenario and the immutable things built from it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "railyard/cluster/cluster.hpp"
#include "railyard/config/catalog.hpp"
#include "railyard/config/reader.hpp"
#include "railyard/scenario/scenario.hpp"
#include "railyard/scheduler/catalogs.hpp"
#include "railyard/topology/graph.hpp"
#include "railyard/training/program.hpp"
#include "railyard/workload/transformer.hpp"

namespace railyard::scenario {

/// The scheduler made of a policy set's parts.
inline constexpr std::string_view kComposed = "composed";

/// What a scenario lets differ between two runs.
struct PolicySpec {
  std::string name;
  config::Choice scheduler;
  std::string scheduler_place;  ///< in the file, for what it gets wrong while it runs
  /// Empty: the scheduler needs none.
  std::optional<config::Choice> placement;
  config::Choice queue;
  config::Choice reservation;
  config::Choice predictor;
  cluster::Checkpoints checkpoints;
  Duration interval{};
  Duration decision_latency{};
  collective::PartialChoices collectives;  ///< by operation; empty: the job's own
  config::Choice compression;              ///< of gradients
  config::Choice traffic;                  ///< which jobs go first on links they share
};

/// The parts of a policy set, made. Each run needs its own.
struct PolicyParts {
  std::unique_ptr<scheduler::PlacementPolicy> placement;  ///< null: the scheduler needs none
  std::unique_ptr<scheduler::QueuePolicy> queue;
  std::unique_ptr<scheduler::ReservationPolicy> reservation;
  std::unique_ptr<scheduler::Predictor> predictor;
  std::unique_ptr<scheduler::Scheduler> scheduler;
};

/// What a scenario's "cost" says; zero where it does not.
struct Prices {
  std::string currency;  ///< empty: no price, energy alone is asked for
  double gpu_hour = 0;
  double kwh = 0;
  double switch_port = 0;
  double network_years = 0;  ///< over which switch ports are written off
  bool energy = false;       ///< the powers below are known
  double pue = 1;            ///< energy of the building / energy of what computes
  double busy_w = 0;         ///< of a GPU while it computes
  double idle_w = 0;
};

struct World {
  Catalogs catalogs;  ///< never null
  std::string name;
  std::string description;
  std::vector<std::string> notes;
  std::uint64_t seed = 1;
  topology::Topology topology;
  std::shared_ptr<const workload::GpuSpec> gpu;  ///< the fabric's kind, or the scenario's own
  std::string topology_text;                     ///< the description as JSON, for recordings
  std::string network_text;
  training::NetworkSettings network;
  training::RunLimits limits;
  std::vector<cluster::JobSpec> jobs;
  std::vector<bool> from_trace;                ///< per job
  std::vector<std::int64_t> gradient_bytes;    ///< per job, of an element; 0: it has no gradients
  std::vector<workload::Precision> precision;  ///< per job, of its products
  std::vector<std::string> warnings;           ///< of every policy set: what the job trace left out
  std::vector<scheduler::HostSlot> background;
  std::optional<double> diffusion_alpha;
  cluster::Failures failures;
  std::optional<Prices> prices;
  scheduler::Rules rules;
  Duration horizon = kHorizonMax;
  std::vector<PolicySpec> policies;
  std::size_t baseline = 0;
  std::vector<std::uint64_t> run_keys;  ///< per policy, see Spec::run_key
};

/// Decodes `jobs`, `job_trace` and `arrival_scale` into world.jobs. The topology has been built.
void read_jobs(config::Reader& scenario, World& world);
/// Jobs as a policy set runs them: with its collective algorithms, if it names some, in place of
/// the jobs' own, and with gradients compressed as it says. Throws config::ConfigError, a sentence
/// without a place, where the compression refuses a job.
[[nodiscard]] std::vector<cluster::JobSpec> jobs_under(const World& world,
                                                       const PolicySpec& policy);
/// Decodes `failures`, `policies` and `baseline`. Failures come first.
void read_failures(config::Reader& scenario, World& world);
void read_policies(config::Reader& scenario, World& world);
/// What places jobs under a policy set, for people.
[[nodiscard]] std::string placement_text(const PolicySpec& policy);
[[nodiscard]] PolicyParts make_parts(const World& world, const PolicySpec& policy);
/// Decodes `network` into world.network and world.limits.
void read_network(config::Reader& scenario, World& world);
void decode_network(const config::Node& node, config::Errors& errors, World& world);

}  // namespace railyard::scenario
