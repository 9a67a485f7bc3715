// Collectives from files, on fabrics.
#include <doctest/doctest.h>

#include "railyard/config/text_lines.hpp"
#include "railyard/training/collective_run.hpp"
#include "support/collective_texts.hpp"
#include "support/fabric.hpp"

namespace railyard::test {

using collective::Operation;

namespace {

std::string choice_text(const std::string& text, const std::string& more = "") {
  return R"({"name": "file", "path": "test")" + more + R"(, "text": )" + config::json_string(text) +
         "}";
}

std::vector<GpuId> first_gpus(std::uint32_t count) {
  std::vector<GpuId> group;
  for (std::uint32_t r = 0; r < count; ++r) group.push_back(GpuId{r});
  return group;
}

}  // namespace

// With NCCL's fixed costs and links without latency, over one host and over four: message for
// message the same flows at the same ticks.
TEST_CASE("collectives written as data take what the built-in ones take, to the tick") {
  const auto fabric = build_fabric(plain_clos("[4]"));
  training::NetworkSettings network = free_of_latency(fabric, "ecmp");
  network.protocol = collective::Protocol{};
  network.execution = training::Execution::stepped;
  for (const std::uint32_t n : {2U, 8U, 16U, 32U}) {
    for (const std::int64_t size : {4096, 100'000'007}) {
      const collective::Request request{Operation::all_reduce, Bytes(size), {}};
      const auto time = [&](const std::string& choice) {
        return training::collective_time(fabric, first_gpus(n), request, choice, network);
      };
      CHECK(time(choice_text(ring_text(n))) == time("ring"));
      CHECK(time(choice_text(msccl_ring_text(n, true))) == time("ring"));
      CHECK(time(choice_text(msccl_ring_text(n, false))) == time("ring"));
      CHECK(time(choice_text(halving_doubling_text(n))) == time("recursive_halving_doubling"));
    }
  }
}

TEST_CASE("both forms of a collective from a file agree within 2 percent") {
  const auto fabric = build_fabric(plain_clos("[4]"));
  training::NetworkSettings network = free_of_latency(fabric, "spray");
  const auto shipped = config::TextLines::parse_file(
      std::string(RAILYARD_SOURCE_DIR "/workloads/collectives/two_hosts_2d.json"));
  for (const std::string& text :
       {ring_text(16), halving_doubling_text(16), msccl_ring_text(16, true), shipped.text()}) {
    for (const std::int64_t size : {std::int64_t{64} << 20U, std::int64_t{1} << 30U}) {
      const collective::Request request{Operation::all_reduce, Bytes(size), {}};
      network.execution = training::Execution::coupled;
      const double coupled = in_seconds(
          training::collective_time(fabric, first_gpus(16), request, choice_text(text), network));
      network.execution = training::Execution::stepped;
      const double stepped = in_seconds(
          training::collective_time(fabric, first_gpus(16), request, choice_text(text), network));
      CHECK(coupled == doctest::Approx(stepped).epsilon(0.02));
    }
  }
}

// Two hosts of 8, S bytes, NVLink N = 300 GB/s, NICs n = 12.5 GB/s. The flat ring sends 15/8 S over
// one NIC. Shipped: 7/8 S over NVLink, S/16 over every NIC, there and back again as often, and 4 α
// in place of 30:  2(7/8 S/N + S/(16 n)) = 15.8 ps a byte of S in place of 150.
TEST_CASE("the shipped all-reduce of two hosts beats the flat ring") {
  const auto fabric = build_fabric(plain_clos("[2]"));
  training::NetworkSettings network = free_of_latency(fabric, "spray");
  network.execution = training::Execution::stepped;
  const auto shipped = config::TextLines::parse_file(
      std::string(RAILYARD_SOURCE_DIR "/workloads/collectives/two_hosts_2d.json"));
  const std::int64_t size = 16'000'000;
  const collective::Request request{Operation::all_reduce, Bytes(size), {}};
  const auto time = [&](const std::string& choice) {
    return in_seconds(training::collective_time(fabric, first_gpus(16), request, choice, network));
  };
  const double bytes = static_cast<double>(size);
  CHECK(time(choice_text(shipped.text())) ==
        doctest::Approx(2 * (7.0 / 8 * bytes / 300e9 + bytes / 16 / 12.5e9)).epsilon(1e-6));
  CHECK(time("ring") == doctest::Approx(15.0 / 8 * bytes / 12.5e9).epsilon(1e-6));
  CHECK(time(choice_text(shipped.text())) < time("hierarchical") * (1 + 1e-9));
}

// LL sends 4 bytes of flags with 4 of data: twice the bytes, and NCCL's latencies of LL.
TEST_CASE("a file's protocol is what its messages cost") {
  const auto fabric = build_fabric(plain_clos("[1]"));
  training::NetworkSettings network = free_of_latency(fabric, "spray");
  const collective::Request request{Operation::all_reduce, Bytes(8'000'000'000), {}};
  std::string text = ring_text(8);
  const double simple = in_seconds(
      training::collective_time(fabric, first_gpus(8), request, choice_text(text), network));
  text.insert(1, R"("protocol": "ll", )");
  const auto run =
      training::run_collective(fabric, first_gpus(8), request, choice_text(text), network);
  CHECK(run.protocol == "ll");
  const double fixed = 6.6e-6 + 14 * 0.6e-6;  // NCCL 2.30.7: baseLat and hwLat of a ring under LL
  CHECK(in_seconds(run.time) == doctest::Approx(2 * simple + fixed).epsilon(1e-6));
}

TEST_CASE("a group of another size is refused, or served by the algorithm named for it") {
  const auto fabric = build_fabric(plain_clos("[2]"));
  const training::NetworkSettings network = free_of_latency(fabric, "spray");
  const collective::Request request{Operation::all_reduce, Bytes(1'000'000), {}};
  const auto time = [&](const std::string& choice) {
    return training::collective_time(fabric, first_gpus(16), request, choice, network);
  };
  CHECK_THROWS_WITH_AS(static_cast<void>(time(choice_text(ring_text(8)))),
                       "collective algorithm \"file\" cannot run this all_reduce over 16 ranks: "
                       "test is for 8 ranks, but the group has 16; \"otherwise\" names an "
                       "algorithm for groups of other sizes",
                       config::ConfigError);
  CHECK(time(choice_text(ring_text(8), R"(, "otherwise": "hierarchical")")) ==
        time("hierarchical"));
}

}  // namespace railyard::test
