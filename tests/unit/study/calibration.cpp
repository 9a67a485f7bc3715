#include "railyard/study/calibration.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "railyard/config/reader.hpp"
#include "railyard/training/collective_run.hpp"
#include "study/alone.hpp"
#include "support/fabric.hpp"
#include "support/shared_data.hpp"

namespace railyard::test {

using namespace study;

namespace {

std::vector<GemmMeasurement> sweep_of(const workload::GpuSpec& gpu) {
  std::vector<GemmMeasurement> sweep;
  for (const std::int64_t side : {512, 1024, 2048, 4096, 8192, 16384}) {
    sweep.push_back({side, side, side, workload::Precision::bf16,
                     workload::gemm_seconds(gpu, workload::Precision::bf16, side, side, side)});
  }
  return sweep;
}

std::string fabric_text(double nvlink, double nic) {
  return fmt::format(
      R"({{"builder": "clos", "gpu": "A100-80", "gpus_per_host": 8,
  "nvlink": {{"bandwidth": "300GB/s", "latency": "500ns", "efficiency": {}}},
  "pcie": {{"bandwidth": "31GB/s", "latency": "500ns"}},
  "nic": {{"bandwidth": "200Gbps", "latency": "1us", "efficiency": {}}},
  "hosts_per_minipod": [4], "hosts_per_leaf": 4,
  "switch_link": {{"bandwidth": "400Gbps", "latency": "700ns"}},
  "oversubscription": {{"leaf": 1}}}})",
      nvlink, nic);
}

std::vector<CollectiveMeasurement> log_of(const std::string& text, std::uint32_t ranks,
                                          Duration launch) {
  const topology::Topology fabric = build_fabric(text);
  training::NetworkSettings network = study::sprayed(fabric);
  network.protocol.launch = launch;
  std::vector<CollectiveMeasurement> log;
  for (std::int64_t bytes = 8; bytes <= (1LL << 30); bytes *= 4) {
    log.push_back(
        {Bytes(bytes), in_seconds(training::collective_time(
                           fabric, study::first_gpus(ranks),
                           {collective::Operation::all_reduce, Bytes(bytes)}, "auto", network))});
  }
  return log;
}

std::string message(const std::string& text) {
  try {
    static_cast<void>(read_nccl_tests(config::TextLines::parse_text(text, "log")));
  } catch (const config::ConfigError& error) {
    return error.lines().front();
  }
  return {};
}

}  // namespace

// A parabola's valley is found to a thousandth of the interval.
TEST_CASE("a golden section finds the valley") {
  CHECK(golden_section(0, 10, [](double x) { return (x - 3) * (x - 3); }) ==
        doctest::Approx(3).epsilon(0.005));
}

// A sweep made with known parameters has them as the only perfect fit.
TEST_CASE("a GEMM sweep gives back the efficiency and overhead that made it") {
  workload::GpuSpec truth = *workload::find_gpu("A100-80");
  truth.gemm_efficiency = 0.71;
  truth.kernel_overhead = Duration(700'000);  // 7 us
  const GpuFit fit = fit_gpu(*workload::find_gpu("A100-80"), sweep_of(truth));
  CHECK(fit.gpu.gemm_efficiency == doctest::Approx(0.71).epsilon(0.01));
  CHECK(std::abs(in_seconds(fit.gpu.kernel_overhead) - 7e-6) < 0.3e-6);
  CHECK(mean_error_percent(fit.residuals) < 1);
}

// What is written reads as the fitted GPU, to the digits that are written.
TEST_CASE("the GPU file that a calibration writes reads back as what it found") {
  const workload::GpuSpec& base = *workload::find_gpu("H100");
  workload::GpuSpec truth = base;
  truth.gemm_efficiency = 0.6;
  const GpuFit fit = fit_gpu(base, sweep_of(truth));
  config::Errors errors;
  const auto document = config::Document::parse_text(gpu_json(base, fit), "gpu.json");
  const workload::GpuSpec back = workload::read_gpu(document.root(), errors);
  REQUIRE(errors.empty());
  CHECK(std::abs(back.gemm_efficiency - fit.gpu.gemm_efficiency) < 1e-4);
  CHECK(back.memory == base.memory);
  CHECK(std::abs(in_seconds(back.kernel_overhead - fit.gpu.kernel_overhead)) < 1e-9);
}

// The same for a fabric: eight ranks on one island tell of NVLink, sixteen on two hosts of NICs.
TEST_CASE("a log of nccl-tests gives back the link efficiency and launch that made it") {
  const Duration launch(1'000'000);  // 10 us
  const auto description = config::Document::parse_text(fabric_text(1, 1), "fabric");
  const FabricFit inside = fit_fabric(description, collective::Operation::all_reduce, 8,
                                      log_of(fabric_text(0.78, 1), 8, launch));
  CHECK(inside.link == "nvlink");
  CHECK(inside.efficiency == doctest::Approx(0.78).epsilon(0.01));
  CHECK(std::abs(in_seconds(inside.launch) - 10e-6) < 0.5e-6);
  const FabricFit between = fit_fabric(description, collective::Operation::all_reduce, 16,
                                       log_of(fabric_text(1, 0.9), 16, launch));
  CHECK(between.link == "nic");
  CHECK(between.efficiency == doctest::Approx(0.9).epsilon(0.02));
  CHECK(mean_error_percent(between.residuals) < 3);
  // The description that is written is the fabric with that efficiency.
  const auto written = config::Document::parse_text(between.topology, "written");
  CHECK(written.root().find("nic")->find("efficiency").has_value());
}

// nccl-tests prints "type redop root" for most operations and leaves some out for others; the time
// is the first column of that name, out of place.
TEST_CASE("logs of nccl-tests are read by their header, whatever columns they have") {
  const auto rows = read_nccl_tests(config::TextLines::parse_text(
      "# nThread 1 nGpus 8 minBytes 8 maxBytes 32\n"
      "node1: NCCL version 2.19.3\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
      "time\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)\n"
      "           8             2     float     sum      -1    28.66    0.00    0.00      0   "
      "28.60\n"
      "          32             8     float     sum      -1    30.00    0.00    0.00      0   "
      "28.60\n"
      "# Avg bus bandwidth    : 0.1\n",
      "log"));
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].size == Bytes(8));
  CHECK(rows[0].seconds == doctest::Approx(28.66e-6));
  const auto older = read_nccl_tests(config::TextLines::parse_text(
      "#       size         count      type     time   algbw\n 64 16 float 12.5 0.0\n", "log"));
  REQUIRE(older.size() == 1);
  CHECK(older[0].seconds == doctest::Approx(12.5e-6));
  CHECK(message("8 2 float sum -1 28.66\n").starts_with("log:1: a row without the header"));
  CHECK(message("# size count type time\n8 2 float oops\n").starts_with("log:2: expected a time"));
  CHECK(message("# size count type time\n8 2\n").find("found nothing") != std::string::npos);
  CHECK(message("nothing here\n").find("no row of nccl-tests") != std::string::npos);
}

// Both ends of the curve are needed: large sizes tell the bandwidth, small ones the latency.
TEST_CASE("a log without small or large sizes is refused") {
  const auto description = config::Document::parse_text(fabric_text(1, 1), "fabric");
  CHECK_THROWS_AS(static_cast<void>(fit_fabric(description, collective::Operation::all_reduce, 8,
                                               {{Bytes(1024), 1e-5}})),
                  config::ConfigError);
}

// A real sweep: cuBLASLt on an A100-80 (Azure's benchmarking guide, in the shared data). Fitted to
// every other product, the model meets the ones left out within 15 % on average (12 % as of this
// writing): a fit that only repeats what it has seen would not.
TEST_CASE("a fit to half of a published GEMM sweep holds for the other half") {
  const auto file = shared_data("validation/gpu_microbench_gemm_hbm.json");
  if (!file) return;
  const auto document = config::Document::parse_file(*file);
  std::vector<GemmMeasurement> seen;
  std::vector<GemmMeasurement> held;
  const config::Node records = *document.root().find("records");
  for (std::size_t i = 0; i < records.size(); ++i) {
    const config::Node record = records.at(i);
    const auto rate = record.find("ND A100 V4 (TFLOPS)");
    if (!rate || !record.find("m") || record.find("precision")->string() != "fp16") continue;
    config::Errors errors;
    config::Reader reader(record, errors);
    GemmMeasurement each;
    each.rows = reader.required<std::int64_t>("m");
    each.columns = reader.required<std::int64_t>("n");
    each.depth = reader.required<std::int64_t>("k");
    each.seconds = 2.0 * static_cast<double>(each.rows) * static_cast<double>(each.columns) *
                   static_cast<double>(each.depth) /
                   (reader.required<double>("ND A100 V4 (TFLOPS)") * 1e12);
    (seen.size() <= held.size() ? seen : held).push_back(each);
  }
  REQUIRE(seen.size() >= 4);
  const GpuFit fit = fit_gpu(*workload::find_gpu("A100-80"), seen);
  double sum = 0;
  for (const GemmMeasurement& each : held) {
    const double simulated =
        workload::gemm_seconds(fit.gpu, each.precision, each.rows, each.columns, each.depth);
    sum += std::abs(simulated / each.seconds - 1);
  }
  CHECK(sum / static_cast<double>(held.size()) < 0.15);
}

}  // namespace railyard::test
