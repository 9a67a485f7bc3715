// The shared Chakra samples on ASTRA-sim's ring, against what ASTRA-sim says of them
// (docs/validation-astra-sim.md explains every term).
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>

#include "railyard/config/file.hpp"
#include "railyard/topology/builder.hpp"
#include "railyard/topology/fabric_reader.hpp"
#include "railyard/training/iteration_engine.hpp"
#include "railyard/workload/trace_reader.hpp"
#include "support/fabric.hpp"
#include "support/shared_data.hpp"

using namespace railyard;

namespace {

constexpr double kBytesPerNs = 50 * 1.073741824;  // 50 GB/s of 2^30 bytes
constexpr double kLatencyNs = 500;
constexpr double kSplits = 4;               // preferred-dataset-splits, one active at a time
constexpr double kEndpointNs = 10;          // endpoint-delay, a message
constexpr double kMemoryBytesPerNs = 1600;  // local-mem-bw, passed three times by a reduction

/// ASTRA-sim's Ring_8npus.yml with another number of NPUs.
topology::Topology ring(const std::string& text, std::uint32_t npus) {
  std::string changed = text;
  const std::size_t at = changed.find("npus_count: [ 8 ]");
  REQUIRE(at != std::string::npos);
  changed.replace(at, 17, fmt::format("npus_count: [ {} ]", npus));
  const auto options = config::Document::parse_text("{}", "options");
  config::Errors errors;
  config::Reader reader(options.root(), errors);
  for (const auto& entry : topology::reader_catalog()) {
    if (entry.name == "astra_sim") return entry.read({"ring.yml", changed}, reader);
  }
  return {};
}

double replayed_ns(const std::filesystem::path& trace, const topology::Topology& fabric) {
  const auto dag =
      std::make_shared<const workload::IterationDag>(workload::match(workload::read_trace(trace)));
  std::vector<GpuId> gpus;
  for (std::uint32_t rank = 0; rank < dag->ranks; ++rank) gpus.push_back(static_cast<GpuId>(rank));
  const auto times = training::run_once(
      training::bind_job(dag, gpus, fabric, test::free_of_latency(fabric, "shortest"), 0), fabric);
  return static_cast<double>(*std::max_element(times.end.begin(), times.end.end())) / 100.0;
}

/// What ASTRA-sim adds to `steps` steps of `bytes`: the other splits' latencies, and messages'.
double added_ns(double steps) {
  return (kSplits - 1) * steps * kLatencyNs + kSplits * steps * kEndpointNs;
}

}  // namespace

// peers.md §6a: 64,440, 64,744 and 125,480 ns on rings of 8, 4 and 8 with Ring_4chunks.json.
TEST_CASE("the shared Chakra samples take ASTRA-sim's times but for terms that are explained") {
  const auto formats = test::shared_data("formats");
  if (!formats) return;
  const std::string yml = config::read_file(*formats / "astra-sim" / "Ring_8npus.yml");
  const topology::Topology eight = ring(yml, 8);
  const topology::Topology four = ring(yml, 4);
  constexpr double kMebibyte = 1'048'576;

  // 14 steps of S/8; 7 of them reduce.
  const double all_reduce = replayed_ns(*formats / "chakra" / "all_reduce_8npus_1MB", eight);
  CHECK(all_reduce ==
        doctest::Approx(14 * (kMebibyte / 8 / kBytesPerNs + kLatencyNs)).epsilon(1e-5));
  const double reduction = 7 * 3 * (kMebibyte / 8) / kMemoryBytesPerNs;
  CHECK(all_reduce + added_ns(14) + reduction == doctest::Approx(64'440).epsilon(0.001));

  // 3 steps of a shard of 1 MiB.
  const double all_gather = replayed_ns(*formats / "chakra" / "all_gather_4npus_1MB", four);
  CHECK(all_gather == doctest::Approx(3 * (kMebibyte / kBytesPerNs + kLatencyNs)).epsilon(1e-5));
  CHECK(all_gather + added_ns(3) == doctest::Approx(64'744).epsilon(0.001));

  // Direct exchange of S/8 over the shorter way; the fullest link carries 1 + 2 + 3 of them and, as
  // all four-hop ways go the same way round, 4 more; the last block
  // pays its four hops. ASTRA-sim hands blocks from neighbour to
  // neighbour one way round: 1 + 2 + … + 7 = 28 steps.
  const double all_to_all = replayed_ns(*formats / "chakra" / "all_to_all_8npus_1MB", eight);
  const double block = kMebibyte / 8 / kBytesPerNs;
  CHECK(all_to_all == doctest::Approx(10 * block + 4 * kLatencyNs).epsilon(1e-5));
  CHECK(28 * (block + kLatencyNs) + added_ns(28) == doctest::Approx(125'480).epsilon(0.001));
}

// The custom ring is the same 14 steps message by message, with 7 computations of 7 us a rank
// between them (Chakra counts microseconds).
TEST_CASE("the shared custom ring takes its steps and its computations") {
  const auto formats = test::shared_data("formats");
  if (!formats) return;
  const std::string yml = config::read_file(*formats / "astra-sim" / "Ring_8npus.yml");
  const double ns =
      replayed_ns(*formats / "chakra" / "custom_ring_all_reduce_8npus_1MB", ring(yml, 8));
  CHECK(ns == doctest::Approx(14 * (131'072 / kBytesPerNs + kLatencyNs) + 7 * 7'000).epsilon(1e-5));
}
