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
