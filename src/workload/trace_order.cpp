// In which order the units of a matched trace may run, or the circle in which they wait.
#include <fmt/format.h>

#include <algorithm>
#include <queue>

#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"
#include "workload/trace_matching.hpp"

namespace railyard::workload {
namespace {

/// Calls `visit(unit)` for every unit that `unit` waits for.
template <typename Visit>
void for_each_before(const MatchedTrace& matched, std::uint32_t unit, const Visit& visit) {
  for (std::uint64_t m = matched.first_member[unit]; m < matched.first_member[unit + 1]; ++m) {
    const std::uint64_t position = matched.members[m];
    const std::uint32_t rank = matched.rank_of[position];
    const TraceOperation& operation = matched.operation(position);
    for (std::uint32_t d = 0; d < operation.dependency_count; ++d) {
      const TraceDependency& on =
          matched.trace->ranks[rank].dependencies[operation.first_dependency + d];
      visit(matched.unit_of[matched.first[rank] + on.operation]);
    }
  }
  const TraceUnit& one = matched.units[unit];
  if (one.partner != kNoUnit && matched.operation(one).kind == TraceKind::receive)
    visit(one.partner);
}

/// Follows what waits for what from a unit that never runs until a unit comes twice.
[[noreturn]] void refuse_circle(const MatchedTrace& matched,
                                const std::vector<std::uint32_t>& waiting,
                                const std::vector<std::uint32_t>& previous) {
  const auto blocked = [&](std::uint32_t unit) { return waiting[unit] != 0; };
  std::uint32_t at = 0;
  while (!blocked(at)) ++at;
  std::vector<std::uint32_t> path;
  std::vector<bool> seen(matched.units.size(), false);
  while (!seen[at]) {
    seen[at] = true;
    path.push_back(at);
    std::uint32_t next = kNoUnit;
    for_each_before(matched, at, [&](std::uint32_t before) {
      if (next == kNoUnit && blocked(before)) next = before;
    });
    if (next == kNoUnit) next = previous[at];
    RAILYARD_CHECK(next != kNoUnit && blocked(next), "a unit that waits for nothing never runs");
    at = next;
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), at));
  std::string circle;
  constexpr std::size_t kShown = 12;
  for (std::size_t i = 0; i < std::min(path.size(), kShown); ++i)
    circle += matched.describe(matched.units[path[i]]) + " waits for ";
  if (path.size() > kShown) circle += fmt::format("… ({} more) … waits for ", path.size() - kShown);
  throw config::ConfigError(fmt::format("{}: operations wait for each other in a circle: {}{}",
                                        matched.trace->name, circle,
                                        path.size() == 1 ? "itself" : "the first"));
}

}  // namespace

std::vector<std::uint32_t> order_units(const MatchedTrace& matched) {
  const std::size_t count = matched.units.size();
  std::vector<std::uint32_t> waiting(count, 0);
  std::vector<std::uint32_t> previous(count, kNoUnit);
  std::vector<std::uint64_t> first(count + 1, 0);
  for (std::uint32_t unit = 0; unit < count; ++unit) {
    for_each_before(matched, unit, [&](std::uint32_t before) {
      ++first[before + 1];
      ++waiting[unit];
    });
    const std::uint32_t next = matched.units[unit].next;
    if (next != kNoUnit) {
      previous[next] = unit;
      ++waiting[next];
    }
  }
  for (std::size_t u = 1; u <= count; ++u) first[u] += first[u - 1];
  std::vector<std::uint32_t> followers(first.back());
  std::vector<std::uint64_t> place(first.begin(), first.end() - 1);
  for (std::uint32_t unit = 0; unit < count; ++unit) {
    for_each_before(matched, unit,
                    [&](std::uint32_t before) { followers[place[before]++] = unit; });
  }
  // Of those free to go the one that stands first in its file, then the lowest rank.
  const auto later = [&](std::uint32_t a, std::uint32_t b) {
    const TraceUnit& one = matched.units[a];
    const TraceUnit& other = matched.units[b];
    return std::tuple(one.operation, one.rank, a) > std::tuple(other.operation, other.rank, b);
  };
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, decltype(later)> ready(later);
  for (std::uint32_t unit = 0; unit < count; ++unit) {
    if (waiting[unit] == 0) ready.push(unit);
  }
  std::vector<std::uint32_t> order;
  order.reserve(count);
  const auto release = [&](std::uint32_t unit) {
    if (--waiting[unit] == 0) ready.push(unit);
  };
  while (!ready.empty()) {
    const std::uint32_t unit = ready.top();
    ready.pop();
    order.push_back(unit);
    for (std::uint64_t f = first[unit]; f < first[unit + 1]; ++f) release(followers[f]);
    if (matched.units[unit].next != kNoUnit) release(matched.units[unit].next);
  }
  if (order.size() != count) refuse_circle(matched, waiting, previous);
  return order;
}

}  // namespace railyard::workload
