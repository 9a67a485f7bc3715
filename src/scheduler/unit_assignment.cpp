#include "scheduler/unit_assignment.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

#include "railyard/core/check.hpp"

namespace railyard::scheduler {

namespace {

/// Appends units that take what `left` holds, one minipod of `order` after the other.
void fill_in_turn(const UnitProblem& problem, std::span<const std::uint32_t> order,
                  std::vector<std::uint32_t>& left, UnitAssignment& assignment) {
  std::size_t at = 0;
  while (assignment.units.size() < problem.units) {
    std::vector<UnitPart> unit;
    for (std::uint32_t wanted = problem.unit_size; wanted > 0;) {
      RAILYARD_CHECK(at < order.size(), "{} minipods do not hold {} units of {} hosts",
                     order.size(), problem.units, problem.unit_size);
      const std::uint32_t hosts = std::min(wanted, left[order[at]]);
      if (hosts == 0) {
        ++at;
        continue;
      }
      unit.push_back({order[at], hosts});
      left[order[at]] -= hosts;
      wanted -= hosts;
    }
    assignment.units.push_back(std::move(unit));
  }
  measure(assignment, problem.free_hosts.size());
}

std::vector<std::uint32_t> largest_first(const UnitProblem& problem) {
  std::vector<std::uint32_t> order(problem.free_hosts.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
    return problem.free_hosts[a] > problem.free_hosts[b];
  });
  return order;
}

UnitAssignment one_after_the_other(const UnitProblem& problem,
                                   std::span<const std::uint32_t> order) {
  UnitAssignment assignment;
  std::vector<std::uint32_t> left(problem.free_hosts.begin(), problem.free_hosts.end());
  fill_in_turn(problem, order, left, assignment);
  return assignment;
}

UnitAssignment whole_units_first(const UnitProblem& problem, std::span<const std::uint32_t> order) {
  UnitAssignment assignment;
  std::vector<std::uint32_t> left(problem.free_hosts.begin(), problem.free_hosts.end());
  for (const std::uint32_t minipod : order) {
    while (left[minipod] >= problem.unit_size && assignment.units.size() < problem.units) {
      assignment.units.push_back({{minipod, problem.unit_size}});
      left[minipod] -= problem.unit_size;
    }
  }
  fill_in_turn(problem, order, left, assignment);
  return assignment;
}

}  // namespace

void measure(UnitAssignment& assignment, std::size_t minipods) {
  std::vector<bool> used(minipods, false);
  for (const auto& unit : assignment.units) {
    for (const UnitPart& part : unit) used[part.minipod] = true;
    assignment.spread = std::max(assignment.spread, static_cast<std::uint32_t>(unit.size()));
    assignment.split_units += unit.size() > 1 ? 1 : 0;
  }
  assignment.minipods = static_cast<std::uint32_t>(std::ranges::count(used, true));
}

std::vector<UnitAssignment> unit_candidates(const UnitProblem& problem) {
  RAILYARD_CHECK(problem.units > 0 && problem.unit_size > 0, "{} units of {} hosts", problem.units,
                 problem.unit_size);
  const std::vector<std::uint32_t> order = largest_first(problem);
  const std::uint64_t hosts_wanted = std::uint64_t{problem.units} * problem.unit_size;
  std::vector<UnitAssignment> candidates;
  std::uint64_t hosts = 0;
  std::uint64_t whole_units = 0;
  for (std::size_t k = 0; k < order.size() && whole_units < problem.units; ++k) {
    const std::uint32_t free = problem.free_hosts[order[k]];
    if (free == 0) break;
    hosts += free;
    whole_units += free / problem.unit_size;
    if (hosts < hosts_wanted) continue;
    const std::span<const std::uint32_t> largest(order.data(), k + 1);
    candidates.push_back(one_after_the_other(problem, largest));
    candidates.push_back(whole_units_first(problem, largest));
  }
  return candidates;
}

double lower_bound(const UnitProblem& problem, double w_minipods, double w_spread) {
  const std::uint64_t hosts_wanted = std::uint64_t{problem.units} * problem.unit_size;
  std::uint64_t hosts = 0;
  std::uint64_t whole_units = 0;
  double minipods = 0;
  std::optional<double> least;
  const std::vector<std::uint32_t> order = largest_first(problem);
  const std::uint32_t largest = std::max(1U, problem.free_hosts[order.front()]);
  const std::uint32_t divided = std::max(2U, (problem.unit_size + largest - 1) / largest);
  for (const std::uint32_t minipod : order) {
    hosts += problem.free_hosts[minipod];
    whole_units += problem.free_hosts[minipod] / problem.unit_size;
    ++minipods;
    if (!least && hosts >= hosts_wanted) {
      least = w_minipods * minipods + w_spread * divided;
    }
    if (whole_units < problem.units) continue;
    return std::min(*least, w_minipods * minipods + w_spread);
  }
  RAILYARD_CHECK(least.has_value(), "{} free hosts for {} units of {}", hosts, problem.units,
                 problem.unit_size);
  return *least;
}

const UnitAssignment& cheapest(std::span<const UnitAssignment> candidates,
                               std::span<const double> costs) {
  RAILYARD_CHECK(!candidates.empty() && candidates.size() == costs.size(),
                 "{} candidates and {} costs", candidates.size(), costs.size());
  constexpr double kEqual = 1e-9;
  const double least = *std::ranges::min_element(costs);
  const UnitAssignment* best = nullptr;
  const auto key = [](const UnitAssignment& a) {
    return std::tuple(a.spread, a.split_units, a.minipods);
  };
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (costs[i] > least + kEqual) continue;
    if (best == nullptr || key(candidates[i]) < key(*best)) best = &candidates[i];
  }
  return *best;
}

}  // namespace railyard::scheduler
