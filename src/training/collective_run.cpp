#include "railyard/training/collective_run.hpp"

#include "collective_binder.hpp"
#include "railyard/core/check.hpp"
#include "railyard/training/iteration_engine.hpp"

namespace railyard::training {

CollectiveRun run_collective(const topology::Topology& topology, const std::vector<GpuId>& group,
                             const collective::Request& request, const std::string& choice,
                             const NetworkSettings& network, collective::RingOrder ring_order) {
  RAILYARD_CHECK(group.size() > 1 && request.size > Bytes(0),
                 "a collective of {} ranks and {} bytes", group.size(), request.size.count());
  auto dag = std::make_shared<workload::IterationDag>();
  dag->ranks = static_cast<std::uint32_t>(group.size());
  dag->streams = 1;
  dag->groups.emplace_back();
  for (std::uint32_t r = 0; r < dag->ranks; ++r) {
    dag->actors.push_back({Rank{r}});
    dag->groups.front().push_back(Rank{r});
  }
  dag->collectives.of(request.operation) = choice;
  dag->collectives.ring_order = ring_order;
  workload::Task task;
  task.kind = workload::TaskKind::collective;
  task.cause = workload::Cause::data;
  task.operation = request.operation;
  task.size = request.size;
  if (!request.shares.empty()) {
    dag->shares.push_back(request.shares);
    task.shares = 1;
    task.by_source = request.by_source;
  }
  dag->tasks.push_back(task);
  const ResolvedCollective what =
      resolve(choice, request, group, shape_of(group, topology), topology, network.protocol);
  const auto program = bind_job(std::move(dag), group, topology, network, 0);
  const TaskTimes times = run_once(program, topology);
  return {Duration(times.end.front() - times.start.front()), what.name, what.protocol};
}

double bus_factor(collective::Operation operation, std::uint32_t ranks) {
  using collective::Operation;
  const double n = ranks;
  switch (operation) {
    case Operation::all_reduce:
      return 2 * (n - 1) / n;
    case Operation::all_gather:
    case Operation::reduce_scatter:
    case Operation::all_to_all:
      return (n - 1) / n;
    default:
      return 1;
  }
}

}  // namespace railyard::training
