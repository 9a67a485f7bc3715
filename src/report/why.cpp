#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sections.hpp"

namespace railyard::report {

namespace {

using metrics::Attribution;
using metrics::Metric;
using metrics::PolicyResult;
using metrics::RunResult;

constexpr double kHotShare =
    0.05;  // a hot link binds a flow for more than 5 % of the time (docs/reference)

constexpr double kCloseShare = 0.001;

std::string_view noun(Metric metric) {
  switch (metric) {
    case Metric::throughput_tokens_per_s:
      return "throughput";
    case Metric::iteration_s_mean:
      return "iteration time";
    case Metric::jct_s_mean:
      return "mean job completion time";
    default:
      return metrics::metric_catalog()[static_cast<std::size_t>(metric)].title;
  }
}

/// Policies that all but tie with the winner: a reader should not take rounding for a verdict.
std::string close_behind(const RunResult& result, const Verdict& verdict) {
  const double best = *result.policies[verdict.winner].metrics.get(verdict.metric);
  std::string names;
  for (const PolicyResult& policy : result.policies) {
    const double value = *policy.metrics.get(verdict.metric);
    if (value == best || std::abs(value - best) > kCloseShare * std::abs(best)) continue;
    names += (names.empty() ? "" : ", ") + policy.name;
  }
  return names;
}

std::string winner_sentence(const RunResult& result, const Verdict& verdict) {
  const PolicyResult& winner = result.policies[verdict.winner];
  const PolicyResult& against = result.policies[verdict.against];
  const double ours = *winner.metrics.get(verdict.metric);
  const double theirs = *against.metrics.get(verdict.metric);
  const bool is_baseline = winner.name == result.baseline;
  if (verdict.ties.size() + 1 == result.policies.size()) {
    return fmt::format("no policy wins: all have the same {}.", noun(verdict.metric));
  }
  std::string names = winner.name;
  for (const std::size_t tie : verdict.ties) names += " = " + result.policies[tie].name;
  const std::string close = close_behind(result, verdict);
  return fmt::format(
      "{} {}: {} the {} of {}{}{}.", names, verdict.ties.empty() ? "wins" : "tie",
      ratio_text(ours, theirs), noun(verdict.metric),
      is_baseline ? "the next best, " : "the baseline, ", against.name,
      close.empty() ? "" : fmt::format("; within {:.1f} % of it: {}", kCloseShare * 100, close));
}

/// Of what the difference between two iterations is made, largest part first.
std::string gain_sentence(const PolicyResult& winner, const PolicyResult& against) {
  const Attribution& ours = *winner.attribution;
  const Attribution& theirs = *against.attribution;
  const Duration gain = theirs.total() - ours.total();
  if (gain == Duration{}) return "both iterations take the same time, to the tick.";
  const auto collectives = [](const Attribution& part) {
    return part.exposed_tp + part.exposed_dp + part.exposed_ep + part.exposed_cp;
  };
  const auto other_contention = [](const Attribution& part) {
    return part.contention - part.contention_pp;
  };
  std::vector<std::pair<Duration, std::string_view>> parts{
      {theirs.exposed_pp - ours.exposed_pp, "exposed P2P"},
      {collectives(theirs) - collectives(ours), "exposed collectives"},
      {theirs.contention_pp - ours.contention_pp, "contention of P2P"},
      {other_contention(theirs) - other_contention(ours), "contention of collectives"},
      {theirs.latency - ours.latency, "latency"},
      {theirs.bubble - ours.bubble, "bubble"},
      {theirs.compute - ours.compute, "compute"}};
  const bool gained = gain > Duration{};
  std::stable_sort(parts.begin(), parts.end(), [gained](const auto& a, const auto& b) {
    return gained ? a.first > b.first : a.first < b.first;
  });
  std::string list;
  for (const auto& [part, name] : parts) {
    if (part == Duration{}) continue;
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", time_text(in_seconds(part)), name);
  }
  return fmt::format("an iteration of its largest job takes {} instead of {}: of the {} {}, {}.",
                     time_text(in_seconds(ours.total())), time_text(in_seconds(theirs.total())),
                     time_text(std::abs(in_seconds(gain))), gained ? "gained" : "lost", list);
}

/// Does the paper's spread measure pick the same winner?
std::string spread_sentence(const RunResult& result, const Verdict& verdict) {
  std::vector<std::size_t> lowest;
  for (std::size_t i = 0; i < result.policies.size(); ++i) {
    const auto value = result.policies[i].metrics.get(Metric::diffusion_weighted);
    if (!value) return "";
    if (!lowest.empty()) {
      const double best = *result.policies[lowest[0]].metrics.get(Metric::diffusion_weighted);
      if (*value > best) continue;
      if (*value < best) lowest.clear();
    }
    lowest.push_back(i);
  }
  std::string names;
  for (const std::size_t i : lowest) names += (names.empty() ? "" : ", ") + result.policies[i].name;
  const double value = *result.policies[lowest[0]].metrics.get(Metric::diffusion_weighted);
  const bool same = std::count(lowest.begin(), lowest.end(), verdict.winner) > 0;
  return fmt::format("lowest weighted spread (Eq. 2): {} ({:.2f}){}", names, value,
                     same ? "; the same policy wins."
                          : fmt::format("; yet {} wins.", result.policies[verdict.winner].name));
}

std::string hot_sentence(const PolicyResult& policy) {
  std::map<std::string, std::size_t> tiers;
  for (const auto& link : policy.links) {
    if (link.binding_share > kHotShare) ++tiers[link.tier];
  }
  if (policy.links.empty()) return "";
  if (tiers.empty())
    return fmt::format("{}: no link binds a flow for more than 5 % of the time.", policy.name);
  std::string list;
  for (const auto& [tier, count] : tiers)
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", count, tier);
  return fmt::format(
      "{}: links that bind a flow for more than 5 % of the time, among its {} hottest: {}.",
      policy.name, policy.links.size(), list);
}

}  // namespace

std::vector<std::string> why(const RunResult& result, const std::optional<Verdict>& verdict) {
  std::vector<std::string> out;
  if (!verdict) return out;
  const PolicyResult& winner = result.policies[verdict->winner];
  const PolicyResult& against = result.policies[verdict->against];
  out.push_back(winner_sentence(result, *verdict));
  if (winner.attribution && against.attribution) out.push_back(gain_sentence(winner, against));
  for (std::string& sentence : std::vector<std::string>{
           spread_sentence(result, *verdict), hot_sentence(winner), hot_sentence(against)}) {
    if (!sentence.empty()) out.push_back(std::move(sentence));
  }
  return out;
}

}  // namespace railyard::report
