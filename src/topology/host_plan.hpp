// The inside of a host, as the builders read it from JSON. All hosts of a fabric are alike, or
// those of a host group are (host_blocks.hpp). Keys:
//
//   gpu            name of the GPU kind, a key of the GPU catalog: "A100-80"
//   gpus_per_host  GPUs of a host
//   nvlink         {link, wiring, hosts_per_island} of each GPU to the NVSwitch, per direction.
//                  Absent: GPUs talk over PCIe
//                    wiring  "nvswitch" (default), or no switch but {link} from GPU to GPU:
//                            "full_mesh", one between any two (as MI300X hosts are built), or
//                            "hypercube_mesh", the hybrid cube mesh of a DGX-1 with V100s (NVIDIA
//                            DGX-1 system architecture white paper, 2017; 8 GPUs): two quads, fully
//                            meshed, GPU i joined to i + 4, one or two NVLinks each. GPUs that are
//                            not joined talk through one that is joined to both, as NCCL does
//                    hosts_per_island  hosts in a row that share one NVSwitch island (default 1),
//                            as the 18 trays of a GB200 NVL72. An island ends with its minipod
//   pcie           {link} of each GPU to its NIC; default: as fast as the NIC, no latency.
//                  Without nvlink: of each GPU and NIC to the PCIe switch, and required
//   nic            {link, per_host} of NIC to leaf. per_host divides gpus_per_host and defaults to
//                  it; GPU i uses NIC i × per_host / gpus_per_host
//
// {link} is {bandwidth, efficiency = 1, latency = "0s"}. Capacity = bandwidth × efficiency, the
// payload rate that protocol and headers leave; bandwidth alone counts for oversubscription and
// ports. Latency is that of the cable and of what receives.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "railyard/config/reader.hpp"
#include "topology/graph_builder.hpp"

namespace railyard::topology {

struct LinkSpec {
  Bandwidth bandwidth;
  double efficiency = 1.0;
  Duration latency{};

  [[nodiscard]] Bandwidth capacity() const;
  [[nodiscard]] Cable cable(Tier tier) const { return {capacity(), latency, tier}; }
};

/// Reads a link object. `extra` may read more keys of it.
[[nodiscard]] LinkSpec read_link(const config::Node& node, config::Errors& errors,
                                 void (*extra)(config::Reader&, void*) = nullptr,
                                 void* context = nullptr);
/// The parts of a link object: "efficiency" and "latency" into `link`; "bandwidth", required.
void read_link_terms(config::Reader& reader, LinkSpec& link);
[[nodiscard]] Bandwidth read_bandwidth(config::Reader& reader);
/// Slower links than any fabric has would leave the range of the clock.
inline constexpr Bandwidth kBandwidthMin{1'250'000};
[[nodiscard]] LinkSpec required_link(config::Reader& reader, std::string_view key);
[[nodiscard]] std::optional<LinkSpec> optional_link(config::Reader& reader, std::string_view key);

enum class Wiring : std::uint8_t { nvswitch, full_mesh, hypercube_mesh };

struct HostPlan {
  std::string gpu_kind;
  std::uint32_t gpus = 1;
  std::uint32_t nics = 1;
  std::optional<LinkSpec> nvlink;
  Wiring wiring = Wiring::nvswitch;
  std::uint32_t hosts_per_island = 1;
  LinkSpec pcie;
  LinkSpec nic;

  [[nodiscard]] std::uint32_t nodes() const { return gpus + 1 + nics; }
  [[nodiscard]] std::uint32_t nic_of(std::uint32_t gpu) const { return gpu * nics / gpus; }
};

[[nodiscard]] HostPlan read_host_plan(config::Reader& reader);
/// The JSON keys that read_host_plan reads.
inline constexpr std::string_view kHostKeys[] = {"gpu", "gpus_per_host", "nvlink", "pcie", "nic"};

/// Positive bandwidths as text, for messages: "400Gbps".
[[nodiscard]] std::string as_text(Bandwidth bandwidth);

}  // namespace railyard::topology
