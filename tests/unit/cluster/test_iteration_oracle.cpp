#include <doctest/doctest.h>

#include "cluster/iteration_oracle.hpp"
#include "railyard/workload/micro_benchmark.hpp"
#include "support/fabric.hpp"

using namespace railyard;
using namespace railyard::cluster;

namespace {

std::shared_ptr<const training::Program> sends(const topology::Topology& topology,
                                               const training::NetworkSettings& network,
                                               std::uint32_t first_gpu, Bytes size) {
  workload::MicroBenchmark micro;
  micro.point_to_point = true;
  micro.size = size;
  std::vector<GpuId> gpus;
  for (std::uint32_t g = 0; g < 16; ++g) gpus.push_back(static_cast<GpuId>(first_gpu + g));
  return training::bind_job(
      std::make_shared<const workload::IterationDag>(workload::build_micro_benchmark(micro, 16, 8)),
      gpus, topology, network, 0);
}

}  // namespace

// Hosts 0 and 1 sit on one leaf, hosts 2 and 3 on the same, hosts 8 and 9 on the next: the same
// shape under other names. Another size is another component.
TEST_CASE("a job moved to hosts of the same shape is remembered, another job is not") {
  const auto topology = test::build_fabric(test::plain_clos("[16]"));
  const auto network = test::free_of_latency(topology, "spray");
  IterationOracle oracle(topology, training::RunLimits{}, false, nullptr);
  const auto ask = [&](std::uint32_t first_gpu, std::int64_t size) {
    const auto program = sends(topology, network, first_gpu, Bytes(size));
    return oracle.steady_state(std::span(&program, 1)).jobs.front().iteration_ticks;
  };
  const double there = ask(0, 1'000'000);
  CHECK(ask(16, 1'000'000) == there);
  CHECK(ask(64, 1'000'000) == there);
  CHECK(oracle.hits() == 2);
  CHECK(ask(0, 2'000'000) == doctest::Approx(2 * there));
  CHECK(oracle.hits() == 2);
}

// One leaf against two leaves: routes of other lengths, another key.
TEST_CASE("a job across two leaves has another key than one inside a leaf") {
  const auto topology = test::build_fabric(test::plain_clos("[16]"));
  const auto network = test::free_of_latency(topology, "spray");
  const auto inside = sends(topology, network, 0, Bytes(1'000'000));
  const auto across = sends(topology, network, 56, Bytes(1'000'000));
  CHECK(memo_key(std::span(&inside, 1), topology) != memo_key(std::span(&across, 1), topology));
}

// What a run simulated, another one with the same fabric takes over; its iterations are the same to
// the last bit, as from a run on its own.
TEST_CASE("runs that share a memo simulate a component once") {
  const auto topology = test::build_fabric(test::plain_clos("[16]"));
  const auto network = test::free_of_latency(topology, "spray");
  const auto program = sends(topology, network, 0, Bytes(1'000'000));
  const auto ticks = [&](IterationOracle& oracle) {
    return oracle.steady_state(std::span(&program, 1)).jobs.front().iteration_ticks;
  };
  IterationMemo memo;
  IterationOracle own(topology, training::RunLimits{}, false, nullptr);
  IterationOracle first(topology, training::RunLimits{}, false, nullptr, &memo);
  IterationOracle second(topology, training::RunLimits{}, false, nullptr, &memo);
  CHECK(ticks(first) == ticks(own));
  CHECK(ticks(second) == ticks(own));
  CHECK(first.misses() == 1);
  CHECK(second.misses() == 0);
  CHECK(second.counters().events == 0);
}

// Each of these is the same within a run, so that a run's own key leaves it out: the network's
// model, how much is simulated, whether links are watched. Half the capacity takes twice as long.
TEST_CASE("runs that differ in what an iteration depends on do not take it from each other") {
  const auto topology = test::build_fabric(test::plain_clos("[16]"));
  auto fidelity = network::Fidelity::fluid;
  IterationMemo memo;
  const auto misses = [&](const topology::Topology& fabric, const training::RunLimits& limits,
                          bool want_links) {
    IterationOracle oracle(fabric, limits, want_links, nullptr, &memo);
    auto network = test::free_of_latency(fabric, "spray");
    network.model.fidelity = fidelity;
    const auto program = sends(fabric, network, 0, Bytes(1'000'000));
    static_cast<void>(oracle.steady_state(std::span(&program, 1)));
    return oracle.misses();
  };
  CHECK(misses(topology, {}, false) == 1);
  CHECK(misses(topology, {}, false) == 0);
  CHECK(misses(topology, {.iterations_max = 3}, false) == 1);
  CHECK(misses(topology, {}, true) == 1);
  fidelity = network::Fidelity::analytic;
  CHECK(misses(topology, {}, false) == 1);
  CHECK(misses(topology, {}, false) == 0);
  CHECK(misses(topology, {}, true) == 1);
  CHECK(misses(test::build_fabric(test::plain_clos("[8]")), {}, true) == 1);
  CHECK(misses(test::build_fabric(test::plain_clos("[8]")), {}, false) == 0);
}

// A message under LogGP takes L, the path's latency where none is given: 1 us here, nothing there.
TEST_CASE("under loggp paths of another latency make another component") {
  std::string far = test::plain_clos("[16]");
  const std::string nic = R"("nic": {"bandwidth": "100Gbps", "latency": "0ns")";
  const auto at = far.find(nic);
  REQUIRE(at != std::string::npos);
  far.replace(at, nic.size(), R"("nic": {"bandwidth": "100Gbps", "latency": "1us")");
  const auto ticks = [](const topology::Topology& topology, IterationMemo& memo) {
    auto network = test::free_of_latency(topology, "spray");
    network.model.fidelity = network::Fidelity::loggp;
    const auto program = sends(topology, network, 0, Bytes(1'000'000));
    IterationOracle oracle(topology, training::RunLimits{}, false, nullptr, &memo);
    return oracle.steady_state(std::span(&program, 1)).jobs.front().iteration_ticks;
  };
  IterationMemo memo;
  const double here = ticks(test::build_fabric(test::plain_clos("[16]")), memo);
  CHECK(ticks(test::build_fabric(far), memo) > here);
}

// Room for no result: each run simulates for itself, and nothing else is different.
TEST_CASE("a full memo keeps nothing more") {
  const auto topology = test::build_fabric(test::plain_clos("[16]"));
  const auto network = test::free_of_latency(topology, "spray");
  const auto program = sends(topology, network, 0, Bytes(1'000'000));
  IterationMemo memo({}, 1);
  for (int run = 0; run < 2; ++run) {
    IterationOracle oracle(topology, training::RunLimits{}, false, nullptr, &memo);
    static_cast<void>(oracle.steady_state(std::span(&program, 1)));
    CHECK(oracle.misses() == 1);
  }
}
