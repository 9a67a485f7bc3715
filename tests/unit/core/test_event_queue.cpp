#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

#include "railyard/core/check.hpp"
#include "railyard/core/event_queue.hpp"
#include "railyard/core/rng.hpp"

namespace {

using railyard::Duration;
using railyard::Phase;
using railyard::TimePoint;
using Queue = railyard::EventQueue<std::uint64_t>;

TimePoint at(std::int64_t ticks) {
  return TimePoint(Duration(ticks));
}

std::vector<std::uint64_t> drained(Queue& queue) {
  std::vector<std::uint64_t> out;
  while (!queue.empty()) out.push_back(queue.pop().payload);
  return out;
}

// Pushed in reverse of the order of docs/adr/0002: completion, failure, arrival, decision,
// rate_update, sample.
TEST_CASE("events of one tick come by phase, then by insertion") {
  Queue queue;
  queue.push(at(7), Phase::sample, 6);
  queue.push(at(7), Phase::rate_update, 5);
  queue.push(at(7), Phase::decision, 4);
  queue.push(at(7), Phase::arrival, 3);
  queue.push(at(7), Phase::failure, 2);
  queue.push(at(7), Phase::completion, 0);
  queue.push(at(7), Phase::completion, 1);
  CHECK(drained(queue) == std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6});
}

TEST_CASE("an earlier tick comes before an earlier phase") {
  Queue queue;
  queue.push(at(8), Phase::completion, 1);
  queue.push(at(7), Phase::sample, 0);
  CHECK(drained(queue) == std::vector<std::uint64_t>{0, 1});
}

// now() is 5 after the pop: tick 5 is allowed, tick 4 is not.
TEST_CASE("an event before the current tick is refused, one at the current tick is not") {
  Queue queue;
  queue.push(at(5), Phase::completion, 0);
  CHECK(queue.pop().payload == 0);
  CHECK(queue.now() == at(5));
  CHECK_THROWS_AS(queue.push(at(4), Phase::completion, 1), railyard::InternalError);
  queue.push(at(5), Phase::completion, 2);
  CHECK(drained(queue) == std::vector<std::uint64_t>{2});
}

// Four events, of which the first and third are cancelled: two are left, the second and the fourth.
TEST_CASE("a cancelled event is neither counted nor seen on top nor popped") {
  Queue queue;
  const std::uint64_t first = queue.push(at(1), Phase::completion, 0);
  queue.push(at(2), Phase::completion, 1);
  const std::uint64_t third = queue.push(at(3), Phase::completion, 2);
  queue.push(at(4), Phase::completion, 3);
  CHECK(queue.size() == 4);
  queue.cancel(third);
  CHECK(queue.size() == 3);
  CHECK(queue.top().payload == 0);
  queue.cancel(first);
  CHECK(queue.size() == 2);
  CHECK(queue.top().payload == 1);
  CHECK(drained(queue) == std::vector<std::uint64_t>{1, 3});
}

TEST_CASE("a queue of cancelled events is empty") {
  Queue queue;
  const std::uint64_t one = queue.push(at(1), Phase::completion, 0);
  const std::uint64_t two = queue.push(at(2), Phase::completion, 0);
  queue.cancel(two);
  queue.cancel(one);
  CHECK(queue.empty());
  CHECK(queue.size() == 0);
  CHECK_THROWS_AS(static_cast<void>(queue.top()), railyard::InternalError);
  CHECK_THROWS_AS(queue.pop(), railyard::InternalError);
}

TEST_CASE("a handle is good once: not after a pop, not after a cancel, not for a later event") {
  Queue queue;
  const std::uint64_t popped = queue.push(at(1), Phase::completion, 0);
  CHECK(queue.is_pending(popped));
  queue.pop();
  CHECK_FALSE(queue.is_pending(popped));
  CHECK_THROWS_AS(queue.cancel(popped), railyard::InternalError);
  // The second event takes the slot of the first; the old handle must not reach it.
  const std::uint64_t later = queue.push(at(2), Phase::completion, 1);
  CHECK(later != popped);
  CHECK_THROWS_AS(queue.cancel(popped), railyard::InternalError);
  queue.cancel(later);
  CHECK_THROWS_AS(queue.cancel(later), railyard::InternalError);
  CHECK(queue.empty());
}

// A std::set of (tick, phase, sequence) is the model; 20,000 random steps must agree with it step
// by step.
TEST_CASE("random pushes, cancels and pops agree with an ordered set") {
  using Key = std::tuple<std::int64_t, Phase, std::uint64_t>;
  constexpr int kSteps = 20'000;
  railyard::Rng rng(20'260'727);
  Queue queue;
  std::set<Key> model;
  std::vector<std::pair<std::uint64_t, Key>> handles;
  std::int64_t now = 0;
  std::uint64_t sequence = 0;
  for (int step = 0; step < kSteps; ++step) {
    const std::uint64_t action = rng.below(10);
    if (action < 5) {
      // Few distinct ticks, so that most events tie.
      const Key key{now + static_cast<std::int64_t>(rng.below(4)), static_cast<Phase>(rng.below(6)),
                    sequence++};
      handles.emplace_back(queue.push(at(std::get<0>(key)), std::get<1>(key), std::get<2>(key)),
                           key);
      model.insert(key);
    } else if (action < 8 && !handles.empty()) {
      const std::size_t chosen = static_cast<std::size_t>(rng.below(handles.size()));
      const auto [handle, key] = handles[chosen];
      handles.erase(handles.begin() + static_cast<std::ptrdiff_t>(chosen));
      const bool pending = model.erase(key) == 1;
      REQUIRE(queue.is_pending(handle) == pending);
      if (pending) queue.cancel(handle);
    } else if (!model.empty()) {
      const auto event = queue.pop();
      const Key key{event.key.time.time_since_epoch().count(), event.key.phase, event.payload};
      REQUIRE(key == *model.begin());
      model.erase(model.begin());
      now = std::get<0>(key);
    }
    REQUIRE(queue.size() == model.size());
    REQUIRE(queue.empty() == model.empty());
    if (!model.empty()) REQUIRE(queue.top().payload == std::get<2>(*model.begin()));
  }
}

}  // namespace
