// nccl_xml: the topology file that NCCL writes (NCCL_TOPO_DUMP_FILE) and reads: the inside of one
// host. Keys:
//
//   gpu   name of the GPU kind; default "unknown"
//   host  its name; default "host-0"
//
// The elements: `cpu` (root of a PCIe tree), `pci` (a bridge, or the slot of a device; link_speed ×
// link_width), `gpu` (dev, sm), `nvlink` (target, count, tclass), `nic` with `net` (name, speed in
// Mb/s). Bandwidths that the file leaves to NCCL are NCCL's own (src/graph/topo.h): NVLink by
// compute capability, 18 GB/s (sm 60), 20 (70, 80), 12 (86), 20.6 (90) and 40.1 (100) a link; PCIe
// by the lane; between CPUs 16 GB/s (AMD), 6, 10, 22 or 40 (Intel by model), 6 (ARM), 32 (POWER).
// There are no latencies in it.
//
// NVLinks to a bridge (tclass 0x0680…) join one NVSwitch, those to a GPU that GPU. A GPU uses the
// NIC that is fewest bridges away; of equals the one that serves fewest. All ports of NICs meet at
// a leaf "network", which stands for whatever the cluster has there.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <pugixml.hpp>
#include <set>

#include "railyard/config/text_lines.hpp"
#include "topology/readers/foreign_file.hpp"
#include "topology/readers/graph_readers.hpp"

namespace railyard::topology {
namespace {

constexpr double kGigabyte = 1e9;
constexpr std::size_t kElementDepthMax = 32;

struct SpeedOf {
  std::string_view name;
  double lane_gigabytes_per_s;
};
/// NCCL's kvDictPciGen counts lanes in 100 Mb/s of payload: 15, 30, 60, 120, 240, 480.
constexpr SpeedOf kPcieLanes[] = {{"2.5 GT/s", 0.1875}, {"5 GT/s", 0.375},  {"5.0 GT/s", 0.375},
                                  {"8 GT/s", 0.75},     {"8.0 GT/s", 0.75}, {"16 GT/s", 1.5},
                                  {"16.0 GT/s", 1.5},   {"32 GT/s", 3.0},   {"32.0 GT/s", 3.0},
                                  {"64 GT/s", 6.0},     {"64.0 GT/s", 6.0}};

double nvlink_gigabytes_per_s(std::int64_t sm) {
  if (sm >= 100) return 40.1;
  if (sm >= 90) return 20.6;
  if (sm == 86) return 12.0;
  return sm >= 70 ? 20.0 : 18.0;
}

struct Gpu {
  std::string bus;
  pugi::xml_node element;
  NodeId node{};
};

class NcclReader {
 public:
  NcclReader(const FabricFile& file, const std::string& host, config::Errors& errors)
      : file_(file), errors_(errors), host_(host) {}

  bool read() {
    const std::size_t before = errors_.count();
    pugi::xml_document document;
    const auto result = document.load_buffer(file_.text.data(), file_.text.size());
    if (!result) {
      errors_.add(fmt::format("{}: is no XML: {}", place_at(result.offset), result.description()));
      return false;
    }
    const pugi::xml_node system = document.child("system");
    if (!system) {
      errors_.add(fmt::format("{}: has no element \"system\"", file_.name));
      return false;
    }
    const NodeId network = *plan_.add_node({"network", NodeKind::leaf, {}});
    network_ = network;
    for (const pugi::xml_node element : system.children()) read_cpu(element);
    if (errors_.count() != before) return false;
    join_cpus();
    for (const Gpu& gpu : gpus_) read_nvlinks(gpu);
    if (gpus_.empty()) errors_.add(fmt::format("{}: there is no gpu", file_.name));
    check_nvlinks_back();
    if (errors_.count() == before) choose_nics();
    return errors_.count() == before;
  }

  [[nodiscard]] const GraphPlan& plan() const { return plan_; }

 private:
  [[nodiscard]] std::string place_at(std::ptrdiff_t offset) const {
    const auto end = static_cast<std::size_t>(
        std::clamp<std::ptrdiff_t>(offset, 0, static_cast<std::ptrdiff_t>(file_.text.size())));
    const auto lines =
        std::count(file_.text.begin(), file_.text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
    return file_.place(static_cast<std::uint32_t>(lines + 1));
  }
  void fail(const pugi::xml_node& element, const std::string& message) {
    errors_.add(
        fmt::format("{}: {}: {}", place_at(element.offset_debug()), element.name(), message));
  }

  /// An attribute that must be there; empty, with the error, where it is not.
  std::string needed(const pugi::xml_node& element, const char* name) {
    const pugi::xml_attribute value = element.attribute(name);
    if (!value) fail(element, fmt::format("has no {}", name));
    return value.value();
  }
  std::optional<std::int64_t> number(const pugi::xml_node& element, const char* name,
                                     std::int64_t least, std::int64_t most) {
    const std::string text = needed(element, name);
    const auto value = config::parse_integer(text);
    if (value && *value >= least && *value <= most) return value;
    if (element.attribute(name)) {
      fail(element, fmt::format("{} must be a whole number from {} to {}, not {}", name, least,
                                most, config::quoted(text)));
    }
    return std::nullopt;
  }

  NodeId add(const pugi::xml_node& element, const std::string& name, NodeKind kind) {
    const auto id = plan_.add_node({host_ + "/" + name, kind, host_});
    if (id) return *id;
    fail(element, fmt::format("{} stands here twice", name));
    return network_;
  }

  void read_cpu(const pugi::xml_node& element) {
    if (element.type() != pugi::node_element) return;
    if (std::string_view(element.name()) != "cpu") return fail(element, "expected a cpu");
    const std::string id = needed(element, "numaid");
    const NodeId node = add(element, "cpu" + id, NodeKind::pcie_switch);
    cpus_.emplace_back(node, element);
    for (const pugi::xml_node child : element.children()) read_pci(child, node, 1);
  }

  /// A bridge is a switch, the slot of a device is the device itself.
  void read_pci(const pugi::xml_node& element, NodeId parent, std::size_t depth) {
    if (element.type() != pugi::node_element) return;
    const std::string_view kind = element.name();
    if (kind == "nic") return read_nic(element, parent, Bandwidth{}, element);
    if (kind != "pci") return fail(element, "expected a pci or a nic");
    if (depth > kElementDepthMax)
      return fail(element, fmt::format("more than {} deep", kElementDepthMax));
    const std::string bus = needed(element, "busid");
    const auto speed = pcie_speed(element);
    if (!speed) return;
    if (const pugi::xml_node gpu = element.child("gpu")) return read_gpu(gpu, bus, parent, *speed);
    if (const pugi::xml_node nic = element.child("nic"))
      return read_nic(nic, parent, *speed, element);
    bool any = false;
    for (const pugi::xml_node child : element.children()) any = any || child.first_attribute();
    if (!any) return;  // a device that is neither, or an NVSwitch's own slot
    const NodeId node = add(element, "pci-" + bus, NodeKind::pcie_switch);
    plan_.add_cable(node, parent, *speed, Duration{});
    for (const pugi::xml_node child : element.children()) read_pci(child, node, depth + 1);
  }

  std::optional<Bandwidth> pcie_speed(const pugi::xml_node& element) {
    constexpr double kLaneDefault = 0.75;  // NCCL takes PCIe 3 x16 where nothing is said
    constexpr std::int64_t kWidthDefault = 16;
    const std::string text = element.attribute("link_speed").value();
    double lane = text.empty() ? kLaneDefault : 0;
    for (const SpeedOf& each : kPcieLanes) {
      if (text == each.name || text == std::string(each.name) + " PCIe")
        lane = each.lane_gigabytes_per_s;
    }
    if (lane == 0) {
      fail(element, fmt::format("unknown link_speed {}", config::quoted(text)));
      return std::nullopt;
    }
    auto width = element.attribute("link_width") ? number(element, "link_width", 0, 64)
                                                 : std::optional(kWidthDefault);
    if (!width) return std::nullopt;
    if (*width == 0) width = kWidthDefault;
    return bandwidth_of(lane * static_cast<double>(*width) * kGigabyte,
                        place_at(element.offset_debug()), errors_);
  }

  void read_gpu(const pugi::xml_node& element, const std::string& bus, NodeId parent,
                Bandwidth speed) {
    const auto device = number(element, "dev", 0, 4095);
    if (!device) return;
    const NodeId node = add(element, fmt::format("gpu{}", *device), NodeKind::gpu);
    plan_.add_cable(node, parent, speed, Duration{});
    if (!gpu_of_bus_.try_emplace(bus, gpus_.size()).second)
      fail(element, fmt::format("two GPUs at {}", bus));
    gpus_.push_back({bus, element, node});
  }

  void read_nic(const pugi::xml_node& element, NodeId parent, Bandwidth slot,
                const pugi::xml_node& place) {
    for (const pugi::xml_node net : element.children("net")) {
      const std::string name = needed(net, "name");
      const auto megabits = number(net, "speed", 10, 100'000'000);
      if (!megabits) continue;
      const Bandwidth speed(*megabits * 125'000);
      const NodeId node = add(place, name, NodeKind::nic);
      // A NIC without a slot of its own hangs on the CPU and is as fast as its port.
      plan_.add_cable(node, parent, slot > Bandwidth{} ? slot : speed, Duration{});
      plan_.add_cable(node, network_, speed, Duration{});
      nics_.push_back(node);
    }
  }

  static double between_cpus(const pugi::xml_node& cpu) {
    const std::string_view arch = cpu.attribute("arch").value();
    const std::string_view vendor = cpu.attribute("vendor").value();
    const int model = cpu.attribute("modelid").as_int();
    if (arch == "ppc64") return 32;
    if (arch == "arm64") return 6;
    if (vendor == "AuthenticAMD") return 16;
    if (vendor == "GenuineIntel") {
      return model >= 0xCF ? 40 : model >= 0x8F ? 22 : model >= 0x55 ? 10 : 6;
    }
    return 0;
  }

  void join_cpus() {
    for (std::size_t a = 0; a < cpus_.size(); ++a) {
      for (std::size_t b = a + 1; b < cpus_.size(); ++b) {
        const double speed = between_cpus(cpus_[a].second);
        if (speed == 0) {
          return fail(cpus_[a].second, "no speed between CPUs of this arch and vendor is known");
        }
        plan_.add_cable(cpus_[a].first, cpus_[b].first,
                        Bandwidth(static_cast<std::int64_t>(speed * kGigabyte)), Duration{});
      }
    }
  }

  void read_nvlinks(const Gpu& gpu) {
    if (!gpu.element.child("nvlink")) return;
    const auto sm = number(gpu.element, "sm", 10, 1000);
    for (const pugi::xml_node link : gpu.element.children("nvlink")) {
      const auto count = number(link, "count", 1, 64);
      const std::string target = needed(link, "target");
      const std::string_view kind = link.attribute("tclass").value();
      if (!sm || !count) continue;
      const auto speed = Bandwidth(static_cast<std::int64_t>(
          nvlink_gigabytes_per_s(*sm) * static_cast<double>(*count) * kGigabyte));
      if (kind.starts_with("0x0680")) {
        to_switch_[gpu.node] = to_switch_[gpu.node] + speed;
        continue;
      }
      const auto other = gpu_of_bus_.find(target);
      if (other == gpu_of_bus_.end()) {
        fail(link, fmt::format("there is no GPU at {}", config::quoted(target)));
        continue;
      }
      const NodeId to = gpus_[other->second].node;
      if (to == gpu.node) {
        fail(link, "leads to its own GPU");
        continue;
      }
      plan_.add_link({gpu.node, to, speed, Duration{}, Tier::nvlink});
      direct_[{gpu.node, to}] = {speed, link};
    }
  }

  /// Both ends of an NVLink between GPUs must say the same.
  void check_nvlinks_back() {
    for (const auto& [ends, there] : direct_) {
      const auto back = direct_.find({ends.second, ends.first});
      if (back != direct_.end() && back->second.first == there.first) continue;
      if (back != direct_.end() && ends.second < ends.first) continue;
      fail(there.second, fmt::format("{} says otherwise of the links to {}",
                                     plan_.node(ends.second).name, plan_.node(ends.first).name));
    }
    if (to_switch_.empty()) return;
    const NodeId island = *plan_.add_node({host_ + "/nvswitch", NodeKind::nvswitch, host_});
    for (const auto& [gpu, speed] : to_switch_) plan_.add_cable(gpu, island, speed, Duration{});
  }

  /// Hops inside the host from a GPU, over PCIe.
  [[nodiscard]] std::vector<std::size_t> hops_from(NodeId gpu) const {
    std::vector<std::vector<NodeId>> next(plan_.node_count());
    for (const Link& link : plan_.links()) {
      if (link.tier == Tier::host) next[index(link.from)].push_back(link.to);
    }
    std::vector<std::size_t> hops(plan_.node_count(), SIZE_MAX);
    std::vector<NodeId> open{gpu};
    hops[index(gpu)] = 0;
    for (std::size_t i = 0; i < open.size(); ++i) {
      for (const NodeId to : next[index(open[i])]) {
        if (hops[index(to)] != SIZE_MAX) continue;
        hops[index(to)] = hops[index(open[i])] + 1;
        open.push_back(to);
      }
    }
    return hops;
  }

  void choose_nics() {
    std::map<NodeId, std::size_t> served;
    for (const Gpu& gpu : gpus_) {
      const auto hops = hops_from(gpu.node);
      const auto best = std::min_element(nics_.begin(), nics_.end(), [&](NodeId a, NodeId b) {
        return std::pair(hops[index(a)], served[a]) < std::pair(hops[index(b)], served[b]);
      });
      if (best == nics_.end()) return;
      ++served[*best];
      plan_.node(gpu.node).nic = plan_.node(*best).name;
    }
  }

  const FabricFile& file_;
  config::Errors& errors_;
  std::string host_;
  GraphPlan plan_;
  NodeId network_{};
  std::vector<std::pair<NodeId, pugi::xml_node>> cpus_;
  std::vector<Gpu> gpus_;
  std::vector<NodeId> nics_;
  std::map<std::string, std::size_t> gpu_of_bus_;
  std::map<NodeId, Bandwidth> to_switch_;
  std::map<std::pair<NodeId, NodeId>, std::pair<Bandwidth, pugi::xml_node>> direct_;
};

}  // namespace

bool is_nccl_xml(std::string_view text) {
  const std::string_view head = text.substr(0, 4096);
  return head.find("<system") != std::string_view::npos &&
         head.find("<cpu") != std::string_view::npos;
}

Topology read_nccl_xml(const FabricFile& file, config::Reader& options) {
  const auto gpu = options.optional<std::string>("gpu", std::string(kUnknownGpu));
  const auto host = options.optional<std::string>("host", "host-0");
  NcclReader reader(file, host, options.errors());
  if (!reader.read()) return {};
  return build_plan(reader.plan(), "nccl_xml", file.name, gpu, options.errors());
}

}  // namespace railyard::topology
