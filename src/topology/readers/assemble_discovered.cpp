#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "topology/leveled_paths.hpp"
#include "topology/readers/discovered_fabric.hpp"

namespace railyard::topology {
namespace {

constexpr std::uint32_t kNoPart = 0xffffffff;
constexpr std::uint8_t kNoLevel = 0xff;
/// Far more than any tree has; a longer chain of switches is no fabric for training.
constexpr std::uint8_t kDepthMax = 60;

struct Natural {
  bool operator()(const std::string& a, const std::string& b) const { return natural_less(a, b); }
};

/// A cabled port of a host.
struct NicPort {
  std::uint32_t device = 0;
  std::uint32_t port = 0;
  std::uint32_t leaf = 0;  ///< device
  std::size_t cable = 0;
};

struct FoundHost {
  std::string name;
  std::uint32_t line = 0;
  std::vector<NicPort> ports;
  std::uint32_t gpus = 0;
};

/// What is known of a part of the fabric below the core.
struct Part {
  std::string first_host;
  std::vector<std::uint32_t> tops;  ///< its highest switches
  std::uint8_t height = 0;
};

class Assembly {
 public:
  Assembly(std::string_view reader, const DiscoveredFabric& fabric,
           const DiscoveredOptions& options, config::Errors& errors)
      : reader_(reader),
        fabric_(fabric),
        devices_(fabric.devices()),
        options_(options),
        errors_(errors) {}

  Topology run() {
    const std::size_t before = errors_.count();
    leave_out();
    check_names();
    collect_ports();
    if (errors_.count() != before) return {};
    infer_levels();
    if (errors_.count() != before) return {};
    find_parts();
    size_hosts();
    if (errors_.count() != before) return {};
    return build();
  }

 private:
  void fail(std::uint32_t line, const std::string& text) {
    errors_.add(fmt::format("{}: {}", fabric_.file().place(line), text));
  }

  void leave_out() {
    left_out_.assign(devices_.size(), false);
    std::vector<bool> used(options_.ignore.size(), false);
    for (std::uint32_t i = 0; i < devices_.size(); ++i) {
      if (devices_[i].is_switch) continue;
      for (std::size_t p = 0; p < used.size(); ++p) {
        const std::string& pattern = options_.ignore[p];
        if (!matches(pattern, devices_[i].name) && !matches(pattern, fabric_.device_name(i)))
          continue;
        used[p] = true;
        left_out_[i] = true;
      }
    }
    for (std::size_t p = 0; p < used.size(); ++p) {
      if (used[p]) continue;
      errors_.add(fmt::format("{}: \"ignore\": no host or NIC matches \"{}\"", fabric_.file().name,
                              options_.ignore[p]));
    }
  }

  void check_names() {
    std::map<std::string, std::uint32_t> seen;
    std::map<std::string, std::uint32_t> hosts;
    for (std::uint32_t i = 0; i < devices_.size(); ++i) {
      if (left_out_[i]) continue;
      const std::string name = fabric_.device_name(i);
      if (name.empty()) {
        fail(devices_[i].line, "a device without a name");
        continue;
      }
      const auto [it, added] = seen.try_emplace(name, i);
      if (!devices_[i].is_switch) hosts.try_emplace(devices_[i].name, i);
      if (added) continue;
      fail(devices_[i].line, fmt::format("duplicate name \"{}\": first at {}", name,
                                         fabric_.file().place(devices_[it->second].line)));
    }
    for (std::uint32_t i = 0; i < devices_.size(); ++i) {
      if (!devices_[i].is_switch) continue;
      const auto it = hosts.find(devices_[i].name);
      if (it == hosts.end() || devices_[it->second].nic.empty()) continue;
      fail(devices_[i].line,
           fmt::format("switch \"{}\" bears the name of the host at {}", devices_[i].name,
                       fabric_.file().place(devices_[it->second].line)));
    }
  }

  /// True when the cable joins two switches, or a NIC to a switch, and no port twice.
  bool sound(const DiscoveredCable& cable, std::map<DeviceEnd, std::uint32_t>& taken) {
    if (cable.a.device == cable.b.device) {
      fail(cable.line,
           fmt::format("a cable from {} to itself", fabric_.device_name(cable.a.device)));
      return false;
    }
    if (!devices_[cable.a.device].is_switch && !devices_[cable.b.device].is_switch) {
      fail(cable.line, fmt::format("a cable between the hosts {} and {}: they need a switch",
                                   fabric_.end_name(cable.a), fabric_.end_name(cable.b)));
      return false;
    }
    if (cable.bandwidth && *cable.bandwidth < kBandwidthMin) {
      fail(cable.line, "a link slower than 10Mbps");
      return false;
    }
    for (const DeviceEnd& end : {cable.a, cable.b}) {
      if (end.port == 0) continue;
      const auto [it, added] = taken.try_emplace(end, cable.line);
      if (added) continue;
      fail(cable.line, fmt::format("{} is stated twice: first at {}", fabric_.end_name(end),
                                   fabric_.file().place(it->second)));
      return false;
    }
    return true;
  }

  void collect_ports() {
    std::map<DeviceEnd, std::uint32_t> taken;
    std::map<std::string, FoundHost, Natural> hosts;
    for (std::uint32_t i = 0; i < devices_.size(); ++i) {
      if (devices_[i].is_switch || left_out_[i]) continue;
      auto [it, added] = hosts.try_emplace(devices_[i].name);
      if (added) it->second = {devices_[i].name, devices_[i].line, {}, 0};
    }
    uplinks_.resize(devices_.size());
    for (std::size_t c = 0; c < fabric_.cables().size(); ++c) {
      const DiscoveredCable& cable = fabric_.cables()[c];
      if (left_out_[cable.a.device] || left_out_[cable.b.device]) continue;
      if (!sound(cable, taken)) continue;
      if (devices_[cable.a.device].is_switch && devices_[cable.b.device].is_switch) {
        uplinks_[cable.a.device].push_back(cable.b.device);
        uplinks_[cable.b.device].push_back(cable.a.device);
        switch_cables_.push_back(c);
        continue;
      }
      const bool a_is_nic = devices_[cable.b.device].is_switch;
      const DeviceEnd& nic = a_is_nic ? cable.a : cable.b;
      const DeviceEnd& leaf = a_is_nic ? cable.b : cable.a;
      hosts[devices_[nic.device].name].ports.push_back({nic.device, nic.port, leaf.device, c});
    }
    for (auto& [name, host] : hosts) {
      std::sort(host.ports.begin(), host.ports.end(), [&](const NicPort& x, const NicPort& y) {
        const std::string& a = devices_[x.device].nic;
        const std::string& b = devices_[y.device].nic;
        if (a != b) return natural_less(a, b);
        return std::tie(x.port, x.cable) < std::tie(y.port, y.cable);
      });
      if (host.ports.empty()) {
        fail(host.line, fmt::format("disconnected: host \"{}\" has no cable to any switch", name));
      }
      hosts_.push_back(std::move(host));
    }
    if (hosts_.empty())
      errors_.add(fmt::format("{}: there is no host with a GPU in it", fabric_.file().name));
  }

  void infer_levels() {
    level_.assign(devices_.size(), kNoLevel);
    std::vector<std::uint32_t> open;
    for (const FoundHost& host : hosts_) {
      for (const NicPort& port : host.ports) {
        if (level_[port.leaf] == 0) continue;
        level_[port.leaf] = 0;
        open.push_back(port.leaf);
      }
    }
    for (std::size_t i = 0; i < open.size(); ++i) {
      for (const std::uint32_t next : uplinks_[open[i]]) {
        if (level_[next] != kNoLevel) continue;
        if (level_[open[i]] == kDepthMax) {
          fail(devices_[next].line, fmt::format("switch \"{}\" is more than {} switches away from "
                                                "any host",
                                                devices_[next].name, kDepthMax));
          return;
        }
        level_[next] = static_cast<std::uint8_t>(level_[open[i]] + 1);
        open.push_back(next);
      }
    }
    for (std::uint32_t i = 0; i < devices_.size(); ++i) {
      if (!devices_[i].is_switch) continue;
      if (level_[i] == kNoLevel) {
        fail(devices_[i].line,
             fmt::format("disconnected: switch \"{}\" has no way to any host", devices_[i].name));
        continue;
      }
      top_ = std::max(top_, level_[i]);
    }
    check_connected();
  }

  /// Marks what hangs together with `start`, among switches of a level below `below`.
  void mark(std::uint32_t start, std::uint32_t number, std::uint8_t below,
            std::vector<std::uint32_t>& part) const {
    std::vector<std::uint32_t> open{start};
    part[start] = number;
    while (!open.empty()) {
      const std::uint32_t at = open.back();
      open.pop_back();
      for (const std::uint32_t next : uplinks_[at]) {
        if (part[next] != kNoPart || level_[next] >= below) continue;
        part[next] = number;
        open.push_back(next);
      }
    }
  }

  void check_connected() {
    std::vector<std::uint32_t> part(devices_.size(), kNoPart);
    std::uint32_t parts = 0;
    for (const FoundHost& host : hosts_) {
      for (const NicPort& port : host.ports) {
        if (part[port.leaf] != kNoPart) continue;
        if (parts > 0) {
          const NicPort& first = hosts_.front().ports.front();
          fail(devices_[port.leaf].line,
               fmt::format("disconnected: there is no path from switch \"{}\" to \"{}\" at {}",
                           devices_[port.leaf].name, devices_[first.leaf].name,
                           fabric_.file().place(devices_[first.leaf].line)));
        }
        mark(port.leaf, parts++, kNoLevel, part);
      }
    }
  }

  [[nodiscard]] bool has_core() const { return top_ >= 2; }

  void find_parts() {
    part_.assign(devices_.size(), kNoPart);
    for (const FoundHost& host : hosts_) {
      for (const NicPort& port : host.ports) {
        if (part_[port.leaf] == kNoPart) {
          mark(port.leaf, static_cast<std::uint32_t>(parts_.size()), has_core() ? top_ : kNoLevel,
               part_);
          parts_.push_back({host.name, {}, 0});
        }
        first_host_.try_emplace(port.leaf, host.name);
      }
    }
    for (std::uint32_t i = 0; i < devices_.size(); ++i) {
      if (part_[i] == kNoPart) continue;
      Part& part = parts_[part_[i]];
      if (level_[i] > part.height) {
        part.height = level_[i];
        part.tops.clear();
      }
      if (level_[i] == part.height) part.tops.push_back(i);
    }
    // Hosts are in order of names so far; a host belongs to the leaf and part of its first port.
    std::stable_sort(hosts_.begin(), hosts_.end(), [&](const FoundHost& x, const FoundHost& y) {
      const std::uint32_t a = x.ports.front().leaf;
      const std::uint32_t b = y.ports.front().leaf;
      const std::string& part_a = parts_[part_[a]].first_host;
      const std::string& part_b = parts_[part_[b]].first_host;
      if (part_a != part_b) return natural_less(part_a, part_b);
      const std::string& leaf_a = first_host_.at(a);
      const std::string& leaf_b = first_host_.at(b);
      if (leaf_a != leaf_b) return natural_less(leaf_a, leaf_b);
      return a < b;
    });
  }

  void size_hosts() {
    bool islands = false;
    for (FoundHost& host : hosts_) {
      const auto ports = static_cast<std::uint32_t>(host.ports.size());
      host.gpus = options_.gpus_per_host.value_or(ports);
      if (host.gpus % ports != 0) {
        fail(host.line,
             fmt::format("host \"{}\" has {} NIC ports, which do not divide {} GPUs: leave some "
                         "out with \"ignore\", or set \"gpus_per_host\"",
                         host.name, ports, host.gpus));
      }
      if (host.gpus > 1 && !islands && !options_.nvlink && !options_.pcie) {
        fail(host.line,
             fmt::format("host \"{}\" has {} GPUs and nothing says how they talk to each other: "
                         "give \"nvlink\" or \"pcie\"",
                         host.name, host.gpus));
      }
      islands = islands || host.gpus > 1;
    }
    if (!islands && options_.nvlink) {
      errors_.add(
          fmt::format("{}: \"nvlink\": no host has two GPUs; \"gpus_per_host\" says how "
                      "many there are",
                      fabric_.file().name));
    }
    check_speeds();
  }

  /// Every link has a speed, from the file or the description; none that is given goes unused.
  void check_speeds() {
    std::vector<std::size_t> nic_cables;
    std::vector<std::size_t> core_cables;
    std::vector<std::size_t> other_cables;
    for (const FoundHost& host : hosts_) {
      for (const NicPort& port : host.ports) nic_cables.push_back(port.cable);
    }
    for (const std::size_t c : switch_cables_)
      (to_core(fabric_.cables()[c]) ? core_cables : other_cables).push_back(c);
    check_speed("nic", options_.nic, nic_cables);
    check_speed("switch_link", options_.switch_link, other_cables);
    check_speed("core_link", options_.core_link, core_cables);
  }

  void check_speed(std::string_view key, const LinkTerms& terms,
                   const std::vector<std::size_t>& cables) {
    const auto without = std::find_if(cables.begin(), cables.end(), [&](std::size_t c) {
      return !fabric_.cables()[c].bandwidth.has_value();
    });
    if (terms.given && cables.empty()) {
      errors_.add(
          fmt::format("{}: \"{}\": the fabric has no such links", fabric_.file().name, key));
    } else if (without != cables.end() && !terms.bandwidth) {
      fail(fabric_.cables()[*without].line,
           fmt::format("the file states no speed of this link: give \"{}\": {{\"bandwidth\": …}}",
                       key));
    } else if (terms.given && terms.bandwidth && without == cables.end()) {
      errors_.add(
          fmt::format("{}: \"{}\": the file states the speed of all these links: leave "
                      "\"bandwidth\" out",
                      fabric_.file().name, key));
    }
  }

  [[nodiscard]] bool to_core(const DiscoveredCable& cable) const {
    return kind_of(cable.a.device) == NodeKind::core || kind_of(cable.b.device) == NodeKind::core;
  }

  [[nodiscard]] NodeKind kind_of(std::uint32_t device) const {
    if (level_[device] == 0) return NodeKind::leaf;
    return has_core() && level_[device] == top_ ? NodeKind::core : NodeKind::spine;
  }

  static LinkSpec spec_of(const DiscoveredCable& cable, const LinkTerms& terms) {
    return {cable.bandwidth ? *cable.bandwidth : terms.bandwidth.value_or(Bandwidth{}),
            terms.efficiency, terms.latency};
  }

  static void add_ports(GraphBuilder& graph, NodeId a, NodeId b, const Cable& cable,
                        std::uint32_t port_a, std::uint32_t port_b) {
    const auto narrow = [](std::uint32_t port) {
      return static_cast<std::uint16_t>(port <= 0xffff ? port : 0);
    };
    graph.add_link({a, b, cable.capacity, cable.latency, cable.tier, narrow(port_a)});
    graph.add_link({b, a, cable.capacity, cable.latency, cable.tier, narrow(port_b)});
  }

  [[nodiscard]] std::string nic_name(const FoundHost& host, std::size_t i) const {
    const NicPort& port = host.ports[i];
    const std::string& nic = devices_[port.device].nic;
    const auto same = std::count_if(host.ports.begin(), host.ports.end(),
                                    [&](const NicPort& it) { return it.device == port.device; });
    if (nic.empty()) return fmt::format("{}/nic{}", host.name, i);
    return same == 1 ? fmt::format("{}/{}", host.name, nic)
                     : fmt::format("{}/{}:{}", host.name, nic, port.port);
  }

  void add_host(GraphBuilder& graph, const FoundHost& host, LeafId leaf, MinipodId minipod) {
    std::vector<NodeId> gpus;
    std::vector<NodeId> nics;
    std::vector<NodeId> nic_of_gpu;
    for (std::uint32_t i = 0; i < host.gpus; ++i)
      gpus.push_back(graph.add_node(NodeKind::gpu, fmt::format("{}/gpu{}", host.name, i)));
    NodeId island{};
    if (host.gpus > 1) {
      const NodeKind kind = options_.nvlink ? NodeKind::nvswitch : NodeKind::pcie_switch;
      island = graph.add_node(kind, fmt::format("{}/{}", host.name, name(kind)));
    }
    const bool through_island = host.gpus > 1 && !options_.nvlink;
    for (std::size_t i = 0; i < host.ports.size(); ++i) {
      nics.push_back(graph.add_node(NodeKind::nic, nic_name(host, i)));
      if (through_island) graph.add_cable(island, nics.back(), options_.pcie->cable(Tier::host));
    }
    for (std::uint32_t i = 0; i < host.gpus; ++i) {
      const std::size_t nic = std::size_t{i} * nics.size() / host.gpus;
      nic_of_gpu.push_back(nics[nic]);
      if (host.gpus > 1) {
        graph.add_cable(gpus[i], island,
                        through_island ? options_.pcie->cable(Tier::host)
                                       : options_.nvlink->cable(Tier::nvlink));
      }
      if (through_island) continue;
      LinkSpec pcie;
      pcie.bandwidth = spec_of(fabric_.cables()[host.ports[nic].cable], options_.nic).bandwidth;
      graph.add_cable(gpus[i], nics[nic], options_.pcie.value_or(pcie).cable(Tier::host));
    }
    graph.add_host(leaf, minipod, gpus, nic_of_gpu);
    for (std::size_t i = 0; i < nics.size(); ++i) nic_nodes_.push_back({nics[i], &host.ports[i]});
  }

  [[nodiscard]] std::string part_name(std::uint32_t part) const {
    if (parts_[part].tops.size() == 1) return devices_[parts_[part].tops.front()].name;
    return fmt::format("minipod-{}", part);
  }

  void add_hosts(GraphBuilder& graph) {
    std::map<std::uint32_t, LeafId> leaves;
    std::map<std::uint32_t, MinipodId> minipods;
    std::vector<std::string> names;
    for (const FoundHost& host : hosts_) {
      const std::uint32_t leaf = host.ports.front().leaf;
      if (!leaves.contains(leaf)) leaves.emplace(leaf, graph.add_leaf(devices_[leaf].name));
      const std::uint32_t part = part_[leaf];
      if (!minipods.contains(part)) {
        const auto number = static_cast<std::uint32_t>(minipods.size());
        const std::string name =
            parts_[part].tops.size() == 1 ? part_name(part) : fmt::format("minipod-{}", number);
        minipods.emplace(part, graph.add_minipod(name));
      }
      add_host(graph, host, leaves.at(leaf), minipods.at(part));
      names.push_back(host.name);
    }
    graph.set_host_names(std::move(names));
  }

  void add_switches(GraphBuilder& graph) {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < devices_.size(); ++i) {
      if (devices_[i].is_switch) order.push_back(i);
    }
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      if (level_[a] != level_[b]) return level_[a] < level_[b];
      return natural_less(devices_[a].name, devices_[b].name);
    });
    node_of_.assign(devices_.size(), NodeId{});
    for (const std::uint32_t i : order) {
      node_of_[i] = graph.add_node(kind_of(i), devices_[i].name);
      node_level_.resize(graph.node_count(), kNoLevel);
      node_level_.back() = level_[i];
    }
  }

  Topology build() {
    GraphBuilder graph(std::string(reader_), options_.gpu_kind);
    add_hosts(graph);
    add_switches(graph);
    for (const auto& [nic, port] : nic_nodes_) {
      const DiscoveredCable& cable = fabric_.cables()[port->cable];
      const std::uint32_t leaf_port = cable.a.device == port->leaf ? cable.a.port : cable.b.port;
      add_ports(graph, nic, node_of_[port->leaf], spec_of(cable, options_.nic).cable(Tier::leaf),
                port->port, leaf_port);
    }
    for (const std::size_t c : switch_cables_) {
      const DiscoveredCable& cable = fabric_.cables()[c];
      const bool core = to_core(cable);
      const LinkTerms& terms = core ? options_.core_link : options_.switch_link;
      const Cable link = spec_of(cable, terms).cable(core ? Tier::core : Tier::minipod);
      for (std::uint32_t i = 0; i < terms.count; ++i) {
        add_ports(graph, node_of_[cable.a.device], node_of_[cable.b.device], link, cable.a.port,
                  cable.b.port);
      }
    }
    graph.freeze();
    auto paths = make_leveled_paths(graph.view(), std::move(node_level_));
    if (const auto cut = paths->unreachable()) {
      errors_.add(fmt::format("{}: there is no path of at most 254 switches between two leaves",
                              fabric_.file().name));
      return {};
    }
    return graph.take(std::move(paths));
  }

  std::string_view reader_;
  const DiscoveredFabric& fabric_;
  const std::vector<Device>& devices_;
  const DiscoveredOptions& options_;
  config::Errors& errors_;
  std::vector<bool> left_out_;  ///< by device
  std::vector<FoundHost> hosts_;
  std::vector<std::vector<std::uint32_t>> uplinks_;  ///< switches next to each switch
  std::vector<std::size_t> switch_cables_;
  std::vector<std::uint8_t> level_;  ///< by device
  std::uint8_t top_ = 0;
  std::vector<std::uint32_t> part_;  ///< by device: minipod, kNoPart for the core
  std::vector<Part> parts_;
  std::map<std::uint32_t, std::string> first_host_;  ///< of each leaf
  std::vector<std::pair<NodeId, const NicPort*>> nic_nodes_;
  std::vector<NodeId> node_of_;  ///< by device, of switches
  std::vector<std::uint8_t> node_level_;
};

}  // namespace

Topology assemble_discovered(std::string_view reader, const DiscoveredFabric& fabric,
                             const DiscoveredOptions& options, config::Errors& errors) {
  return Assembly(reader, fabric, options, errors).run();
}

}  // namespace railyard::topology
