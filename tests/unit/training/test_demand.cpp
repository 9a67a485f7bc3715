#include <doctest/doctest.h>

#include "railyard/training/program.hpp"
#include "railyard/workload/micro_benchmark.hpp"
#include "support/fabric.hpp"

using namespace railyard;
using namespace railyard::training;

// Eight GPUs of host 0 send to host 1 in another minipod under spray. Each NIC sends at most
// 12.5 GB/s, so all uplinks of the leaf together are asked for 8 × 12.5 = 100 GB/s.
TEST_CASE("a job asks the uplinks of a leaf for what its NICs can send") {
  const auto topology = test::build_fabric(test::plain_clos("[1, 1]"));
  workload::MicroBenchmark micro;
  micro.point_to_point = true;
  micro.size = Bytes(1'000'000);
  std::vector<GpuId> gpus;
  for (std::uint32_t g = 0; g < 16; ++g) gpus.push_back(static_cast<GpuId>(g));
  const auto dag =
      std::make_shared<const workload::IterationDag>(workload::build_micro_benchmark(micro, 16, 8));
  const auto program = bind_job(dag, gpus, topology, test::free_of_latency(topology, "spray"), 0);
  double up = 0;
  for (const LinkDemand& entry : program->demand) {
    const topology::Link& link = topology.link(entry.link);
    if (link.tier == topology::Tier::minipod &&
        topology.kind(link.from) == topology::NodeKind::leaf) {
      up += entry.bytes_per_s;
    }
  }
  CHECK(up == doctest::Approx(100e9).epsilon(1e-9));
}
