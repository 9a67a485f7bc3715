// Jobs whose flows choose their paths by the load when they start.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "railyard/core/rng.hpp"
#include "railyard/training/iteration_engine.hpp"
#include "railyard/workload/micro_benchmark.hpp"
#include "railyard/workload/transformer.hpp"
#include "support/a100.hpp"
#include "support/fabric.hpp"
#include "support/small_training.hpp"
#include "training/load_router.hpp"

using namespace railyard;
using namespace railyard::training;
using test::build_fabric;
using test::free_of_latency;
using test::plain_clos;

namespace {

using Dag = std::shared_ptr<const workload::IterationDag>;

/// The GPUs of `hosts` hosts, the first one of every host or all 8.
std::vector<GpuId> gpus_of(std::uint32_t hosts, std::uint32_t a_host) {
  std::vector<GpuId> gpus;
  for (std::uint32_t h = 0; h < hosts; ++h) {
    for (std::uint32_t g = 0; g < a_host; ++g) gpus.push_back(static_cast<GpuId>(8 * h + g));
  }
  return gpus;
}

Dag pairs(std::uint32_t ranks, std::int64_t bytes) {
  workload::MicroBenchmark micro;
  micro.point_to_point = true;
  micro.size = Bytes(bytes);
  return std::make_shared<const workload::IterationDag>(
      workload::build_micro_benchmark(micro, ranks, 8));
}

Dag small_job() {
  return std::make_shared<const workload::IterationDag>(
      workload::build_iteration(test::small_training(), test::a100()));
}

EngineResult run(const std::shared_ptr<const Program>& program, const topology::Topology& fabric,
                 bool want_links = false) {
  return run_to_steady_state(std::span(&program, 1), fabric, RunLimits{}, want_links);
}

}  // namespace

// 64 senders of 12.5 GB/s on one leaf, 64 receivers on another, 16 uplinks of 50 GB/s: four flows
// fill each. Chosen one after the other they fit: 125 MB in 10 ms. A hash puts five and more on
// some uplink.
TEST_CASE("flows that choose by the load fill every uplink alike") {
  const auto fabric = build_fabric(plain_clos("[8, 8]"));
  const auto time = [&](const char* routing) {
    const auto program = bind_job(pairs(128, 125'000'000), gpus_of(16, 8), fabric,
                                  free_of_latency(fabric, routing), 0);
    return run(program, fabric).jobs.front().shortest;
  };
  CHECK(time("adaptive") == Duration(1'000'000'000));
  CHECK(time("spray") == Duration(1'000'000'000));
  CHECK(time("ecmp") > Duration(1'200'000'000));
}

// One leaf: there is nothing to choose.
TEST_CASE("where there is one path, choosing by the load changes no tick") {
  const auto fabric = build_fabric(plain_clos("[8]"));
  const auto jobs = [&](const char* routing) {
    return run(bind_job(small_job(), gpus_of(8, 8), fabric, free_of_latency(fabric, routing), 0),
               fabric);
  };
  CHECK(jobs("adaptive").jobs.front().shortest == jobs("shortest").jobs.front().shortest);
  CHECK(jobs("adaptive").jobs.front().attribution == jobs("shortest").jobs.front().attribution);
}

// 64 GPUs over two leaves at 2:1, all groups and sends: no worse than hashing, no better than
// splitting every flow evenly, and every byte that leaves a NIC is a byte that tasks send.
TEST_CASE("a job that chooses by the load stands between hashing and spraying") {
  const auto fabric = build_fabric(plain_clos("[4, 4]", 2));
  const auto result = [&](const char* routing) {
    return run(bind_job(small_job(), gpus_of(8, 8), fabric, free_of_latency(fabric, routing), 0),
               fabric, true);
  };
  const EngineResult adaptive = result("adaptive");
  CHECK(adaptive.jobs.front().shortest <= result("ecmp").jobs.front().shortest);
  CHECK(adaptive.jobs.front().shortest >= result("spray").jobs.front().shortest);
  double nic_bytes = 0;
  for (std::uint32_t l = 0; l < fabric.links().size(); ++l) {
    const auto& link = fabric.link(static_cast<LinkId>(l));
    if (link.tier == topology::Tier::leaf && fabric.kind(link.from) == topology::NodeKind::nic)
      nic_bytes += adaptive.links[l].bytes;
  }
  double sent = 0;
  for (const topology::Tier tier :
       {topology::Tier::leaf, topology::Tier::minipod, topology::Tier::core})
    sent += adaptive.jobs.front().tier_bytes[static_cast<std::size_t>(tier)];
  CHECK(nic_bytes == doctest::Approx(sent).epsilon(1e-9));
}

// Components are found by what jobs may use: whatever the load was, no flow takes another link.
// When all have left, nothing is left of them.
TEST_CASE("flows choose among the links that their job may use, and leave nothing behind") {
  const auto fabric = build_fabric(plain_clos("[8, 8, 8]", 2, 2));
  const auto program =
      bind_job(small_job(), gpus_of(8, 8), fabric, free_of_latency(fabric, "adaptive"), 7);
  std::set<LinkId> allowed;
  for (const LinkDemand& demand : program->demand) allowed.insert(demand.link);
  LoadRouter router(fabric);
  Rng rng(1);
  std::vector<std::uint32_t> running;
  for (std::uint32_t step = 0; step < 2'000; ++step) {
    if (!running.empty() && rng.below(3) == 0) {
      const std::size_t which = rng.below(running.size());
      router.left(static_cast<network::FlowId>(running[which]));
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
      continue;
    }
    const auto route = static_cast<std::uint32_t>(rng.below(program->routes.size()));
    for (const topology::LinkUse& use : router.choose(*program, route))
      CHECK(allowed.contains(use.link));
    router.started(static_cast<network::FlowId>(step));
    running.push_back(step);
  }
  for (const std::uint32_t flow : running) router.left(static_cast<network::FlowId>(flow));
  for (std::uint32_t l = 0; l < fabric.links().size(); ++l)
    CHECK(router.flows(static_cast<LinkId>(l)) == 0.0);
}

// Two jobs on one leaf pair: each knows where the other's flows are, so that together they need no
// more than one of them with both halves of the flows.
TEST_CASE("two jobs that choose by the load keep out of each other's way") {
  const auto fabric = build_fabric(plain_clos("[8, 8]"));
  const auto half = [&](std::uint32_t first) {
    std::vector<GpuId> gpus;
    for (const std::uint32_t leaf : {0U, 64U}) {
      for (std::uint32_t g = 0; g < 32; ++g) gpus.push_back(static_cast<GpuId>(leaf + first + g));
    }
    return gpus;
  };
  const auto network = free_of_latency(fabric, "adaptive");
  const std::vector<std::shared_ptr<const Program>> both{
      bind_job(pairs(64, 125'000'000), half(0), fabric, network, 1),
      bind_job(pairs(64, 125'000'000), half(32), fabric, network, 2)};
  const EngineResult result = run_to_steady_state(both, fabric, RunLimits{}, false);
  CHECK(result.jobs[0].shortest == Duration(1'000'000'000));
  CHECK(result.jobs[1].shortest == Duration(1'000'000'000));
}
