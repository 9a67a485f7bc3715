// ibnetdiscover: the topology file that infiniband-diags' `ibnetdiscover` prints. A block per node:
//
//   Switch 40 "S-b83fd2030055a040"  # "leaf-1" enhanced port 0 lid 12 lmc 0
//   [1] "H-0c42a10300fa10c2"[1](c42a10300fa10c2)  # "gpu-001 mlx5_0" lid 33 4xHDR
//   Ca 1 "H-0c42a10300fa10c2"  # "gpu-001 mlx5_0"
//   [1](c42a10300fa10c2) "S-b83fd2030055a040"[1]  # lid 33 lmc 0 "leaf-1" lid 12 4xHDR
//
// A node is known by its GUID; what stands behind # gives its name, and a cable's width and speed.
// Every cable is stated by both of its ends. Other lines of a block (vendid=, devid=, …) and
// chassis headings say nothing about cables. End points that switches carry for in-network
// reduction, and routers to other subnets, are left out with their cables. Ports that are down do
// not appear.
#include <fmt/format.h>

#include <map>
#include <unordered_map>

#include "railyard/config/text_lines.hpp"
#include "topology/readers/discovered_fabric.hpp"
#include "topology/readers/infiniband.hpp"
#include "topology/readers/readers.hpp"

namespace railyard::topology {
namespace {

using infiniband::Scanner;

constexpr std::uint32_t kSwitchPortsMax = 254;  // InfiniBand counts ports in 8 bits

/// A port's line, until all nodes are known.
struct PortLine {
  DeviceEnd from;
  std::string_view to;  ///< identity of the node
  std::uint32_t to_port = 0;
  Bandwidth bandwidth;
  std::uint32_t line = 0;
};

class IbnetdiscoverReader {
 public:
  IbnetdiscoverReader(const FabricFile& file, config::Errors& errors)
      : file_(file), errors_(errors), fabric_(file) {}

  DiscoveredFabric read() {
    const std::size_t before = errors_.count();
    config::for_each_line(file_.text, [this](std::string_view line) {
      ++line_;
      read_line(line);
    });
    for (const PortLine& port : ports_) {
      const auto it = devices_.find(port.to);
      if (it == devices_.end()) {
        errors_.add(fmt::format("{}: {} leads to \"{}\", of which the file does not speak",
                                file_.place(port.line), fabric_.end_name(port.from), port.to));
        continue;
      }
      if (it->second == kLeftOut) continue;
      fabric_.state_end({port.from, {it->second, port.to_port}, port.bandwidth, port.line});
    }
    if (errors_.count() == before) fabric_.join_ends(errors_);
    return std::move(fabric_);
  }

 private:
  void fail(const std::string& text) {
    errors_.add(fmt::format("{}: {}", file_.place(line_), text));
  }

  void read_line(std::string_view text) {
    Scanner scan(text);
    if (scan.at_end()) return;
    if (scan.rest().front() == '[') return read_port(scan);
    for (const std::string_view kind : {"Switch", "Ca", "Rt"}) {
      if (!scan.take(kind)) continue;
      const auto ports = scan.number();
      const auto id = scan.quoted();
      if (!ports || !id)
        return fail(fmt::format("expected: {} PORTS \"IDENTITY\" # \"NAME\"", kind));
      return read_node(kind, *ports, *id, scan);
    }
    if (scan.rest().front() == '#' || scan.rest().starts_with("Chassis")) return;
    if (scan.rest().find('=') != std::string_view::npos) return;
    fail(fmt::format("unknown line: \"{}\"", text.substr(0, 60)));
  }

  void read_node(std::string_view kind, std::uint32_t ports, std::string_view id, Scanner scan) {
    if (ports == 0 || ports > kSwitchPortsMax)
      fail(fmt::format("{} ports; there are 1 to {}", ports, kSwitchPortsMax));
    ports_here_ = ports;
    std::string_view name = id;
    if (scan.take("#")) {
      if (const auto given = scan.quoted(); given && !given->empty()) name = *given;
    }
    std::uint32_t device = kLeftOut;
    if (kind == "Switch") {
      device = fabric_.add_switch(std::string(name), line_);
    } else if (kind == "Ca" && !infiniband::is_aggregation_node(name)) {
      auto [host, nic] = infiniband::host_and_nic(name);
      device = fabric_.add_nic(std::move(host), std::move(nic), line_);
    }
    const auto [it, added] = devices_.try_emplace(id, device);
    if (!added) {
      fail(fmt::format("\"{}\" is described twice: first at {}", id, file_.place(lines_.at(id))));
    }
    lines_.try_emplace(id, line_);
    device_ = device;
    inside_ = true;
  }

  /// [1](portguid) "identity"[2](portguid) # … 4xHDR
  void read_port(Scanner scan) {
    if (!inside_) return fail("a port before any node");
    const auto number = [&scan]() -> std::optional<std::uint32_t> {
      if (!scan.take("[")) return std::nullopt;
      const auto port = scan.number();
      if (!port || !scan.take("]")) return std::nullopt;
      if (scan.take("[ext")) {
        static_cast<void>(scan.number());
        if (!scan.take("]")) return std::nullopt;
      }
      if (scan.take("(") && (!scan.hexadecimal() || !scan.take(")"))) return std::nullopt;
      return port;
    };
    const auto port = number();
    const auto id = port ? scan.quoted() : std::nullopt;
    const auto to_port = id ? number() : std::nullopt;
    if (!port || !id || !to_port || !scan.take("#")) {
      return fail("expected: [PORT] \"IDENTITY\"[PORT] # … WIDTHxSPEED");
    }
    if (*port == 0 || *port > ports_here_)
      return fail(fmt::format("port {} of a node of {} ports", *port, ports_here_));
    if (device_ == kLeftOut) return;
    const auto rate = rate_in(scan.rest());
    if (!rate) {
      return fail(fmt::format("no width and speed that are known (as 4xHDR) in \"{}\"",
                              scan.rest().substr(0, 60)));
    }
    ports_.push_back({{device_, *port}, *id, *to_port, *rate, line_});
  }

  /// The last word outside quotes that reads as width and speed.
  static std::optional<Bandwidth> rate_in(std::string_view comment) {
    std::optional<Bandwidth> out;
    Scanner scan(comment);
    while (!scan.at_end()) {
      if (scan.quoted()) continue;
      const std::string_view word = scan.word();
      if (const auto rate = infiniband::parse_link_rate(word)) out = rate;
    }
    return out;
  }

  const FabricFile& file_;
  config::Errors& errors_;
  DiscoveredFabric fabric_;
  std::uint32_t line_ = 0;
  bool inside_ = false;
  std::uint32_t device_ = kLeftOut;  ///< whose block it is
  std::uint32_t ports_here_ = 0;
  std::unordered_map<std::string_view, std::uint32_t> devices_;  ///< by identity
  std::unordered_map<std::string_view, std::uint32_t> lines_;
  std::vector<PortLine> ports_;
};

}  // namespace

bool is_ibnetdiscover(std::string_view text) {
  return text.find("\nSwitch\t") != std::string_view::npos &&
         text.find("\"S-") != std::string_view::npos;
}

Topology read_ibnetdiscover(const FabricFile& file, config::Reader& options) {
  const std::size_t before = options.errors().count();
  const DiscoveredOptions wanted =
      read_discovered_options(options, {.states_bandwidth = true, .states_nics = true});
  const DiscoveredFabric fabric = IbnetdiscoverReader(file, options.errors()).read();
  if (options.errors().count() != before) return {};
  return assemble_discovered("ibnetdiscover", fabric, wanted, options.errors());
}

}  // namespace railyard::topology
