// Arnold (arXiv 2509.15940): the gang is a matrix of hosts, row = PP group, column = DP group;
// groups of one kind are the units that are kept together. alpha weighs DP, beta = 1 − alpha weighs
// PP (the paper's prose; its printed Eq. 2 has them swapped).
//
// objective
//   simplified  Eq. 4: alpha · minipods used + beta · T with the PP group as unit,
//               beta · minipods used + alpha · T with the DP group. Solved in closed form
//               (unit_assignment.hpp): optimal where every minipod used holds a whole unit.
//   sum         Eq. 2: alpha · max DP spread + beta · max PP spread, counted from 1, measured on
//               the hosts as the framework would lay the ranks on them.
//   max         max(alpha · max DP spread, beta · max PP spread), measured likewise.
// For the last two the best of the candidates of unit_assignment.hpp is taken. It is the best of
// that family and never worse than what `simplified` chooses; it is not proven to be the optimum
// over all assignments.
//
// The hosts are handed over unit after unit. With the rank order that follows the unit (the
// default) each unit is one group; another rank order is what a framework that ignores the order
// would make of it.
//
// A gang that is no matrix of whole hosts (TP does not divide the GPUs of a host, or DP is no
// multiple of the data ranks of a host) has no units: it is packed into the fewest minipods, those
// with most free hosts first. A gang of less than a host shares the fullest host that fits.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"
#include "scheduler/hosts.hpp"
#include "scheduler/placement/catalog_entries.hpp"
#include "scheduler/unit_assignment.hpp"

namespace railyard::scheduler {

namespace {

enum class Objective : std::uint8_t { simplified, sum, max };

struct Settings {
  double alpha = 0.5;
  bool unit_dp = false;
  Objective objective = Objective::simplified;
  RankOrder rank_order = RankOrder::pp_fastest;
};

class Arnold final : public PlacementPolicy {
 public:
  explicit Arnold(const Settings& settings) : settings_(settings) {}

  bool unit_dp() const override { return settings_.unit_dp; }

  std::optional<Placement> place(const GangShape& shape, const Inventory& view,
                                 Rng /*rng*/) const override {
    if (!is_matrix_of_hosts(shape, view)) {
      return place_in_order(shape, view, FreeOrder::most_first, settings_.rank_order);
    }
    const std::uint32_t rows = shape.data / (view.gpus_per_host() / shape.tensor);
    const std::uint32_t columns = shape.pipeline;
    const std::size_t minipods = view.topology().minipod_count();
    std::vector<std::uint32_t> free(minipods);
    for (std::size_t m = 0; m < minipods; ++m) {
      free[m] = view.free_host_count(static_cast<MinipodId>(m));
    }
    const UnitProblem problem{.free_hosts = free,
                              .units = settings_.unit_dp ? columns : rows,
                              .unit_size = settings_.unit_dp ? rows : columns};
    const std::vector<UnitAssignment> candidates = unit_candidates(problem);
    if (candidates.empty()) return std::nullopt;
    std::vector<double> costs;
    for (const UnitAssignment& candidate : candidates) {
      costs.push_back(cost(candidate, shape, view));
    }
    return on_hosts(cheapest(candidates, costs), view);
  }

 private:
  static bool is_matrix_of_hosts(const GangShape& shape, const Inventory& view) {
    return !shares_host(shape, view) && view.gpus_per_host() % shape.tensor == 0 &&
           shape.data % (view.gpus_per_host() / shape.tensor) == 0;
  }

  double cost(const UnitAssignment& candidate, const GangShape& shape,
              const Inventory& view) const {
    const double alpha = settings_.alpha;
    if (settings_.objective == Objective::simplified) {
      return settings_.unit_dp ? candidate.cost(1.0 - alpha, alpha)
                               : candidate.cost(alpha, 1.0 - alpha);
    }
    const Spread spread = spread_of(on_hosts(candidate, view), shape, view.topology());
    if (settings_.objective == Objective::sum) return spread.weighted(alpha);
    return std::max(alpha * spread.dp_max, (1.0 - alpha) * spread.pp_max);
  }

  /// Unit after unit, each minipod's hosts leaf by leaf.
  Placement on_hosts(const UnitAssignment& assignment, const Inventory& view) const {
    const std::size_t minipods = view.topology().minipod_count();
    std::vector<std::vector<HostId>> hosts(minipods);
    std::vector<std::size_t> taken(minipods, 0);
    Placement placement{{}, settings_.rank_order};
    for (const auto& unit : assignment.units) {
      for (const UnitPart& part : unit) {
        auto& of_minipod = hosts[part.minipod];
        if (of_minipod.empty()) {
          of_minipod = hosts_leaf_by_leaf(view, static_cast<MinipodId>(part.minipod));
        }
        for (std::uint32_t i = 0; i < part.hosts; ++i) {
          const HostId host = of_minipod[taken[part.minipod]++];
          placement.slots.push_back({host, view.free_mask(host)});
        }
      }
    }
    return placement;
  }

  Settings settings_;
};

std::unique_ptr<PlacementPolicy> create(const config::Parameters& parameters) {
  Settings settings;
  settings.alpha = parameters.get<double>("alpha");
  if (parameters.has_value("beta")) {
    const double beta = parameters.get<double>("beta");
    constexpr double kRounding = 1e-9;
    if (std::abs(settings.alpha + beta - 1.0) > kRounding) {
      throw config::ConfigError(
          fmt::format("alpha {} and beta {} must add up to 1: leave beta out, it is 1 - alpha",
                      settings.alpha, beta));
    }
  }
  settings.unit_dp = parameters.get<std::string>("unit") == "dp";
  const std::string& objective = parameters.get<std::string>("objective");
  settings.objective = objective == "sum"   ? Objective::sum
                       : objective == "max" ? Objective::max
                                            : Objective::simplified;
  if (parameters.has_value("rank_order")) {
    settings.rank_order = rank_order_of(parameters);
  } else {
    settings.rank_order = settings.unit_dp ? RankOrder::dp_fastest : RankOrder::pp_fastest;
  }
  return std::make_unique<Arnold>(settings);
}

}  // namespace

PlacementEntry arnold_entry() {
  using config::ParameterType;
  return {{.name = "arnold",
           .summary = "keeps PP or DP groups within minipods: least alpha-weighted spread of the "
                      "gang's matrix of hosts (arXiv 2509.15940)",
           .parameters =
               {{.name = "alpha",
                 .type = ParameterType::real,
                 .fallback = "0.5",
                 .help = "weight of the DP spread",
                 .min = 0.0,
                 .max = 1.0},
                {.name = "beta",
                 .type = ParameterType::real,
                 .fallback = "null",
                 .help = "weight of the PP spread; if given it must be 1 - alpha",
                 .min = 0.0,
                 .max = 1.0},
                {.name = "unit",
                 .type = ParameterType::choice,
                 .fallback = "\"pp\"",
                 .help = "which groups are kept together",
                 .choices = {"pp", "dp"}},
                {.name = "objective",
                 .type = ParameterType::choice,
                 .fallback = "\"simplified\"",
                 .help = "simplified: minipods used and spread of the units (Eq. 4); sum: weighted "
                         "sum of DP and PP spread (Eq. 2); max: the larger of the two",
                 .choices = {"simplified", "sum", "max"}},
                {.name = "solver",
                 .type = ParameterType::choice,
                 .fallback = "\"exact\"",
                 .help = "exact: closed form",
                 .choices = {"exact"}},
                [] {
                  auto spec = rank_order_parameter("null");
                  spec.help =
                      "how the framework lays ranks on the hosts; by default it follows the "
                      "unit: pp_fastest for pp, dp_fastest for dp";
                  return spec;
                }()}},
          &create};
}

}  // namespace railyard::scheduler
