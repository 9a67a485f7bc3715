// iblinkinfo: the links of an InfiniBand fabric as infiniband-diags' `iblinkinfo` prints them, a
// block per node (not the form of --line, which does not tell hosts from switches):
//
//   Switch: 0xb83fd2030055a040 leaf-1:
//     12    1[  ] ==( 4X   53.125 Gbps Active/  LinkUp)==>   33    1[  ] "gpu-001 mlx5_0" ( )
//     12    2[  ] ==(            Down/ Polling)==>          [  ] "" ( )
//   CA: gpu-001 mlx5_0:
//     0x0c42a10300fa10c2     33    1[  ] ==( 4X … )==>   12    1[  ] "leaf-1" ( )
//
// A port is known by its LID and number. Every cable is stated by both of its ends, with the lanes
// and the signalling rate of a lane. Ports that are down have no cable; one whose link is up but
// which the subnet manager has not made active yet has. End points that switches carry for
// in-network reduction are left out.
#include <fmt/format.h>

#include <map>

#include "railyard/config/text_lines.hpp"
#include "topology/readers/discovered_fabric.hpp"
#include "topology/readers/infiniband.hpp"
#include "topology/readers/readers.hpp"

namespace railyard::topology {
namespace {

using infiniband::Scanner;

struct Owner {
  std::uint32_t device = kLeftOut;
  std::uint32_t line = 0;
};

/// A link's line, until all LIDs are known.
struct LinkLine {
  DeviceEnd from;
  std::uint32_t to_lid = 0;
  std::uint32_t to_port = 0;
  std::string_view to_name;
  Bandwidth bandwidth;
  std::uint32_t line = 0;
};

class IblinkinfoReader {
 public:
  IblinkinfoReader(const FabricFile& file, config::Errors& errors)
      : file_(file), errors_(errors), fabric_(file) {}

  DiscoveredFabric read() {
    const std::size_t before = errors_.count();
    config::for_each_line(file_.text, [this](std::string_view line) {
      ++line_;
      read_line(line);
    });
    for (const LinkLine& link : links_) state(link);
    if (errors_.count() == before) fabric_.join_ends(errors_);
    return std::move(fabric_);
  }

 private:
  void fail(const std::string& text) {
    errors_.add(fmt::format("{}: {}", file_.place(line_), text));
  }

  void read_line(std::string_view text) {
    Scanner scan(text);
    if (scan.at_end() || scan.rest().front() == '#') return;
    const bool is_switch = scan.take("Switch:");
    if (is_switch || scan.take("CA:")) return read_node(is_switch, scan);
    if (scan.take("Router:")) {
      inside_ = true;
      device_ = kLeftOut;
      return;
    }
    if (text.find("==(") == std::string_view::npos)
      return fail(fmt::format("unknown line: \"{}\"", text.substr(0, 60)));
    read_link(scan);
  }

  void read_node(bool is_switch, Scanner scan) {
    if (is_switch && !scan.hexadecimal()) return fail("expected: Switch: GUID NAME:");
    std::string_view name = config::trimmed(scan.rest());
    if (!name.ends_with(':')) return fail("expected a colon behind the node's name");
    name = config::trimmed(name.substr(0, name.size() - 1));
    inside_ = true;
    is_switch_ = is_switch;
    name_ = name;
    device_ = kLeftOut;
    if (is_switch) {
      device_ = fabric_.add_switch(std::string(name), line_);
    } else if (!infiniband::is_aggregation_node(name)) {
      auto [host, nic] = infiniband::host_and_nic(name);
      device_ = fabric_.add_nic(std::move(host), std::move(nic), line_);
    }
  }

  /// PORT[EXT]; the external number may be blank.
  static std::optional<std::uint32_t> port_number(Scanner& scan) {
    const auto port = scan.number();
    if (!port || !scan.take("[")) return std::nullopt;
    static_cast<void>(scan.number());
    if (!scan.take("]")) return std::nullopt;
    return port;
  }

  void read_link(Scanner scan) {
    static constexpr std::string_view kWanted =
        "expected: LID PORT[ ] ==( WIDTH SPEED STATE/ PHYSICAL)==> LID PORT[ ] \"NAME\"";
    if (!inside_) {
      return fail(
          scan.rest().starts_with("0x")
              ? "a link before any node: print it without --line, which does not tell hosts "
                "from switches"
              : "a link before any node");
    }
    if (scan.rest().starts_with("0x")) static_cast<void>(scan.hexadecimal());
    const auto lid = scan.number();
    const auto port = lid ? port_number(scan) : std::nullopt;
    if (!port || !scan.take("==(")) return fail(std::string(kWanted));
    const std::size_t close = scan.rest().find(")==>");
    if (close == std::string_view::npos) return fail(std::string(kWanted));
    const std::string_view state = config::trimmed(scan.rest().substr(0, close));
    if (*lid == 0) return fail("LID 0: no subnet manager has given addresses");
    claim(*lid);
    if (state.starts_with("Down")) return;
    const auto rate = rate_of(state);
    if (!rate) return fail(fmt::format("no width and speed that are known in \"{}\"", state));
    Scanner rest(scan.rest().substr(close + 4));
    if (rest.rest().starts_with("0x")) static_cast<void>(rest.hexadecimal());
    const auto to_lid = rest.number();
    const auto to_port = to_lid ? port_number(rest) : std::nullopt;
    const auto to_name = to_port ? rest.quoted() : std::nullopt;
    if (!to_name) return fail(std::string(kWanted));
    if (*port == 0 || *to_port == 0) return fail("port 0 has no cable");
    if (device_ == kLeftOut) return;
    links_.push_back({{device_, *port}, *to_lid, *to_port, *to_name, *rate, line_});
  }

  /// "4X   53.125 Gbps Active/  LinkUp": lanes, then the speed up to the word before the slash.
  static std::optional<Bandwidth> rate_of(std::string_view state) {
    Scanner scan(state);
    const auto lanes = scan.number();
    if (!lanes || !scan.take("X")) return std::nullopt;
    const std::size_t slash = scan.rest().rfind('/');
    if (slash == std::string_view::npos) return std::nullopt;
    std::string_view speed = config::trimmed(scan.rest().substr(0, slash));
    const std::size_t blank = speed.find_last_of(" \t");
    if (blank == std::string_view::npos) return std::nullopt;
    return infiniband::link_rate(*lanes, config::trimmed(speed.substr(0, blank)));
  }

  /// The LID is this node's: all ports of a switch share one, each port of a NIC has its own.
  void claim(std::uint32_t lid) {
    const auto [it, added] = owners_.try_emplace(lid, Owner{device_, line_});
    if (added || (it->second.device == device_ && device_ != kLeftOut)) return;
    fail(fmt::format("LID {} of {} is another node's at {}", lid, name_,
                     file_.place(it->second.line)));
  }

  void state(const LinkLine& link) {
    line_ = link.line;
    const auto it = owners_.find(link.to_lid);
    if (it == owners_.end()) {
      return fail(fmt::format("{} leads to LID {} (\"{}\"), of which the file does not speak",
                              fabric_.end_name(link.from), link.to_lid, link.to_name));
    }
    if (it->second.device == kLeftOut) return;
    const std::string name = fabric_.device_name(it->second.device);
    const auto [host, nic] = infiniband::host_and_nic(link.to_name);
    const bool same = fabric_.devices()[it->second.device].is_switch
                          ? name == link.to_name
                          : name == (nic.empty() ? host : fmt::format("{} {}", host, nic));
    if (!same) {
      return fail(fmt::format("{} leads to LID {}, here called \"{}\", but \"{}\" at {}",
                              fabric_.end_name(link.from), link.to_lid, link.to_name, name,
                              file_.place(it->second.line)));
    }
    fabric_.state_end({link.from, {it->second.device, link.to_port}, link.bandwidth, link.line});
  }

  const FabricFile& file_;
  config::Errors& errors_;
  DiscoveredFabric fabric_;
  std::uint32_t line_ = 0;
  bool inside_ = false;
  bool is_switch_ = false;
  std::string_view name_;
  std::uint32_t device_ = kLeftOut;
  std::map<std::uint32_t, Owner> owners_;  ///< by LID
  std::vector<LinkLine> links_;
};

}  // namespace

bool is_iblinkinfo(std::string_view text) {
  return text.find(")==>") != std::string_view::npos && text.find("==(") != std::string_view::npos;
}

Topology read_iblinkinfo(const FabricFile& file, config::Reader& options) {
  const std::size_t before = options.errors().count();
  const DiscoveredOptions wanted =
      read_discovered_options(options, {.states_bandwidth = true, .states_nics = true});
  const DiscoveredFabric fabric = IblinkinfoReader(file, options.errors()).read();
  if (options.errors().count() != before) return {};
  return assemble_discovered("iblinkinfo", fabric, wanted, options.errors());
}

}  // namespace railyard::topology
