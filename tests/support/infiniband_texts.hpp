// An InfiniBand fabric in the words of the tools that print or simulate it, for tests: our own
// writer of what ibnetdiscover and iblinkinfo print and of ibsim's .net files.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

namespace railyard::test {

struct IbNode {
  std::string name;
  bool is_switch = false;
  std::uint32_t ports = 1;
};

struct IbCable {
  std::uint32_t a = 0;
  std::uint32_t port_a = 1;
  std::uint32_t b = 0;
  std::uint32_t port_b = 1;
  std::string rate = "4xSDR";                   ///< as ibnetdiscover says it
  std::string lanes_and_speed = "4X 2.5 Gbps";  ///< as iblinkinfo does
  bool dead = false;
};

struct IbFabric {
  std::vector<IbNode> nodes;
  std::vector<IbCable> cables;

  [[nodiscard]] std::uint64_t guid(std::uint32_t node) const {
    return nodes[node].is_switch ? 0x200000U + node : 0x100000U + 2 * std::uint64_t{node};
  }
  [[nodiscard]] std::string identity(std::uint32_t node) const {
    return fmt::format("{}-{:016x}", nodes[node].is_switch ? 'S' : 'H', guid(node));
  }
};

/// Pods of leaves and spines, every leaf on every spine of its pod; spine s of each pod on the
/// cores s × uplinks … (s + 1) × uplinks − 1. Without uplinks and with one pod: two levels. Ports
/// of a leaf: hosts first, then spines; of a spine: leaves, then cores; of a core: pods.
struct FatTree {
  std::uint32_t pods = 1;
  std::uint32_t leaves = 1;  ///< of a pod
  std::uint32_t hosts = 1;   ///< of a leaf
  std::uint32_t spines = 1;  ///< of a pod
  std::uint32_t uplinks = 0;
  std::string rate = "4xSDR";
  std::string lanes_and_speed = "4X 2.5 Gbps";
};

[[nodiscard]] inline IbFabric infiniband_fat_tree(const FatTree& tree) {
  IbFabric out;
  const auto add = [&out](std::string name, bool is_switch, std::uint32_t ports) {
    out.nodes.push_back({std::move(name), is_switch, ports});
    return static_cast<std::uint32_t>(out.nodes.size() - 1);
  };
  const auto join = [&](std::uint32_t a, std::uint32_t port_a, std::uint32_t b,
                        std::uint32_t port_b) {
    out.cables.push_back({a, port_a, b, port_b, tree.rate, tree.lanes_and_speed, false});
  };
  std::vector<std::uint32_t> cores;
  for (std::uint32_t c = 0; c < tree.spines * tree.uplinks; ++c)
    cores.push_back(add(fmt::format("core{:03}", c + 1), true, tree.pods));
  std::uint32_t host_number = 0;
  for (std::uint32_t p = 0; p < tree.pods; ++p) {
    std::vector<std::uint32_t> spines;
    for (std::uint32_t s = 0; s < tree.spines; ++s) {
      spines.push_back(
          add(fmt::format("pod{}-spine{}", p + 1, s + 1), true, tree.leaves + tree.uplinks));
      for (std::uint32_t u = 0; u < tree.uplinks; ++u)
        join(cores[s * tree.uplinks + u], p + 1, spines.back(), tree.leaves + u + 1);
    }
    for (std::uint32_t l = 0; l < tree.leaves; ++l) {
      const std::uint32_t leaf =
          add(fmt::format("pod{}-leaf{}", p + 1, l + 1), true, tree.hosts + tree.spines);
      for (std::uint32_t s = 0; s < tree.spines; ++s)
        join(spines[s], l + 1, leaf, tree.hosts + s + 1);
      for (std::uint32_t h = 0; h < tree.hosts; ++h)
        join(leaf, h + 1, add(fmt::format("gpu-{:04}", ++host_number), false, 1), 1);
    }
  }
  return out;
}

/// What is at each port of each node: index of the cable, and whether the node is its end b.
struct IbPort {
  std::uint32_t port = 0;
  std::uint32_t cable = 0;
  bool is_b = false;
};

[[nodiscard]] inline std::vector<std::vector<IbPort>> ports_of(const IbFabric& fabric) {
  std::vector<std::vector<IbPort>> out(fabric.nodes.size());
  for (std::uint32_t c = 0; c < fabric.cables.size(); ++c) {
    out[fabric.cables[c].a].push_back({fabric.cables[c].port_a, c, false});
    out[fabric.cables[c].b].push_back({fabric.cables[c].port_b, c, true});
  }
  return out;
}

[[nodiscard]] inline std::string ibnetdiscover_text(const IbFabric& fabric) {
  std::string out = "#\n# Topology file: written by a test\n#\n";
  const auto ports = ports_of(fabric);
  for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
    const IbNode& node = fabric.nodes[i];
    const std::uint64_t guid = fabric.guid(i);
    out += fmt::format("\nvendid=0x2c9\ndevid=0xd2f0\nsysimgguid={:#x}\n{}guid={:#x}\n", guid,
                       node.is_switch ? "switch" : "ca", guid);
    out += node.is_switch ? fmt::format("Switch\t{} \"{}\"\t\t# \"{}\" base port 0 lid {} lmc 0\n",
                                        node.ports, fabric.identity(i), node.name, i + 1)
                          : fmt::format("Ca\t{} \"{}\"\t\t# \"{}\"\n", node.ports,
                                        fabric.identity(i), node.name);
    for (const IbPort& port : ports[i]) {
      const IbCable& cable = fabric.cables[port.cable];
      if (cable.dead) continue;
      const std::uint32_t other = port.is_b ? cable.a : cable.b;
      const std::uint32_t other_port = port.is_b ? cable.port_a : cable.port_b;
      const IbNode& there = fabric.nodes[other];
      out += node.is_switch
                 ? fmt::format("[{}]\t\"{}\"[{}]{} \t\t# \"{}\" lid {} {}\n", port.port,
                               fabric.identity(other), other_port,
                               there.is_switch ? std::string()
                                               : fmt::format("({:x})", fabric.guid(other) + 1),
                               there.name, other + 1, cable.rate)
                 : fmt::format("[{}]({:x}) \t\"{}\"[{}]\t\t# lid {} lmc 0 \"{}\" lid {} {}\n",
                               port.port, guid + 1, fabric.identity(other), other_port, i + 1,
                               there.name, other + 1, cable.rate);
    }
  }
  return out;
}

[[nodiscard]] inline std::string iblinkinfo_text(const IbFabric& fabric) {
  std::string out;
  const auto ports = ports_of(fabric);
  for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
    const IbNode& node = fabric.nodes[i];
    out += node.is_switch ? fmt::format("Switch: 0x{:016x} {}:\n", fabric.guid(i), node.name)
                          : fmt::format("CA: {}:\n", node.name);
    for (const IbPort& port : ports[i]) {
      const IbCable& cable = fabric.cables[port.cable];
      const std::uint32_t other = port.is_b ? cable.a : cable.b;
      out += node.is_switch ? "    " : fmt::format("      0x{:016x} ", fabric.guid(i) + 1);
      out += fmt::format("{:>7} {:>4}[  ] ==(", i + 1, port.port);
      out += cable.dead
                 ? "                Down/ Polling)==>             [  ] \"\" ( )\n"
                 : fmt::format(" {} Active/  LinkUp)==> {:>7} {:>4}[  ] \"{}\" (Could be 12X)\n",
                               cable.lanes_and_speed, other + 1,
                               port.is_b ? cable.port_a : cable.port_b, fabric.nodes[other].name);
    }
  }
  return out;
}

/// Input of `ibsim -n`: every cable from both ends, names as identities.
[[nodiscard]] inline std::string ibsim_net_text(const IbFabric& fabric) {
  std::string out;
  const auto ports = ports_of(fabric);
  for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
    const IbNode& node = fabric.nodes[i];
    out += fmt::format("{}\t{} \"{}\"\n", node.is_switch ? "Switch" : "Hca", node.ports, node.name);
    for (const IbPort& port : ports[i]) {
      const IbCable& cable = fabric.cables[port.cable];
      if (cable.dead) continue;
      out += fmt::format("[{}]\t\"{}\"[{}]\n", port.port,
                         fabric.nodes[port.is_b ? cable.a : cable.b].name,
                         port.is_b ? cable.port_a : cable.port_b);
    }
    out += '\n';
  }
  return out;
}

}  // namespace railyard::test
