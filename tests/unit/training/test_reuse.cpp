#include <doctest/doctest.h>

#include "railyard/training/iteration_engine.hpp"
#include "railyard/workload/transformer.hpp"
#include "support/a100.hpp"
#include "support/fabric.hpp"
#include "support/small_training.hpp"

using namespace railyard;
using namespace railyard::training;
using test::build_fabric;
using test::plain_clos;

namespace {

/// 8 layers with 8 experts over 2 stages, 2 tensor × 2 context ranks, 8 replicas; 64 GPUs.
workload::IterationDag many_groups() {
  workload::TrainingSpec spec;
  spec.model = workload::ModelSpec{.name = "small",
                                   .layers = 8,
                                   .hidden = 2048,
                                   .heads = 16,
                                   .kv_heads = 16,
                                   .head_dim = 128,
                                   .ffn = 4096,
                                   .gated = true,
                                   .vocabulary = 51200,
                                   .sequence = 2048,
                                   .tied_embeddings = false,
                                   .experts = {.count = 8, .per_token = 2, .ffn = 4096}};
  spec.parallelism = {.tensor = 2, .pipeline = 2, .data = 8, .context = 2, .expert = 4};
  spec.global_batch = 32;
  spec.sequence_parallel = true;
  return workload::build_iteration(spec, test::a100());
}

workload::IterationDag dense() {
  return workload::build_iteration(test::small_training(), test::a100());
}

}  // namespace

// What is timed has links of its own, so its flows would meet nobody. Every task therefore starts
// and ends at the same tick when each transfer is a flow of the network.
TEST_CASE("every task starts and ends at the same tick with and without reuse") {
  for (const workload::IterationDag& built : {dense(), many_groups()}) {
    const auto dag = std::make_shared<const workload::IterationDag>(built);
    for (const char* routing : {"spray", "ecmp", "static"}) {
      for (const Execution execution : {Execution::coupled, Execution::stepped}) {
        CAPTURE(std::string(routing));
        CAPTURE(dag->ranks);
        CAPTURE(dag->tasks.size());
        CAPTURE(execution == Execution::stepped);
        const auto topology = build_fabric(plain_clos("[4, 3, 2]", 1, 4));
        std::vector<GpuId> gpus;
        for (std::uint32_t g = 0; g < 64; ++g) gpus.push_back(static_cast<GpuId>(g));
        NetworkSettings network = test::free_of_latency(topology, routing);
        network.protocol = collective::Protocol{};
        network.execution = execution;
        const TaskTimes with = run_once(bind_job(dag, gpus, topology, network, 0), topology);
        network.reuse = false;
        const auto all_flows = bind_job(dag, gpus, topology, network, 0);
        for (const Activity& activity : all_flows->activities) CHECK_FALSE(activity.timed);
        const TaskTimes without = run_once(all_flows, topology);
        CHECK(with.start == without.start);
        CHECK(with.end == without.end);
      }
    }
  }
}

// Eight ranks on one NVSwitch in a ring: 2 · 7 steps of 8 transfers for an all-reduce of a layer, 7
// for the all-gather behind a send that was split over the tensor ranks. Without reuse all of them
// are flows; with it none is.
TEST_CASE("without reuse the transfers of collectives inside a host are flows of the network") {
  const auto dag = std::make_shared<const workload::IterationDag>(dense());
  const auto topology = build_fabric(plain_clos("[8]"));
  std::vector<GpuId> gpus;
  for (std::uint32_t g = 0; g < 64; ++g) gpus.push_back(static_cast<GpuId>(g));
  std::uint64_t rounds = 0;
  for (const workload::Task& task : dag->tasks) {
    if (task.kind != workload::TaskKind::collective) continue;
    if (task.cause == workload::Cause::tensor) rounds += 2 * 7 * task.repeat;
    if (task.cause == workload::Cause::pipeline) rounds += 7;
  }
  std::uint64_t flows[2];
  for (const bool reuse : {false, true}) {
    NetworkSettings network = test::free_of_latency(topology, "ecmp");
    network.execution = Execution::stepped;
    network.reuse = reuse;
    const auto program = bind_job(dag, gpus, topology, network, 0);
    RunLimits limits;
    limits.iterations_max = 1;
    flows[reuse ? 1 : 0] = run_to_steady_state(std::span(&program, 1), topology, limits, false)
                               .counters.network.flows_started;
  }
  CHECK(flows[0] - flows[1] == rounds * 8);
}
