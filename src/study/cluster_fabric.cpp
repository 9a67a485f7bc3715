#include "study/cluster_fabric.hpp"

#include <algorithm>
#include <array>

#include "railyard/topology/builder.hpp"

namespace railyard::study {

namespace {

/// What GPUs of a host are joined by, per direction. NVLink rates: data sheets
/// (stas00/ml-engineering, network/README.md); efficiency: NCCL's bus bandwidth over them, 235 of
/// 300 GB/s on 8 A100
/// (superbenchmark's log), 370 of 450 on 8 H100 (NVIDIA DGX H100 NCCL figures), assumed elsewhere.
struct HostLinks {
  std::string_view gpu;
  std::uint32_t nvlink_gb_per_s;
  double efficiency;
  std::uint32_t pcie_gb_per_s;
};
constexpr std::array<HostLinks, 13> kHosts{{{"A100-40", 300, 0.784, 31},
                                            {"A100-80", 300, 0.784, 31},
                                            {"B200", 900, 0.82, 63},
                                            {"B300", 900, 0.82, 126},
                                            {"GB200", 900, 0.82, 63},
                                            {"GB300", 900, 0.82, 126},
                                            {"H100", 450, 0.82, 63},
                                            {"H200", 450, 0.82, 63},
                                            {"H800", 200, 0.82, 63},
                                            {"L20", 26, 0.9, 31},
                                            {"MI250X", 350, 0.78, 31},
                                            {"MI300X", 448, 0.78, 63},
                                            {"V100", 150, 0.784, 15}}};

}  // namespace

topology::Topology fabric_of(const Cluster& cluster, config::Errors& errors) {
  const auto* links = std::ranges::find(kHosts, cluster.gpu, &HostLinks::gpu);
  if (links == kHosts.end()) {
    errors.add(fmt::format("no host is known for GPU \"{}\"", cluster.gpu));
    return {};
  }
  const std::uint32_t hosts =
      std::max(1U, (cluster.gpus + cluster.gpus_per_host - 1) / cluster.gpus_per_host);
  const double gbps = static_cast<double>(cluster.nic.bytes_per_s()) * 8e-9;
  // GPUs share PCIe links where there are fewer NICs than GPUs.
  const auto document = config::Document::parse_text(
      fmt::format(R"({{"builder": "clos", "gpu": "{}", "gpus_per_host": {},
        "nvlink": {{"bandwidth": "{}GB/s", "efficiency": {}, "latency": "500ns"}},
        "pcie": {{"bandwidth": "{}GB/s", "latency": "500ns"}},
        "nic": {{"bandwidth": "{}Gbps", "efficiency": {}, "latency": "800ns", "per_host": {}}},
        "hosts_per_minipod": [{}], "hosts_per_leaf": {},
        "switch_link": {{"bandwidth": "{}Gbps", "efficiency": {}, "latency": "230ns"}},
        "spines_per_minipod": {}}})",
                  cluster.gpu, cluster.gpus_per_host, links->nvlink_gb_per_s, links->efficiency,
                  links->pcie_gb_per_s, gbps, cluster.nic_share, cluster.nics_per_host, hosts,
                  std::min(8U, hosts), gbps, cluster.nic_share, cluster.nics_per_host),
      "a fabric for " + cluster.gpu);
  return topology::build(document.root(), errors);
}

}  // namespace railyard::study
