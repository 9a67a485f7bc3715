#include "topology/writers/parts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"

namespace railyard::topology {

void cannot_say(std::string_view format, const std::string& what) {
  throw config::ConfigError(fmt::format("{} cannot say this fabric: {}", format, what));
}

namespace {

/// UTF-8 without control characters: every lead byte has its continuation bytes. Overlong forms and
/// surrogates, which decoders refuse too, are told by the first two bytes.
bool is_plain_text(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&text](std::size_t at) {
      return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
    };
    const unsigned lead = byte(i);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (lead < 0x20 || lead == 0x7F || (lead >= 0x80 && lead < 0xC2) || lead > 0xF4) return false;
    for (std::size_t k = 1; k < length; ++k) {
      if ((byte(i + k) & 0xC0U) != 0x80U) return false;
    }
    const unsigned second = byte(i + 1);
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
        (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F))
      return false;
    i += length;
  }
  return true;
}

}  // namespace

void check_names(const Topology& topology, std::string_view format) {
  const auto check = [format](const std::string& name) {
    if (!is_plain_text(name))
      cannot_say(format, "a name is no UTF-8 text or holds control characters");
  };
  check(topology.gpu_kind());
  for (std::size_t i = 0; i < topology.node_count(); ++i)
    check(topology.node_name(static_cast<NodeId>(i)));
  for (std::size_t i = 0; i < topology.hosts().size(); ++i)
    check(topology.host_name(static_cast<HostId>(i)));
  for (std::size_t i = 0; i < topology.minipod_count(); ++i)
    check(topology.minipod_name(static_cast<MinipodId>(i)));
}

std::vector<std::uint32_t> host_of_nodes(const Topology& topology, std::string_view format) {
  std::vector<std::uint32_t> out(topology.node_count(), kNoHost);
  std::vector<NodeId> open;
  for (std::size_t gpu = 0; gpu < topology.gpu_count(); ++gpu) {
    const auto id = static_cast<GpuId>(gpu);
    out[index(topology.gpu_node(id))] = static_cast<std::uint32_t>(index(topology.host_of(id)));
    open.push_back(topology.gpu_node(id));
  }
  while (!open.empty()) {
    const NodeId at = open.back();
    open.pop_back();
    for (const Link& link : topology.out_links(at)) {
      if (is_switch(topology.kind(link.to))) continue;
      std::uint32_t& host = out[index(link.to)];
      if (host == out[index(at)]) continue;
      if (host != kNoHost) {
        cannot_say(format, fmt::format("{} joins the hosts {} and {}", topology.node_name(link.to),
                                       topology.host_name(static_cast<HostId>(host)),
                                       topology.host_name(static_cast<HostId>(out[index(at)]))));
      }
      host = out[index(at)];
      open.push_back(link.to);
    }
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto node = static_cast<NodeId>(i);
    if (out[i] == kNoHost && !is_switch(topology.kind(node)))
      cannot_say(format, fmt::format("{} stands in no host", topology.node_name(node)));
  }
  return out;
}

std::vector<std::uint32_t> minipod_of_leaves(const Topology& topology) {
  std::vector<std::uint32_t> out(topology.node_count(), 0);
  for (std::size_t gpu = 0; gpu < topology.gpu_count(); ++gpu) {
    const auto id = static_cast<GpuId>(gpu);
    for (const Link& link : topology.out_links(topology.nic_node(id))) {
      if (topology.kind(link.to) == NodeKind::leaf)
        out[index(link.to)] =
            static_cast<std::uint32_t>(index(topology.host(topology.host_of(id)).minipod));
    }
  }
  return out;
}

bool has_default_nics(const Topology& topology, const Host& host, const std::vector<NodeId>& nics) {
  for (std::size_t i = 0; i < host.gpus; ++i) {
    const auto gpu = static_cast<GpuId>(index(host.first_gpu) + i);
    const NodeId expected =
        nics.empty() ? topology.gpu_node(gpu) : nics[i * nics.size() / host.gpus];
    if (topology.nic_node(gpu) != expected) return false;
  }
  return true;
}

std::string bandwidth_text(Bandwidth bandwidth) {
  constexpr std::int64_t kGbps = 125'000'000;
  if (bandwidth.bytes_per_s() % kGbps == 0)
    return fmt::format("{}Gbps", bandwidth.bytes_per_s() / kGbps);
  return fmt::format("{}B/s", bandwidth.bytes_per_s());
}

std::string duration_text(Duration duration) {
  constexpr std::int64_t kTicksPerNanosecond = kTicksPerSecond / 1'000'000'000;
  constexpr std::int64_t kPicosecondsPerTick = 1'000 / kTicksPerNanosecond;
  if (duration.count() % kTicksPerNanosecond == 0)
    return fmt::format("{}ns", duration.count() / kTicksPerNanosecond);
  return fmt::format("{}ps", duration.count() * kPicosecondsPerTick);
}

namespace {

/// The links from one node to another: the first and how many.
std::pair<std::size_t, std::size_t> links_between(const Topology& topology, NodeId from,
                                                  NodeId to) {
  const auto links = topology.out_links(from);
  const auto first = std::lower_bound(links.begin(), links.end(), to,
                                      [](const Link& a, NodeId node) { return a.to < node; });
  const auto last = std::find_if(first, links.end(), [to](const Link& a) { return a.to != to; });
  return {index(topology.first_out_link(from)) + static_cast<std::size_t>(first - links.begin()),
          static_cast<std::size_t>(last - first)};
}

bool alike(const Link& a, const Link& b) {
  return a.capacity == b.capacity && a.latency == b.latency && a.tier == b.tier;
}

}  // namespace

CableList cables_of(const Topology& topology) {
  CableList out;
  for (std::size_t i = 0; i < topology.links().size();) {
    const Link& link = topology.links()[i];
    const auto [first, count] = links_between(topology, link.from, link.to);
    const auto [first_back, count_back] = links_between(topology, link.to, link.from);
    bool equal = count == count_back;
    for (std::size_t k = 0; equal && k < count; ++k)
      equal = alike(topology.links()[first + k], topology.links()[first_back + k]);
    for (std::size_t k = 0; k < count; ++k) {
      if (!equal) out.one_way.push_back(static_cast<LinkId>(first + k));
      if (equal && link.from < link.to) out.cables.push_back(static_cast<LinkId>(first + k));
    }
    i += count;
  }
  return out;
}

namespace {

/// Follows single cables, taking the least capacity and the sum of latencies.
class PortWay {
 public:
  PortWay(const Topology& topology, std::string_view format)
      : topology_(topology), format_(format) {}

  void follow(NodeId from, NodeId to, HostPort& port) const {
    const auto [first, count] = links_between(topology_, from, to);
    if (count != 1) {
      cannot_say(format_, fmt::format("{} and {} are joined by {} cables",
                                      topology_.node_name(from), topology_.node_name(to), count));
    }
    port.capacity = std::min(port.capacity, topology_.links()[first].capacity);
    port.latency += topology_.links()[first].latency;
  }

  /// From a GPU to its NIC, over the PCIe switch where there is one.
  void follow_to_nic(NodeId nic, HostPort& port) const {
    if (nic == port.gpu) return;
    NodeId before = port.gpu;
    for (const Link& link : topology_.out_links(port.gpu)) {
      if (topology_.kind(link.to) == NodeKind::pcie_switch) before = link.to;
    }
    if (before != port.gpu) follow(port.gpu, before, port);
    follow(before, nic, port);
  }

 private:
  const Topology& topology_;
  std::string_view format_;
};

}  // namespace

std::vector<HostPort> host_ports(const Topology& topology, std::string_view format) {
  std::vector<HostPort> out;
  std::vector<std::uint32_t> users(topology.node_count(), 0);
  const PortWay way(topology, format);
  for (std::size_t i = 0; i < topology.gpu_count(); ++i) {
    const auto gpu = static_cast<GpuId>(i);
    const NodeId nic = topology.nic_node(gpu);
    HostPort port{topology.gpu_node(gpu), {}, Bandwidth(INT64_MAX), {}};
    if (++users[index(nic)] > 1) {
      cannot_say(format, fmt::format("{} serves several GPUs, and the format knows no NICs",
                                     topology.node_name(nic)));
    }
    way.follow_to_nic(nic, port);
    std::size_t uplinks = 0;
    for (const Link& link : topology.out_links(nic)) {
      if (!is_switch(topology.kind(link.to))) continue;
      if (++uplinks > 1 && nic != port.gpu) {
        cannot_say(format, fmt::format("{} has several cables into the fabric, and the format "
                                       "knows no NICs that share the way to a GPU",
                                       topology.node_name(nic)));
      }
      HostPort whole = port;
      whole.leaf = link.to;
      way.follow(nic, link.to, whole);
      out.push_back(whole);
    }
  }
  return out;
}

}  // namespace railyard::topology
