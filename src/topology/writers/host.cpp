// The inside of a host as keys of the builders (host_plan.hpp), from a fabric of one host: what
// NCCL or nvidia-smi print becomes the host of any builder. The builders know hosts whose GPUs are
// alike, joined by one NVSwitch, or without NVLink by one PCIe switch; others are refused.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "railyard/config/document.hpp"
#include "topology/writers/parts.hpp"

namespace railyard::topology {
namespace {

constexpr std::string_view kHostFormat = "host";

struct Way {
  Bandwidth capacity{INT64_MAX};
  Duration latency{};
  friend bool operator==(const Way&, const Way&) = default;
};

std::string link_text(const Way& way, const std::string& more = "") {
  return fmt::format("{{\"bandwidth\": \"{}\", \"latency\": \"{}\"{}}}",
                     bandwidth_text(way.capacity), duration_text(way.latency), more);
}

class HostWriter {
 public:
  explicit HostWriter(const Topology& topology) : topology_(topology) {
    if (topology.hosts().size() != 1)
      cannot_say(kHostFormat, fmt::format("it has {} hosts, not one", topology.hosts().size()));
    for (std::size_t i = 0; i < topology.gpu_count(); ++i) {
      const NodeId nic = topology.nic_node(static_cast<GpuId>(i));
      if (nics_.empty() || nics_.back() != nic) nics_.push_back(nic);
    }
  }

  std::string write() {
    check_nics();
    const auto nvlink = to_island(NodeKind::nvswitch);
    if (!nvlink) check_pcie();
    std::string out = fmt::format("{{\"gpu\": {}, \"gpus_per_host\": {}",
                                  config::json_string(topology_.gpu_kind()), topology_.gpu_count());
    if (nvlink) out += fmt::format(",\n \"nvlink\": {}", link_text(*nvlink));
    out += fmt::format(",\n \"pcie\": {}", link_text(nvlink ? to_nics() : half_to_nics()));
    out += fmt::format(",\n \"nic\": {}}}\n",
                       link_text(to_network(), fmt::format(", \"per_host\": {}", nics_.size())));
    return out;
  }

 private:
  [[nodiscard]] NodeId gpu(std::size_t i) const {
    return topology_.gpu_node(static_cast<GpuId>(i));
  }

  /// GPU i uses NIC i × NICs / GPUs, as in the builders.
  void check_nics() const {
    const std::size_t gpus = topology_.gpu_count();
    if (nics_.front() == gpu(0)) cannot_say(kHostFormat, "its GPUs have no NIC");
    for (std::size_t i = 0; i < gpus; ++i) {
      const NodeId nic = topology_.nic_node(static_cast<GpuId>(i));
      if (gpus % nics_.size() == 0 && nics_[i * nics_.size() / gpus] == nic) continue;
      cannot_say(kHostFormat, fmt::format("{} is served by {}, out of order",
                                          topology_.node_name(gpu(i)), topology_.node_name(nic)));
    }
  }

  /// The link of every GPU to the one island of that kind, if it has any.
  [[nodiscard]] std::optional<Way> to_island(NodeKind kind) const {
    std::optional<Way> out;
    std::optional<NodeId> island;
    for (std::size_t i = 0; i < topology_.gpu_count(); ++i) {
      std::optional<Way> mine;
      for (const Link& link : topology_.out_links(gpu(i))) {
        if (link.tier == Tier::nvlink && topology_.kind(link.to) == NodeKind::gpu)
          cannot_say(kHostFormat, "its GPUs are cabled to each other, not to an NVSwitch");
        if (topology_.kind(link.to) != kind) continue;
        if (mine || (island && *island != link.to))
          cannot_say(kHostFormat, fmt::format("its GPUs have more than one {}", name(kind)));
        island = link.to;
        mine = Way{link.capacity, link.latency};
      }
      if (i > 0 && mine != out)
        cannot_say(kHostFormat,
                   fmt::format("{} is joined otherwise than {}", topology_.node_name(gpu(i)),
                               topology_.node_name(gpu(0))));
      out = mine;
    }
    return out;
  }

  /// Without NVLink everything hangs on one PCIe switch, by links that are alike.
  void check_pcie() const {
    const auto way = to_island(NodeKind::pcie_switch);
    if (!way) cannot_say(kHostFormat, "its GPUs have neither an NVSwitch nor a PCIe switch");
    const NodeId island = topology_.out_links(gpu(0)).front().to;
    for (const NodeId nic : nics_) {
      const auto links = topology_.out_links(nic);
      const bool joined = std::any_of(links.begin(), links.end(), [&](const Link& link) {
        return link.to == island && Way{link.capacity, link.latency} == *way;
      });
      if (!joined)
        cannot_say(kHostFormat,
                   fmt::format("{} is not on the PCIe switch of the GPUs by a link like "
                               "theirs",
                               topology_.node_name(nic)));
    }
  }

  [[nodiscard]] Way half_to_nics() const { return *to_island(NodeKind::pcie_switch); }

  /// The way of every GPU to its NIC over PCIe: the slowest link and all latencies.
  [[nodiscard]] Way to_nics() const {
    std::optional<Way> out;
    for (std::size_t i = 0; i < topology_.gpu_count(); ++i) {
      const Way mine = over_pcie(gpu(i), topology_.nic_node(static_cast<GpuId>(i)));
      if (out && mine != *out)
        cannot_say(kHostFormat,
                   fmt::format("{} is nearer to its NIC, or farther, than {}",
                               topology_.node_name(gpu(i)), topology_.node_name(gpu(0))));
      out = mine;
    }
    return *out;
  }

  [[nodiscard]] Way over_pcie(NodeId from, NodeId to) const {
    std::vector<std::optional<Way>> best(topology_.node_count());
    best[index(from)] = Way{};
    std::vector<NodeId> open{from};
    for (std::size_t i = 0; i < open.size() && !best[index(to)]; ++i) {
      for (const Link& link : topology_.out_links(open[i])) {
        if (link.tier != Tier::host || best[index(link.to)]) continue;
        const Way& so_far = *best[index(open[i])];
        best[index(link.to)] =
            Way{std::min(so_far.capacity, link.capacity), so_far.latency + link.latency};
        open.push_back(link.to);
      }
    }
    if (!best[index(to)])
      cannot_say(kHostFormat, fmt::format("there is no way over PCIe from {} to {}",
                                          topology_.node_name(from), topology_.node_name(to)));
    return *best[index(to)];
  }

  [[nodiscard]] Way to_network() const {
    std::optional<Way> out;
    for (const NodeId nic : nics_) {
      for (const Link& link : topology_.out_links(nic)) {
        if (!is_switch(topology_.kind(link.to))) continue;
        const Way mine{link.capacity, link.latency};
        if (out && mine != *out) cannot_say(kHostFormat, "its NICs differ in speed");
        out = mine;
      }
    }
    if (!out) cannot_say(kHostFormat, "its NICs lead nowhere");
    return *out;
  }

  const Topology& topology_;
  std::vector<NodeId> nics_;  ///< in order of the GPUs they serve
};

}  // namespace

std::string write_host(const Topology& topology) {
  if (topology.gpu_count() == 0) cannot_say(kHostFormat, "there is no GPU");
  return HostWriter(topology).write();
}

}  // namespace railyard::topology
