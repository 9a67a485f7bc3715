// A cluster under test: a small fabric, policies as a scenario names them, recorded jobs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "railyard/cluster/cluster.hpp"
#include "railyard/workload/iteration_dag.hpp"
#include "support/fabric.hpp"

namespace railyard::test {

/// A member of a catalog; `json` as in a scenario: "\"fifo\"" or {"name": …}. Throws ConfigError.
template <typename Factory>
config::Choice choose(const std::string& json,
                      std::span<const config::CatalogEntry<Factory>> table) {
  config::Errors errors;
  const auto document = config::Document::parse_text(json, "policy");
  auto choice =
      config::decode_choice(document.root(), errors, "policy", config::descriptions(table));
  errors.throw_if_any();
  return choice;
}

struct PolicyNames {
  std::string queue = "\"fifo\"";
  std::string placement = "\"gpu_packing\"";
  std::string predictor = "\"oracle\"";
  std::string reservation = "\"none\"";
};

struct ClusterBench {
  explicit ClusterBench(const std::string& fabric, const PolicyNames& names = {})
      : topology(build_fabric(fabric)) {
    const auto make = [](const std::string& json, auto table, auto... more) {
      const config::Choice choice = choose(json, table);
      return config::entry_of(table, choice.name).create(choice.parameters, more...);
    };
    placement = make(names.placement, scheduler::placement_catalog());
    queue = make(names.queue, scheduler::queue_catalog());
    predictor = make(names.predictor, scheduler::predictor_catalog());
    reservation = make(names.reservation, scheduler::reservation_catalog(),
                       static_cast<const scheduler::PlacementPolicy*>(placement.get()));
    settings.topology = &topology;
    settings.network = free_of_latency(topology, "spray");
    settings.placement = placement.get();
    settings.queue = queue.get();
    settings.predictor = predictor.get();
    settings.reservation = reservation.get();
  }
  [[nodiscard]] cluster::Outcome run(const std::vector<cluster::JobSpec>& jobs) const {
    return cluster::simulate(jobs, settings);
  }

  topology::Topology topology;
  std::unique_ptr<scheduler::PlacementPolicy> placement;
  std::unique_ptr<scheduler::QueuePolicy> queue;
  std::unique_ptr<scheduler::Predictor> predictor;
  std::unique_ptr<scheduler::ReservationPolicy> reservation;
  cluster::Settings settings;
};

/// When the jobs got their first GPUs, in seconds, in order of the jobs.
[[nodiscard]] inline std::vector<double> starts(const cluster::Outcome& outcome) {
  std::vector<double> out;
  for (const cluster::JobRecord& record : outcome.jobs) out.push_back(in_seconds(record.started));
  return out;
}

/// An iteration in which the first rank sends a megabyte to the last: traffic that no fabric feels.
inline std::shared_ptr<const workload::IterationDag> quiet_iteration(std::uint32_t ranks) {
  workload::DagBuilder builder;
  workload::IterationDag& dag = builder.dag();
  dag.ranks = ranks;
  dag.streams = 1;
  dag.actors = {{Rank{0}}, {static_cast<Rank>(ranks - 1)}};
  workload::Task sending;
  sending.kind = workload::TaskKind::send;
  sending.cause = workload::Cause::pipeline;
  sending.peer = 1;
  sending.size = Bytes(1'000'000);
  builder.add(sending, {});
  return std::make_shared<const workload::IterationDag>(std::move(dag));
}

/// A recorded job.
inline cluster::JobSpec recorded_job(const std::string& name, std::uint32_t gpus,
                                     Duration submitted, Duration run) {
  cluster::JobSpec job;
  job.name = name;
  job.shape = {gpus, std::min(gpus, 8U), 1, std::max(1U, gpus / 8)};
  job.submitted = TimePoint(submitted);
  job.recorded = run;
  if (gpus > 8) job.dag = quiet_iteration(gpus);
  return job;
}

/// Seconds at which the jobs finished.
inline std::vector<double> finishes(const cluster::Outcome& outcome) {
  std::vector<double> out;
  for (const cluster::JobRecord& record : outcome.jobs) out.push_back(in_seconds(record.finished));
  return out;
}

}  // namespace railyard::test
