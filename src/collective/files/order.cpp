#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>

#include "collective/files/step_program.hpp"

namespace railyard::collective {

namespace {

/// Follows actions that never ran from one to the next it waits for, until one comes again.
std::vector<std::uint32_t> circle_of(const std::vector<std::vector<std::uint32_t>>& predecessors,
                                     const std::vector<std::uint32_t>& waiting) {
  const auto first = std::ranges::find_if(waiting, [](std::uint32_t count) { return count > 0; });
  auto at = static_cast<std::uint32_t>(first - waiting.begin());
  std::vector<std::uint32_t> walk;
  std::vector<bool> seen(waiting.size(), false);
  while (!seen[at]) {
    seen[at] = true;
    walk.push_back(at);
    at = *std::ranges::find_if(predecessors[at],
                               [&](std::uint32_t before) { return waiting[before] > 0; });
  }
  walk.erase(walk.begin(), std::ranges::find(walk, at));
  return walk;
}

void name_deadlock(const StepProgram& program, const std::vector<std::uint32_t>& circle,
                   const Places& places) {
  constexpr std::size_t kNamed = 8;
  std::vector<std::uint32_t> steps;  // an action and the next may belong to one step
  for (const std::uint32_t action : circle) {
    const std::uint32_t place = program.actions[action].place;
    if (steps.empty() || steps.back() != place) steps.push_back(place);
  }
  if (steps.size() > 1 && steps.front() == steps.back()) steps.pop_back();
  std::string text = "deadlock: it";
  for (std::size_t i = 1; i <= steps.size() && i <= kNamed; ++i) {
    text += fmt::format("{} waits for {}", i == 1 ? "" : ", which",
                        i == steps.size() ? "it" : places.title(steps[i]));
  }
  if (steps.size() > kNamed) text += ", and so on";
  places.fail(steps.front(), text);
}

}  // namespace

std::vector<std::vector<std::uint32_t>> predecessors_of(const StepProgram& program) {
  std::vector<std::vector<std::uint32_t>> out(program.actions.size());
  std::vector<std::uint32_t> last(program.chains, kNoAction);
  for (std::uint32_t a = 0; a < program.actions.size(); ++a) {
    const Action& action = program.actions[a];
    std::uint32_t& before = last[action.chain];
    if (before != kNoAction) out[a].push_back(before);
    before = a;
    if (action.kind == ActionKind::receive) out[a].push_back(action.partner);
    out[a].insert(out[a].end(), action.after.begin(), action.after.end());
  }
  return out;
}

std::vector<std::uint32_t> order_of(const StepProgram& program,
                                    const std::vector<std::vector<std::uint32_t>>& predecessors,
                                    const Places& places) {
  const std::size_t count = program.actions.size();
  std::vector<std::uint32_t> waiting(count, 0);
  std::vector<std::vector<std::uint32_t>> followers(count);
  for (std::uint32_t a = 0; a < count; ++a) {
    waiting[a] = static_cast<std::uint32_t>(predecessors[a].size());
    for (const std::uint32_t before : predecessors[a]) followers[before].push_back(a);
  }
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> free;
  for (std::uint32_t a = 0; a < count; ++a) {
    if (waiting[a] == 0) free.push(a);
  }
  std::vector<std::uint32_t> order;
  while (!free.empty()) {
    const std::uint32_t a = free.top();
    free.pop();
    order.push_back(a);
    for (const std::uint32_t follower : followers[a]) {
      if (--waiting[follower] == 0) free.push(follower);
    }
  }
  if (order.size() == count) return order;
  name_deadlock(program, circle_of(predecessors, waiting), places);
  return {};
}

}  // namespace railyard::collective
