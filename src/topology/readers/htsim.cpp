// htsim: the `.topo` files of htsim (csg-htsim and uet-htsim): fat-trees of two or three tiers.
//
// The file: `Nodes`, `Tiers`, `Podsize`, then for each `Tier n` (0 = ToR) Downlink_speed_Gbps,
// Downlink_Latency_ns, Radix_Down, Radix_Up (not at the top), and optionally Switch_Latency_ns,
// Oversubscribed, Bundle, Queue_Up, Queue_Down. As htsim builds it: host h is on ToR
// h / Radix_Down; the ToRs of a pod meet all its aggregation switches, `Bundle` cables each;
// aggregation switch p of a pod of n goes to the cores p, p + n, p + 2n, …. Names are htsim's:
// HOST0, LS0, US0, CS0. A host is one GPU that is its own NIC.
//
// What htsim pays in a switch is charged half to the cables on either side of it: every path pays
// exactly what it pays there, and both directions of a cable stay alike. Queue sizes are checked
// and play no part: a fluid has no queues.
#include "topology/readers/htsim.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "topology/graph_builder.hpp"
#include "topology/up_down.hpp"

namespace railyard::topology {
namespace {

constexpr std::int64_t kPortsMax = 8'000'000;
constexpr std::int64_t kGbpsMax = 100'000;
constexpr std::int64_t kLatencyNsMax = 1'000'000'000;

/// A number and the line that says it.
struct Given {
  std::int64_t value = 0;
  std::size_t line = 0;
};

struct TierKeys {
  std::map<std::string, Given, std::less<>> keys;
  std::optional<std::size_t> line;
};

struct File {
  std::map<std::string, Given, std::less<>> header;
  std::array<TierKeys, 3> tiers;
};

struct KeyRange {
  std::string_view key;
  std::int64_t least;
  std::int64_t most;
};
constexpr std::array<KeyRange, 3> kHeaderKeys{
    {{"nodes", 1, kPortsMax}, {"tiers", 2, 3}, {"podsize", 1, kPortsMax}}};
constexpr std::array<KeyRange, 9> kTierKeys{{{"downlink_speed_gbps", 1, kGbpsMax},
                                             {"downlink_latency_ns", 0, kLatencyNsMax},
                                             {"radix_down", 1, kPortsMax},
                                             {"radix_up", 1, kPortsMax},
                                             {"switch_latency_ns", 0, kLatencyNsMax},
                                             {"oversubscribed", 1, kPortsMax},
                                             {"bundle", 1, kPortsMax},
                                             {"queue_up", 1, INT64_MAX},
                                             {"queue_down", 1, INT64_MAX}}};

/// Reads the keys; what they mean together is checked later.
class FileReader {
 public:
  FileReader(const config::TextLines& lines, config::Errors& errors)
      : lines_(lines), errors_(errors) {}

  bool read(File& file) {
    const std::size_t before = errors_.count();
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const auto words = config::words_of(lines_[i]);
      if (!words.empty() && words[0].front() != '#') read_line(i, words, file);
    }
    for (const KeyRange& key : kHeaderKeys) {
      if (!file.header.contains(key.key))
        errors_.add(fmt::format("{}: there is no \"{}\"", lines_.name(), key.key));
    }
    return errors_.count() == before;
  }

 private:
  void fail(std::size_t line, const std::string& message) {
    errors_.add(fmt::format("{}: {}", lines_.place(line), message));
  }

  void read_line(std::size_t line, const std::vector<std::string_view>& words, File& file) {
    const std::string key = config::lowered(words[0]);
    if (words.size() != 2) {
      return fail(line, fmt::format("expected a key and a number, found {} words", words.size()));
    }
    const auto value = config::parse_integer(words[1]);
    if (!value) {
      return fail(line, fmt::format("{} needs a whole number, not {}", config::quoted(words[0]),
                                    config::quoted(words[1])));
    }
    if (key == "tier") return begin_tier(line, *value, file);
    if (tier_ == nullptr) {
      read_key(line, key, *value, kHeaderKeys, file.header);
    } else {
      read_key(line, key, *value, kTierKeys, tier_->keys);
    }
  }

  void begin_tier(std::size_t line, std::int64_t tier, File& file) {
    if (tier < 0 || tier > 2) return fail(line, fmt::format("tiers are 0 to 2, not {}", tier));
    tier_ = &file.tiers[static_cast<std::size_t>(tier)];
    if (tier_->line) {
      fail(line, fmt::format("tier {} again: first at {}", tier, lines_.place(*tier_->line)));
    }
    tier_->line = line;
  }

  template <std::size_t N>
  void read_key(std::size_t line, const std::string& key, std::int64_t value,
                const std::array<KeyRange, N>& known,
                std::map<std::string, Given, std::less<>>& out) {
    const auto range = std::find_if(known.begin(), known.end(),
                                    [&key](const KeyRange& each) { return each.key == key; });
    if (range == known.end()) {
      std::vector<std::string_view> names;
      for (const KeyRange& each : known) names.push_back(each.key);
      const std::string_view near = config::nearest(key, names);
      return fail(line, near.empty() ? fmt::format("unknown key {}; there are {}",
                                                   config::quoted(key), fmt::join(names, ", "))
                                     : fmt::format("unknown key {}; did you mean {}?",
                                                   config::quoted(key), config::quoted(near)));
    }
    if (value < range->least || value > range->most) {
      return fail(line, fmt::format("{} must be from {} to {}, not {}", key, range->least,
                                    range->most, value));
    }
    const auto [it, added] = out.try_emplace(key, Given{value, line});
    if (!added)
      fail(line, fmt::format("{} again: first at {}", key, lines_.place(it->second.line)));
  }

  const config::TextLines& lines_;
  config::Errors& errors_;
  TierKeys* tier_ = nullptr;
};

/// The numbers of a fat-tree that hold together.
struct FileShape {
  std::size_t tiers = 0;
  std::int64_t hosts = 0;
  std::int64_t pods = 0;
  std::array<std::int64_t, 3> down{};    ///< ports down of a switch
  std::array<std::int64_t, 3> up{};      ///< ports up; 0 at the top
  std::array<std::int64_t, 3> bundle{};  ///< cables between it and each switch below
  std::array<Bandwidth, 3> speed{};      ///< of its downlinks
  std::array<Duration, 3> latency{};     ///< of its downlinks, with half of each switch

  [[nodiscard]] std::int64_t tors_of_pod() const { return hosts / pods / down[0]; }
  [[nodiscard]] std::int64_t aggs_of_pod() const { return up[0] / bundle[1]; }
  [[nodiscard]] std::int64_t cores() const {
    return tiers == 3 ? aggs_of_pod() * (up[1] / bundle[2]) : 0;
  }
};

class ShapeReader {
 public:
  ShapeReader(const config::TextLines& lines, const File& file, config::Errors& errors)
      : lines_(lines), file_(file), errors_(errors) {}

  bool read(FileShape& shape) {
    shape.tiers = static_cast<std::size_t>(file_.header.at("tiers").value);
    shape.hosts = file_.header.at("nodes").value;
    const std::size_t before = errors_.count();
    std::array<std::int64_t, 3> switch_ns{};
    for (std::size_t tier = 0; tier < 3; ++tier) read_tier(tier, shape, switch_ns);
    if (errors_.count() != before) return false;
    for (std::size_t tier = 0; tier < shape.tiers; ++tier) {
      const std::int64_t below = tier == 0 ? 0 : switch_ns[tier - 1];
      shape.latency[tier] = std::chrono::nanoseconds(get(tier, "downlink_latency_ns", 0)) +
                            Duration(std::chrono::nanoseconds(switch_ns[tier] + below)) / 2;
    }
    return check_pods(shape) && check_bundles(shape) && check_ports(shape) &&
           check_oversubscription(shape);
  }

 private:
  [[nodiscard]] std::int64_t get(std::size_t tier, std::string_view key,
                                 std::int64_t fallback) const {
    const auto it = file_.tiers[tier].keys.find(key);
    return it == file_.tiers[tier].keys.end() ? fallback : it->second.value;
  }
  /// False, said at the key where it stands, else at its tier.
  bool fail(std::size_t tier, std::string_view key, const std::string& message) {
    const auto it = file_.tiers[tier].keys.find(key);
    const std::size_t line =
        it == file_.tiers[tier].keys.end() ? file_.tiers[tier].line.value_or(0) : it->second.line;
    errors_.add(fmt::format("{}: {}", lines_.place(line), message));
    return false;
  }
  bool fail_header(std::string_view key, const std::string& message) {
    errors_.add(
        fmt::format("{}: {}", lines_.place(file_.header.at(std::string(key)).line), message));
    return false;
  }

  void read_tier(std::size_t tier, FileShape& shape, std::array<std::int64_t, 3>& switch_ns) {
    const TierKeys& keys = file_.tiers[tier];
    if (tier >= shape.tiers) {
      if (keys.line) fail(tier, "", fmt::format("tier {} of {} tiers", tier, shape.tiers));
      return;
    }
    if (!keys.line) {
      errors_.add(fmt::format("{}: there is no \"Tier {}\"", lines_.name(), tier));
      return;
    }
    const bool top = tier + 1 == shape.tiers;
    for (const std::string_view key :
         {"downlink_speed_gbps", "downlink_latency_ns", "radix_down", "radix_up"}) {
      if (key == "radix_up" && top) continue;
      if (!keys.keys.contains(key)) fail(tier, "", fmt::format("tier {} has no {}", tier, key));
    }
    if (top && keys.keys.contains("radix_up")) {
      fail(tier, "radix_up", fmt::format("tier {} is the top: nothing is above it", tier));
    }
    shape.down[tier] = get(tier, "radix_down", 1);
    shape.up[tier] = top ? 0 : get(tier, "radix_up", 1);
    shape.bundle[tier] = get(tier, "bundle", 1);
    shape.speed[tier] = Bandwidth(get(tier, "downlink_speed_gbps", 1) * 125'000'000);
    switch_ns[tier] = get(tier, "switch_latency_ns", 0);
  }

  bool check_pods(FileShape& shape) {
    const std::int64_t pod = file_.header.at("podsize").value;
    if (shape.hosts % pod != 0) {
      return fail_header("podsize",
                         fmt::format("pods of {} do not divide {} nodes evenly", pod, shape.hosts));
    }
    shape.pods = shape.hosts / pod;
    if (shape.tiers == 2 && shape.pods != 1) {
      return fail_header("podsize",
                         fmt::format("two tiers make one pod: {} nodes, not {}", shape.hosts, pod));
    }
    if (pod % shape.down[0] != 0) {
      return fail(0, "radix_down",
                  fmt::format("{} hosts a ToR do not divide the pod of {}", shape.down[0], pod));
    }
    return true;
  }

  bool check_bundles(const FileShape& shape) {
    if (shape.bundle[0] != 1) return fail(0, "bundle", "a host has one cable, not a bundle");
    for (std::size_t tier = 1; tier < shape.tiers; ++tier) {
      for (const auto& [at, ports] :
           {std::pair{tier, shape.down[tier]}, std::pair{tier - 1, shape.up[tier - 1]}}) {
        if (ports % shape.bundle[tier] == 0) continue;
        return fail(at, at == tier ? "radix_down" : "radix_up",
                    fmt::format("bundles of {} do not divide {} ports", shape.bundle[tier], ports));
      }
    }
    return true;
  }

  /// Both ends of every level must count the same cables.
  bool check_ports(const FileShape& shape) {
    const std::int64_t tors = shape.tors_of_pod();
    if (shape.down[1] != tors * shape.bundle[1]) {
      return fail(1, "radix_down",
                  fmt::format("{} ToRs of a pod by bundles of {} need {} ports down, not {}", tors,
                              shape.bundle[1], tors * shape.bundle[1], shape.down[1]));
    }
    if (shape.tiers == 3 && shape.down[2] != shape.pods * shape.bundle[2]) {
      return fail(2, "radix_down",
                  fmt::format("{} pods by bundles of {} need {} ports down, not {}", shape.pods,
                              shape.bundle[2], shape.pods * shape.bundle[2], shape.down[2]));
    }
    if (shape.pods * tors > kPortsMax / shape.up[0] ||
        (shape.tiers == 3 && shape.pods * shape.aggs_of_pod() > kPortsMax / shape.up[1])) {
      return fail(0, "radix_up", fmt::format("more than {} cables on a level", kPortsMax));
    }
    return true;
  }

  /// htsim counts switches from `Oversubscribed`, we from the ports: they must say the same.
  bool check_oversubscription(const FileShape& shape) {
    for (std::size_t tier = 0; tier + 1 < shape.tiers; ++tier) {
      const std::int64_t ratio = get(tier, "oversubscribed", 1);
      const std::int64_t below = shape.down[tier] * shape.speed[tier].bytes_per_s();
      const std::int64_t above = shape.up[tier] * shape.speed[tier + 1].bytes_per_s();
      if (below % above == 0 && below / above == ratio) continue;
      return fail(
          tier, "oversubscribed",
          fmt::format("tier {} is said to be oversubscribed {}:1, but its {} ports down and "
                      "{} up make {:.6g}:1",
                      tier, ratio, shape.down[tier], shape.up[tier],
                      static_cast<double>(below) / static_cast<double>(above)));
    }
    if (get(shape.tiers - 1, "oversubscribed", 1) != 1) {
      return fail(shape.tiers - 1, "oversubscribed", "nothing is above the top tier");
    }
    return true;
  }

  const config::TextLines& lines_;
  const File& file_;
  config::Errors& errors_;
};

NodeId at(std::uint32_t first, std::int64_t number) {
  return static_cast<NodeId>(first + number);
}

void add_nodes(GraphBuilder& graph, const FileShape& shape, std::vector<SwitchLevel>& levels) {
  const auto add_level = [&](std::size_t level, std::string_view prefix, NodeKind kind,
                             std::int64_t count, std::int64_t of_group, std::int64_t parents) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (i % of_group == 0) {
        levels[level].first_node.push_back(static_cast<std::uint32_t>(graph.node_count()));
        if (level + 1 < shape.tiers) {
          levels[level].parent.push_back(static_cast<std::uint32_t>(i / parents));
        }
      }
      graph.add_node(kind, fmt::format("{}{}", prefix, i));
    }
    levels[level].first_node.push_back(static_cast<std::uint32_t>(graph.node_count()));
  };
  for (std::int64_t i = 0; i < shape.hosts; ++i)
    graph.add_node(NodeKind::gpu, fmt::format("HOST{}", i));
  const std::int64_t tors = shape.tors_of_pod();
  const std::int64_t aggs = shape.aggs_of_pod();
  add_level(0, "LS", NodeKind::leaf, shape.pods * tors, 1, tors);
  add_level(1, "US", NodeKind::spine, shape.pods * aggs, aggs, shape.pods * aggs);
  if (shape.tiers == 3) add_level(2, "CS", NodeKind::core, shape.cores(), shape.cores(), 1);
}

void add_hosts(GraphBuilder& graph, const FileShape& shape) {
  for (std::int64_t pod = 0; pod < shape.pods; ++pod) graph.add_minipod(fmt::format("pod-{}", pod));
  const std::int64_t tors = shape.tors_of_pod();
  for (std::int64_t tor = 0; tor < shape.pods * tors; ++tor)
    graph.add_leaf(fmt::format("LS{}", tor));
  std::vector<std::string> names;
  for (std::int64_t host = 0; host < shape.hosts; ++host) {
    const std::array gpu{static_cast<NodeId>(host)};
    const std::int64_t tor = host / shape.down[0];
    graph.add_host(static_cast<LeafId>(tor), static_cast<MinipodId>(tor / tors), gpu, gpu);
    names.push_back(fmt::format("HOST{}", host));
  }
  graph.set_host_names(std::move(names));
}

void add_cables(GraphBuilder& graph, const FileShape& shape,
                const std::vector<SwitchLevel>& levels) {
  const std::uint32_t tor_first = levels[0].first_node.front();
  const std::uint32_t agg_first = levels[1].first_node.front();
  const std::int64_t tors = shape.tors_of_pod();
  const std::int64_t aggs = shape.aggs_of_pod();
  for (std::int64_t host = 0; host < shape.hosts; ++host) {
    graph.add_cable(at(0, host), at(tor_first, host / shape.down[0]),
                    {shape.speed[0], shape.latency[0], Tier::leaf});
  }
  const Cable pod_cable{shape.speed[1], shape.latency[1], Tier::minipod};
  for (std::int64_t tor = 0; tor < shape.pods * tors; ++tor) {
    for (std::int64_t i = 0; i < aggs; ++i) {
      graph.add_cable(at(tor_first, tor), at(agg_first, tor / tors * aggs + i), pod_cable,
                      static_cast<std::uint32_t>(shape.bundle[1]));
    }
  }
  if (shape.tiers != 3) return;
  const Cable core_cable{shape.speed[2], shape.latency[2], Tier::core};
  for (std::int64_t agg = 0; agg < shape.pods * aggs; ++agg) {
    for (std::int64_t i = 0; i < shape.up[1] / shape.bundle[2]; ++i) {
      graph.add_cable(at(agg_first, agg), at(levels[2].first_node.front(), agg % aggs + i * aggs),
                      core_cable, static_cast<std::uint32_t>(shape.bundle[2]));
    }
  }
}

}  // namespace

Topology read_htsim(const config::TextLines& lines, const std::string& gpu_kind,
                    config::Errors& errors) {
  File file;
  if (!FileReader(lines, errors).read(file)) return {};
  FileShape shape;
  if (!ShapeReader(lines, file, errors).read(shape)) return {};
  GraphBuilder graph("htsim", gpu_kind);
  std::vector<SwitchLevel> levels(shape.tiers);
  add_nodes(graph, shape, levels);
  add_hosts(graph, shape);
  add_cables(graph, shape, levels);
  graph.freeze();
  auto paths = make_up_down_paths(graph.view(), std::move(levels));
  return graph.take(std::move(paths));
}

}  // namespace railyard::topology
