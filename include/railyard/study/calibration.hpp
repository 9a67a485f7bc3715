// Calibration: a user's own measurements to the few parameters that this program takes them from.
//
//   GEMM sweep      → gemm_efficiency (of 2-byte and of fp8 products), kernel_overhead of a GPU
//   nccl-tests log  → the share of a link's bandwidth that NCCL reaches (NVLink where the ranks
//                     are on one island, else the NICs) and the host's cost of a launch
//
// Parameters minimise the mean of |ln(simulated / measured)|, which punishes twice and half alike
// and shrugs at outliers; each is searched alone by golden section, in turns, so the result is a
// function of the measurements.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "railyard/collective/collective.hpp"
#include "railyard/config/text_lines.hpp"
#include "railyard/topology/graph.hpp"
#include "railyard/workload/transformer.hpp"

namespace railyard::study {

/// One measured thing beside what the calibrated parameters make of it.
struct Residual {
  std::string id;
  double measured_s = 0;
  double simulated_s = 0;
  [[nodiscard]] double error_percent() const { return 100 * (simulated_s / measured_s - 1); }
};
/// Mean of |error|, in per cent; nothing of an empty list.
[[nodiscard]] double mean_error_percent(const std::vector<Residual>& residuals);

struct GemmMeasurement {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  workload::Precision precision = workload::Precision::bf16;
  double seconds = 0;
};
/// A CSV with columns m, n, k, one of time_s, time_us and tflops, and if need be precision (bf16).
/// Throws ConfigError naming line and column.
[[nodiscard]] std::vector<GemmMeasurement> read_gemm_sweep(const std::filesystem::path& file);

struct GpuFit {
  workload::GpuSpec gpu;
  std::vector<Residual> residuals;
};
/// `base` with its efficiencies and overhead replaced by those that fit. Throws ConfigError when a
/// precision was measured that the GPU does not have.
[[nodiscard]] GpuFit fit_gpu(const workload::GpuSpec& base,
                             const std::vector<GemmMeasurement>& sweep);
/// A GPU file (workloads/gpus) with what differs from `base`.
[[nodiscard]] std::string gpu_json(const workload::GpuSpec& base, const GpuFit& fit);

struct CollectiveMeasurement {
  Bytes size;
  double seconds = 0;
};
/// The out-of-place times of a log of nccl-tests: the table below the header line "# size count
/// type …". Throws ConfigError naming the line.
[[nodiscard]] std::vector<CollectiveMeasurement> read_nccl_tests(const config::TextLines& log);

struct FabricFit {
  std::string link;       ///< "nvlink" or "nic": which efficiency was fitted
  double efficiency = 1;  ///< of its bandwidth
  Duration launch{};      ///< of a collective, on the host
  std::string topology;   ///< the description with that efficiency, as JSON
  std::vector<Residual> residuals;
};
/// `description` is a topology whose hosts are described by "nvlink" and "nic"; ranks are its first
/// GPUs. Sizes from 16 MiB on decide the efficiency, those below 1 MiB the launch. Throws
/// ConfigError when there are no sizes of either kind, or the description has no such links.
[[nodiscard]] FabricFit fit_fabric(const config::Document& description,
                                   collective::Operation operation, std::uint32_t ranks,
                                   const std::vector<CollectiveMeasurement>& log);

/// The x of [low, high] at which `cost` is least, to a thousandth of the interval; `cost` has one
/// valley there.
template <typename Cost>
[[nodiscard]] double golden_section(double low, double high, Cost cost) {
  constexpr double kRatio = 0.6180339887498949;  // (√5 − 1) / 2
  const double narrow = (high - low) * 1e-3;
  double left = high - kRatio * (high - low);
  double right = low + kRatio * (high - low);
  double at_left = cost(left);
  double at_right = cost(right);
  while (high - low > narrow) {
    if (at_left <= at_right) {
      high = right;
      right = left;
      at_right = at_left;
      left = high - kRatio * (high - low);
      at_left = cost(left);
    } else {
      low = left;
      left = right;
      at_left = at_right;
      right = low + kRatio * (high - low);
      at_right = cost(right);
    }
  }
  return (low + high) / 2;
}

}  // namespace railyard::study
