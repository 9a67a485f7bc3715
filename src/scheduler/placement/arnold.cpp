// Arnold (arXiv 2509.15940): the gang is a matrix of hosts, row = PP group, column = DP group;
// groups of one kind are the units that are kept together. alpha weighs DP, beta = 1 − alpha weighs
// PP (the paper's prose; its printed Eq. 2 has them swapped).
//
// objective
//   simplified  Eq. 4: alpha · minipods used + beta · T with the PP group as unit,
//               beta · minipods used + alpha · T with the DP group.
//   sum         Eq. 2: alpha · max DP spread + beta · max PP spread, counted from 1, measured on
//               the hosts as the framework would lay the ranks on them.
//   max         max(alpha · max DP spread, beta · max PP spread), measured likewise.
//
// solver
//   exact   closed form (unit_assignment.hpp): for `simplified` optimal where every minipod used
//           holds a whole unit. For the other two the best of its candidates: never worse than
//           what `simplified` chooses, not proven to be the optimum over all assignments.
//   mip     the paper's programme (unit_mip.hpp), `simplified` only.
//   greedy  unit after unit (unit_greedy.hpp), `simplified` or `max`; the units' minipods stand
//           for the spread of the groups across them.
//   traffic beyond the paper: whole hosts, leaves, hash collisions and other jobs' flows count,
//           because candidates are simulated. Starts from what `exact` chooses, so it never costs
//           more than that, and from the other candidates of both units (traffic_search.hpp).
//           Plans for later, and whoever has no simulation at hand, get what `exact` chooses.
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
#include "scheduler/traffic_search.hpp"
#include "scheduler/unit_assignment.hpp"
#include "scheduler/unit_greedy.hpp"
#include "scheduler/unit_mip.hpp"

namespace railyard::scheduler {

namespace {

enum class Objective : std::uint8_t { simplified, sum, max };
enum class Solver : std::uint8_t { exact, mip, greedy, traffic };

/// The rank order in which a unit is one group.
RankOrder following(bool unit_dp) {
  return unit_dp ? RankOrder::dp_fastest : RankOrder::pp_fastest;
}

struct Settings {
  double alpha = 0.5;
  bool unit_dp = false;
  Objective objective = Objective::simplified;
  Solver solver = Solver::exact;
  std::uint32_t nodes = 0;        ///< of mip
  std::uint32_t evaluations = 0;  ///< of traffic
  RankOrder rank_order = RankOrder::pp_fastest;
  bool derive_alpha = false;    ///< in place of a given one
  bool own_rank_order = false;  ///< given, in place of the one that follows the unit

  [[nodiscard]] double w_minipods() const { return unit_dp ? 1.0 - alpha : alpha; }
  [[nodiscard]] double w_spread() const { return unit_dp ? alpha : 1.0 - alpha; }
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
    if (hosts_wanted(shape, view) > view.free_host_count()) return std::nullopt;
    const std::vector<std::uint32_t> free = free_hosts(view);
    const UnitProblem problem = problem_of(shape, view, free);
    switch (settings_.solver) {
      case Solver::mip:
        return by_mip(problem, view);
      case Solver::greedy:
        return on_hosts(greedily(problem), view);
      case Solver::exact:
      case Solver::traffic:
        break;
    }
    return in_closed_form(problem, shape, view);
  }

  std::optional<Placement> place_by_cost(const GangShape& shape, const Inventory& view, Rng rng,
                                         JobId job, PlacementCost& cost) const override {
    if (settings_.derive_alpha && is_matrix_of_hosts(shape, view)) {
      return with_derived_alpha(shape, view, rng, job, cost);
    }
    auto closed = place(shape, view, rng);
    if (settings_.solver != Solver::traffic || !closed || shares_host(shape, view)) return closed;
    TrafficSearch settings;
    settings.evaluations = settings_.evaluations;
    settings.ticks = [&cost, job](const Placement& candidate) {
      return cost.iteration(job, candidate).ticks;
    };
    closed->note.clear();  // of a spread, which is not what is minimised
    std::vector<Placement> starts{std::move(*closed)};
    if (is_matrix_of_hosts(shape, view)) {
      settings.pp_group = shape.pipeline;
      settings.dp_group = rows_of(shape, view);
      add_candidates(shape, view, starts);
    }
    return search(settings, starts, view, rng);
  }

 private:
  /// Aligned with either kind of group as far as it goes, and with none: what the paper measures
  /// offline, simulated where the job would run. Alpha is the DP-aligned share of the gains (5.2).
  std::optional<Placement> with_derived_alpha(const GangShape& shape, const Inventory& view,
                                              Rng rng, JobId job, PlacementCost& cost) const {
    Settings settings = settings_;
    settings.derive_alpha = false;
    const auto aligned = [&](bool unit_dp) {
      Settings whole = settings;
      whole.solver = Solver::exact;
      whole.objective = Objective::simplified;
      whole.unit_dp = unit_dp;
      whole.alpha = unit_dp ? 1 : 0;  // nothing but the spread of the units
      whole.rank_order = following(unit_dp);
      return Arnold(whole).place(shape, view, rng);
    };
    const auto dp_aligned = aligned(true);
    const auto pp_aligned = aligned(false);
    if (!dp_aligned || !pp_aligned) return std::nullopt;
    Placement misaligned = *pp_aligned;
    Rng order(rng.next());
    order.shuffle(std::span<HostSlot>(misaligned.slots));
    const double slow = cost.iteration(job, misaligned).ticks;
    const auto gain = [&](const Placement& placement) {
      return std::max(0.0, slow / cost.iteration(job, placement).ticks - 1);
    };
    const double j_dp = gain(*dp_aligned);
    const double j_pp = gain(*pp_aligned);
    settings.alpha = j_dp + j_pp > 0 ? j_dp / (j_dp + j_pp) : 0.5;
    auto placement = Arnold(settings).place_by_cost(shape, view, rng, job, cost);
    if (!placement) return placement;
    const std::string derived = fmt::format(
        "alpha {:.3f}, from simulated gains over a random order of {:.2f} % for DP-aligned and "
        "{:.2f} % for PP-aligned hosts",
        settings.alpha, 100 * j_dp, 100 * j_pp);
    placement->note = placement->note.empty() ? derived : derived + "; " + placement->note;
    return placement;
  }

  static std::uint32_t rows_of(const GangShape& shape, const Inventory& view) {
    return shape.data / (view.gpus_per_host() / shape.tensor);
  }

  static std::vector<std::uint32_t> free_hosts(const Inventory& view) {
    std::vector<std::uint32_t> free;
    for (std::size_t m = 0; m < view.topology().minipod_count(); ++m) {
      free.push_back(view.free_host_count(static_cast<MinipodId>(m)));
    }
    return free;
  }

  UnitProblem problem_of(const GangShape& shape, const Inventory& view,
                         std::span<const std::uint32_t> free) const {
    const std::uint32_t rows = rows_of(shape, view);
    const std::uint32_t columns = shape.pipeline;
    return {.free_hosts = free,
            .units = settings_.unit_dp ? columns : rows,
            .unit_size = settings_.unit_dp ? rows : columns};
  }

  Placement in_closed_form(const UnitProblem& problem, const GangShape& shape,
                           const Inventory& view) const {
    const std::vector<UnitAssignment> candidates = unit_candidates(problem);
    std::vector<double> costs;
    for (const UnitAssignment& candidate : candidates) {
      costs.push_back(cost(candidate, shape, view));
    }
    const UnitAssignment& best = cheapest(candidates, costs);
    Placement placement = on_hosts(best, view);
    if (settings_.objective == Objective::simplified) {
      placement.note = doubt("arnold's closed form", best,
                             lower_bound(problem, settings_.w_minipods(), settings_.w_spread()));
    }
    return placement;
  }

  /// What the closed form chooses from, with either unit: places to start a search from.
  void add_candidates(const GangShape& shape, const Inventory& view,
                      std::vector<Placement>& starts) const {
    const std::vector<std::uint32_t> free = free_hosts(view);
    for (const bool unit_dp : {settings_.unit_dp, !settings_.unit_dp}) {
      Settings settings = settings_;
      settings.unit_dp = unit_dp;
      if (!settings_.own_rank_order) settings.rank_order = following(unit_dp);
      const Arnold other(settings);
      for (const UnitAssignment& candidate : unit_candidates(other.problem_of(shape, view, free))) {
        Placement placement = other.on_hosts(candidate, view);
        const bool known = std::ranges::any_of(starts, [&placement](const Placement& start) {
          return start.slots == placement.slots && start.rank_order == placement.rank_order;
        });
        if (!known) starts.push_back(std::move(placement));
      }
    }
  }

  UnitAssignment greedily(const UnitProblem& problem) const {
    return greedy_units(problem, {.w_minipods = settings_.w_minipods(),
                                  .w_spread = settings_.w_spread(),
                                  .larger_of_the_two = settings_.objective == Objective::max});
  }

  Placement by_mip(const UnitProblem& problem, const Inventory& view) const {
    const MipAnswer answer = solve_mip(problem, {.w_minipods = settings_.w_minipods(),
                                                 .w_spread = settings_.w_spread(),
                                                 .nodes = settings_.nodes});
    const UnitAssignment found = answer.assignment ? *answer.assignment : greedily(problem);
    Placement placement = on_hosts(found, view);
    placement.note = doubt(
        answer.assignment
            ? fmt::format("arnold's MIP, after {} nodes,", settings_.nodes)
            : fmt::format("arnold's MIP finds nothing within {} nodes; what is placed greedily",
                          settings_.nodes),
        found, answer.bound);
    return placement;
  }

  /// How far from the optimum an assignment may be; nothing where it is the optimum.
  std::string doubt(std::string_view who, const UnitAssignment& found, double bound) const {
    const double cost = found.cost(settings_.w_minipods(), settings_.w_spread());
    constexpr double kEqual = 1e-6;
    if (cost <= bound + kEqual) return {};
    return fmt::format(
        "{} is not proven optimal: objective {:.4g}, no placement has less than {:.4g} (a gap of "
        "{:.1f} %)",
        who, cost, bound, 100.0 * (cost - bound) / cost);
  }

  static bool is_matrix_of_hosts(const GangShape& shape, const Inventory& view) {
    return !shares_host(shape, view) && view.gpus_per_host() % shape.tensor == 0 &&
           shape.data % (view.gpus_per_host() / shape.tensor) == 0;
  }

  double cost(const UnitAssignment& candidate, const GangShape& shape,
              const Inventory& view) const {
    const double alpha = settings_.alpha;
    if (settings_.objective == Objective::simplified) {
      return candidate.cost(settings_.w_minipods(), settings_.w_spread());
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

Solver solver_of(const config::Parameters& parameters) {
  const std::string& solver = parameters.get<std::string>("solver");
  return solver == "mip"       ? Solver::mip
         : solver == "greedy"  ? Solver::greedy
         : solver == "traffic" ? Solver::traffic
                               : Solver::exact;
}

/// What a solver cannot minimise, and what only another one reads.
void refuse_contradictions(const config::Parameters& parameters) {
  const std::string& solver = parameters.get<std::string>("solver");
  const std::string& objective = parameters.get<std::string>("objective");
  if (solver == "mip" && objective != "simplified") {
    throw config::ConfigError(
        fmt::format("solver \"mip\" solves Eq. 4-10, whose objective is \"simplified\": objective "
                    "\"{}\" wants solver \"exact\"{}",
                    objective, objective == "max" ? " or \"greedy\"" : ""));
  }
  if (solver == "greedy" && objective == "sum") {
    throw config::ConfigError(
        "solver \"greedy\" adds up minipods and spread of the units as it goes, which is objective "
        "\"simplified\": objective \"sum\" is measured on whole placements and wants solver "
        "\"exact\"");
  }
  const bool derived = parameters.get<std::string>("alpha_from") == "simulation";
  if (derived && (parameters.given("alpha") || parameters.given("beta"))) {
    throw config::ConfigError("alpha_from \"simulation\" derives alpha and beta: leave out both");
  }
  for (const auto& [parameter, of] :
       {std::pair("nodes", "mip"), std::pair("evaluations", "traffic")}) {
    if (solver == of || !parameters.given(parameter)) continue;
    throw config::ConfigError(fmt::format(
        "{} limits solver \"{}\": leave it out with solver \"{}\"", parameter, of, solver));
  }
}

std::unique_ptr<PlacementPolicy> create_arnold(const config::Parameters& parameters) {
  refuse_contradictions(parameters);
  Settings settings;
  settings.alpha = parameters.get<double>("alpha");
  settings.derive_alpha = parameters.get<std::string>("alpha_from") == "simulation";
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
  settings.solver = solver_of(parameters);
  settings.nodes = static_cast<std::uint32_t>(parameters.get<std::int64_t>("nodes"));
  settings.evaluations = static_cast<std::uint32_t>(parameters.get<std::int64_t>("evaluations"));
  const std::string& objective = parameters.get<std::string>("objective");
  settings.objective = objective == "sum"   ? Objective::sum
                       : objective == "max" ? Objective::max
                                            : Objective::simplified;
  settings.own_rank_order = parameters.has_value("rank_order");
  settings.rank_order =
      settings.own_rank_order ? rank_order_of(parameters) : following(settings.unit_dp);
  return std::make_unique<Arnold>(settings);
}

}  // namespace

PlacementEntry arnold_entry() {
  using config::ParameterType;
  return {
      {.name = "arnold",
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
            {.name = "alpha_from",
             .type = ParameterType::choice,
             .fallback = "\"given\"",
             .help = "given: alpha as it stands; simulation: j_dp / (j_dp + j_pp), the gains of "
                     "DP-aligned and PP-aligned hosts over a random order in simulated "
                     "iterations of the job (plans for later take 0.5)",
             .choices = {"given", "simulation"}},
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
             .help = "exact: closed form; mip: the paper's programme through COIN-OR CBC "
                     "(objective simplified); greedy: unit after unit (objective simplified "
                     "or max); traffic: from the closed form on, a search for the shortest "
                     "simulated iteration",
             .choices = {"exact", "mip", "greedy", "traffic"}},
            {.name = "nodes",
             .type = ParameterType::integer,
             .fallback = "200",
             .help = "branch-and-bound nodes that solver mip may use; where they do not prove "
                     "the optimum, a warning gives the gap",
             .min = 0,
             .max = 1'000'000'000},
            {.name = "evaluations",
             .type = ParameterType::integer,
             .fallback = "60",
             .help = "placements that solver traffic may simulate for a decision",
             .min = 1,
             .max = 1'000'000'000},
            [] {
              auto spec = rank_order_parameter("null");
              spec.help =
                  "how the framework lays ranks on the hosts; by default it follows the "
                  "unit: pp_fastest for pp, dp_fastest for dp";
              return spec;
            }()}},
      &create_arnold};
}

}  // namespace railyard::scheduler
