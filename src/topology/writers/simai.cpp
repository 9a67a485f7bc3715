// SimAI's topology file (also close to HPCC's): GPUs, NVSwitches and switches by number, a cable a
// line: `src dst rate delay error_rate`. It knows no NICs: the way from a GPU over its own NIC is
// one cable, as fast as its slowest part and as late as all of them.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "topology/writers/parts.hpp"

namespace railyard::topology {
namespace {

constexpr std::string_view kSimaiFormat = "simai";

std::string rate_text(Bandwidth bandwidth) {
  constexpr std::int64_t kGbps = 125'000'000;
  return bandwidth.bytes_per_s() % kGbps == 0
             ? fmt::format("{}Gbps", bandwidth.bytes_per_s() / kGbps)
             : fmt::format("{}bps", bandwidth.bytes_per_s() * 8);
}

class SimaiWriter {
 public:
  explicit SimaiWriter(const Topology& topology)
      : topology_(topology),
        host_of_(host_of_nodes(topology, kSimaiFormat)),
        number_(topology.node_count(), 0) {
    check_hosts();
    number_nodes();
  }

  std::string write() {
    std::vector<std::string> lines;
    write_cables(lines);
    for (const HostPort& port : host_ports(topology_, kSimaiFormat))
      lines.push_back(line(port.gpu, port.leaf, port.capacity, port.latency));
    const std::string kind = topology_.gpu_kind().substr(0, topology_.gpu_kind().find('-'));
    std::string out = fmt::format("{} {} {} {} {} {}\n", topology_.gpu_count() + switches_.size(),
                                  topology_.hosts().front().gpus, nvswitches_,
                                  switches_.size() - nvswitches_, lines.size(), kind);
    for (std::size_t i = 0; i < switches_.size(); ++i)
      fmt::format_to(std::back_inserter(out), "{}{}", i == 0 ? "" : " ", topology_.gpu_count() + i);
    out += '\n';
    for (const std::string& text : lines) out += text + '\n';
    return out;
  }

 private:
  void check_hosts() const {
    const std::uint32_t gpus = topology_.hosts().empty() ? 0 : topology_.hosts().front().gpus;
    for (std::size_t i = 0; i < topology_.hosts().size(); ++i) {
      if (topology_.hosts()[i].gpus == gpus) continue;
      cannot_say(
          kSimaiFormat,
          fmt::format("{} has {} GPUs, {} has {}", topology_.host_name(HostId{0}), gpus,
                      topology_.host_name(static_cast<HostId>(i)), topology_.hosts()[i].gpus));
    }
  }

  /// GPUs in order, then NVSwitches host by host, leaves, spines and cores.
  void number_nodes() {
    for (std::size_t i = 0; i < topology_.gpu_count(); ++i)
      number_[index(topology_.gpu_node(static_cast<GpuId>(i)))] = i;
    for (const NodeKind kind :
         {NodeKind::nvswitch, NodeKind::leaf, NodeKind::spine, NodeKind::core}) {
      std::vector<NodeId> found;
      for (std::size_t i = 0; i < topology_.node_count(); ++i) {
        if (topology_.kind(static_cast<NodeId>(i)) == kind) found.push_back(static_cast<NodeId>(i));
      }
      if (kind == NodeKind::nvswitch) {
        nvswitches_ = found.size();
        std::stable_sort(found.begin(), found.end(), [this](NodeId a, NodeId b) {
          return host_of_[index(a)] < host_of_[index(b)];
        });
      }
      for (const NodeId node : found) {
        number_[index(node)] = topology_.gpu_count() + switches_.size();
        switches_.push_back(node);
      }
    }
  }

  [[nodiscard]] std::string line(NodeId from, NodeId to, Bandwidth capacity,
                                 Duration latency) const {
    return fmt::format("{} {} {} {} 0", number_[index(from)], number_[index(to)],
                       rate_text(capacity), duration_text(latency));
  }

  /// What stands between GPUs and NVSwitches, and between switches.
  void write_cables(std::vector<std::string>& lines) const {
    const CableList list = cables_of(topology_);
    if (!list.one_way.empty()) {
      cannot_say(kSimaiFormat, fmt::format("{} has no equal link back",
                                           topology_.link_name(list.one_way.front())));
    }
    for (const LinkId id : list.cables) {
      const Link& link = topology_.link(id);
      const NodeKind from = topology_.kind(link.from);
      const NodeKind to = topology_.kind(link.to);
      const bool nvlink =
          std::min(from, to) == NodeKind::gpu && std::max(from, to) == NodeKind::nvswitch;
      if (nvlink || (is_switch(from) && is_switch(to))) {
        lines.push_back(line(link.from, link.to, link.capacity, link.latency));
        continue;
      }
      // Ways to the leaves are written as ports of GPUs.
      const bool port =
          is_switch(from) || is_switch(to) || from == NodeKind::nic || to == NodeKind::nic;
      if (port) continue;
      // What joins nobody needs no words.
      if (topology_.host(static_cast<HostId>(host_of_[index(link.from)])).gpus == 1) continue;
      cannot_say(kSimaiFormat, fmt::format("{} is a way between GPUs that is no NVSwitch",
                                           topology_.link_name(id)));
    }
  }

  const Topology& topology_;
  std::vector<std::uint32_t> host_of_;
  std::vector<std::size_t> number_;
  std::vector<NodeId> switches_;
  std::size_t nvswitches_ = 0;
};

}  // namespace

std::string write_simai(const Topology& topology) {
  if (topology.gpu_count() == 0) cannot_say(kSimaiFormat, "there is no GPU");
  return SimaiWriter(topology).write();
}

}  // namespace railyard::topology
