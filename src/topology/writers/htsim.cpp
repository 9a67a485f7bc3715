// htsim's `.topo`: counts, not links. The counts are taken from the fabric, read back as htsim
// would build them, and compared link by link: a fabric that htsim would wire otherwise is
// refused, with the first link that differs. Cables carry all latency; htsim's switches have none.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>

#include "railyard/config/document.hpp"
#include "topology/readers/htsim.hpp"
#include "topology/writers/parts.hpp"

namespace railyard::topology {
namespace {

constexpr std::string_view kHtsimFormat = "htsim";

struct Level {
  std::size_t switches = 0;
  std::size_t down = 0;
  std::size_t up = 0;
  std::size_t bundle = 1;
  Bandwidth speed;
  Duration latency{};
};

class HtsimWriter {
 public:
  explicit HtsimWriter(const Topology& topology)
      : topology_(topology), ports_(host_ports(topology, kHtsimFormat)) {
    check_hosts();
    order_nodes();
  }

  std::string write() {
    const std::size_t tiers = cores_.empty() ? 2 : 3;
    const std::array<std::size_t, 3> switches{leaves_.size(), spines_.size(), cores_.size()};
    std::array<Level, 3> levels;
    for (std::size_t tier = 0; tier < tiers; ++tier) {
      levels[tier] = measure(tier);
      levels[tier].switches = switches[tier];
    }
    std::string out = fmt::format("Nodes {}\nTiers {}\nPodsize {}\n", ports_.size(), tiers,
                                  ports_.size() / pods_);
    for (std::size_t tier = 0; tier < tiers; ++tier) {
      const Level& level = levels[tier];
      fmt::format_to(std::back_inserter(out), "\nTier {}\nDownlink_speed_Gbps {}\nRadix_Down {}\n",
                     tier, whole_gbps(level.speed), level.down);
      if (tier + 1 < tiers) {
        const std::int64_t below =
            static_cast<std::int64_t>(level.down) * level.speed.bytes_per_s();
        const std::int64_t above =
            static_cast<std::int64_t>(level.up) * levels[tier + 1].speed.bytes_per_s();
        if (below % above != 0) {
          cannot_say(kHtsimFormat,
                     fmt::format("tier {} is oversubscribed {:.6g}:1, no whole number", tier,
                                 static_cast<double>(below) / static_cast<double>(above)));
        }
        fmt::format_to(std::back_inserter(out), "Radix_Up {}\nOversubscribed {}\n", level.up,
                       below / above);
      }
      fmt::format_to(std::back_inserter(out),
                     "Downlink_Latency_ns {}\nSwitch_Latency_ns 0\nBundle {}\n",
                     whole_nanoseconds(level.latency), level.bundle);
    }
    compare(out);
    return out;
  }

 private:
  void check_hosts() const {
    if (topology_.gpu_count() == 0) cannot_say(kHtsimFormat, "there is no GPU");
    for (std::size_t i = 0; i < topology_.hosts().size(); ++i) {
      if (topology_.hosts()[i].gpus == 1) continue;
      cannot_say(kHtsimFormat, fmt::format("{} has {} GPUs, and hosts of htsim are one port each",
                                           topology_.host_name(static_cast<HostId>(i)),
                                           topology_.hosts()[i].gpus));
    }
    if (ports_.size() != topology_.gpu_count())
      cannot_say(kHtsimFormat, "a host has several cables");
  }

  /// Leaves in order of their hosts, spines by minipod, cores as htsim numbers them.
  void order_nodes() {
    new_id_.assign(topology_.node_count(), NodeId{0});
    std::map<NodeId, std::size_t> minipod;  // of leaves and spines
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      const NodeId leaf = ports_[i].leaf;
      if (leaves_.empty() || leaves_.back() != leaf) leaves_.push_back(leaf);
      minipod[leaf] = index(topology_.hosts()[i].minipod);
    }
    pods_ = topology_.minipod_count();
    std::vector<std::vector<NodeId>> spines(pods_);
    std::map<NodeId, std::size_t> position;
    for (std::size_t i = 0; i < topology_.node_count(); ++i) {
      const auto node = static_cast<NodeId>(i);
      if (topology_.kind(node) != NodeKind::spine) continue;
      std::size_t pod = 0;
      for (const Link& link : topology_.out_links(node)) {
        if (topology_.kind(link.to) == NodeKind::leaf) pod = minipod[link.to];
      }
      position[node] = spines[pod].size();
      spines[pod].push_back(node);
    }
    for (const auto& pod : spines) spines_.insert(spines_.end(), pod.begin(), pod.end());
    if (spines_.empty()) cannot_say(kHtsimFormat, "it has fewer than two tiers of switches");
    order_cores(position, spines.front().size());
    NodeId next{0};
    const auto number = [&](NodeId node) {
      new_id_[index(node)] = next;
      next = static_cast<NodeId>(index(next) + 1);
    };
    for (const HostPort& port : ports_) number(port.gpu);
    for (const auto* level : {&leaves_, &spines_, &cores_}) {
      for (const NodeId node : *level) number(node);
    }
  }

  /// Core p + l × spines of a pod meets the spines p of all pods.
  void order_cores(const std::map<NodeId, std::size_t>& position, std::size_t spines_of_pod) {
    std::map<std::size_t, NodeId> by_number;
    std::map<std::size_t, std::size_t> used;
    for (std::size_t i = 0; i < topology_.node_count(); ++i) {
      const auto node = static_cast<NodeId>(i);
      if (topology_.kind(node) != NodeKind::core) continue;
      const auto links = topology_.out_links(node);
      const auto found = links.empty() ? position.end() : position.find(links.front().to);
      if (found == position.end())
        cannot_say(kHtsimFormat, fmt::format("{} meets no spine", topology_.node_name(node)));
      by_number[found->second + spines_of_pod * used[found->second]++] = node;
    }
    for (const auto& [number, node] : by_number) cores_.push_back(node);
  }

  /// Ports, speed and latency of the first switch of a tier.
  [[nodiscard]] Level measure(std::size_t tier) const {
    Level level;
    const std::vector<NodeId>& switches = tier == 0 ? leaves_ : tier == 1 ? spines_ : cores_;
    if (tier == 0) {
      level.speed = ports_.front().capacity;
      level.latency = ports_.front().latency;
      level.down = ports_.size() / leaves_.size();
    }
    NodeId first_below{};
    for (const Link& link : topology_.out_links(switches.front())) {
      if (topology_.kind(link.to) > topology_.kind(link.from)) ++level.up;
      if (tier == 0 || topology_.kind(link.to) >= topology_.kind(link.from)) continue;
      if (level.down++ == 0) {
        first_below = link.to;
        level.speed = link.capacity;
        level.latency = link.latency;
      } else if (link.to == first_below) {
        ++level.bundle;
      }
    }
    return level;
  }

  [[nodiscard]] static std::int64_t whole_gbps(Bandwidth speed) {
    constexpr std::int64_t kGbps = 125'000'000;
    if (speed.bytes_per_s() % kGbps != 0 || speed.bytes_per_s() == 0)
      cannot_say(kHtsimFormat, fmt::format("{} is no whole number of Gb/s", bandwidth_text(speed)));
    return speed.bytes_per_s() / kGbps;
  }
  [[nodiscard]] static std::int64_t whole_nanoseconds(Duration latency) {
    constexpr std::int64_t kTicksPerNanosecond = kTicksPerSecond / 1'000'000'000;
    if (latency.count() % kTicksPerNanosecond != 0)
      cannot_say(kHtsimFormat, fmt::format("{} is no whole number of ns", duration_text(latency)));
    return latency.count() / kTicksPerNanosecond;
  }

  using Between = std::map<std::pair<NodeId, NodeId>, std::vector<std::pair<Bandwidth, Duration>>>;

  /// Refuses where htsim would build other links from the text.
  void compare(const std::string& text) const {
    config::Errors errors;
    const Topology built = read_htsim(config::TextLines::parse_text(text, "the .topo"), "", errors);
    try {
      errors.throw_if_any();
    } catch (const config::ConfigError& error) {
      cannot_say(kHtsimFormat, error.lines().front());
    }
    Between there;
    for (const Link& link : built.links())
      there[{link.from, link.to}].emplace_back(link.capacity, link.latency);
    Between here;
    for (const Link& link : topology_.links()) {
      if (!is_switch(topology_.kind(link.from)) || !is_switch(topology_.kind(link.to))) continue;
      here[{new_id_[index(link.from)], new_id_[index(link.to)]}].emplace_back(link.capacity,
                                                                              link.latency);
    }
    for (const HostPort& port : ports_) {
      const NodeId gpu = new_id_[index(port.gpu)];
      const NodeId leaf = new_id_[index(port.leaf)];
      here[{gpu, leaf}].emplace_back(port.capacity, port.latency);
      here[{leaf, gpu}].emplace_back(port.capacity, port.latency);
    }
    for (const auto* links : {&here, &there}) {
      for (const auto& [ends, _] : *links) {
        const auto a = here.find(ends);
        const auto b = there.find(ends);
        if (a != here.end() && b != there.end() && a->second == b->second) continue;
        cannot_say(kHtsimFormat, fmt::format("it would wire the way from {} to {} otherwise",
                                             name_of(ends.first), name_of(ends.second)));
      }
    }
  }

  [[nodiscard]] std::string name_of(NodeId id) const {
    const std::size_t hosts = ports_.size();
    const std::size_t i = index(id);
    if (i < hosts) return topology_.host_name(static_cast<HostId>(i));
    const std::size_t above = i - hosts;
    if (above < leaves_.size()) return topology_.node_name(leaves_[above]);
    if (above < leaves_.size() + spines_.size())
      return topology_.node_name(spines_[above - leaves_.size()]);
    const std::size_t core = above - leaves_.size() - spines_.size();
    return core < cores_.size() ? topology_.node_name(cores_[core]) : fmt::format("core {}", core);
  }

  const Topology& topology_;
  std::vector<HostPort> ports_;
  std::vector<NodeId> leaves_;
  std::vector<NodeId> spines_;
  std::vector<NodeId> cores_;
  std::vector<NodeId> new_id_;  ///< as htsim's reader numbers nodes
  std::size_t pods_ = 1;
};

}  // namespace

std::string write_htsim(const Topology& topology) {
  return HtsimWriter(topology).write();
}

}  // namespace railyard::topology
