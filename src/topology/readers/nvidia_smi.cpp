// nvidia_smi: the matrix that `nvidia-smi topo -m` prints of one host. It has no speeds: they are
// keys. Keys:
//
//   gpu       name of the GPU kind; default "unknown"
//   host      its name; default "host-0"
//   nvlink    {link} of one NVLink, per direction; required where there are any (NV12 is 12)
//   nvswitch  true: the NVLinks lead to one NVSwitch; false: straight to the other GPU. Required
//             where both would print the same
//   pcie      {link} of a GPU or NIC to its PCIe switch or CPU, and between the two
//   cpu_link  {link} between CPUs (NODE, SYS); required where something is that far apart
//   nic       {link} of a NIC to the network; required where there are NICs
//
// X is the device itself; PIX: one PCIe bridge between them; PXB: several; PHB: one CPU; NODE: one
// NUMA node of several host bridges; SYS: two of them. All must hold for groups: what is PIX to the
// same device is PIX to each other. The matrix is alike on both sides of its diagonal. A GPU uses
// the NIC that is nearest, of equals the one that serves fewest. All NICs meet at a leaf "network".
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "railyard/config/text_lines.hpp"
#include "topology/host_plan.hpp"
#include "topology/readers/foreign_file.hpp"
#include "topology/readers/graph_readers.hpp"

namespace railyard::topology {
namespace {

constexpr std::size_t kDevicesMax = 512;
/// A GPU of today has at most 18 NVLinks: more to each of the others must share a switch.
constexpr std::uint32_t kNvlinksMax = 18;

/// How far two devices are apart over PCIe, nearest first.
enum class Distance : std::uint8_t { self, pix, pxb, phb, node, sys, unknown };
constexpr std::array<std::string_view, 6> kDistances{"X", "PIX", "PXB", "PHB", "NODE", "SYS"};

struct Cell {
  Distance distance = Distance::unknown;
  std::uint32_t nvlinks = 0;
};

struct Matrix {
  std::vector<std::string> names;
  std::vector<std::size_t> lines;
  std::vector<std::vector<Cell>> cells;
};

bool is_device(std::string_view word) {
  for (const std::string_view prefix : {"GPU", "NIC", "mlx5_"}) {
    if (word.starts_with(prefix) && config::parse_integer(word.substr(prefix.size()))) return true;
  }
  return false;
}
bool is_gpu(std::string_view name) {
  return name.starts_with("GPU");
}

class MatrixReader {
 public:
  MatrixReader(const config::TextLines& lines, config::Errors& errors)
      : lines_(lines), errors_(errors) {}

  bool read(Matrix& out) {
    const std::size_t before = errors_.count();
    std::size_t head = 0;
    while (head < lines_.size() && !is_header(lines_[head])) ++head;
    for (const std::string_view word : words(head)) {
      if (!is_device(word)) break;
      out.names.emplace_back(word);
    }
    if (out.names.empty() || out.names.size() > kDevicesMax) {
      errors_.add(
          fmt::format("{}: expected a heading of 1 to {} devices", lines_.name(), kDevicesMax));
      return false;
    }
    for (std::size_t row = 0; row < out.names.size(); ++row) read_row(head + 1 + row, row, out);
    if (errors_.count() == before) check_sides(out);
    return errors_.count() == before;
  }

 private:
  [[nodiscard]] static bool is_header(std::string_view line) {
    const auto words = config::words_of(line);
    return words.size() > 1 ? is_device(words[0]) && is_device(words[1])
                            : words.size() == 1 && is_device(words[0]);
  }
  [[nodiscard]] std::vector<std::string_view> words(std::size_t line) const {
    return line < lines_.size() ? config::words_of(lines_[line]) : std::vector<std::string_view>{};
  }
  void fail(std::size_t line, const std::string& message) {
    errors_.add(fmt::format("{}: {}", lines_.place(line), message));
  }

  void read_row(std::size_t line, std::size_t row, Matrix& out) {
    const auto cells = words(line);
    out.lines.push_back(line);
    out.cells.emplace_back(out.names.size());
    if (cells.size() < out.names.size() + 1 || cells[0] != out.names[row]) {
      return fail(line, fmt::format("expected the row of {} with {} cells", out.names[row],
                                    out.names.size()));
    }
    for (std::size_t column = 0; column < out.names.size(); ++column) {
      Cell& cell = out.cells.back()[column];
      const std::string_view text = cells[column + 1];
      const auto known = std::find(kDistances.begin(), kDistances.end(), text);
      if (known != kDistances.end()) {
        cell.distance = static_cast<Distance>(known - kDistances.begin());
      } else if (const auto links =
                     text.starts_with("NV") ? config::parse_integer(text.substr(2)) : std::nullopt;
                 links && *links >= 1 && *links <= 64) {
        cell.nvlinks = static_cast<std::uint32_t>(*links);
      } else {
        return fail(line, fmt::format("{} to {}: {} is none of X, NV#, PIX, PXB, PHB, NODE, SYS",
                                      out.names[row], out.names[column], config::quoted(text)));
      }
      if ((cell.distance == Distance::self) != (column == row)) {
        return fail(line, fmt::format("{} to {}: X stands on the diagonal", out.names[row],
                                      out.names[column]));
      }
    }
  }

  void check_sides(const Matrix& matrix) {
    for (std::size_t a = 0; a < matrix.names.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const Cell& here = matrix.cells[a][b];
        const Cell& there = matrix.cells[b][a];
        if (here.distance == there.distance && here.nvlinks == there.nvlinks) continue;
        fail(matrix.lines[a],
             fmt::format("{} to {} differs from {} to {} at {}", matrix.names[a], matrix.names[b],
                         matrix.names[b], matrix.names[a], lines_.place(matrix.lines[b])));
      }
    }
  }

  const config::TextLines& lines_;
  config::Errors& errors_;
};

struct Options {
  std::string host;
  std::optional<LinkSpec> nvlink;
  std::optional<bool> nvswitch;
  std::optional<LinkSpec> pcie;
  std::optional<LinkSpec> cpu_link;
  std::optional<LinkSpec> nic;
};

class HostDrawer {
 public:
  HostDrawer(const config::TextLines& lines, const Matrix& matrix, const Options& options,
             config::Reader& reader)
      : lines_(lines), matrix_(matrix), options_(options), reader_(reader) {}

  bool draw() {
    const std::size_t before = reader_.errors().count();
    draw_devices();
    if (reader_.errors().count() == before) draw_pcie();
    if (reader_.errors().count() == before) draw_nvlinks();
    if (reader_.errors().count() == before) choose_nics();
    return reader_.errors().count() == before;
  }
  [[nodiscard]] const GraphPlan& plan() const { return plan_; }

 private:
  [[nodiscard]] std::size_t size() const { return matrix_.names.size(); }
  void fail(std::size_t device, const std::string& message) {
    reader_.errors().add(fmt::format("{}: {}", lines_.place(matrix_.lines[device]), message));
  }
  void cable(NodeId a, NodeId b, const LinkSpec& link, std::int64_t count = 1) {
    plan_.add_cable(a, b, link.capacity() * count, link.latency);
  }

  void draw_devices() {
    for (std::size_t i = 0; i < size(); ++i) {
      const bool gpu = is_gpu(matrix_.names[i]);
      const auto id = plan_.add_node({options_.host + "/" + matrix_.names[i],
                                      gpu ? NodeKind::gpu : NodeKind::nic, options_.host});
      if (!id) return fail(i, fmt::format("{} stands here twice", matrix_.names[i]));
      devices_.push_back(*id);
      any_nic_ = any_nic_ || !gpu;
    }
    if (!any_nic_) return;
    if (!options_.nic) return reader_.fail("nic", "missing key \"nic\": the speed of the NICs");
    const NodeId network = *plan_.add_node({"network", NodeKind::leaf, {}});
    for (std::size_t i = 0; i < size(); ++i) {
      if (!is_gpu(matrix_.names[i])) cable(devices_[i], network, *options_.nic);
    }
  }

  /// Devices at most `distance` apart, as group numbers. NVLink cells say nothing about PCIe: such
  /// pairs are near when a third device is near to both.
  std::vector<std::size_t> groups(Distance distance) {
    std::vector<std::size_t> group(size());
    for (std::size_t i = 0; i < size(); ++i) group[i] = i;
    for (std::size_t a = 0; a < size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        if (matrix_.cells[a][b].distance > distance || group[a] == group[b]) continue;
        const std::size_t from = std::max(group[a], group[b]);
        const std::size_t to = std::min(group[a], group[b]);
        std::replace(group.begin(), group.end(), from, to);
      }
    }
    for (std::size_t a = 0; a < size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const Distance stated = matrix_.cells[a][b].distance;
        if (group[a] != group[b] || stated <= distance || stated == Distance::unknown) continue;
        fail(a,
             fmt::format("{} and {} are {} apart, but others join them within {}", matrix_.names[a],
                         matrix_.names[b], kDistances.at(static_cast<std::size_t>(stated)),
                         kDistances.at(static_cast<std::size_t>(distance))));
      }
    }
    return group;
  }

  /// Every level is a PCIe switch where it joins more than one part of the level below.
  void draw_pcie() {
    std::vector<NodeId> top = devices_;  // of each device, the node that stands for its part
    for (const Distance distance : {Distance::pix, Distance::pxb, Distance::phb, Distance::node}) {
      const std::vector<std::size_t> group = groups(distance);
      std::map<std::size_t, std::vector<NodeId>> parts;
      for (std::size_t i = 0; i < size(); ++i) {
        auto& nodes = parts[group[i]];
        if (std::find(nodes.begin(), nodes.end(), top[i]) == nodes.end()) nodes.push_back(top[i]);
      }
      for (const auto& [number, nodes] : parts) {
        if (nodes.size() == 1) continue;
        const NodeId node = join(distance, nodes);
        for (std::size_t i = 0; i < size(); ++i) {
          if (group[i] == number) top[i] = node;
        }
      }
    }
    std::vector<NodeId> last;
    for (const NodeId node : top) {
      if (std::find(last.begin(), last.end(), node) == last.end()) last.push_back(node);
    }
    if (last.size() > 1 && any_far()) join(Distance::sys, last);
  }

  /// Devices that only NVLink joins need no way over the CPUs.
  [[nodiscard]] bool any_far() const {
    for (const auto& row : matrix_.cells) {
      for (const Cell& cell : row) {
        if (cell.distance == Distance::sys) return true;
      }
    }
    return false;
  }

  NodeId join(Distance distance, const std::vector<NodeId>& parts) {
    const bool far = distance >= Distance::node;
    const auto& link = far ? options_.cpu_link : options_.pcie;
    const std::string_view key = far ? "cpu_link" : "pcie";
    if (!link) {
      reader_.fail(key, fmt::format("missing key \"{}\": something is {} apart", key,
                                    kDistances.at(static_cast<std::size_t>(distance))));
      return parts.front();
    }
    const NodeId node = *plan_.add_node({fmt::format("{}/pcie{}", options_.host, switches_++),
                                         NodeKind::pcie_switch, options_.host});
    // A device joined at the CPU's level still hangs on PCIe itself.
    for (const NodeId part : parts) {
      const bool device = plan_.node(part).kind != NodeKind::pcie_switch;
      cable(part, node, device && options_.pcie ? *options_.pcie : *link);
    }
    return node;
  }

  void draw_nvlinks() {
    std::uint32_t least = UINT32_MAX;
    std::uint32_t most = 0;
    std::size_t gpus = 0;
    for (std::size_t a = 0; a < size(); ++a) {
      gpus += is_gpu(matrix_.names[a]) ? 1 : 0;
      for (std::size_t b = 0; b < size(); ++b) {
        if (a == b || !is_gpu(matrix_.names[a]) || !is_gpu(matrix_.names[b])) continue;
        least = std::min(least, matrix_.cells[a][b].nvlinks);
        most = std::max(most, matrix_.cells[a][b].nvlinks);
      }
    }
    if (most == 0) return;
    if (!options_.nvlink)
      return reader_.fail("nvlink", "missing key \"nvlink\": the speed of one NVLink");
    const bool may_switch = least == most;
    const bool may_be_direct = most * (gpus - 1) <= kNvlinksMax;
    bool through_switch = may_switch && !may_be_direct;
    if (options_.nvswitch) {
      through_switch = *options_.nvswitch;
      if (through_switch && !may_switch)
        return reader_.fail("nvswitch", "pairs of GPUs have unequal NVLinks: there is no switch");
    } else if (may_switch && may_be_direct && gpus > 2) {
      return reader_.fail("nvswitch", fmt::format("missing key \"nvswitch\": NV{} between all GPUs "
                                                  "may be links to a switch or to each other",
                                                  most));
    }
    if (through_switch) {
      const NodeId island =
          *plan_.add_node({options_.host + "/nvswitch", NodeKind::nvswitch, options_.host});
      for (std::size_t i = 0; i < size(); ++i) {
        if (is_gpu(matrix_.names[i])) cable(devices_[i], island, *options_.nvlink, most);
      }
      return;
    }
    for (std::size_t a = 0; a < size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const std::uint32_t links = matrix_.cells[a][b].nvlinks;
        if (links > 0) cable(devices_[b], devices_[a], *options_.nvlink, links);
      }
    }
  }

  void choose_nics() {
    std::vector<std::size_t> served(size(), 0);
    for (std::size_t gpu = 0; gpu < size(); ++gpu) {
      if (!is_gpu(matrix_.names[gpu])) continue;
      std::optional<std::size_t> best;
      for (std::size_t nic = 0; nic < size(); ++nic) {
        if (is_gpu(matrix_.names[nic])) continue;
        const auto rank = [&](std::size_t i) {
          return std::pair(matrix_.cells[gpu][i].distance, served[i]);
        };
        if (!best || rank(nic) < rank(*best)) best = nic;
      }
      if (!best) return;
      ++served[*best];
      plan_.node(devices_[gpu]).nic = plan_.node(devices_[*best]).name;
    }
  }

  const config::TextLines& lines_;
  const Matrix& matrix_;
  const Options& options_;
  config::Reader& reader_;
  GraphPlan plan_;
  std::vector<NodeId> devices_;
  bool any_nic_ = false;
  std::size_t switches_ = 0;
};

}  // namespace

bool is_nvidia_smi(std::string_view text) {
  const std::string_view head = text.substr(0, 16'384);
  return head.find("GPU0") != std::string_view::npos &&
         (head.find("CPU Affinity") != std::string_view::npos ||
          head.find("Legend:") != std::string_view::npos);
}

Topology read_nvidia_smi(const FabricFile& file, config::Reader& options) {
  const std::size_t before = options.errors().count();
  const auto gpu = options.optional<std::string>("gpu", std::string(kUnknownGpu));
  Options given;
  given.host = options.optional<std::string>("host", "host-0");
  given.nvlink = optional_link(options, "nvlink");
  given.nvswitch = options.maybe<bool>("nvswitch");
  given.pcie = optional_link(options, "pcie");
  given.cpu_link = optional_link(options, "cpu_link");
  given.nic = optional_link(options, "nic");
  const auto lines = config::TextLines::parse_text(file.text, file.name);
  Matrix matrix;
  MatrixReader(lines, options.errors()).read(matrix);
  if (options.errors().count() != before) return {};
  HostDrawer drawer(lines, matrix, given, options);
  if (!drawer.draw()) return {};
  return build_plan(drawer.plan(), "nvidia_smi", file.name, gpu, options.errors());
}

}  // namespace railyard::topology
