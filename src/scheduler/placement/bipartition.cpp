// Dual recursive bipartitioning (Amaral et al., SC'17): the free part of the fabric is cut in two
// halves along its tree, the job's graph of hosts into parts that fit them with as little traffic
// between as Fiduccia and Mattheyses find, and so on in each half down to the hosts.
//
// The job's graph is its matrix of hosts: neighbouring stages of a pipeline, and rings of the data
// ranks of a stage, with weights 1 - alpha and alpha. What Fiduccia and Mattheyses find is a local
// optimum, so two cuts are improved, between consecutive ranks and between consecutive ranks of the
// other rank order, and the first of equals stays.
#include "scheduler/bipartition.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "railyard/core/check.hpp"
#include "scheduler/hosts.hpp"
#include "scheduler/placement/catalog_entries.hpp"

namespace railyard::scheduler {

namespace {

/// A part of the fabric with its free hosts: children, or hosts of a leaf.
struct Domain {
  std::vector<Domain> children;
  std::vector<HostId> hosts;
  std::uint32_t free = 0;
};
using Domains = std::vector<const Domain*>;

std::uint32_t free_of(const Domains& domains) {
  std::uint32_t free = 0;
  for (const Domain* domain : domains) free += domain->free;
  return free;
}

Domain free_fabric(const Inventory& view) {
  Domain root;
  root.children.resize(view.topology().minipod_count());
  for (FreeLeaf& leaf : free_leaves(view)) {
    const auto free = static_cast<std::uint32_t>(leaf.hosts.size());
    Domain& minipod = root.children[index(leaf.minipod)];
    minipod.children.push_back({{}, std::move(leaf.hosts), free});
    minipod.free += free;
    root.free += free;
  }
  return root;
}

Domains children_of(const Domain& domain) {
  Domains children;
  for (const Domain& child : domain.children) {
    if (child.free > 0) children.push_back(&child);
  }
  return children;
}

/// Hosts by number in rank order, edges between those that talk.
std::vector<WeightedEdge> job_graph(std::uint32_t hosts, std::uint32_t columns, double alpha,
                                    RankOrder rank_order) {
  constexpr double kUnit = 1000;
  const auto dp = static_cast<std::int64_t>(std::llround(kUnit * alpha));
  const auto pp = static_cast<std::int64_t>(kUnit) - dp;
  const std::uint32_t rows = hosts / columns;
  const auto number = [&](std::uint32_t row, std::uint32_t column) {
    return rank_order == RankOrder::pp_fastest ? row * columns + column : column * rows + row;
  };
  std::vector<WeightedEdge> edges;
  for (std::uint32_t r = 0; r < rows; ++r) {
    for (std::uint32_t c = 0; c < columns; ++c) {
      if (c + 1 < columns) edges.push_back({number(r, c), number(r, c + 1), pp});
      if (r + 1 < rows) edges.push_back({number(r, c), number(r + 1, c), dp});
      if (r + 1 == rows && rows > 2) edges.push_back({number(r, c), number(0, c), dp});
    }
  }
  return edges;
}

class Mapping {
 public:
  /// `line`: how many consecutive ranks are one pipeline, or one data-parallel group.
  Mapping(std::vector<WeightedEdge> edges, std::uint32_t hosts, std::uint32_t line)
      : edges_(std::move(edges)), line_(line), place_(hosts), hosts_(hosts) {}

  std::vector<HostId> run(const Domain& fabric) {
    std::vector<std::uint32_t> gang(hosts_.size());
    std::iota(gang.begin(), gang.end(), 0U);
    map(gang, children_of(fabric));
    return hosts_;
  }

 private:
  /// Hosts for ranks of the gang, ascending, in domains that can hold them.
  void map(const std::vector<std::uint32_t>& gang, Domains domains) {
    if (gang.empty()) return;
    keep_fewest(static_cast<std::uint32_t>(gang.size()), domains);
    if (domains.size() > 1) return cut(gang, domains);
    const Domain& only = *domains.front();
    if (!only.children.empty()) return map(gang, children_of(only));
    for (std::size_t i = 0; i < gang.size(); ++i) hosts_[gang[i]] = only.hosts[i];
  }

  /// The tightest domain that holds all; else the emptiest ones, as few as hold it.
  static void keep_fewest(std::uint32_t wanted, Domains& domains) {
    std::vector<std::uint32_t> rooms;
    for (const Domain* domain : domains) rooms.push_back(domain->free);
    if (const auto tightest = tightest_domain(rooms, wanted)) {
      domains = {domains[*tightest]};
      return;
    }
    std::ranges::stable_sort(domains, std::ranges::greater{}, &Domain::free);
    std::uint32_t held = 0;
    std::size_t count = 0;
    while (held < wanted && count < domains.size()) held += domains[count++]->free;
    RAILYARD_CHECK(held >= wanted, "{} hosts do not hold {}", held, wanted);
    domains.resize(count);
  }

  void cut(const std::vector<std::uint32_t>& gang, const Domains& domains) {
    Domains first;
    Domains second;
    for (const Domain* domain : domains) {
      (free_of(first) <= free_of(second) ? first : second).push_back(domain);
    }
    const std::size_t size = gang.size();
    const std::size_t room_first = free_of(first);
    const std::size_t room_second = free_of(second);
    const SideBounds bounds{.least = size - std::min(size, room_second),
                            .most = std::min(size, room_first)};
    const std::size_t fair =
        (size * room_first + (room_first + room_second) / 2) / (room_first + room_second);
    const std::size_t start = std::clamp(fair, bounds.least, bounds.most);
    const auto edges = edges_within(gang);
    std::vector<bool> side(size, true);
    std::fill_n(side.begin(), start, false);
    std::vector<bool> across = across_lines(gang, start);
    improve_cut(edges, bounds, side);
    improve_cut(edges, bounds, across);
    if (cut_of(edges, across) < cut_of(edges, side)) side = std::move(across);
    std::vector<std::uint32_t> parts[2];
    for (std::size_t i = 0; i < size; ++i) parts[side[i] ? 1 : 0].push_back(gang[i]);
    map(parts[0], std::move(first));
    map(parts[1], std::move(second));
  }

  /// So many ranks on the first side: the first of all lines, then the second, …
  [[nodiscard]] std::vector<bool> across_lines(const std::vector<std::uint32_t>& gang,
                                               std::size_t first) const {
    std::vector<std::size_t> order(gang.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return gang[i] % line_; });
    std::vector<bool> second(gang.size(), true);
    for (std::size_t i = 0; i < first; ++i) second[order[i]] = false;
    return second;
  }

  /// Edges between these ranks, numbered as they stand in the list.
  std::vector<WeightedEdge> edges_within(const std::vector<std::uint32_t>& gang) {
    constexpr std::uint32_t kOutside = 0xffffffff;
    std::ranges::fill(place_, kOutside);
    for (std::uint32_t i = 0; i < gang.size(); ++i) place_[gang[i]] = i;
    std::vector<WeightedEdge> within;
    for (const WeightedEdge& edge : edges_) {
      if (place_[edge.a] == kOutside || place_[edge.b] == kOutside) continue;
      within.push_back({place_[edge.a], place_[edge.b], edge.weight});
    }
    return within;
  }

  std::vector<WeightedEdge> edges_;
  std::uint32_t line_;
  std::vector<std::uint32_t> place_;
  std::vector<HostId> hosts_;
};

class Bipartition final : public PlacementPolicy {
 public:
  Bipartition(double alpha, RankOrder rank_order) : alpha_(alpha), rank_order_(rank_order) {}

  std::optional<Placement> place(const GangShape& shape, const Inventory& view,
                                 Rng /*rng*/) const override {
    if (shares_host(shape, view)) {
      return place_in_order(shape, view, FreeOrder::fewest_first, rank_order_);
    }
    const std::uint32_t wanted = hosts_wanted(shape, view);
    if (view.free_host_count() < wanted) return std::nullopt;
    const std::uint32_t columns = wanted % shape.pipeline == 0 ? shape.pipeline : 1;
    const std::uint32_t line = rank_order_ == RankOrder::pp_fastest ? columns : wanted / columns;
    Mapping mapping(job_graph(wanted, columns, alpha_, rank_order_), wanted, line);
    return on_whole_hosts(mapping.run(free_fabric(view)), view, rank_order_);
  }

 private:
  double alpha_;
  RankOrder rank_order_;
};

std::unique_ptr<PlacementPolicy> create_bipartition(const config::Parameters& parameters) {
  return std::make_unique<Bipartition>(parameters.get<double>("alpha"), rank_order_of(parameters));
}

}  // namespace

PlacementEntry bipartition_entry() {
  return {{.name = "bipartition",
           .summary = "topology-aware: job graph and fabric are cut in two again and again, with "
                      "least traffic across (Fiduccia and Mattheyses; Amaral et al., SC'17)",
           .parameters = {{.name = "alpha",
                           .type = config::ParameterType::real,
                           .fallback = "0.5",
                           .help = "weight of an edge of a data-parallel ring; one between stages "
                                   "of a pipeline has 1 - alpha",
                           .min = 0.0,
                           .max = 1.0},
                          rank_order_parameter("\"pp_fastest\"")}},
          &create_bipartition};
}

}  // namespace railyard::scheduler
