#include "scheduler/unit_mip.hpp"

#include <coin/CbcHeuristic.hpp>
#include <coin/CbcModel.hpp>
#include <coin/CglGomory.hpp>
#include <coin/CglKnapsackCover.hpp>
#include <coin/CglMixedIntegerRounding2.hpp>
#include <coin/OsiClpSolverInterface.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "railyard/core/check.hpp"

namespace railyard::scheduler {

namespace {

constexpr double kMipEqual = 1e-6;  // of CBC's integers and objectives

/// Columns: T, then y_j, s_ij, p_ij.
class Programme {
 public:
  Programme(const UnitProblem& problem, const MipSettings& settings)
      : problem_(problem), minipods_(static_cast<int>(problem.free_hosts.size())) {
    solver_.messageHandler()->setLogLevel(0);
    add_columns(settings);
    add_rows();
  }

  OsiClpSolverInterface& solver() { return solver_; }

  /// Whole hosts where the solution selects minipods.
  UnitAssignment hosts_of(const double* solution) {
    OsiClpSolverInterface transport(solver_);
    for (int column = y(0); column < p(0, 0); ++column) {
      const double selected = std::round(solution[column]);
      transport.setColBounds(column, selected, selected);
    }
    transport.initialSolve();
    RAILYARD_CHECK(transport.isProvenOptimal(), "the minipods CBC selects do not hold the units");
    const double* p_at = transport.getColSolution();
    UnitAssignment assignment;
    std::vector<std::uint32_t> left(problem_.free_hosts.begin(), problem_.free_hosts.end());
    for (int i = 0; i < units(); ++i) {
      std::vector<UnitPart> unit;
      std::uint32_t placed = 0;
      for (int j = 0; j < minipods_; ++j) {
        const auto hosts =
            static_cast<std::uint32_t>(std::llround(p_at[p(i, j)] * problem_.unit_size));
        if (hosts == 0) continue;
        const auto minipod = static_cast<std::uint32_t>(j);
        RAILYARD_CHECK(hosts <= left[minipod], "CBC overfills minipod {}", j);
        left[minipod] -= hosts;
        placed += hosts;
        unit.push_back({minipod, hosts});
      }
      RAILYARD_CHECK(placed == problem_.unit_size, "CBC places {} of {} hosts of a unit", placed,
                     problem_.unit_size);
      assignment.units.push_back(std::move(unit));
    }
    measure(assignment, problem_.free_hosts.size());
    return assignment;
  }

 private:
  [[nodiscard]] int units() const { return static_cast<int>(problem_.units); }
  [[nodiscard]] int y(int j) const { return 1 + j; }
  [[nodiscard]] int s(int i, int j) const { return 1 + minipods_ + i * minipods_ + j; }
  [[nodiscard]] int p(int i, int j) const { return s(units(), 0) + i * minipods_ + j; }

  void add_columns(const MipSettings& settings) {
    const double infinity = solver_.getInfinity();
    solver_.addCol(CoinPackedVector(), 0.0, infinity, settings.w_spread);
    for (int column = y(0); column < p(units(), 0); ++column) {
      solver_.addCol(CoinPackedVector(), 0.0, 1.0, column < s(0, 0) ? settings.w_minipods : 0.0);
    }
    // T is whole where the s are: said aloud, CBC may branch on it.
    for (int column = 0; column < p(0, 0); ++column) solver_.setInteger(column);
  }

  void add_rows() {
    const double infinity = solver_.getInfinity();
    for (int i = 0; i < units(); ++i) {
      CoinPackedVector spread;
      CoinPackedVector whole;
      spread.insert(0, -1.0);
      for (int j = 0; j < minipods_; ++j) {
        spread.insert(s(i, j), 1.0);
        whole.insert(p(i, j), 1.0);
        CoinPackedVector selected;
        selected.insert(p(i, j), 1.0);
        selected.insert(s(i, j), -1.0);
        solver_.addRow(selected, -infinity, 0.0);
      }
      solver_.addRow(spread, -infinity, 0.0);
      solver_.addRow(whole, 1.0, 1.0);
    }
    for (int j = 0; j < minipods_; ++j) {
      CoinPackedVector capacity;
      const double free = problem_.free_hosts[static_cast<std::size_t>(j)];
      capacity.insert(y(j), -free / problem_.unit_size);
      for (int i = 0; i < units(); ++i) capacity.insert(p(i, j), 1.0);
      solver_.addRow(capacity, -infinity, 0.0);
    }
    // The sum of the capacities, which follows from the rows above: what covers are found in.
    CoinPackedVector all;
    for (int j = 0; j < minipods_; ++j) {
      all.insert(y(j), problem_.free_hosts[static_cast<std::size_t>(j)]);
    }
    solver_.addRow(all, static_cast<double>(problem_.units) * problem_.unit_size, infinity);
  }

  const UnitProblem& problem_;
  int minipods_;
  OsiClpSolverInterface solver_;
};

}  // namespace

MipAnswer solve_mip(const UnitProblem& problem, const MipSettings& settings) {
  const std::uint64_t free =
      std::accumulate(problem.free_hosts.begin(), problem.free_hosts.end(), std::uint64_t{0});
  RAILYARD_CHECK(problem.units > 0 && problem.unit_size > 0 &&
                     free >= std::uint64_t{problem.units} * problem.unit_size,
                 "{} free hosts for {} units of {}", free, problem.units, problem.unit_size);
  Programme programme(problem, settings);
  CbcModel model(programme.solver());
  model.setLogLevel(0);
  CglKnapsackCover cover;
  CglGomory gomory;
  CglMixedIntegerRounding2 rounding;
  constexpr int kEveryNode = 1;
  model.addCutGenerator(&cover, kEveryNode, "knapsack cover");
  model.addCutGenerator(&gomory, kEveryNode, "Gomory");
  model.addCutGenerator(&rounding, kEveryNode, "rounding");
  CbcRounding heuristic(model);
  model.addHeuristic(&heuristic);
  model.setMaximumCutPassesAtRoot(20);
  model.setMaximumCutPasses(2);
  model.setMaximumNodes(static_cast<int>(settings.nodes));
  model.setAllowableGap(kMipEqual);
  model.initialSolve();
  model.branchAndBound();

  MipAnswer answer;
  answer.proven = model.isProvenOptimal();
  answer.bound = model.getBestPossibleObjValue();
  answer.nodes = static_cast<std::uint32_t>(model.getNodeCount());
  if (model.bestSolution() != nullptr) {
    answer.assignment = programme.hosts_of(model.bestSolution());
    // Whole hosts may cost less than the incumbent: unused minipods that it had selected are gone.
    const double cost = answer.assignment->cost(settings.w_minipods, settings.w_spread);
    RAILYARD_CHECK(cost <= model.getObjValue() + kMipEqual,
                   "whole hosts cost {}, CBC's solution {}", cost, model.getObjValue());
    answer.bound = answer.proven ? cost : std::min(answer.bound, cost);
    answer.proven = answer.proven || cost <= answer.bound + kMipEqual;
  }
  return answer;
}

}  // namespace railyard::scheduler
