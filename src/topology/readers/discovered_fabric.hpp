// What a reader finds in the output of a real cluster: NICs, switches and cables, each with the
// line that says so; and how a Topology is made of it.
//
// Tiers are inferred from distance: a switch with hosts is a leaf (level 0), any other stands one
// above its nearest level. The highest level is the core where there are three or more; levels
// between are spines. Minipods are the parts that hang together without the core. Names sort by
// their numbers ("gpu-9" before "gpu-10"); minipods come in order of their first host, within one
// the leaves in order of theirs, so the order of the file does not matter. Routes stand in
// leveled_paths.hpp.
//
// Refused, with the lines: a port or name stated twice, a cable whose two ends disagree or that
// only one end knows, a cable between two hosts, parts that are not connected.
//
// Keys of the description, beside what a format adds:
//
//   gpu            kind of the GPUs; may be missing where no job is to run
//   gpus_per_host  default: one for each NIC port. The number of NIC ports of a host divides it
//   nvlink, pcie   as in the builders (host_plan.hpp); a host of one GPU needs neither
//   nic            {bandwidth, efficiency, latency} of NIC to leaf
//   switch_link    {bandwidth, efficiency, latency, count} of switch to switch
//   core_link      the same for links to the core; default: switch_link
//   ignore         ["storage*", "* mlx5_9"]: hosts, or NICs as "host nic", to leave out
//
// Bandwidths are required where the format states none and refused where it does; latency and
// efficiency are not in any of these files.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "railyard/topology/fabric_reader.hpp"
#include "topology/host_plan.hpp"

namespace railyard::topology {

/// What a description may say of links of a kind.
struct LinkTerms {
  std::optional<Bandwidth> bandwidth;
  double efficiency = 1.0;
  Duration latency{};
  std::uint32_t count = 1;  ///< parallel cables for each that the file states
  bool given = false;       ///< the description has this key
};

struct DiscoveredOptions {
  std::string gpu_kind;
  std::optional<std::uint32_t> gpus_per_host;
  std::uint32_t nics_per_host = 1;  ///< where the file does not state NICs
  std::optional<LinkSpec> nvlink;
  std::optional<LinkSpec> pcie;
  LinkTerms nic;
  LinkTerms switch_link;
  LinkTerms core_link;
  std::vector<std::string> ignore;
};

/// What the file itself says, so that the description may not.
struct DiscoveredScope {
  bool states_bandwidth = true;
  bool states_nics = true;
};
[[nodiscard]] DiscoveredOptions read_discovered_options(config::Reader& reader,
                                                        DiscoveredScope scope);
/// The keys that read_discovered_options reads.
inline constexpr std::string_view kDiscoveredKeys[] = {
    "gpu", "gpus_per_host", "nvlink", "pcie", "nic", "switch_link", "core_link", "ignore"};

/// A NIC or a switch.
struct Device {
  std::string name;  ///< of the switch, or of the NIC's host
  std::string nic;   ///< of the NIC in its host: "mlx5_0"; empty where it has none
  bool is_switch = false;
  std::uint32_t line = 0;
};

/// A port of a device. Ports count from 1; 0 where the format knows none.
struct DeviceEnd {
  std::uint32_t device = 0;
  std::uint32_t port = 0;

  friend auto operator<=>(const DeviceEnd&, const DeviceEnd&) = default;
};

struct DiscoveredCable {
  DeviceEnd a;
  DeviceEnd b;
  std::optional<Bandwidth> bandwidth;  ///< empty where the description has to say
  std::uint32_t line = 0;
};

/// Where a device would stand, for one that is left out of the fabric.
inline constexpr std::uint32_t kLeftOut = 0xffffffff;

class DiscoveredFabric {
 public:
  explicit DiscoveredFabric(const FabricFile& file) : file_(&file) {}

  std::uint32_t add_switch(std::string name, std::uint32_t line);
  std::uint32_t add_nic(std::string host, std::string nic, std::uint32_t line);
  /// A cable that the file states once.
  void add_cable(const DiscoveredCable& cable) { cables_.push_back(cable); }
  /// A cable as its end `a` states it; join_ends makes cables of the statements of both ends.
  void state_end(const DiscoveredCable& from_a) { ends_.push_back(from_a); }
  void join_ends(config::Errors& errors);

  [[nodiscard]] const FabricFile& file() const { return *file_; }
  [[nodiscard]] const std::vector<Device>& devices() const { return devices_; }
  [[nodiscard]] const std::vector<DiscoveredCable>& cables() const { return cables_; }
  /// "leaf1 port 9", "gpu-001 mlx5_0 port 1".
  [[nodiscard]] std::string end_name(const DeviceEnd& end) const;
  [[nodiscard]] std::string device_name(std::uint32_t device) const;

 private:
  const FabricFile* file_;
  std::vector<Device> devices_;
  std::vector<DiscoveredCable> cables_;
  std::vector<DiscoveredCable> ends_;
};

/// The fabric, or with errors recorded an empty topology. `reader` names the format.
[[nodiscard]] Topology assemble_discovered(std::string_view reader, const DiscoveredFabric& fabric,
                                           const DiscoveredOptions& options,
                                           config::Errors& errors);

/// "gpu-9" before "gpu-10": runs of digits compare as numbers. A total order.
[[nodiscard]] bool natural_less(std::string_view a, std::string_view b);
/// Does the text match a pattern in which * stands for any characters?
[[nodiscard]] bool matches(std::string_view pattern, std::string_view text);

}  // namespace railyard::topology
