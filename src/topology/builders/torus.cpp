// torus: a grid of switches of one to four dimensions whose rows close to rings, hosts on every
// switch (Dally, Seitz, "The torus routing chip", 1986; Blue Gene, TPU pods). A switch is a leaf;
// switches of one coordinate in the last dimension are a minipod, and links along that dimension
// are of tier core. Switch (x, y, z) of X × Y × Z is number x + X (y + Y z). Keys, beside those of
// the hosts (host_blocks.hpp):
//
//   dimensions        [X, Y] or [X, Y, Z]: switches of a row
//   wrap              true (default): rows of three or more close to rings; false: a mesh
//   hosts_per_switch  hosts that hang on a switch with all their NICs, default 1
//   switch_link       {link} between neighbours
//   parallel          cables between two neighbours, default 1
//   paths             "dimension_order" (default): first x, then y, then z, as routers do that must
//                     not deadlock; or "minimal": any order, all shortest paths are equal
//   hosts             fewer than fit: the first switches are filled
//   radix             ports of a switch, checked: NICs + 2 parallel a dimension
//
// A row goes the shorter way round; half-way round an even ring both ways are equal. Detours:
// through any third switch.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "topology/builders.hpp"
#include "topology/flat.hpp"
#include "topology/switch_paths.hpp"

namespace railyard::topology {
namespace {

constexpr std::size_t kDimensionsMax = 4;
constexpr std::int64_t kRowMax = 100'000;

struct Grid {
  std::vector<std::uint32_t> sizes;
  bool wrap = true;

  [[nodiscard]] std::uint64_t switches() const {
    std::uint64_t count = 1;
    for (const std::uint32_t size : sizes) count *= size;
    return count;
  }
  [[nodiscard]] std::uint32_t coordinate(std::uint32_t number, std::size_t dimension) const {
    for (std::size_t d = 0; d < dimension; ++d) number /= sizes[d];
    return number % sizes[dimension];
  }
  /// The neighbour one step up (or down) a row that closes or is known not to end there.
  [[nodiscard]] std::uint32_t neighbour(std::uint32_t number, std::size_t dimension,
                                        bool up) const {
    std::uint32_t stride = 1;
    for (std::size_t d = 0; d < dimension; ++d) stride *= sizes[d];
    const std::uint32_t size = sizes[dimension];
    const std::uint32_t at = coordinate(number, dimension);
    const std::uint32_t next = up ? (at + 1) % size : (at + size - 1) % size;
    return number - at * stride + next * stride;
  }
  /// Rows of two have one cable, not a ring of two.
  [[nodiscard]] bool closes(std::size_t dimension) const { return wrap && sizes[dimension] > 2; }
};

class TorusPaths final : public SwitchPaths {
 public:
  TorusPaths(const GraphView& view, Grid grid, bool ordered, std::uint32_t first)
      : SwitchPaths(view), grid_(std::move(grid)), ordered_(ordered), first_(first) {}

 private:
  [[nodiscard]] std::uint32_t number(NodeId node) const {
    return static_cast<std::uint32_t>(index(node)) - first_;
  }

  void next_hops(NodeId at, NodeId to, std::vector<std::uint32_t>& out) const override {
    const std::uint32_t here = number(at);
    for (std::size_t d = 0; d < grid_.sizes.size(); ++d) {
      const std::uint32_t size = grid_.sizes[d];
      const std::uint32_t from = grid_.coordinate(here, d);
      const std::uint32_t goal = grid_.coordinate(number(to), d);
      if (from == goal) continue;
      const std::uint32_t above = (goal + size - from) % size;
      const bool up = grid_.closes(d) ? above <= size - above : goal > from;
      const bool down = grid_.closes(d) ? size - above <= above : goal < from;
      if (up) link_to(at, grid_.neighbour(here, d, true), out);
      if (down) link_to(at, grid_.neighbour(here, d, false), out);
      if (ordered_) return;
    }
  }
  void link_to(NodeId at, std::uint32_t neighbour, std::vector<std::uint32_t>& out) const {
    links_between(at, static_cast<NodeId>(first_ + neighbour), out);
  }

  [[nodiscard]] std::uint32_t waypoints(NodeId, NodeId) const override {
    return static_cast<std::uint32_t>(grid_.switches()) - 2;
  }
  [[nodiscard]] NodeId waypoint(NodeId from, NodeId to, std::uint32_t detour) const {
    return static_cast<NodeId>(first_ + skipping(detour, number(from), number(to)));
  }
  [[nodiscard]] bool at_waypoint(NodeId at, NodeId from, NodeId to,
                                 std::uint32_t detour) const override {
    return at == waypoint(from, to, detour);
  }
  void hops_to_waypoint(NodeId at, NodeId from, NodeId to, std::uint32_t detour,
                        std::vector<std::uint32_t>& out) const override {
    next_hops(at, waypoint(from, to, detour), out);
  }

  Grid grid_;
  bool ordered_;
  std::uint32_t first_;
};

Grid read_grid(config::Reader& reader) {
  Grid grid;
  const auto sizes = reader.required<std::vector<std::int64_t>>("dimensions");
  if (reader.has("dimensions") && (sizes.empty() || sizes.size() > kDimensionsMax))
    reader.fail("dimensions", fmt::format("expected 1 to {} numbers", kDimensionsMax));
  for (const std::int64_t size : sizes) {
    if (size < 1 || size > kRowMax)
      reader.fail("dimensions", fmt::format("expected numbers of 1 to {}, not {}", kRowMax, size));
    grid.sizes.push_back(static_cast<std::uint32_t>(std::clamp<std::int64_t>(size, 1, kRowMax)));
  }
  grid.wrap = reader.optional<bool>("wrap", true);
  return grid;
}

void cable(GraphBuilder& graph, const Grid& grid, const LinkSpec& link, std::uint32_t parallel,
           std::uint32_t first) {
  for (std::uint32_t i = 0; i < grid.switches(); ++i) {
    for (std::size_t d = 0; d < grid.sizes.size(); ++d) {
      const bool last = grid.coordinate(i, d) + 1 == grid.sizes[d];
      if (last && !grid.closes(d)) continue;
      const Tier tier = d > 0 && d + 1 == grid.sizes.size() ? Tier::core : Tier::minipod;
      graph.add_cable(static_cast<NodeId>(first + i),
                      static_cast<NodeId>(first + grid.neighbour(i, d, true)), link.cable(tier),
                      parallel);
    }
  }
}

void name_switches(const Grid& grid, FlatPlan& plan) {
  const std::size_t last = grid.sizes.size() - 1;
  const bool flat = last == 0;
  const std::uint32_t planes = flat ? 1 : grid.sizes[last];
  for (std::uint32_t p = 0; p < planes; ++p) plan.groups.push_back(fmt::format("minipod-{}", p));
  for (std::uint32_t i = 0; i < grid.switches(); ++i) {
    std::string name = "switch";
    for (std::size_t d = 0; d < grid.sizes.size(); ++d)
      name += fmt::format("-{}", grid.coordinate(i, d));
    plan.switches.push_back(std::move(name));
    plan.group_of_switch.push_back(flat ? 0 : grid.coordinate(i, last));
  }
}

}  // namespace

Topology build_torus(config::Reader& reader) {
  const std::size_t before = reader.errors().count();
  FlatPlan plan;
  read_flat(reader, "hosts_per_switch", plan);
  const Grid grid = read_grid(reader);
  const LinkSpec link = required_link(reader, "switch_link");
  const std::uint32_t parallel = optional_count(reader, "parallel", 1);
  const bool ordered = reader.optional_choice("paths", {"dimension_order", "minimal"}, 0) == 0;
  const auto dimensions = static_cast<double>(grid.sizes.size());
  double switches = 1;
  for (const std::uint32_t size : grid.sizes) switches *= size;
  if (!check_size(reader, "dimensions", switches, switches * dimensions * parallel)) return {};
  const bool counted = set_host_count(reader, grid.switches(), plan);
  std::uint64_t ports = nic_ports(plan);
  for (std::size_t d = 0; d < grid.sizes.size(); ++d)
    ports += std::uint64_t{parallel} * std::min<std::uint32_t>(grid.sizes[d] - 1, 2);
  if (!check_ports(reader, ports, "switch") || !counted) return {};
  if (reader.errors().count() != before) return {};
  name_switches(grid, plan);
  GraphBuilder graph("torus", plan.hosts.kinds.front().gpu_kind);
  const std::uint32_t first = add_flat(graph, plan);
  cable(graph, grid, link, parallel, first);
  graph.freeze();
  auto paths = std::make_unique<TorusPaths>(graph.view(), grid, ordered, first);
  return graph.take(std::move(paths));
}

}  // namespace railyard::topology
