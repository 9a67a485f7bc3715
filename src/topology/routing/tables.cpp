// static with "tables": the forwarding tables of a real subnet manager, as infiniband-diags'
// `dump_fts` prints them for every switch:
//
//   Unicast lids [0x0-0x28] of switch Lid 12 guid 0x0000000000200007 (leaf4):
//   0x0001 009 : (Channel Adapter portguid 0x0000000000100001: 'gpu-001')
//
// Switches and hosts are known by their names, cables by port numbers, so the fabric must come from
// a reader that knows them (ibnetdiscover, iblinkinfo). A LID belongs to the NIC to which the
// switch that it hangs on sends it; of several LIDs the lowest counts. Every NIC must be reached
// from every leaf: holes, loops and ports without a cable are named and refused.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "railyard/config/file.hpp"
#include "railyard/config/text_lines.hpp"
#include "railyard/core/check.hpp"
#include "topology/readers/infiniband.hpp"
#include "topology/routing/routings.hpp"

namespace railyard::topology {
namespace {

using infiniband::Scanner;

constexpr std::uint32_t kNoRoute = 0xffffffff;
constexpr std::uint32_t kNoPort = 255;  // InfiniBand's mark of an entry that leads nowhere
constexpr std::size_t kHolesMax = 10;

struct TableEntry {
  std::uint32_t port = kNoPort;
  std::uint32_t line = 0;
};

struct SwitchTable {
  std::string name;
  std::uint32_t line = 0;
  std::map<std::uint32_t, TableEntry> entries;  ///< by LID
};

struct TableFile {
  std::string name;
  std::vector<SwitchTable> switches;
  /// Host and NIC of each LID that belongs to an end point.
  std::map<std::uint32_t, std::pair<std::string, std::uint32_t>> end_points;
};

class TableParser {
 public:
  TableParser(std::string name, std::string_view text, config::Errors& errors)
      : text_(text), errors_(errors) {
    out_.name = std::move(name);
  }

  TableFile parse() {
    config::for_each_line(text_, [this](std::string_view line) {
      ++line_;
      read_line(line);
    });
    if (out_.switches.empty())
      errors_.add(fmt::format("{}: no forwarding table of a switch in it", out_.name));
    return std::move(out_);
  }

 private:
  void fail(const std::string& what) {
    errors_.add(fmt::format("{}:{}: {}", out_.name, line_, what));
  }

  void read_line(std::string_view text) {
    while (text.ends_with('\r') || text.ends_with(' ')) text.remove_suffix(1);
    if (text.starts_with("Unicast lids")) return read_heading(text);
    if (text.starts_with("Multicast")) {
      inside_ = false;
      return;
    }
    if (text.starts_with("0x")) {
      if (inside_) read_entry(text);
      return;
    }
    // The two lines of column heads, and the count at the end.
    Scanner scan(text);
    if (scan.at_end() || scan.take("Lid") || scan.take("Port")) return;
    if (text.find("lids dumped") != std::string_view::npos) return;
    fail(fmt::format("unknown line: \"{}\"", text.substr(0, 60)));
  }

  void read_heading(std::string_view text) {
    const std::size_t guid = text.find(" guid 0x");
    const std::size_t open = guid == std::string_view::npos ? guid : text.find(" (", guid);
    if (open == std::string_view::npos || !text.ends_with("):"))
      return fail("expected: Unicast lids … guid GUID (NAME):");
    SwitchTable table;
    table.name = text.substr(open + 2, text.size() - open - 4);
    table.line = line_;
    const auto [it, added] = lines_.try_emplace(table.name, line_);
    if (!added) {
      fail(fmt::format("switch \"{}\" has two tables: first at {}:{}", table.name, out_.name,
                       it->second));
    }
    out_.switches.push_back(std::move(table));
    inside_ = true;
  }

  void read_entry(std::string_view text) {
    Scanner scan(text);
    const auto lid = scan.hexadecimal();
    const auto port = scan.number();
    if (!lid || *lid == 0 || *lid > 0xffff || !port || *port > kNoPort || !scan.take(":"))
      return fail("expected: LID PORT : (DESTINATION)");
    const auto id = static_cast<std::uint32_t>(*lid);
    auto& entries = out_.switches.back().entries;
    const auto [it, added] = entries.try_emplace(id, TableEntry{*port, line_});
    if (!added) {
      return fail(fmt::format("LID {:#x} stands twice in this table: first at {}:{}", id, out_.name,
                              it->second.line));
    }
    if (scan.take("(Channel Adapter")) name_end_point(id, text);
  }

  void name_end_point(std::uint32_t lid, std::string_view text) {
    const std::size_t open = text.find(": '", text.find("portguid"));
    if (open == std::string_view::npos || !text.ends_with("')"))
      return fail("expected: (Channel Adapter portguid GUID: 'NAME')");
    std::string name(text.substr(open + 3, text.size() - open - 5));
    const auto [it, added] = out_.end_points.try_emplace(lid, std::pair(name, line_));
    if (added || it->second.first == name) return;
    fail(fmt::format("LID {:#x} is \"{}\" here, \"{}\" at {}:{}", lid, name, it->second.first,
                     out_.name, it->second.second));
  }

  std::string_view text_;
  config::Errors& errors_;
  TableFile out_;
  std::uint32_t line_ = 0;
  bool inside_ = false;
  std::map<std::string, std::uint32_t> lines_;
};

class TableHop final : public HopChooser {
 public:
  std::uint32_t choose(NodeId, std::uint32_t, std::uint32_t) override { return 0; }
};

class Tables final : public Routing {
 public:
  Tables(const Topology& topology, const TableFile& file, config::Errors& errors)
      : topology_(topology) {
    number_nodes();
    const std::size_t before = errors.count();
    const auto tables = match_switches(file, errors);
    if (errors.count() != before) return;
    const auto lids = match_end_points(file, tables, errors);
    if (errors.count() != before) return;
    fill(tables, lids);
    find_holes(file, tables, lids, errors);
  }

  void route(const Connection& connection, Route& out) const override {
    // Inside the hosts, and between GPUs of one, the fabric knows the only way.
    TableHop first;
    std::vector<LinkId> usual;
    topology_.paths().path(connection.source, connection.destination, first, usual);
    std::vector<LinkId> path;
    std::size_t up = 0;
    while (up < usual.size() && !is_switch(topology_.link(usual[up]).to)) ++up;
    if (up == usual.size()) return set_single_path(topology_, usual, out);
    path.assign(usual.begin(), usual.begin() + static_cast<std::ptrdiff_t>(up) + 1);
    const NodeId nic = topology_.nic_node(connection.destination);
    NodeId at = topology_.link(path.back()).to;
    while (at != nic) {
      const std::uint32_t link = next(at, nic);
      RAILYARD_CHECK(link != kNoRoute, "a hole that was not found when the tables were read");
      path.push_back(static_cast<LinkId>(link));
      at = topology_.link(path.back()).to;
    }
    const auto inside = std::find_if(usual.begin(), usual.end(),
                                     [&](LinkId link) { return topology_.link(link).from == nic; });
    path.insert(path.end(), inside, usual.end());
    set_single_path(topology_, path, out);
  }
  bool hashes() const override { return true; }

 private:
  using Matched = std::vector<std::pair<NodeId, const SwitchTable*>>;

  [[nodiscard]] bool is_switch(NodeId node) const {
    return topology::is_switch(topology_.kind(node));
  }
  [[nodiscard]] std::uint32_t next(NodeId at, NodeId nic) const {
    return next_[std::size_t{number_[index(at)]} * nics_.size() + number_[index(nic)]];
  }

  void number_nodes() {
    number_.assign(topology_.node_count(), kNoRoute);
    for (std::size_t gpu = 0; gpu < topology_.gpu_count(); ++gpu) {
      const NodeId nic = topology_.nic_node(static_cast<GpuId>(gpu));
      if (number_[index(nic)] != kNoRoute) continue;
      number_[index(nic)] = static_cast<std::uint32_t>(nics_.size());
      nics_.push_back(nic);
      host_of_nic_.push_back(topology_.host_of(static_cast<GpuId>(gpu)));
    }
    for (std::size_t i = 0; i < topology_.node_count(); ++i) {
      const auto node = static_cast<NodeId>(i);
      if (!is_switch(node)) continue;
      number_[i] = switches_++;
      switch_named_.emplace(topology_.node_name(node), node);
    }
  }

  Matched match_switches(const TableFile& file, config::Errors& errors) const {
    Matched out;
    for (const SwitchTable& table : file.switches) {
      const auto it = switch_named_.find(table.name);
      if (it == switch_named_.end()) {
        errors.add(fmt::format("{}:{}: the fabric has no switch \"{}\"", file.name, table.line,
                               table.name));
        continue;
      }
      out.emplace_back(it->second, &table);
    }
    return out;
  }

  /// The link out of a port; empty where none is known.
  [[nodiscard]] std::optional<LinkId> at_port(NodeId node, std::uint32_t port) const {
    const auto links = topology_.out_links(node);
    for (std::size_t i = 0; i < links.size(); ++i) {
      if (links[i].port == port)
        return static_cast<LinkId>(index(topology_.first_out_link(node)) + i);
    }
    return std::nullopt;
  }

  /// The LID of every NIC.
  std::vector<std::uint32_t> match_end_points(const TableFile& file, const Matched& tables,
                                              config::Errors& errors) const {
    std::map<std::string, std::vector<std::uint32_t>> nics_of_host;
    for (std::uint32_t i = 0; i < nics_.size(); ++i)
      nics_of_host[topology_.host_name(host_of_nic_[i])].push_back(i);
    std::map<NodeId, const SwitchTable*> table_of(tables.begin(), tables.end());
    std::vector<std::uint32_t> lids(nics_.size(), kNoRoute);
    for (const auto& [lid, named] : file.end_points) {
      const auto it = nics_of_host.find(infiniband::host_and_nic(named.first).first);
      if (it == nics_of_host.end()) continue;
      for (const std::uint32_t nic : it->second) {
        if (lids[nic] == kNoRoute && hangs_on(nics_[nic], lid, table_of)) lids[nic] = lid;
      }
    }
    for (std::uint32_t i = 0; i < nics_.size(); ++i) {
      if (lids[i] != kNoRoute) continue;
      errors.add(
          fmt::format("{}: no switch sends any LID to {} over its cable: is this the same "
                      "fabric, read with its port numbers?",
                      file.name, topology_.node_name(nics_[i])));
    }
    return lids;
  }

  [[nodiscard]] bool hangs_on(NodeId nic, std::uint32_t lid,
                              const std::map<NodeId, const SwitchTable*>& table_of) const {
    for (const Link& up : topology_.out_links(nic)) {
      const auto table = table_of.find(up.to);
      if (table == table_of.end()) continue;
      const auto entry = table->second->entries.find(lid);
      if (entry == table->second->entries.end() || entry->second.port == 0) continue;
      const auto link = at_port(up.to, entry->second.port);
      if (link && topology_.link(*link).to == nic) return true;
    }
    return false;
  }

  void fill(const Matched& tables, const std::vector<std::uint32_t>& lids) {
    next_.assign(std::size_t{switches_} * nics_.size(), kNoRoute);
    for (const auto& [node, table] : tables) {
      std::vector<std::uint32_t> link_at(kNoPort + 1, kNoRoute);
      const auto links = topology_.out_links(node);
      for (std::size_t i = 0; i < links.size(); ++i) {
        if (links[i].port > 0 && links[i].port < kNoPort)
          link_at[links[i].port] =
              static_cast<std::uint32_t>(index(topology_.first_out_link(node)) + i);
      }
      for (std::size_t nic = 0; nic < nics_.size(); ++nic) {
        const auto entry = table->entries.find(lids[nic]);
        if (entry == table->entries.end()) continue;
        next_[std::size_t{number_[index(node)]} * nics_.size() + nic] = link_at[entry->second.port];
      }
    }
  }

  void find_holes(const TableFile& file, const Matched& tables,
                  const std::vector<std::uint32_t>& lids, config::Errors& errors) const {
    const std::map<NodeId, const SwitchTable*> table_of(tables.begin(), tables.end());
    std::set<NodeId> leaves;
    for (const NodeId nic : nics_) {
      for (const Link& up : topology_.out_links(nic)) {
        if (is_switch(up.to)) leaves.insert(up.to);
      }
    }
    std::uint64_t holes = 0;
    std::vector<std::string> told;
    for (std::size_t nic = 0; nic < nics_.size(); ++nic) {
      // By switch: 0 unknown, 1 reaches the NIC, 2 does not.
      std::vector<std::uint8_t> known(switches_, 0);
      for (const NodeId leaf : leaves) {
        std::vector<NodeId> walked;
        const std::string why = walk(leaf, nics_[nic], lids[nic], table_of, known, walked);
        for (const NodeId node : walked) known[number_[index(node)]] = why.empty() ? 1 : 2;
        if (why.empty()) continue;
        ++holes;
        if (told.size() < kHolesMax) {
          told.push_back(fmt::format("{}: from {} there is no way to {}: {}", file.name,
                                     topology_.node_name(leaf), topology_.node_name(nics_[nic]),
                                     why));
        }
      }
    }
    for (const std::string& text : told) errors.add(text);
    if (holes > told.size())
      errors.add(fmt::format("{}: and {} more holes", file.name, holes - told.size()));
  }

  /// Empty, or why the way ends before the NIC.
  [[nodiscard]] std::string walk(NodeId at, NodeId nic, std::uint32_t lid,
                                 const std::map<NodeId, const SwitchTable*>& table_of,
                                 const std::vector<std::uint8_t>& known,
                                 std::vector<NodeId>& walked) const {
    while (at != nic) {
      if (!is_switch(at)) return fmt::format("it ends at {}", topology_.node_name(at));
      const std::uint8_t state = known[number_[index(at)]];
      if (state == 1) return {};
      const std::string name = topology_.node_name(at);
      if (state == 2) return fmt::format("{} has none", name);
      if (std::find(walked.begin(), walked.end(), at) != walked.end())
        return fmt::format("a loop over {}", name);
      walked.push_back(at);
      const auto table = table_of.find(at);
      if (table == table_of.end()) return fmt::format("{} has no table", name);
      const auto entry = table->second->entries.find(lid);
      if (entry == table->second->entries.end() || entry->second.port == kNoPort)
        return fmt::format("{} has no entry for LID {:#x}", name, lid);
      const std::uint32_t link = next(at, nic);
      if (link == kNoRoute) {
        return fmt::format("line {} sends LID {:#x} to port {} of {}, which has no cable",
                           entry->second.line, lid, entry->second.port, name);
      }
      at = topology_.link(static_cast<LinkId>(link)).to;
    }
    return {};
  }

  const Topology& topology_;
  std::vector<NodeId> nics_;
  std::vector<HostId> host_of_nic_;
  std::uint32_t switches_ = 0;
  std::map<std::string, NodeId> switch_named_;
  std::vector<std::uint32_t> number_;  ///< of NICs among NICs, of switches among switches
  std::vector<std::uint32_t> next_;    ///< link from switch s to NIC n at [s × NICs + n]
};

}  // namespace

std::unique_ptr<Routing> make_tables_of_text(const Topology& topology, const std::string& name,
                                             std::string_view text) {
  config::Errors errors;
  const TableFile file = TableParser(name, text, errors).parse();
  errors.throw_if_any();
  auto routing = std::make_unique<Tables>(topology, file, errors);
  errors.throw_if_any();
  return routing;
}

std::unique_ptr<Routing> make_tables(const Topology& topology, const std::string& path) {
  return make_tables_of_text(topology, path, config::read_file(path));
}

}  // namespace railyard::topology
