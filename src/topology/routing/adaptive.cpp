// adaptive: the least loaded of the equal paths when the flow starts. The cost of a link is
// (flows + 1) / capacity, the inverse of the share that the new flow could have of it.
//
//   scope "path"  the path whose costliest link costs least, among those the one of least total
//                 cost (exact, by dynamic programming over the links of all equal paths): what a
//                 controller with a view of the whole fabric would choose. Links that all paths
//                 cross do not count
//   scope "hop"   each switch takes its own cheapest link towards the destination and knows nothing
//                 of what lies behind it: the adaptive routing of switches
//
// Ties are broken by the hash of the connection. With repath_interval a running flow moves when
// another path has a strictly cheaper costliest link.
#include <algorithm>
#include <limits>

#include "railyard/core/check.hpp"
#include "railyard/core/rng.hpp"
#include "topology/routing/hashed.hpp"
#include "topology/routing/routings.hpp"

namespace railyard::topology {
namespace {

struct Settings {
  std::uint64_t salt = 0;
  bool by_hop = false;
  Duration repath_interval{};
};

class IdleNetwork final : public LoadView {
 public:
  double flows(LinkId) const override { return 0; }
};

/// A link of an equal path, between nodes numbered in the order of `GroupPaths::nodes`.
struct Step {
  LinkId link{};
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  double cost = 0;
  std::uint64_t tie = 0;
};

/// All equal paths of a connection: links in order of travel.
struct GroupPaths {
  std::vector<NodeId> nodes;  ///< sorted
  std::vector<Step> steps;
  std::uint32_t source = 0;
  std::uint32_t destination = 0;

  [[nodiscard]] std::uint32_t number(NodeId node) const {
    return static_cast<std::uint32_t>(std::lower_bound(nodes.begin(), nodes.end(), node) -
                                      nodes.begin());
  }
};

constexpr std::uint32_t kNoStep = 0xffffffff;

/// What is known about getting to a node.
struct Reach {
  double cost = std::numeric_limits<double>::infinity();
  std::uint32_t step = kNoStep;
};

class Adaptive final : public Routing {
 public:
  Adaptive(const Topology& topology, const Settings& settings)
      : topology_(topology), settings_(settings) {}

  void route(const Connection& connection, Route& out) const override {
    route_by_load(connection, IdleNetwork(), nullptr, out);
  }
  bool needs_load() const override { return true; }
  void route_by_load(const Connection& connection, const LoadView& load, const Route* current,
                     Route& out) const override {
    const GroupPaths paths = paths_of(connection, load);
    const std::vector<LinkId> best = settings_.by_hop ? by_hop(paths) : by_path(paths);
    if (current != nullptr && costliest(paths, links_of(*current)) <= costliest(paths, best)) {
      out = *current;
      return;
    }
    set_single_path(topology_, best, out);
  }
  void choices(const Connection& connection, std::vector<LinkUse>& out) const override {
    const std::size_t first = out.size();
    topology_.paths().spread(connection.source, connection.destination, out);
    for (std::size_t at = first; at < out.size(); ++at) out[at].usage = 1.0;
  }
  bool hashes() const override { return true; }
  Duration repath_interval() const override { return settings_.repath_interval; }

 private:
  [[nodiscard]] GroupPaths paths_of(const Connection& connection, const LoadView& load) const {
    std::vector<LinkUse> spread;
    topology_.paths().spread(connection.source, connection.destination, spread);
    GroupPaths out;
    for (const LinkUse& use : spread) {
      out.nodes.push_back(topology_.link(use.link).from);
      out.nodes.push_back(topology_.link(use.link).to);
    }
    std::sort(out.nodes.begin(), out.nodes.end());
    out.nodes.erase(std::unique(out.nodes.begin(), out.nodes.end()), out.nodes.end());
    const std::uint64_t hash = hash_of(topology_, connection, 0, {.salt = settings_.salt});
    out.steps.reserve(spread.size());
    for (const LinkUse& use : spread) {
      const Link& link = topology_.link(use.link);
      const double cost = use.usage >= 1.0 ? 0.0
                                           : (load.flows(use.link) + 1) /
                                                 static_cast<double>(link.capacity.bytes_per_s());
      out.steps.push_back({use.link, out.number(link.from), out.number(link.to), cost,
                           mix64(hash ^ mix64(index(use.link)))});
    }
    out.source = out.number(topology_.gpu_node(connection.source));
    out.destination = out.number(topology_.gpu_node(connection.destination));
    return out;
  }

  /// The cheapest way to every node; `together` joins the cost so far with that of a link.
  template <typename Together>
  static std::vector<Reach> reach(const GroupPaths& paths, double limit, const Together& together) {
    std::vector<Reach> out(paths.nodes.size());
    out[paths.source].cost = 0;
    for (std::uint32_t s = 0; s < paths.steps.size(); ++s) {
      const Step& step = paths.steps[s];
      if (step.cost > limit || out[step.from].cost == Reach{}.cost) continue;
      const double cost = together(out[step.from].cost, step.cost);
      Reach& at = out[step.to];
      const bool tie = cost == at.cost && step.tie < paths.steps[at.step].tie;
      if (cost < at.cost || tie) at = {cost, s};
    }
    return out;
  }

  [[nodiscard]] static std::vector<LinkId> by_path(const GroupPaths& paths) {
    constexpr double kAny = std::numeric_limits<double>::infinity();
    const auto widest = reach(paths, kAny, [](double a, double b) { return std::max(a, b); });
    const double limit = widest[paths.destination].cost;
    const auto best = reach(paths, limit, [](double a, double b) { return a + b; });
    std::vector<LinkId> out;
    for (std::uint32_t at = paths.destination; at != paths.source;) {
      RAILYARD_CHECK(best[at].step != kNoStep, "no path within the least cost {}", limit);
      const Step& step = paths.steps[best[at].step];
      out.push_back(step.link);
      at = step.from;
    }
    std::reverse(out.begin(), out.end());
    return out;
  }

  [[nodiscard]] static std::vector<LinkId> by_hop(const GroupPaths& paths) {
    std::vector<std::uint32_t> best(paths.nodes.size(), kNoStep);
    for (std::uint32_t s = 0; s < paths.steps.size(); ++s) {
      const Step& step = paths.steps[s];
      std::uint32_t& chosen = best[step.from];
      if (chosen == kNoStep || step.cost < paths.steps[chosen].cost ||
          (step.cost == paths.steps[chosen].cost && step.tie < paths.steps[chosen].tie)) {
        chosen = s;
      }
    }
    std::vector<LinkId> out;
    for (std::uint32_t at = paths.source; at != paths.destination;) {
      const Step& step = paths.steps[best[at]];
      out.push_back(step.link);
      at = step.to;
    }
    return out;
  }

  /// Infinite for a route that is none of the equal paths.
  [[nodiscard]] static double costliest(const GroupPaths& paths, const std::vector<LinkId>& links) {
    double most = 0;
    for (const LinkId link : links) {
      const auto at = std::find_if(paths.steps.begin(), paths.steps.end(),
                                   [link](const Step& step) { return step.link == link; });
      if (at == paths.steps.end()) return std::numeric_limits<double>::infinity();
      most = std::max(most, at->cost);
    }
    return most;
  }
  [[nodiscard]] static std::vector<LinkId> links_of(const Route& route) {
    std::vector<LinkId> out;
    for (const LinkUse& use : route.links) out.push_back(use.link);
    return out;
  }

  const Topology& topology_;
  Settings settings_;
};

}  // namespace

std::unique_ptr<Routing> make_adaptive(const Topology& topology,
                                       const config::Parameters& parameters) {
  Settings settings{.salt = static_cast<std::uint64_t>(parameters.get<std::int64_t>("seed_salt")),
                    .by_hop = parameters.get<std::string>("scope") == "hop"};
  if (parameters.has_value("repath_interval"))
    settings.repath_interval = parameters.get<Duration>("repath_interval");
  return std::make_unique<Adaptive>(topology, settings);
}

}  // namespace railyard::topology
