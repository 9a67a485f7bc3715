#include "topology/routing/hashed.hpp"

#include <algorithm>
#include <tuple>

#include "railyard/core/rng.hpp"

namespace railyard::topology {

std::uint64_t hash_of(const Topology& topology, const Connection& connection,
                      std::uint32_t queue_pair, const HashFields& fields) {
  std::uint64_t hash = mix64(fields.salt);
  hash = mix64(hash ^ index(topology.nic_node(connection.source)));
  hash = mix64(hash ^ index(topology.nic_node(connection.destination)));
  if (!fields.enhanced) return hash;
  hash = mix64(hash ^ connection.label);
  return mix64(hash ^ queue_pair);
}

std::uint32_t HashHop::choose(NodeId at, std::uint32_t, std::uint32_t count) {
  const std::uint64_t hash = polarized_ ? connection_ : mix64(connection_ ^ mix64(index(at)));
  return static_cast<std::uint32_t>(hash % count);
}

void EvenSplit::add(const std::vector<LinkId>& path) {
  Duration latency{};
  for (std::uint32_t hop = 0; hop < path.size(); ++hop) {
    const Link& link = topology_.link(path[hop]);
    latency += link.latency;
    tier_ = std::max(tier_, link.tier);
    placed_.push_back({path[hop], hop});
  }
  latency_ = std::max(latency_, latency);
}

void EvenSplit::finish(Route& out) {
  out.clear();
  out.latency = latency_;
  out.tier = tier_;
  std::sort(placed_.begin(), placed_.end());
  std::vector<std::tuple<std::uint32_t, LinkId, double>> shares;
  for (std::size_t i = 0; i < placed_.size();) {
    std::size_t end = i;
    while (end < placed_.size() && placed_[end].link == placed_[i].link) ++end;
    shares.emplace_back(placed_[i].hop, placed_[i].link,
                        static_cast<double>(end - i) / static_cast<double>(paths_));
    i = end;
  }
  std::sort(shares.begin(), shares.end());
  for (const auto& [hop, link, share] : shares) out.links.push_back({link, share});
}

}  // namespace railyard::topology
