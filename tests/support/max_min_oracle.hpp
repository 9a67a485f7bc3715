// Two judges of max-min rates that share nothing with the solver: the bottleneck certificate and a
// slow textbook filling.
#pragma once

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "railyard/network/max_min.hpp"

namespace railyard::test {

struct OracleUse {
  std::uint32_t link = 0;
  double usage = 1;
};

struct OracleFlow {
  std::vector<OracleUse> route;
  double share = 1;
  double cap = std::numeric_limits<double>::infinity();
};

struct OracleProblem {
  std::vector<double> capacity;
  std::vector<OracleFlow> flows;
};

/// Empty when the rates are max-min fair: no link above capacity, no flow above its cap, and every
/// flow at its cap or with a saturated link on which no flow stands higher (network/max_min.hpp).
/// `tolerance` is relative, for rounding only.
inline std::string certificate_fault(const OracleProblem& problem, const std::vector<double>& rates,
                                     double tolerance) {
  std::vector<double> load(problem.capacity.size(), 0.0);
  std::vector<double> highest(problem.capacity.size(), 0.0);
  for (std::size_t f = 0; f < problem.flows.size(); ++f) {
    const OracleFlow& flow = problem.flows[f];
    if (!(rates[f] > 0)) return fmt::format("flow {} has the rate {}", f, rates[f]);
    if (rates[f] > flow.cap)
      return fmt::format("flow {} runs at {}, above its cap {}", f, rates[f], flow.cap);
    for (const OracleUse& use : flow.route) {
      load[use.link] += use.usage * rates[f];
      highest[use.link] = std::max(highest[use.link], rates[f] / flow.share);
    }
  }
  for (std::size_t l = 0; l < load.size(); ++l) {
    if (load[l] > problem.capacity[l] * (1 + tolerance)) {
      return fmt::format("link {} carries {} of {}", l, load[l], problem.capacity[l]);
    }
  }
  for (std::size_t f = 0; f < problem.flows.size(); ++f) {
    const OracleFlow& flow = problem.flows[f];
    bool bound = rates[f] >= flow.cap * (1 - tolerance);
    for (const OracleUse& use : flow.route) {
      const bool full = load[use.link] >= problem.capacity[use.link] * (1 - tolerance);
      bound = bound || (full && rates[f] / flow.share >= highest[use.link] * (1 - tolerance));
    }
    if (!bound) return fmt::format("flow {} at {} has no bottleneck and no cap", f, rates[f]);
  }
  return {};
}

/// Progressive filling as in the textbook (Bertsekas & Gallager 6.5.2): dense matrices, every link
/// looked at in every round.
inline std::vector<double> textbook_rates(const OracleProblem& problem) {
  const auto links = static_cast<Eigen::Index>(problem.capacity.size());
  const auto flows = static_cast<Eigen::Index>(problem.flows.size());
  Eigen::MatrixXd weight = Eigen::MatrixXd::Zero(links, flows);
  Eigen::VectorXd level = Eigen::VectorXd::Zero(flows);
  Eigen::VectorXd growing = Eigen::VectorXd::Ones(flows);
  for (Eigen::Index f = 0; f < flows; ++f) {
    const OracleFlow& flow = problem.flows[static_cast<std::size_t>(f)];
    for (const OracleUse& use : flow.route)
      weight(static_cast<Eigen::Index>(use.link), f) += use.usage * flow.share;
  }
  const Eigen::VectorXd capacity =
      Eigen::Map<const Eigen::VectorXd>(problem.capacity.data(), links);
  while (growing.sum() > 0) {
    const Eigen::VectorXd residual =
        capacity - weight * level.cwiseProduct(Eigen::VectorXd::Ones(flows) - growing);
    const Eigen::VectorXd slope = weight * growing;
    double next = std::numeric_limits<double>::infinity();
    Eigen::Index full = -1;
    Eigen::Index capped = -1;
    for (Eigen::Index l = 0; l < links; ++l) {
      if ((weight.row(l).transpose().cwiseProduct(growing)).maxCoeff() <= 0) continue;
      if (residual(l) / slope(l) < next) {
        next = residual(l) / slope(l);
        full = l;
      }
    }
    for (Eigen::Index f = 0; f < flows; ++f) {
      const OracleFlow& flow = problem.flows[static_cast<std::size_t>(f)];
      if (growing(f) > 0 && flow.cap / flow.share < next) {
        next = flow.cap / flow.share;
        capped = f;
      }
    }
    for (Eigen::Index f = 0; f < flows; ++f) {
      const bool stops = capped >= 0 ? f == capped : weight(full, f) > 0;
      if (growing(f) <= 0 || !stops) continue;
      level(f) = next;
      growing(f) = 0;
    }
  }
  std::vector<double> rates(problem.flows.size());
  for (std::size_t f = 0; f < rates.size(); ++f)
    rates[f] = level(static_cast<Eigen::Index>(f)) * problem.flows[f].share;
  return rates;
}

struct OracleRates {
  std::vector<double> rate;
  std::vector<std::uint32_t> binding_link;
  std::vector<std::uint8_t> link_binds;  ///< bottleneck of some flow
};

/// Runs the solver under test.
inline OracleRates solve(const OracleProblem& problem, network::MaxMinWorkspace& workspace) {
  std::vector<std::uint32_t> first_use{0};
  std::vector<std::uint32_t> link;
  std::vector<double> usage;
  std::vector<double> share;
  std::vector<double> cap;
  for (const OracleFlow& flow : problem.flows) {
    for (const OracleUse& use : flow.route) {
      link.push_back(use.link);
      usage.push_back(use.usage);
    }
    first_use.push_back(static_cast<std::uint32_t>(link.size()));
    share.push_back(flow.share);
    cap.push_back(flow.cap);
  }
  OracleRates result;
  result.rate.resize(problem.flows.size());
  result.binding_link.resize(problem.flows.size());
  std::vector<double> level(problem.flows.size());
  std::vector<double> link_level(problem.capacity.size());
  network::solve_max_min(
      network::MaxMinProblem{problem.capacity, first_use, link, usage, share, cap}, workspace,
      network::MaxMinRates{result.rate, level, result.binding_link, link_level});
  for (const double each : link_level) {
    result.link_binds.push_back(each < std::numeric_limits<double>::infinity() ? 1 : 0);
  }
  return result;
}

}  // namespace railyard::test
