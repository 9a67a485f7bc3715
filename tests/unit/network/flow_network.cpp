#include "railyard/network/flow_network.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "railyard/core/check.hpp"
#include "unit/network/link_use.hpp"

using railyard::Bandwidth;
using railyard::Bytes;
using railyard::Duration;
using railyard::InternalError;
using railyard::LinkId;
using railyard::TimePoint;
using railyard::network::FinishedFlow;
using railyard::network::FlowId;
using railyard::network::FlowNetwork;
using railyard::network::FlowSpec;
using railyard::network::LinkUsage;
using railyard::test::on;
using railyard::topology::LinkUse;

namespace {

/// 1 byte/tick: at this capacity a flow of n bytes takes n ticks alone, and the numbers below are
/// ticks and bytes at once.
constexpr std::int64_t kByteATick = railyard::kTicksPerSecond;

TimePoint tick(std::int64_t count) {
  return TimePoint(Duration(count));
}

std::vector<Bandwidth> links(std::vector<std::int64_t> bytes_per_tick) {
  std::vector<Bandwidth> result;
  for (const std::int64_t each : bytes_per_tick) result.emplace_back(each * kByteATick);
  return result;
}

struct Driver {
  explicit Driver(std::vector<std::int64_t> bytes_per_tick)
      : network(links(std::move(bytes_per_tick))) {}

  FlowId start(std::int64_t at, std::int64_t bytes, std::vector<LinkUse> route,
               double share = 1.0) {
    return network.start(tick(at), FlowSpec{Bytes(bytes), route, share, next_tag++});
  }
  FlowId start_of(std::uint8_t priority, std::int64_t at, std::int64_t bytes,
                  std::vector<LinkUse> route) {
    FlowSpec spec{Bytes(bytes), route, 1.0, next_tag++};
    spec.priority = priority;
    return network.start(tick(at), spec);
  }
  void settle(std::int64_t at) { network.settle(tick(at)); }
  std::int64_t next() { return network.next_completion().time_since_epoch().count(); }
  /// Runs to the end: (tag, tick) in order of completion.
  std::vector<std::pair<std::uint64_t, std::int64_t>> run() {
    std::vector<std::pair<std::uint64_t, std::int64_t>> ends;
    while (network.running() > 0) {
      const TimePoint now = network.next_completion();
      done.clear();
      network.finish_due(now, done);
      for (const FinishedFlow& flow : done)
        ends.emplace_back(flow.tag, now.time_since_epoch().count());
      network.settle(now);
    }
    return ends;
  }

  FlowNetwork network;
  std::vector<FinishedFlow> done;
  std::uint64_t next_tag = 0;
};

using Ends = std::vector<std::pair<std::uint64_t, std::int64_t>>;

}  // namespace

// 600 bytes on a link of 1 byte/tick take 600 ticks. Path latency is the caller's: it is nowhere in
// the network.
TEST_CASE("a flow alone ends after size / capacity, without any solve") {
  Driver driver({1, 2});
  driver.start(5, 600, {on(0), on(1)});
  driver.settle(5);
  CHECK(driver.run() == Ends{{0, 605}});
  CHECK(driver.network.counters().solves == 0);
  CHECK(driver.done.front().solo == Duration(600));
  CHECK(driver.done.front().started == tick(5));
}

// Flow 0 (1,000 bytes) is alone for 200 ticks: 800 left. Then two share: flow 1 (300 bytes) takes
// 600 ticks, ends at 800; flow 0 has 800 − 300 = 500 left and ends at 1,300.
TEST_CASE(
    "two flows share a link while both run, and what remains is kept across changes of the rate") {
  Driver driver({1});
  driver.start(0, 1000, {on(0)});
  driver.settle(0);
  driver.start(200, 300, {on(0)});
  driver.settle(200);
  CHECK(driver.next() == 800);
  CHECK(driver.run() == Ends{{1, 800}, {0, 1300}});
  CHECK(driver.done.front().solo == Duration(1000));
}

// Parking lot with capacities 10, 12, 20 bytes/tick: rates 5, 5, 7, 15 (derived in max_min.cpp).
// Sizes 500, 50, 700, 150: flows 1 and 3 end at 10. Then flow 0 has 450 left. Link 0 is its own,
// link 1 is shared: level 6 for both; flow 2 has 630 left. Flow 0 ends at 10 + 75 = 85; flow 2 has
// 630 − 450 = 180 left at 12 bytes/tick: 85 + 15 = 100.
TEST_CASE("the parking lot ends at the ticks derived by hand") {
  Driver driver({10, 12, 20});
  driver.start(0, 500, {on(0), on(1), on(2)});
  driver.start(0, 50, {on(0)});
  driver.start(0, 700, {on(1)});
  driver.start(0, 150, {on(2)});
  driver.settle(0);
  CHECK(driver.run() == Ends{{1, 10}, {3, 10}, {0, 85}, {2, 100}});
}

// Shares 1 and 3 on a link of 8 bytes/tick: 2 and 6 bytes/tick. 60 bytes at 6 end at 10; the other
// has sent 20 of 100, the remaining 80 at 8 bytes/tick end at 20.
TEST_CASE("shares weigh the rates") {
  Driver driver({8});
  driver.start(0, 100, {on(0)}, 1.0);
  driver.start(0, 60, {on(0)}, 3.0);
  driver.settle(0);
  CHECK(driver.run() == Ends{{1, 10}, {0, 20}});
}

// A coupled flow takes 2 of link 0 (12 bytes/tick) and 1 of link 1 (10): solo rate min(12/2, 10/1)
// = 6, 120 bytes take 20 ticks. With a flow of usage 1 on link 0 the level is 12 / 3 = 4: that flow
// (40 bytes) ends at 10; the coupled flow has 80 left and runs at 6 again: 10 + 80/6 = 23.33, to
// the nearest tick 23.
TEST_CASE("a coupled flow slows down with its slowest edge and recovers") {
  Driver driver({12, 10});
  const FlowId coupled = driver.start(0, 120, {on(0, 2.0), on(1)});
  driver.start(0, 40, {on(0)});
  driver.settle(0);
  CHECK(driver.network.solo_rate_bytes_per_s(coupled) == 6.0 * kByteATick);
  CHECK(driver.network.rate_bytes_per_s(coupled) == 4.0 * kByteATick);
  CHECK(driver.run() == Ends{{1, 10}, {0, 23}});
}

// Solo rates are 2 (link 1) and 3 (link 2); link 0 has 5, just enough: it cannot bind. With a third
// flow of solo rate 1 it can: level 5/3, but the third flow stops at 1 and the others share 4: 2
// each, the first being capped by its link at 2 anyway. All three have a new owner after one solve.
TEST_CASE(
    "a link whose flows just fit cannot bind and needs no solve; one flow more and it binds") {
  Driver driver({5, 2, 3, 1});
  const FlowId first = driver.start(0, 1000, {on(0), on(1)});
  const FlowId second = driver.start(0, 1000, {on(0), on(2)});
  driver.settle(0);
  CHECK(driver.network.counters().solves == 0);
  CHECK(driver.network.rate_bytes_per_s(first) == 2.0 * kByteATick);
  CHECK(driver.network.rate_bytes_per_s(second) == 3.0 * kByteATick);
  const FlowId third = driver.start(10, 1, {on(0), on(3)});
  driver.settle(10);
  CHECK(driver.network.counters().solves == 1);
  CHECK(driver.network.counters().flows_touched == 3);
  CHECK(driver.network.rate_bytes_per_s(first) == 2.0 * kByteATick);
  CHECK(driver.network.rate_bytes_per_s(second) == 2.0 * kByteATick);
  CHECK(driver.network.rate_bytes_per_s(third) == 1.0 * kByteATick);
  driver.done.clear();
  driver.network.finish_due(tick(11), driver.done);
  driver.settle(11);
  CHECK(driver.network.rate_bytes_per_s(second) == 3.0 * kByteATick);
}

// Both flows start at 0 with 10 bytes on a link of 1 byte/tick and end at 20; the order of
// completion is the order of start.
TEST_CASE("flows that end in one tick are handed back in the order of their start") {
  Driver driver({1, 1});
  driver.start(0, 10, {on(0)});
  driver.start(0, 20, {on(1)});
  driver.start(0, 10, {on(0)});
  driver.settle(0);
  CHECK(driver.run() == Ends{{0, 20}, {1, 20}, {2, 20}});
}

// 1 byte on a link of 3 bytes/tick takes a third of a tick, to the nearest tick none: it ends in
// the tick of its start. 2 bytes take two thirds, to the nearest tick one.
TEST_CASE("a transfer of less than half a tick ends in the tick of its start") {
  Driver driver({3});
  driver.start(4, 1, {on(0)});
  driver.settle(4);
  CHECK(driver.run() == Ends{{0, 4}});
  driver.start(4, 2, {on(0)});
  driver.settle(4);
  CHECK(driver.run() == Ends{{1, 5}});
}

// Link 0 twice with usage 1 each is usage 2: 10 bytes/tick / 2.
TEST_CASE("usages of a link that occurs twice in a route add up") {
  Driver driver({10, 10});
  const FlowId flow = driver.start(0, 100, {on(0), on(1), on(0)});
  driver.settle(0);
  CHECK(driver.network.solo_rate_bytes_per_s(flow) == 5.0 * kByteATick);
  CHECK(driver.run() == Ends{{0, 20}});
  CHECK(driver.network.link_usage(tick(20))[0].bytes == 200.0);
}

// Link 0 (1 byte/tick): flow 0 has 100 bytes from 0, flow 1 has 50 bytes from 20. Both run at 1/2
// from 20; flow 1 ends at 120, flow 0 has 100 − 20 − 50 = 30 left and ends at 150. Busy 150,
// binding while two share: 100. Link 1 (4) is on flow 1's route: busy 100, never binding. Bytes 150
// and 50. Nothing happens from 150 to 170; the reset at 170 starts again from zero.
TEST_CASE("links count bytes, busy time and the time in which they held somebody up") {
  Driver driver({1, 4});
  driver.start(0, 100, {on(0)});
  driver.settle(0);
  driver.start(20, 50, {on(0), on(1)});
  driver.settle(20);
  const std::vector<LinkUsage> midway = driver.network.link_usage(tick(70));
  CHECK(midway[0].busy == Duration(70));
  CHECK(midway[0].binding == Duration(50));
  CHECK(midway[0].bytes == 0.0);
  CHECK(driver.run() == Ends{{1, 120}, {0, 150}});
  std::vector<LinkUsage> usage = driver.network.link_usage(tick(170));
  CHECK(usage[0].bytes == 150.0);
  CHECK(usage[0].busy == Duration(150));
  CHECK(usage[0].binding == Duration(100));
  CHECK(usage[1].bytes == 50.0);
  CHECK(usage[1].busy == Duration(100));
  CHECK(usage[1].binding == Duration(0));
  driver.network.reset_usage(tick(170));
  usage = driver.network.link_usage(tick(180));
  CHECK(usage[0].bytes == 0.0);
  CHECK(usage[0].busy == Duration(0));
  CHECK(usage[0].binding == Duration(0));
}

// Flows 0 and 1 share link 0 (10): 5 each. Flows 0 and 2 can take at most 10 + 10 of link 2 (20),
// which therefore cannot bind, and flow 2 runs at its solo rate of 10. One component is solved.
// When flow 2 ends, none of its links was anybody's bottleneck: nobody can become faster and
// nothing is solved.
TEST_CASE("a flow that was nobody's bottleneck leaves without a solve") {
  Driver driver({10, 10, 20, 10});
  driver.start(0, 5000, {on(0), on(2)});
  driver.start(0, 5000, {on(0)});
  driver.start(0, 100, {on(2), on(3)});
  driver.settle(0);
  CHECK(driver.network.counters().solves == 1);
  driver.done.clear();
  driver.network.finish_due(tick(10), driver.done);
  CHECK(driver.done.size() == 1);
  driver.settle(10);
  CHECK(driver.network.counters().solves == 1);
}

// A registered route of 10 bytes/tick takes 100 bytes in 10 ticks, like the same route given with
// the flow; the bytes of both are counted.
TEST_CASE("a registered route is the same as one that comes with the flow") {
  Driver driver({10, 20});
  const std::vector<LinkUse> path{on(1), on(0)};
  const auto route = driver.network.add_route(path);
  driver.network.start(tick(0), FlowSpec{Bytes(100), {}, 1.0, 7, route});
  driver.settle(0);
  CHECK(driver.run() == Ends{{7, 10}});
  driver.network.start(tick(10), FlowSpec{Bytes(100), path, 1.0, 8});
  driver.settle(10);
  CHECK(driver.run() == Ends{{8, 20}});
  CHECK(driver.network.link_usage(tick(20))[1].bytes == 200.0);
}

// Capped at 2 of 10 bytes/tick, 100 bytes take 50 ticks and leave 8 to the other: 80 bytes take 10.
// Alone the link would give each of them 5.
TEST_CASE("a flow with a cap never runs faster, and leaves the rest to others") {
  Driver driver({10});
  const std::vector<LinkUse> path{on(0)};
  driver.network.start(tick(0), FlowSpec{Bytes(100), path, 1.0, 1, railyard::network::kUnregistered,
                                         Bandwidth(2 * kByteATick)});
  driver.network.start(tick(0), FlowSpec{Bytes(80), path, 1.0, 2});
  driver.settle(0);
  CHECK(driver.run() == Ends{{2, 10}, {1, 50}});
}

// Two flows of 100 bytes at 5 bytes/tick each. The first is taken out at 4 with 80 left; the other
// then has 80 left at 10 bytes/tick: ends at 12.
TEST_CASE("a stopped flow says what it had left, and the others speed up") {
  Driver driver({10});
  const FlowId first = driver.start(0, 100, {on(0)});
  driver.start(0, 100, {on(0)});
  driver.settle(0);
  CHECK(driver.network.stop(tick(4), first) == 80.0);
  driver.settle(4);
  CHECK(driver.network.running() == 1);
  CHECK(driver.run() == Ends{{1, 12}});
  CHECK(driver.network.link_usage(tick(12))[0].bytes == 120.0);
}

// 100 bytes on links of 10 and 5: 5 bytes/tick. Link 1 falls to 2 at 10 (50 left: 25 ticks), goes
// down at 20 (30 left) and comes back with 5 at 50: ends at 56. The other flow shares link 0 only
// while the first runs: 10 − 5, 10 − 2, 10, and has 400 − 50 − 80 − 300 < 0 left: after 50 + 80 in
// the first 20 ticks it needs 27 more at 10: ends at 47.
TEST_CASE("a link that degrades, fails and recovers slows, stalls and resumes the flows on it") {
  Driver driver({10, 5});
  driver.start(0, 100, {on(0), on(1)});
  driver.start(0, 400, {on(0)});
  driver.settle(0);
  const LinkId second = static_cast<LinkId>(1);
  driver.network.set_capacity(tick(10), second, Bandwidth(2 * kByteATick));
  driver.settle(10);
  driver.network.set_capacity(tick(20), second, Bandwidth(0));
  driver.settle(20);
  CHECK(driver.next() == 47);
  driver.done.clear();
  driver.network.finish_due(tick(47), driver.done);
  CHECK(driver.done.size() == 1);
  driver.settle(47);
  CHECK(driver.network.next_completion() == TimePoint::max());
  driver.network.set_capacity(tick(50), second, Bandwidth(5 * kByteATick));
  driver.settle(50);
  CHECK(driver.run() == Ends{{0, 56}});
}

// 1 byte/tick. The low flow (1,000 bytes) has sent 200 at 200; the high one (300 bytes) takes all
// until 500; the other 800 bytes follow: 1,300. Alone the low one would take 1,000 ticks. The link
// is busy all the time, and holds somebody up for 300.
TEST_CASE("a flow of higher priority takes what it can use, and others what is left") {
  Driver driver({1});
  driver.start(0, 1000, {on(0)});
  driver.settle(0);
  driver.start_of(3, 200, 300, {on(0)});
  driver.settle(200);
  CHECK(driver.run() == Ends{{1, 500}, {0, 1300}});
  CHECK(driver.done.front().solo == Duration(1000));
  const LinkUsage usage = driver.network.link_usage(tick(1300)).front();
  CHECK(usage.bytes == doctest::Approx(1300));
  CHECK(usage.busy == Duration(1300));
  CHECK(usage.binding == Duration(300));
}

// Links of 4 and 2 bytes/tick. Priority 7 is on both: 2 bytes/tick. Priority 3 has the other 2 of
// link 0: 100 bytes by 50. Priority 0 waits for it, then has 2 until the first ends (400 bytes by
// 200): 300 of its 380 bytes; the last 80 at 4 bytes/tick end at 220.
TEST_CASE("priorities are served in turn on what is left") {
  Driver driver({4, 2});
  driver.start(0, 380, {on(0)});
  driver.start_of(3, 0, 100, {on(0)});
  driver.start_of(7, 0, 400, {on(0), on(1)});
  driver.settle(0);
  CHECK(driver.run() == Ends{{1, 50}, {2, 200}, {0, 220}});
}

// Half of the link goes at 100: the high flow (150 bytes) has 50 left, at 0.5 bytes/tick until 200.
// The low one (100 bytes) then needs 200 ticks.
TEST_CASE("a link that degrades is first of all that of the higher priority") {
  Driver driver({2});
  driver.start(0, 100, {on(0)});
  driver.start_of(1, 0, 250, {on(0)});
  driver.settle(0);
  driver.network.set_capacity(tick(100), static_cast<LinkId>(0), Bandwidth(kByteATick / 2));
  driver.settle(100);
  CHECK(driver.run() == Ends{{1, 200}, {0, 400}});
}

TEST_CASE("misuse is refused") {
  Driver driver({1});
  CHECK_THROWS_AS(driver.start(0, 0, {on(0)}), InternalError);
  CHECK_THROWS_AS(driver.start(0, 1, {}), InternalError);
  CHECK_THROWS_AS(driver.start(0, 1, {on(1)}), InternalError);
  CHECK_THROWS_AS(driver.start(0, 1, {on(0, 0.0)}), InternalError);
  CHECK_THROWS_AS(driver.start(0, 1, {on(0)}, 0.0), InternalError);
  CHECK_THROWS_AS(Driver({0}), InternalError);
}

TEST_CASE("time may not run past a completion, backwards, or on before settle") {
  Driver driver({1});
  driver.start(10, 100, {on(0)});
  CHECK_THROWS_AS(static_cast<void>(driver.network.next_completion()), InternalError);
  CHECK_THROWS_AS(driver.settle(11), InternalError);
  driver.settle(10);
  CHECK_THROWS_AS(driver.settle(9), InternalError);
  CHECK_THROWS_AS(driver.settle(111), InternalError);
  CHECK(driver.next() == 110);
}
