#include "study/alone.hpp"

#include <utility>

#include "railyard/config/catalog.hpp"
#include "railyard/topology/routing.hpp"

namespace railyard::study {

training::NetworkSettings sprayed(const topology::Topology& fabric) {
  const auto table = topology::routing_catalog();
  const auto spray = config::default_choice("spray", config::descriptions(table));
  training::NetworkSettings network;
  network.routing = config::entry_of(table, "spray").create(fabric, spray.parameters);
  return network;
}

std::vector<GpuId> first_gpus(std::uint32_t count) {
  std::vector<GpuId> gpus;
  for (std::uint32_t g = 0; g < count; ++g) gpus.push_back(GpuId{g});
  return gpus;
}

training::JobIterations run_alone(std::shared_ptr<const workload::IterationDag> dag,
                                  std::uint32_t gpus, const topology::Topology& fabric) {
  const std::vector<std::shared_ptr<const training::Program>> jobs{
      training::bind_job(std::move(dag), first_gpus(gpus), fabric, sprayed(fabric), 0)};
  return training::run_to_steady_state(jobs, fabric, {.iterations_max = 3}, false).jobs.front();
}

}  // namespace railyard::study
