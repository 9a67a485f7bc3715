// slurm: Slurm's `topology.conf`, in its tree form or its block form (23.11 and later).
//
//   SwitchName=leaf1 Nodes=node[001-016,020] LinkSpeed=400
//   SwitchName=top Switches=leaf[1-4]
//
//   BlockName=rack1 Nodes=node[01-18]
//   BlockSizes=18,36
//
// The file knows which host is below which switch, not how many cables there are nor how fast they
// are; the description says so. Keys, beside those of all files of real clusters
// (discovered_fabric.hpp): "nic" and "switch_link" with their bandwidths; "per_host" in nic, the
// NICs of a host (default: gpus_per_host); "count" in switch_link and core_link, cables for each
// line that joins two switches; "link_speed_unit", what a LinkSpeed of 1 is worth ("1Gbps"), since
// Slurm gives it no unit. LinkSpeed holds for the cables from the switch to what is listed below
// it.
//
// Block form: every block is one switch; each further size in BlockSizes joins so many blocks, in
// the order of the file, by a switch above; one more joins what is left. Sizes grow by powers of
// two and no block is smaller than the first, as Slurm wants it.
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "railyard/config/text_lines.hpp"
#include "railyard/topology/hostlist.hpp"
#include "topology/readers/discovered_fabric.hpp"
#include "topology/readers/readers.hpp"

namespace railyard::topology {
namespace {

/// More hosts than any cluster has; a list that is too short to see it may still ask for more.
constexpr std::size_t kNamesMax = 200'000;
constexpr double kLinkSpeedMax = 1e9;

/// The line of a switch or block.
struct SlurmLine {
  std::string name;
  std::vector<std::string> nodes;
  std::vector<std::string> switches;
  std::optional<double> link_speed;
  std::uint32_t line = 0;
};

struct SlurmFile {
  std::vector<SlurmLine> switches;
  std::vector<SlurmLine> blocks;
  std::vector<std::int64_t> block_sizes;
  std::uint32_t block_sizes_line = 0;
};

class SlurmParser {
 public:
  SlurmParser(const FabricFile& file, config::Errors& errors) : file_(file), errors_(errors) {}

  SlurmFile parse() {
    const auto lines = config::TextLines::parse_text(file_.text, file_.name);
    std::string whole;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      std::string_view text = lines[i];
      text = config::trimmed(text.substr(0, text.find('#')));
      if (whole.empty()) line_ = static_cast<std::uint32_t>(i + 1);
      if (text.ends_with('\\')) {
        whole += text.substr(0, text.size() - 1);
        whole += ' ';
        continue;
      }
      whole += text;
      read_line(whole);
      whole.clear();
    }
    if (!whole.empty()) read_line(whole);
    if (!out_.switches.empty() && !out_.blocks.empty()) {
      line_ = out_.blocks.front().line;
      fail(fmt::format("a block beside the switch at {}: a file is a tree or blocks, not both",
                       file_.place(out_.switches.front().line)));
    }
    return std::move(out_);
  }

 private:
  void fail(const std::string& text) {
    errors_.add(fmt::format("{}: {}", file_.place(line_), text));
  }

  void read_line(std::string_view text) {
    SlurmLine line;
    line.line = line_;
    std::string kind;
    std::map<std::string, bool> seen;
    for (const std::string_view word : config::words_of(text)) {
      const std::size_t equals = word.find('=');
      if (equals == std::string_view::npos)
        return fail(fmt::format("expected KEY=VALUE, found {}", config::quoted(word)));
      const std::string key = config::lowered(word.substr(0, equals));
      const std::string_view value = word.substr(equals + 1);
      if (!seen.try_emplace(key, true).second)
        return fail(fmt::format("{} is given twice", word.substr(0, equals)));
      if (value.empty()) return fail(fmt::format("{} has no value", word.substr(0, equals)));
      if (kind.empty()) kind = key;
      if (!read_value(key, value, line)) return;
    }
    if (kind.empty()) return;
    if (kind == "switchname") return keep_switch(std::move(line));
    if (kind == "blockname") return keep_block(std::move(line));
    if (kind == "blocksizes") return;
    fail("a line begins with SwitchName=, BlockName= or BlockSizes=");
  }

  bool read_value(const std::string& key, std::string_view value, SlurmLine& line) {
    if (key == "switchname" || key == "blockname") {
      line.name = value;
    } else if (key == "nodes" || key == "switches") {
      auto& names = key == "nodes" ? line.nodes : line.switches;
      const std::string fault = expand_hostlist(value, kNamesMax - names_, names);
      names_ += names.size();
      if (!fault.empty()) fail(fmt::format("{}: {}", config::quoted(value), fault));
      return fault.empty();
    } else if (key == "linkspeed") {
      const auto speed = config::parse_real(value);
      if (!speed || !(*speed > 0) || *speed > kLinkSpeedMax) {
        fail(fmt::format("LinkSpeed={} is no positive number", config::quoted(value)));
        return false;
      }
      line.link_speed = *speed;
    } else if (key == "blocksizes") {
      return read_block_sizes(value);
    } else {
      const std::string_view near = config::nearest(
          key, {"SwitchName", "Nodes", "Switches", "LinkSpeed", "BlockName", "BlockSizes"});
      fail(fmt::format("unknown key {}{}", config::quoted(key),
                       near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
      return false;
    }
    return true;
  }

  bool read_block_sizes(std::string_view value) {
    if (out_.block_sizes_line != 0) {
      fail(fmt::format("BlockSizes is given twice: first at {}",
                       file_.place(out_.block_sizes_line)));
      return false;
    }
    out_.block_sizes_line = line_;
    while (true) {
      const std::size_t comma = value.find(',');
      const auto size = config::parse_integer(value.substr(0, comma));
      if (!size || *size < 1 || *size > static_cast<std::int64_t>(kNamesMax)) {
        fail(fmt::format("BlockSizes: {} is no number of nodes",
                         config::quoted(value.substr(0, comma))));
        return false;
      }
      if (!out_.block_sizes.empty() && !doubles(out_.block_sizes.back(), *size)) {
        fail(fmt::format("BlockSizes: {} is not {} times a power of two above 1", *size,
                         out_.block_sizes.back()));
        return false;
      }
      out_.block_sizes.push_back(*size);
      if (comma == std::string_view::npos) return true;
      value.remove_prefix(comma + 1);
    }
  }

  static bool doubles(std::int64_t before, std::int64_t size) {
    if (size <= before || size % before != 0) return false;
    const std::int64_t ratio = size / before;
    return (ratio & (ratio - 1)) == 0;
  }

  void keep_switch(SlurmLine line) {
    if (line.nodes.empty() && line.switches.empty())
      return fail(fmt::format("switch {} has neither Nodes nor Switches", line.name));
    if (!line.nodes.empty() && !line.switches.empty()) {
      return fail(fmt::format("switch {} has Nodes and Switches: Slurm would not see its Switches",
                              line.name));
    }
    out_.switches.push_back(std::move(line));
  }

  void keep_block(SlurmLine line) {
    if (line.nodes.empty()) return fail(fmt::format("block {} has no Nodes", line.name));
    if (!line.switches.empty() || line.link_speed)
      return fail(fmt::format("block {}: a block has Nodes only", line.name));
    out_.blocks.push_back(std::move(line));
  }

  const FabricFile& file_;
  config::Errors& errors_;
  SlurmFile out_;
  std::uint32_t line_ = 0;
  std::size_t names_ = 0;
};

class SlurmFabric {
 public:
  SlurmFabric(const FabricFile& file, const DiscoveredOptions& options,
              std::optional<Bandwidth> unit, config::Errors& errors)
      : file_(file), options_(options), unit_(unit), errors_(errors), fabric_(file) {}

  DiscoveredFabric make(const SlurmFile& slurm) {
    if (!slurm.blocks.empty()) {
      make_blocks(slurm);
    } else {
      make_tree(slurm.switches);
    }
    if (unit_ && !unit_used_) {
      errors_.add(fmt::format("{}: \"link_speed_unit\": the file has no LinkSpeed", file_.name));
    }
    return std::move(fabric_);
  }

 private:
  void fail(std::uint32_t line, const std::string& text) {
    errors_.add(fmt::format("{}: {}", file_.place(line), text));
  }

  std::uint32_t add_switch(const std::string& name, std::uint32_t line) {
    const auto [it, added] = switches_.try_emplace(name, 0U);
    if (!added) {
      fail(line, fmt::format("duplicate name \"{}\": first at {}", name,
                             file_.place(fabric_.devices()[it->second].line)));
      return it->second;
    }
    it->second = fabric_.add_switch(name, line);
    return it->second;
  }

  /// The bandwidth that a line's LinkSpeed states.
  std::optional<Bandwidth> speed_of(const SlurmLine& line) {
    if (!line.link_speed) return std::nullopt;
    if (!unit_) {
      fail(line.line, fmt::format("LinkSpeed={} has no unit in Slurm: say what 1 is worth with "
                                  "\"link_speed_unit\", as \"1Gbps\"",
                                  *line.link_speed));
      return std::nullopt;
    }
    unit_used_ = true;
    const double rate = *line.link_speed * static_cast<double>(unit_->bytes_per_s());
    constexpr double kRateMax = 1e15;
    if (rate > kRateMax) {
      fail(line.line, fmt::format("LinkSpeed={} is faster than any link", *line.link_speed));
      return std::nullopt;
    }
    return Bandwidth(std::llround(rate));
  }

  void add_nodes(const SlurmLine& line, std::uint32_t leaf) {
    const auto speed = speed_of(line);
    for (const std::string& node : line.nodes) {
      const auto [it, added] = nodes_.try_emplace(node, line.line);
      if (!added) {
        fail(line.line, fmt::format("node {} is below {} here, and listed before at {}", node,
                                    line.name, file_.place(it->second)));
        continue;
      }
      for (std::uint32_t i = 0; i < options_.nics_per_host; ++i) {
        const std::uint32_t nic = fabric_.add_nic(
            node, options_.nics_per_host == 1 ? "" : fmt::format("nic{}", i), line.line);
        fabric_.add_cable({{nic, 0}, {leaf, 0}, speed, line.line});
      }
    }
  }

  void make_tree(const std::vector<SlurmLine>& lines) {
    std::vector<std::uint32_t> device;
    for (const SlurmLine& line : lines) device.push_back(add_switch(line.name, line.line));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      add_nodes(lines[i], device[i]);
      if (lines[i].switches.empty()) continue;
      const auto speed = speed_of(lines[i]);
      std::map<std::string, bool> seen;
      for (const std::string& child : lines[i].switches) {
        const auto it = switches_.find(child);
        if (it == switches_.end()) {
          fail(lines[i].line, fmt::format("there is no switch \"{}\"{}", child, hint(child)));
          continue;
        }
        if (!seen.try_emplace(child, true).second) {
          fail(lines[i].line, fmt::format("switch {} lists {} twice", lines[i].name, child));
          continue;
        }
        fabric_.add_cable({{it->second, 0}, {device[i], 0}, speed, lines[i].line});
      }
    }
    check_acyclic(lines);
  }

  [[nodiscard]] std::string hint(const std::string& child) const {
    std::vector<std::string_view> names;
    for (const auto& [name, device] : switches_) names.push_back(name);
    const std::string_view near = config::nearest(child, names);
    return near.empty() ? std::string() : fmt::format("; did you mean \"{}\"?", near);
  }

  /// Takes away, again and again, switches whose children are all gone; a switch that stays is
  /// above itself.
  void check_acyclic(const std::vector<SlurmLine>& lines) {
    std::map<std::string_view, std::size_t> number;
    for (std::size_t i = 0; i < lines.size(); ++i) number.try_emplace(lines[i].name, i);
    std::vector<std::size_t> left(lines.size());
    std::vector<std::vector<std::size_t>> parents(lines.size());
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      for (const std::string& child : lines[i].switches) {
        const auto it = number.find(child);
        if (it == number.end()) continue;
        parents[it->second].push_back(i);
        ++left[i];
      }
      if (left[i] == 0) open.push_back(i);
    }
    std::size_t gone = 0;
    for (; gone < open.size(); ++gone) {
      for (const std::size_t parent : parents[open[gone]]) {
        if (--left[parent] == 0) open.push_back(parent);
      }
    }
    if (gone == lines.size()) return;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (left[i] == 0) continue;
      return fail(lines[i].line, fmt::format("switch {} is above itself", lines[i].name));
    }
  }

  void make_blocks(const SlurmFile& slurm) {
    std::vector<std::uint32_t> devices;
    for (const SlurmLine& block : slurm.blocks) {
      devices.push_back(add_switch(block.name, block.line));
      add_nodes(block, devices.back());
      if (!slurm.block_sizes.empty() &&
          static_cast<std::int64_t>(block.nodes.size()) < slurm.block_sizes.front()) {
        fail(block.line, fmt::format("block {} has {} nodes, fewer than the block size {} at {}",
                                     block.name, block.nodes.size(), slurm.block_sizes.front(),
                                     file_.place(slurm.block_sizes_line)));
      }
    }
    for (std::size_t i = 1; i < slurm.block_sizes.size(); ++i) {
      join(devices, static_cast<std::size_t>(slurm.block_sizes[i] / slurm.block_sizes[i - 1]),
           fmt::format("blocks-of-{}-nodes", slurm.block_sizes[i]), slurm.block_sizes_line);
    }
    if (devices.size() > 1) join(devices, devices.size(), "all-blocks", slurm.blocks.front().line);
  }

  /// Puts a switch above every `size` of the switches, which it becomes.
  void join(std::vector<std::uint32_t>& devices, std::size_t size, const std::string& name,
            std::uint32_t line) {
    std::vector<std::uint32_t> above;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (i % size == 0) above.push_back(add_switch(fmt::format("{}-{}", name, i / size), line));
      fabric_.add_cable({{devices[i], 0}, {above.back(), 0}, std::nullopt, line});
    }
    devices = std::move(above);
  }

  const FabricFile& file_;
  const DiscoveredOptions& options_;
  std::optional<Bandwidth> unit_;
  config::Errors& errors_;
  DiscoveredFabric fabric_;
  bool unit_used_ = false;
  std::map<std::string, std::uint32_t> switches_;
  std::map<std::string, std::uint32_t> nodes_;  ///< line of each
};

}  // namespace

bool is_slurm(std::string_view text) {
  const std::string head = config::lowered(text.substr(0, 65536));
  for (const std::string_view key : {"switchname=", "blockname="}) {
    const std::size_t at = head.find(key);
    if (at != std::string::npos && (at == 0 || head[at - 1] == '\n')) return true;
  }
  return false;
}

Topology read_slurm(const FabricFile& file, config::Reader& options) {
  const std::size_t before = options.errors().count();
  const DiscoveredOptions wanted =
      read_discovered_options(options, {.states_bandwidth = false, .states_nics = false});
  const auto unit = options.maybe<Bandwidth>("link_speed_unit");
  const SlurmFile slurm = SlurmParser(file, options.errors()).parse();
  if (options.errors().count() != before) return {};
  const DiscoveredFabric fabric = SlurmFabric(file, wanted, unit, options.errors()).make(slurm);
  if (options.errors().count() != before) return {};
  return assemble_discovered("slurm", fabric, wanted, options.errors());
}

}  // namespace railyard::topology
