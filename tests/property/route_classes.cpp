// Flows that share one fate, against a run in which the network sees every flow and every link.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "railyard/core/rng.hpp"
#include "railyard/workload/transformer.hpp"
#include "support/a100.hpp"
#include "support/fabric.hpp"
#include "support/small_training.hpp"
#include "support/two_sides.hpp"
#include "training/engine.hpp"

using namespace railyard;
using namespace railyard::training;

namespace {

using Jobs = std::vector<std::shared_ptr<const Program>>;

/// What all jobs did: iterations, and when each task of the last one began and ended.
struct Run {
  std::vector<Duration> iterations;
  std::vector<TimePoint> starts;
  std::vector<TimePoint> ends;
  std::uint64_t flows = 0;
};

Run run(const Jobs& jobs, const topology::Topology& topology, bool all_links) {
  const RouteTable routes(jobs, topology, all_links);
  Engine engine(jobs, topology, routes);
  std::vector<Duration> offsets;
  for (std::size_t j = 0; j < jobs.size(); ++j)
    offsets.emplace_back(static_cast<std::int64_t>(j) * 1'234'567'891);
  engine.run(offsets, [&](std::uint32_t) {
    for (std::uint32_t j = 0; j < jobs.size(); ++j) {
      if (engine.job(j).iterations.size() < 2) return true;
    }
    return false;
  });
  Run out;
  for (std::uint32_t j = 0; j < jobs.size(); ++j) {
    const JobRun& job = engine.job(j);
    out.iterations.insert(out.iterations.end(), job.iterations.begin(), job.iterations.end());
    out.starts.insert(out.starts.end(), job.log.start.begin(), job.log.start.end());
    out.ends.insert(out.ends.end(), job.log.end.begin(), job.log.end.end());
  }
  out.flows = engine.network().counters().flows_started;
  return out;
}

bool equal(const Run& seen, const Run& every_flow) {
  return seen.iterations == every_flow.iterations && seen.starts == every_flow.starts &&
         seen.ends == every_flow.ends;
}

/// The largest relative difference of an iteration.
double apart(const Run& seen, const Run& every_flow) {
  REQUIRE(seen.iterations.size() == every_flow.iterations.size());
  double most = 0;
  for (std::size_t i = 0; i < seen.iterations.size(); ++i) {
    const auto wanted = static_cast<double>(every_flow.iterations[i].count());
    const double off = static_cast<double>(seen.iterations[i].count()) / wanted - 1;
    most = std::max(most, std::abs(off));
  }
  return most;
}

/// 32 GPUs of the small model, its embeddings tied (two more groups a tensor rank that wait for
/// the gradients), gradients in buckets.
workload::IterationDag small_job(std::uint32_t tensor, std::uint32_t zero) {
  workload::TrainingSpec spec = test::small_training();
  spec.parallelism = {.tensor = tensor, .pipeline = 2, .data = 16 / tensor};
  spec.zero = zero;
  return workload::build_iteration(spec, test::a100());
}

std::string fabric_of(int nics, int oversubscription) {
  return test::plain_clos("[5, 4, 3]", 1, oversubscription, nics);
}

/// 32 GPUs: whole hosts, or (`torn`) any.
std::vector<GpuId> gpus_of(Rng& rng, std::uint32_t hosts, bool torn) {
  std::vector<std::uint32_t> host(hosts);
  std::iota(host.begin(), host.end(), 0U);
  rng.shuffle(std::span(host));
  std::vector<std::uint32_t> gpu;
  for (std::uint32_t h = 0; h < 4; ++h) {
    for (std::uint32_t g = 0; g < 8; ++g) gpu.push_back(host[h] * 8 + g);
  }
  if (torn) rng.shuffle(std::span(gpu));
  std::vector<GpuId> out;
  for (const std::uint32_t g : gpu) out.push_back(static_cast<GpuId>(g));
  return out;
}

}  // namespace

// Max-min rates are unique, so flows in classes have the rates that they have one by one, and every
// task of every job begins and ends in the same tick; but where two links fill up together it is
// rounding (2^-16 byte/s) that says which of them holds a flow, and a tick that differs by one can
// move what follows it by some nanoseconds of the seconds that an iteration takes. Three jobs that
// share hosts, NICs and uplinks, whole hosts or GPUs at random (where few flows are alike). Every
// transfer of a stepped collective stays a flow of its own, so the flows saved are counted without.
TEST_CASE("every task starts and ends at the same tick whether like flows are one flow or many") {
  int to_the_tick = 0;
  std::uint64_t flows = 0;
  std::uint64_t all_flows = 0;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    CAPTURE(seed);
    Rng rng(seed);
    const auto topology =
        test::build_fabric(fabric_of(1 << rng.below(4), static_cast<int>(1 + rng.below(4))));
    const char* const routings[] = {"spray", "ecmp", "static"};
    NetworkSettings network = test::free_of_latency(topology, routings[rng.below(3)]);
    network.gradients_last = rng.below(3) == 0;
    if (rng.below(3) == 0) network.execution = Execution::stepped;
    Jobs jobs;
    for (std::uint64_t j = 0; j < 3; ++j) {
      const auto dag = std::make_shared<const workload::IterationDag>(
          small_job(1U << (1 + rng.below(3)), static_cast<std::uint32_t>(rng.below(4))));
      const bool torn = rng.below(3) == 0;
      jobs.push_back(bind_job(dag, gpus_of(rng, 12, torn), topology, network, j));
    }
    const Run every_flow = run(jobs, topology, true);
    const Run seen = run(jobs, topology, false);
    CHECK(apart(seen, every_flow) < 1e-7);
    CHECK(seen.flows <= every_flow.flows);
    if (equal(seen, every_flow)) ++to_the_tick;
    if (network.execution == Execution::stepped) continue;
    flows += seen.flows;
    all_flows += every_flow.flows;
  }
  CHECK(to_the_tick >= 20);
  CHECK(flows * 20 < all_flows * 17);
}

// Eight tensor ranks a host with a NIC each, under spray: a send between stages is eight flows
// alike in everything but the NIC, and each bucket of gradients eight rings. Nothing else is on the
// fabric (tensor collectives are timed), so one flow in eight is left.
TEST_CASE("of a tensor group with a NIC a rank the network sees one rank") {
  const auto topology = test::build_fabric(fabric_of(8, 4));
  const NetworkSettings network = test::free_of_latency(topology, "spray");
  Rng rng(7);
  Jobs jobs;
  for (std::uint64_t j = 0; j < 2; ++j) {
    jobs.push_back(bind_job(std::make_shared<const workload::IterationDag>(small_job(8, 0)),
                            gpus_of(rng, 12, false), topology, network, j));
  }
  const Run every_flow = run(jobs, topology, true);
  const Run seen = run(jobs, topology, false);
  CHECK(equal(seen, every_flow));
  CHECK(seen.flows * 8 == every_flow.flows);
}

// A third job between two GPUs slows NIC 0 of a host that the first job is on. The ring through it
// falls behind the other seven, which stay one: three classes of sends at most where there was one.
TEST_CASE("a stranger on one NIC sets the rank behind it apart and no other") {
  const auto topology = test::build_fabric(fabric_of(8, 1));
  const NetworkSettings network = test::free_of_latency(topology, "spray");
  std::vector<GpuId> gpus;
  for (std::uint32_t g = 0; g < 32; ++g) gpus.push_back(static_cast<GpuId>(g));
  workload::DagBuilder between = test::two_sides(1, 1);
  between.add(test::send_across(workload::Cause::pipeline, 0, Bytes(50'000'000)), {});
  const Jobs jobs{bind_job(std::make_shared<const workload::IterationDag>(small_job(8, 0)), gpus,
                           topology, network, 0),
                  bind_job(std::make_shared<const workload::IterationDag>(between.dag()),
                           {static_cast<GpuId>(0), static_cast<GpuId>(64)}, topology, network, 1)};
  const Jobs alone{jobs.front()};
  const Run every_flow = run(jobs, topology, true);
  const Run seen = run(jobs, topology, false);
  CHECK(equal(seen, every_flow));
  const std::uint64_t strangers = every_flow.flows - run(alone, topology, true).flows;
  CHECK((seen.flows - strangers) * 8 > every_flow.flows - strangers);
  CHECK((seen.flows - strangers) * 8 <= 3 * (every_flow.flows - strangers));
}

// Two flows of one send, each on a link of its own. Links of one capacity are a class, and then the
// flows are one: the first, on the first link. A NIC (12.5 GB/s) and a link of PCIe (100 GB/s) are
// not: the flows end at different times.
TEST_CASE("links of different capacities set the flows on them apart") {
  const auto topology = test::build_fabric(fabric_of(8, 1));
  const auto with_capacity = [&](std::int64_t bytes_per_s, std::size_t skip) {
    for (std::uint32_t link = 0; link < topology.links().size(); ++link) {
      if (topology.links()[link].capacity.bytes_per_s() == bytes_per_s && skip-- == 0)
        return std::vector<topology::LinkUse>{{static_cast<LinkId>(link), 1.0}};
    }
    FAIL("no such link");
    return std::vector<topology::LinkUse>{};
  };
  const auto nic = with_capacity(12'500'000'000, 0);
  const auto other_nic = with_capacity(12'500'000'000, 1);
  const auto pcie = with_capacity(100'000'000'000, 0);
  const Jobs jobs{bind_job(
      std::make_shared<const workload::IterationDag>(
          test::compute_then_send(2, Duration(1), Bytes(1'000'000))),
      {static_cast<GpuId>(0), static_cast<GpuId>(1), static_cast<GpuId>(8), static_cast<GpuId>(9)},
      topology, test::free_of_latency(topology, "spray"), 0)};
  REQUIRE(jobs.front()->routes.size() == 2);
  const RouteLinks alike{nic, other_nic};
  const RouteClasses one(jobs, std::span(&alike, 1), topology);
  CHECK(one.leads(0, 0));
  CHECK_FALSE(one.leads(0, 1));
  const RouteLinks unlike{nic, pcie};
  const RouteClasses two(jobs, std::span(&unlike, 1), topology);
  CHECK(two.leads(0, 0));
  CHECK(two.leads(0, 1));
}
