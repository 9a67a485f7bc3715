#include "railyard/study/calibration.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "railyard/config/csv.hpp"
#include "railyard/config/reader.hpp"
#include "railyard/topology/builder.hpp"
#include "railyard/training/collective_run.hpp"
#include "study/alone.hpp"

namespace railyard::study {

namespace {

using config::ConfigError;

constexpr Bytes kSmall{std::int64_t{1} << 20U};
constexpr int kTurns = 3;

double misfit(const std::vector<Residual>& residuals) {
  double sum = 0;
  for (const Residual& each : residuals)
    sum += std::abs(std::log(each.simulated_s / each.measured_s));
  return sum / static_cast<double>(std::max<std::size_t>(1, residuals.size()));
}

std::vector<Residual> residuals_of(const workload::GpuSpec& gpu,
                                   const std::vector<GemmMeasurement>& sweep) {
  std::vector<Residual> out;
  for (const GemmMeasurement& each : sweep) {
    out.push_back(
        {fmt::format(
             "{} {}x{}x{}",
             workload::precision_words()[each.precision == workload::Precision::fp8 ? 2 : 0],
             each.rows, each.columns, each.depth),
         each.seconds,
         workload::gemm_seconds(gpu, each.precision, each.rows, each.columns, each.depth)});
  }
  return out;
}

bool is_fp8(const GemmMeasurement& each) {
  return each.precision == workload::Precision::fp8;
}

}  // namespace

double mean_error_percent(const std::vector<Residual>& residuals) {
  double sum = 0;
  for (const Residual& each : residuals) sum += std::abs(each.error_percent());
  return residuals.empty() ? 0 : sum / static_cast<double>(residuals.size());
}

GpuFit fit_gpu(const workload::GpuSpec& base, const std::vector<GemmMeasurement>& sweep) {
  GpuFit fit{base, {}};
  std::vector<GemmMeasurement> wide;
  std::vector<GemmMeasurement> narrow;
  for (const GemmMeasurement& each : sweep) {
    if (!(workload::peak_of(base, each.precision) > FlopRate())) {
      throw ConfigError(
          fmt::format("{} has no fp8 products, but the sweep measured some; leave "
                      "those rows out",
                      base.name));
    }
    (is_fp8(each) ? narrow : wide).push_back(each);
  }
  const auto search = [&](double& parameter, double low, double high,
                          const std::vector<GemmMeasurement>& rows) {
    if (rows.empty()) return;
    parameter = golden_section(low, high, [&](double value) {
      parameter = value;
      return misfit(residuals_of(fit.gpu, rows));
    });
  };
  for (int turn = 0; turn < kTurns; ++turn) {
    search(fit.gpu.gemm_efficiency, 0.05, 1, wide);
    search(fit.gpu.gemm_efficiency_fp8, 0.05, 1, narrow);
    const double ticks = golden_section(0, 50e-6 * kTicksPerSecond, [&](double value) {
      fit.gpu.kernel_overhead = to_ticks(value);
      return misfit(residuals_of(fit.gpu, sweep));
    });
    fit.gpu.kernel_overhead = to_ticks(ticks);
  }
  fit.residuals = residuals_of(fit.gpu, sweep);
  return fit;
}

std::string gpu_json(const workload::GpuSpec& base, const GpuFit& fit) {
  std::string out = fmt::format(
      "{{\n  \"description\": \"{} with a GEMM sweep of {} products, {:.1f} % off on average\",\n"
      "  \"base\": \"{}\",\n  \"name\": \"{}\",\n  \"gemm_efficiency\": {:.4f},\n",
      base.name, fit.residuals.size(), mean_error_percent(fit.residuals), base.name, base.name,
      fit.gpu.gemm_efficiency);
  if (fit.gpu.gemm_efficiency_fp8 != base.gemm_efficiency_fp8)
    out += fmt::format("  \"gemm_efficiency_fp8\": {:.4f},\n", fit.gpu.gemm_efficiency_fp8);
  return out + fmt::format("  \"kernel_overhead\": \"{:.0f}ns\"\n}}\n",
                           in_seconds(fit.gpu.kernel_overhead) * 1e9);
}

namespace {

/// Are the first `ranks` GPUs joined by NVLink alone?
bool on_one_island(const config::Document& description, const topology::Topology& fabric,
                   std::uint32_t ranks) {
  std::int64_t hosts = 1;
  const auto nvlink = description.root().find("nvlink");
  if (const auto given = nvlink ? nvlink->find("hosts_per_island") : std::nullopt) {
    config::Errors errors;
    config::decode(*given, errors, hosts);
    errors.throw_if_any();
  }
  return static_cast<std::int64_t>(index(fabric.host_of(static_cast<GpuId>(ranks - 1)))) < hosts;
}

/// The description with another efficiency of a kind of link.
topology::Topology fabric_with(const config::Document& description, const std::string& link,
                               double efficiency, std::string* text = nullptr) {
  const auto changed =
      description.set("/" + link + "/efficiency", fmt::format("{:.4f}", efficiency));
  config::Errors errors;
  topology::Topology fabric = topology::build(changed.root(), errors);
  errors.throw_if_any();
  if (text != nullptr) *text = changed.root().dump();
  return fabric;
}

std::vector<Residual> residuals_of(const topology::Topology& fabric, Duration launch,
                                   collective::Operation operation, std::uint32_t ranks,
                                   const std::vector<CollectiveMeasurement>& log) {
  training::NetworkSettings network = sprayed(fabric);
  network.protocol.launch = launch;
  const std::vector<GpuId> group = first_gpus(ranks);
  std::vector<Residual> out;
  for (const CollectiveMeasurement& each : log) {
    const Duration time =
        training::collective_time(fabric, group, {operation, each.size}, "auto", network);
    out.push_back({fmt::format("{} B", each.size.count()), each.seconds, in_seconds(time)});
  }
  return out;
}

}  // namespace

FabricFit fit_fabric(const config::Document& description, collective::Operation operation,
                     std::uint32_t ranks, const std::vector<CollectiveMeasurement>& log) {
  FabricFit fit;
  config::Errors errors;
  const topology::Topology plain = topology::build(description.root(), errors);
  errors.throw_if_any();
  if (ranks < 2 || ranks > plain.gpu_count()) {
    throw ConfigError(fmt::format("{} ranks: the fabric has {} GPUs", ranks, plain.gpu_count()));
  }
  fit.link = on_one_island(description, plain, ranks) ? "nvlink" : "nic";
  if (!description.root().find(fit.link)) {
    throw ConfigError(fmt::format(
        "the fabric does not describe \"{}\"; calibrate one that is built (`railyard list "
        "topologies`)",
        fit.link));
  }
  std::vector<CollectiveMeasurement> large;
  std::vector<CollectiveMeasurement> small;
  for (const CollectiveMeasurement& each : log) {
    if (each.size >= kLarge) large.push_back(each);
    if (each.size < kSmall) small.push_back(each);
  }
  if (large.empty() || small.empty()) {
    throw ConfigError(
        "the log needs sizes from 16 MiB on, which tell the bandwidth, and sizes below 1 MiB, "
        "which tell the latency (nccl-tests: -b 8 -e 8G -f 2)");
  }
  for (int turn = 0; turn < kTurns; ++turn) {
    fit.efficiency = golden_section(0.05, 1, [&](double value) {
      return misfit(residuals_of(fabric_with(description, fit.link, value), fit.launch, operation,
                                 ranks, large));
    });
    const topology::Topology fabric = fabric_with(description, fit.link, fit.efficiency);
    const double ticks = golden_section(0, 200e-6 * kTicksPerSecond, [&](double value) {
      return misfit(residuals_of(fabric, to_ticks(value), operation, ranks, small));
    });
    fit.launch = to_ticks(ticks);
  }
  const topology::Topology fabric =
      fabric_with(description, fit.link, fit.efficiency, &fit.topology);
  fit.residuals = residuals_of(fabric, fit.launch, operation, ranks, log);
  return fit;
}

}  // namespace railyard::study
