// NCCL's choice of algorithm and protocol, and what a collective that NCCL runs costs beside its
// bytes.
//
// Two things that must not be confused:
//
// 1. The tuner (`choose`): NCCL's own model, restated from src/graph/tuning.cc. For each algorithm
// ×
//    protocol it predicts  latency + bytes / bandwidth  and takes the smallest. Its constants are
//    those of a named version.
// 2. The step costs (`plan`): what our simulation of the chosen algorithm charges. Bytes move as
//    flows over the fabric; a step's fixed cost is NCCL's hwLat of its link and protocol, a
//    collective's is baseLat. Three things of how NCCL moves a chunk come on top, with sizes from
// its
//    sources (src/include/device.h, src/enqueue.cc):
//      slices   a step of a ring under Simple hands over its chunk in two slices
//               (CHUNKSTEPS / SLICESTEPS), each of them synchronised: two hwLat. A chunk is at most
//               2 MiB a channel; longer vectors go around in several loops, and each pays again.
//      chunks   trees and NVLS pass whole chunks from hop to hop: until the first has arrived
//               nothing flows behind it. A chunk is at most 64 KiB a channel (Simple over the
//               network), 32 KiB (LL128), 128 KiB (NVLS).
//      drain    the last step of a loop only copies out of the buffer; nothing is sent meanwhile.
// Its
//               rate is one number a GPU generation.
//    Wire expansion: LL carries 4 bytes of flags with 4 of data (2), LL128 8 in 128 (NCCL uses
// 1/0.92).
//
// A fabric is seen as NCCL's topology search would report it: channels and the bandwidth of each,
// inside a node and between nodes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "railyard/collective/collective.hpp"
#include "railyard/collective/protocol.hpp"

namespace railyard::collective::nccl {

/// Channels that NCCL opens on hosts of this generation, as its logs report: 12 on DGX-1, 24 on DGX
/// A100, 16 on DGX H100 and B200 for rings and NVLS alike.
enum class Architecture : std::uint8_t { volta, ampere, hopper, blackwell };
inline constexpr std::size_t kArchitectures = 4;
[[nodiscard]] std::uint32_t channels_of(Architecture architecture);

/// In NCCL's order: the first of equals is taken.
enum class Algorithm : std::uint8_t { tree, ring, nvls, nvls_tree, pat };
inline constexpr std::size_t kAlgorithms = 5;
enum class WireProtocol : std::uint8_t { ll, ll128, simple };
inline constexpr std::size_t kProtocols = 3;

/// The catalog's name of the algorithm that runs it: "double_binary_tree", "ring", …
[[nodiscard]] std::string_view name(Algorithm algorithm);
[[nodiscard]] std::string_view name(WireProtocol protocol);  ///< "ll", "ll128", "simple"

/// Of an NVIDIA GPU kind ("A100-80", "GB200"); empty for others, on which NCCL does not run.
[[nodiscard]] std::optional<Architecture> architecture_of(std::string_view gpu_kind);

/// Latencies in microseconds by algorithm and protocol (ll, ll128, simple). Source: NVIDIA/nccl,
/// src/graph/tuning.cc of the version.
using Latencies = std::array<std::array<double, kProtocols>, kAlgorithms>;
struct Version {
  std::string_view name;  ///< "2.30.7"
  bool pat = false;       ///< knows PAT
  Latencies base_us{};
  Latencies nvlink_us{};
  Latencies pci_us{};
  Latencies network_us{};
};
/// Newest first; the first is the default. Bandwidth caps and correction factors are those of
/// 2.30.7 in all of them.
[[nodiscard]] std::span<const Version> versions();
[[nodiscard]] const Version& version(std::string_view name);

/// What the tuner knows of a group. Bandwidths in GB/s (10⁹ bytes).
struct Fabric {
  std::uint32_t ranks = 0;
  std::uint32_t nodes = 1;  ///< NVLink islands
  Architecture architecture = Architecture::ampere;
  std::uint32_t channels = 1;
  double channel_intra_gb_per_s = 0;  ///< of one channel inside a node
  double channel_inter_gb_per_s = 0;  ///< of one channel between nodes
  bool nvlink = true;                 ///< else PCIe inside nodes
  bool nvls = false;                  ///< NVSwitches that reduce (Hopper and later)
  [[nodiscard]] double ranks_per_node() const { return static_cast<double>(ranks) / nodes; }
};

/// What the user leaves open; NCCL_ALGO and NCCL_PROTO.
struct Restriction {
  std::optional<Algorithm> algorithm;
  std::optional<WireProtocol> protocol;
};

struct Choice {
  Algorithm algorithm = Algorithm::ring;
  WireProtocol protocol = WireProtocol::simple;
  double predicted_us = 0;  ///< by NCCL's model, which decides; not what the simulation takes
};

/// Empty when nothing fits the restriction (the operation has no such algorithm here).
[[nodiscard]] std::optional<Choice> choose(Operation operation, Bytes size, const Fabric& fabric,
                                           const Version& version, const Restriction& allowed = {});

/// NCCL's prediction for one pair, in microseconds; empty where NCCL does not consider it.
[[nodiscard]] std::optional<double> predict_us(Operation operation, Bytes size,
                                               const Fabric& fabric, const Version& version,
                                               Algorithm algorithm, WireProtocol protocol);

/// How the simulation runs a choice. `choice` matters only for the operations that NCCL's tuner
/// decides (`tuned`); exchanges and barriers run as NCCL's sends and receives do.
struct Plan {
  std::string algorithm;  ///< of the catalog
  config::Parameters parameters;
  WireProtocol protocol = WireProtocol::simple;
  StepCosts costs;
};
[[nodiscard]] bool tuned(Operation operation);
[[nodiscard]] Plan plan(Operation operation, Bytes size, const Fabric& fabric,
                        const Version& version, const Choice& choice);

/// What a step costs by the tables of a version, its wire expansion included; `nvlink`: else PCIe
/// inside nodes.
[[nodiscard]] StepCosts step_costs(Algorithm algorithm, WireProtocol protocol,
                                   const Version& version, bool nvlink = true);

/// The entry "auto" of the choices, with parameters algorithm, protocol and version.
[[nodiscard]] const config::EntryDescription& auto_description();
[[nodiscard]] Restriction restriction_of(const config::Parameters& parameters);
/// Why the algorithm that the parameters ask for can never do the operation, or empty.
[[nodiscard]] std::string refuse_restriction(const config::Parameters& parameters,
                                             Operation operation);

}  // namespace railyard::collective::nccl
