// GPU kinds. Peaks, memory and bandwidth: NVIDIA's data sheets (dense, no sparsity). Efficiencies:
// micro-benchmarks on single GPUs and the calibration study over three published tables together;
// none was fitted to a training row.
//
//   A100   GEMM 0.77: cuBLASLt 4096³ reaches 228 of 312 Tflop/s in five waves of which 4.74 are
//     full, 8192³ 253.7 (Azure
//          AI-benchmarking-guide, ND A100 v4); the study finds 0.744–0.77 over 760 rows. Memory
//            0.66: the study's 0.64–0.69 for
//          element-wise training kernels (a plain copy reaches 0.79). Attention 0.575:
//            FlashAttention-2, 179.5 Tflop/s (Azure).
//   H100   GEMM 0.62 (study, 0.59–0.63; the best single shape reaches 0.80), memory 0.80 (study
//     0.72–0.90, copy 0.87),
//          attention 0.33: FlashAttention-2, 327.9 Tflop/s (Azure ND H100 v5).
//   H200   as H100, with its own copy bandwidth (4.01 of 4.8 TB/s) scaled as on the H100: 0.77, and
//     329.3 Tflop/s attention.
//   V100   no micro-benchmark at hand: the A100's efficiencies, peak in fp16 (it has no bf16).
//   others no training runs at hand: the best single shape (ml-engineering, MAMF) times what the
//          H100 keeps of its own in training, 0.62/0.80; B200 0.776, GB200 0.729, MI300X 0.514 of
//          the peak. fp8: 0.45 of the peak on the H100 (study: 0.88-0.90 of the bf16 peak),
//          elsewhere
//          the same share of MAMF (H100 0.709; B200 0.763, GB200 0.723).
// Kernel overhead 3 µs: not fitted, the study's assumption. tf32 and fp32 peaks, board powers: data
// sheets (zero: none at hand); what a board draws when idle is on none.
#include <array>

#include "railyard/config/prices.hpp"
#include "railyard/workload/transformer.hpp"

namespace railyard::workload {

namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30U;
constexpr Duration kKernelOverhead = std::chrono::microseconds(3);

/// Peaks in Tflop/s, dense; zero: the GPU has no such units.
struct Peaks {
  double bf16;
  double fp8;
  double tf32;
  double fp32;
};
struct Memory {
  std::int64_t gib;
  std::int64_t gb_per_s;
};
struct Efficiencies {
  double gemm;
  double fp8;
  double memory;
  double attention;
};

GpuSpec gpu(std::string name, const Peaks& peaks, const Memory& memory,
            const Efficiencies& efficiencies, std::uint32_t multiprocessors, double power_w,
            std::string source) {
  return {.name = std::move(name),
          .peak_bf16 = FlopRate(peaks.bf16 * 1e12),
          .memory = Bytes(memory.gib * kGiB),
          .memory_bandwidth = Bandwidth(memory.gb_per_s * 1'000'000'000),
          .gemm_efficiency = efficiencies.gemm,
          .memory_efficiency = efficiencies.memory,
          .attention_efficiency = efficiencies.attention,
          .multiprocessors = multiprocessors,
          .kernel_overhead = kKernelOverhead,
          .peak_fp8 = FlopRate(peaks.fp8 * 1e12),
          .gemm_efficiency_fp8 = efficiencies.fp8,
          .peak_tf32 = FlopRate(peaks.tf32 * 1e12),
          .peak_fp32 = FlopRate(peaks.fp32 * 1e12),
          .power_w = power_w,
          .source = std::move(source)};
}

constexpr Efficiencies kA100{.gemm = 0.77, .fp8 = 1, .memory = 0.66, .attention = 0.575};
constexpr Efficiencies kH100{.gemm = 0.60, .fp8 = 0.46, .memory = 0.80, .attention = 0.60};
constexpr Efficiencies kB200{.gemm = 0.60, .fp8 = 0.48, .memory = 0.80, .attention = 0.33};
constexpr Efficiencies kGb200{.gemm = 0.56, .fp8 = 0.46, .memory = 0.80, .attention = 0.33};
constexpr Efficiencies kMi300{.gemm = 0.40, .fp8 = 0.31, .memory = 0.66, .attention = 0.25};

}  // namespace

std::span<const GpuSpec> gpu_catalog() {
  static const std::array<GpuSpec, 13> kTable{
      gpu("A100-40", {312, 0, 156, 19.5}, {40, 1555}, kA100, 108, 400,
          "NVIDIA A100 data sheet; Azure ND A100 v4 benchmarks"),
      gpu("A100-80", {312, 0, 156, 19.5}, {80, 2039}, kA100, 108, 400,
          "NVIDIA A100 data sheet; Azure ND A100 v4 benchmarks"),
      gpu("B200", {2250, 4500, 1100, 75}, {180, 8000}, kB200, 148, 1000,
          "NVIDIA B200 data sheet; efficiencies from MAMF, kept as on the H100"),
      gpu("B300", {2250, 4500, 1100, 75}, {288, 8000}, kB200, 148, 0,
          "NVIDIA B300 data sheet; efficiencies as on the B200"),
      gpu("GB200", {2500, 5000, 1250, 80}, {185, 8000}, kGb200, 148, 1200,
          "NVIDIA GB200 NVL72 data sheet, a 72nd of 180 dense PFLOPS and 576 TB/s; efficiencies "
          "from MAMF, kept as on the H100"),
      gpu("GB300", {2500, 5000, 1250, 80}, {288, 8000}, kGb200, 148, 0,
          "NVIDIA GB300 NVL72 data sheet; efficiencies as on the GB200"),
      gpu("H100", {989, 1979, 494, 67}, {80, 3350}, kH100, 132, 700,
          "NVIDIA H100 SXM data sheet; Azure ND H100 v5 benchmarks"),
      gpu("H200", {989, 1979, 494, 67}, {141, 4800},
          {.gemm = 0.60, .fp8 = 0.46, .memory = 0.77, .attention = 0.60}, 132, 700,
          "NVIDIA H200 data sheet; Azure ND H200 v5 benchmarks"),
      gpu("H800", {989, 1979, 494, 67}, {80, 3350}, kH100, 132, 700,
          "an H100 with less NVLink; efficiencies of the H100"),
      gpu("L20", {119.5, 239, 59.8, 59.8}, {48, 864},
          {.gemm = 0.77, .fp8 = 0.56, .memory = 0.66, .attention = 0.575}, 92, 275,
          "NVIDIA L20 data sheet; efficiencies assumed as on the A100, fp8 in the H100's ratio"),
      gpu("MI250X", {383, 0, 0, 95.7}, {128, 3277},
          {.gemm = 0.40, .fp8 = 1, .memory = 0.66, .attention = 0.25}, 220, 560,
          "AMD MI250X data sheet, both dies; efficiencies assumed as on the MI300X"),
      gpu("MI300X", {1307, 2615, 654, 163.4}, {192, 5300}, kMi300, 304, 750,
          "AMD MI300X data sheet; GEMM from MAMF (668 of 1307 Tflop/s), kept as on the H100; "
          "memory as on the A100, attention assumed"),
      gpu("V100", {125, 0, 0, 15.7}, {32, 900}, kA100, 80, 300,
          "NVIDIA V100 SXM2 data sheet, fp16; efficiencies assumed as on the A100"),
  };
  return kTable;
}

const GpuSpec* find_gpu(std::string_view name) {
  for (const GpuSpec& entry : gpu_catalog()) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

GpuSpec read_gpu(const config::Node& node, config::Errors& errors) {
  std::vector<std::string_view> names;
  for (const GpuSpec& entry : gpu_catalog()) names.push_back(entry.name);
  const auto by_name = [&](const config::Node& where) -> const GpuSpec& {
    if (const GpuSpec* found = find_gpu(where.string())) return *found;
    const std::string_view near = config::nearest(where.string(), names);
    std::string known;
    for (const auto name : names) known += (known.empty() ? "" : ", ") + std::string(name);
    errors.add(where,
               near.empty()
                   ? fmt::format("unknown GPU \"{}\"; known are {}", where.string(), known)
                   : fmt::format("unknown GPU \"{}\"; did you mean \"{}\"?", where.string(), near));
    return gpu_catalog().front();
  };
  if (node.is_string()) return by_name(node);
  config::Reader reader(node, errors);
  GpuSpec spec;
  const auto base = reader.child("base");
  if (base && base->is_string()) {
    spec = by_name(*base);
  } else if (base) {
    errors.add(*base, "expected the name of a GPU");
  }
  const bool whole = !base.has_value();
  const auto field = [&](std::string_view key, auto& out) {
    using T = std::remove_reference_t<decltype(out)>;
    out = whole ? reader.required<T>(key) : reader.optional<T>(key, out);
  };
  const auto share = [&](std::string_view key, double& out) {
    field(key, out);
    if (reader.has(key) && (out <= 0 || out > 1))
      reader.fail(key, "expected a share above 0 and up to 1");
  };
  static_cast<void>(reader.optional<std::string>("description", ""));
  spec.source = reader.optional<std::string>("source", spec.source);
  field("name", spec.name);
  field("peak_bf16", spec.peak_bf16);
  field("memory", spec.memory);
  field("memory_bandwidth", spec.memory_bandwidth);
  share("gemm_efficiency", spec.gemm_efficiency);
  share("memory_efficiency", spec.memory_efficiency);
  share("attention_efficiency", spec.attention_efficiency);
  std::int64_t multiprocessors = spec.multiprocessors;
  field("multiprocessors", multiprocessors);
  if (reader.has("multiprocessors") && (multiprocessors < 1 || multiprocessors > 100'000)) {
    reader.fail("multiprocessors", "expected 1 to 100000");
    multiprocessors = 1;
  }
  spec.multiprocessors = static_cast<std::uint32_t>(multiprocessors);
  spec.kernel_overhead =
      reader.optional<Duration>("kernel_overhead", whole ? kKernelOverhead : spec.kernel_overhead);
  const auto watts = [&](std::string_view key, double known) {
    const auto given = reader.maybe<config::Power>(key);
    return given ? given->watts : known;
  };
  spec.power_w = watts("power", spec.power_w);
  spec.idle_power_w = watts("idle_power", spec.idle_power_w);
  if (spec.power_w > 0 && spec.idle_power_w > spec.power_w) {
    reader.fail("idle_power", "is more than \"power\", what the GPU draws while it computes");
  }
  spec.peak_fp8 = reader.optional<FlopRate>("peak_fp8", spec.peak_fp8);
  spec.peak_tf32 = reader.optional<FlopRate>("peak_tf32", spec.peak_tf32);
  spec.peak_fp32 = reader.optional<FlopRate>("peak_fp32", spec.peak_fp32);
  if (reader.has("gemm_efficiency_fp8")) share("gemm_efficiency_fp8", spec.gemm_efficiency_fp8);
  if (reader.has("memory") && spec.memory <= Bytes(0)) reader.fail("memory", "a GPU needs memory");
  reader.finish();
  return spec;
}

}  // namespace railyard::workload
