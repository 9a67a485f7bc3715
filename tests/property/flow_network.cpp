// Laws of flows over time, on seeded dynamic runs with random capacities, routes, usages and
// shares.
#include "railyard/network/flow_network.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "railyard/core/rng.hpp"
#include "support/max_min_oracle.hpp"

using railyard::Bandwidth;
using railyard::Bytes;
using railyard::Duration;
using railyard::in_seconds;
using railyard::LinkId;
using railyard::Rng;
using railyard::TimePoint;
using railyard::network::FinishedFlow;
using railyard::network::FlowId;
using railyard::network::FlowLimit;
using railyard::network::FlowLimits;
using railyard::network::FlowNetwork;
using railyard::network::FlowSpec;
using railyard::network::LimitCause;
using railyard::network::LinkUsage;
using railyard::test::certificate_fault;
using railyard::test::OracleFlow;
using railyard::test::OracleProblem;
using railyard::test::OracleUse;
using railyard::topology::LinkUse;

namespace {

#ifdef NDEBUG
constexpr std::uint64_t kSequences = 10'000;
#else
constexpr std::uint64_t kSequences = 1'000;
#endif

struct PlannedFlow {
  std::int64_t start = 0;
  Bytes size;
  std::vector<LinkUse> route;
  double share = 1;
  std::uint8_t priority = 0;
};

struct Plan {
  std::vector<Bandwidth> capacities;
  std::vector<PlannedFlow> flows;  ///< by start
};

struct Style {
  bool equal_capacities = false;
  bool plain = false;  ///< usage and share 1
  std::size_t links = 0;
  std::size_t flows = 0;
  std::int64_t gap_ticks = 0;  ///< mean time between groups of starts
  std::uint8_t priorities = 1;
};

Plan random_plan(Rng& rng, const Style& style) {
  constexpr double kFactors[] = {1, 1, 1, 2, 0.5, 0.25, 1.0 / 3, 0.1, 14.0 / 15};
  Plan plan;
  for (std::size_t l = 0; l < style.links; ++l) {
    const std::int64_t capacity =
        style.equal_capacities ? 50'000'000'000
                               : 1'000'000'007 * static_cast<std::int64_t>(1 + rng.below(60));
    plan.capacities.emplace_back(capacity);
  }
  std::int64_t now = 0;
  while (plan.flows.size() < style.flows) {
    now += static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(2 * style.gap_ticks)));
    const std::uint64_t group = 1 + rng.below(4);
    for (std::uint64_t i = 0; i < group; ++i) {
      PlannedFlow flow;
      flow.start = now;
      flow.size =
          Bytes(static_cast<std::int64_t>(1 + rng.below(rng.below(10) == 0 ? 3 : 2'000'000)));
      const std::uint64_t hops = 1 + rng.below(rng.below(15) == 0 ? style.links : 6);
      for (std::uint64_t h = 0; h < hops; ++h) {
        flow.route.push_back(LinkUse{static_cast<LinkId>(rng.below(style.links)),
                                     style.plain ? 1.0 : kFactors[rng.below(9)]});
      }
      if (!style.plain) flow.share = kFactors[rng.below(9)];
      if (style.priorities > 1) {
        flow.priority = static_cast<std::uint8_t>(rng.below(style.priorities));
      }
      plan.flows.push_back(flow);
    }
  }
  return plan;
}

struct Run {
  std::vector<std::int64_t> end;  ///< per planned flow
  std::vector<Duration> solo;
  std::vector<LinkUsage> usage;
  std::int64_t last = 0;
  std::uint64_t solves = 0;
};

/// The full problem over all running flows and all links, nothing pruned: what the certificate is
/// checked against.
std::string fault_now(const Plan& plan, const FlowNetwork& network,
                      const std::map<std::uint64_t, FlowId>& running) {
  OracleProblem problem;
  std::vector<double> rates;
  for (const Bandwidth capacity : plan.capacities) {
    problem.capacity.push_back(static_cast<double>(capacity.bytes_per_s()));
  }
  for (const auto& [tag, id] : running) {
    OracleFlow flow;
    flow.share = plan.flows[tag].share;
    for (const LinkUse& use : plan.flows[tag].route) {
      flow.route.push_back(OracleUse{static_cast<std::uint32_t>(use.link), use.usage});
    }
    problem.flows.push_back(flow);
    rates.push_back(network.rate_bytes_per_s(id));
  }
  return certificate_fault(problem, rates, 1e-11);
}

using Judge = std::function<std::string(FlowNetwork&, const std::map<std::uint64_t, FlowId>&)>;

/// Calls `judge`, where there is one, after every settle; it returns what is wrong.
Run run_plan(const Plan& plan, const std::string& name, const Judge& judge) {
  FlowNetwork network(plan.capacities);
  Run result;
  result.end.resize(plan.flows.size());
  result.solo.resize(plan.flows.size());
  std::map<std::uint64_t, FlowId> running;
  std::vector<FinishedFlow> done;
  std::size_t next = 0;
  while (next < plan.flows.size() || network.running() > 0) {
    TimePoint now = network.next_completion();
    if (next < plan.flows.size()) now = std::min(now, TimePoint(Duration(plan.flows[next].start)));
    result.last = now.time_since_epoch().count();
    done.clear();
    network.finish_due(now, done);
    for (const FinishedFlow& flow : done) {
      result.end[flow.tag] = result.last;
      result.solo[flow.tag] = flow.solo;
      running.erase(flow.tag);
    }
    for (; next < plan.flows.size() && plan.flows[next].start == result.last; ++next) {
      const PlannedFlow& flow = plan.flows[next];
      FlowSpec spec{flow.size, flow.route, flow.share, next};
      spec.priority = flow.priority;
      running[next] = network.start(now, spec);
    }
    network.settle(now);
    if (!judge) continue;
    const std::string fault = judge(network, running);
    if (!fault.empty()) FAIL(name << " at tick " << result.last << ": " << fault);
  }
  result.usage = network.link_usage(TimePoint(Duration(result.last)));
  result.solves = network.counters().solves;
  return result;
}

Run run_plan(const Plan& plan, bool judged, const std::string& name) {
  if (!judged) return run_plan(plan, name, Judge());
  return run_plan(plan, name, [&plan](const auto& network, const auto& running) {
    return fault_now(plan, network, running);
  });
}

Style style_of(std::uint64_t seed, Rng& rng) {
  return Style{seed % 4 == 0, seed % 3 == 0, 2 + rng.below(seed % 5 == 0 ? 200 : 25),
               60 + rng.below(200), static_cast<std::int64_t>(1) << rng.below(23)};
}

/// Each class on what the rates of those above leave, all links again. What is left of a link is
/// nothing, or so much that whole bytes per second are fine enough; else nothing is said.
std::string class_fault_now(const Plan& plan, const FlowNetwork& network,
                            const std::map<std::uint64_t, FlowId>& running, std::uint8_t priorities,
                            std::uint64_t& judged) {
  constexpr double kNothing = 0x1p-29;
  constexpr double kEnough = 1e-3;
  std::vector<double> left;
  for (const Bandwidth each : plan.capacities) {
    left.push_back(static_cast<double>(each.bytes_per_s()));
  }
  const auto part = [&](std::size_t link) {
    return left[link] / static_cast<double>(plan.capacities[link].bytes_per_s());
  };
  for (int priority = priorities - 1; priority >= 0; --priority) {
    for (std::size_t link = 0; link < left.size(); ++link) {
      if (part(link) > kNothing && part(link) < kEnough) return {};
    }
    OracleProblem problem;
    problem.capacity = left;
    std::vector<double> rates;
    for (const auto& [tag, id] : running) {
      const PlannedFlow& flow = plan.flows[tag];
      if (flow.priority != priority) continue;
      const double rate = network.rate_bytes_per_s(id);
      const bool shut = std::ranges::any_of(
          flow.route, [&](const LinkUse& use) { return part(index(use.link)) <= kNothing; });
      if (shut && rate > 0) return fmt::format("flow {} runs at {} B/s on a full link", tag, rate);
      if (shut) continue;
      OracleFlow one;
      one.share = flow.share;
      for (const LinkUse& use : flow.route) {
        one.route.push_back(OracleUse{static_cast<std::uint32_t>(use.link), use.usage});
      }
      problem.flows.push_back(one);
      rates.push_back(rate);
    }
    judged += priority + 1 < priorities ? rates.size() : 0;
    const std::string fault = certificate_fault(problem, rates, 2e-6);
    if (!fault.empty()) return fmt::format("priority {}: {}", priority, fault);
    for (std::size_t flow = 0; flow < rates.size(); ++flow) {
      for (const OracleUse& use : problem.flows[flow].route) {
        left[use.link] -= use.usage * rates[flow];
      }
    }
    for (double& each : left) each = std::max(each, 0.0);  // below by the rounding of the sum
  }
  return {};
}

/// Starts all running flows in an empty network in one tick: one solve of the full problem.
double worst_against_full(const Plan& plan, const FlowNetwork& network,
                          const std::map<std::uint64_t, FlowId>& running, std::uint64_t& judged,
                          std::uint64_t& unequal) {
  FlowNetwork full(plan.capacities);
  std::vector<std::pair<FlowId, FlowId>> pairs;
  for (const auto& [tag, id] : running) {
    const PlannedFlow& flow = plan.flows[tag];
    pairs.emplace_back(
        id, full.start(TimePoint{}, FlowSpec{Bytes(1'000'000'000), flow.route, flow.share, tag}));
  }
  full.settle(TimePoint{});
  double worst = 0;
  for (const auto& [kept, fresh] : pairs) {
    const double expected = full.rate_bytes_per_s(fresh);
    const double error = std::abs(network.rate_bytes_per_s(kept) - expected) / expected;
    ++judged;
    if (error > 0) ++unequal;
    worst = std::max(worst, error);
  }
  return worst;
}

/// Links without room on which no flow is faster than this one, from rates alone.
std::map<std::uint64_t, std::set<LinkId>> bottlenecks_now(
    const Plan& plan, const FlowNetwork& network, const std::map<std::uint64_t, FlowId>& running) {
  constexpr double kClose = 1e-9;
  std::vector<double> load(plan.capacities.size(), 0.0);
  std::vector<double> fastest(plan.capacities.size(), 0.0);
  const auto level = [&](std::uint64_t tag, FlowId id) {
    return network.rate_bytes_per_s(id) / plan.flows[tag].share;
  };
  for (const auto& [tag, id] : running) {
    for (const LinkUse& use : plan.flows[tag].route) {
      load[index(use.link)] += use.usage * network.rate_bytes_per_s(id);
      fastest[index(use.link)] = std::max(fastest[index(use.link)], level(tag, id));
    }
  }
  std::map<std::uint64_t, std::set<LinkId>> out;
  for (const auto& [tag, id] : running) {
    for (const LinkUse& use : plan.flows[tag].route) {
      const auto capacity = static_cast<double>(plan.capacities[index(use.link)].bytes_per_s());
      if (load[index(use.link)] >= capacity * (1 - kClose) &&
          level(tag, id) >= fastest[index(use.link)] * (1 - kClose)) {
        out[tag].insert(use.link);
      }
    }
  }
  return out;
}

}  // namespace

// Every stretch of time that is said to be limited by a link is compared with the bottlenecks that
// the rates had in it; and the stretches of a flow are all of its life, to the tick.
TEST_CASE("what limits a flow is a bottleneck of it at that time, and the times add up") {
  std::uint64_t shared = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(11'000 + seed);
    const Plan plan = random_plan(rng, style_of(seed, rng));
    std::map<std::uint64_t, std::set<LinkId>> before;
    std::map<std::uint64_t, Duration> sum;
    const Run run = run_plan(
        plan, fmt::format("seed {}", seed), [&](FlowNetwork& network, const auto& running) {
          FlowLimits limits;
          network.watch_limits();
          network.take_limits(limits, true);
          for (const FlowLimit& limit : limits.totals()) {
            sum[limit.flow] += limit.time;
            if (limit.cause == LimitCause::shared) ++shared;
            if (!before[limit.flow].contains(limit.link)) {
              return fmt::format("flow {} was not limited by link {} ({})", limit.flow,
                                 index(limit.link), name(limit.cause));
            }
          }
          before = bottlenecks_now(plan, network, running);
          return std::string();
        });
    for (const auto& [flow, time] : sum)
      CHECK(time.count() == run.end[flow] - plan.flows[flow].start);
  }
  CHECK(shared > 100'000);
}

TEST_CASE("after every settle every flow has a bottleneck over all links, pruned ones included") {
  std::uint64_t solves = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Rng rng(seed);
    const Style style = style_of(seed, rng);
    solves += run_plan(random_plan(rng, style), true, fmt::format("seed {}", seed)).solves;
  }
  // A run without contention would prove nothing.
  CHECK(solves > 10'000);
}

// The certificate, class by class: strict priorities are max-min fair on what is left.
TEST_CASE("flows of each priority have a bottleneck on what the higher ones leave") {
  std::uint64_t judged = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(7'000 + seed);
    Style style = style_of(seed, rng);
    style.priorities = static_cast<std::uint8_t>(2 + seed % 3);
    const Plan plan = random_plan(rng, style);
    run_plan(plan, fmt::format("seed {}", seed), [&](const auto& network, const auto& running) {
      return class_fault_now(plan, network, running, style.priorities, judged);
    });
  }
  CHECK(judged > 100'000);
}

// What is of the highest priority does not know of the rest: the same ticks as without it.
TEST_CASE("flows of the highest priority end as if the others were not there") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng(9'000 + seed);
    Style style = style_of(seed, rng);
    style.priorities = 3;
    const Plan all = random_plan(rng, style);
    Plan high{all.capacities, {}};
    std::vector<std::size_t> number;
    for (std::size_t flow = 0; flow < all.flows.size(); ++flow) {
      if (all.flows[flow].priority != 2) continue;
      high.flows.push_back(all.flows[flow]);
      number.push_back(flow);
    }
    const Run together = run_plan(all, "all", Judge());
    const Run apart = run_plan(high, "high", Judge());
    for (std::size_t flow = 0; flow < number.size(); ++flow) {
      CHECK(together.end[number[flow]] == apart.end[flow]);
      CHECK(together.solo[number[flow]] == apart.solo[flow]);
    }
  }
}

// The solver keeps a level where a new one ties with it, and gives tied links one level: within
// 2^-38 = 3.6e-12 relative, once up and once down (docs/adr/0013). Nothing adds up over a run.
// Debug builds and sanitizers, which are ten times slower, take a tenth of them.
TEST_CASE("rates kept over 10,000 random sequences of events are those of one full solve") {
  std::uint64_t judged = 0;
  std::uint64_t unequal = 0;
  double worst = 0;
  for (std::uint64_t seed = 0; seed < kSequences; ++seed) {
    Rng rng(50'000 + seed);
    Style style = style_of(seed, rng);
    style.flows = 12 + rng.below(24);
    style.links = 2 + rng.below(12);
    const Plan plan = random_plan(rng, style);
    run_plan(plan, fmt::format("seed {}", seed),
             [&](const FlowNetwork& network, const std::map<std::uint64_t, FlowId>& running) {
               const double error = worst_against_full(plan, network, running, judged, unequal);
               worst = std::max(worst, error);
               return std::string();
             });
  }
  MESSAGE(judged << " rates, " << unequal << " not equal to the bit, worst " << worst);
  CHECK(judged > 100 * kSequences);
  CHECK(worst < 1e-11);
  CHECK(unequal < judged / 500);
}

// Flow f takes at least its solo time; nearest rounding allows half a tick at each end of each of
// the intervals between which its rate changed: one tick is granted for the start and the end.
// Bytes: usage × size, whatever the rates were; a link may carry capacity × time and half a tick
// more per flow. A link that binds is busy.
TEST_CASE("bytes, time and capacity keep their laws on every link and flow") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(1000 + seed);
    const Style style = style_of(seed, rng);
    const Plan plan = random_plan(rng, style);
    const Run run = run_plan(plan, false, "");
    INFO("seed " << seed);
    std::vector<double> bytes(plan.capacities.size(), 0.0);
    std::vector<double> flows_on(plan.capacities.size(), 0.0);
    for (std::size_t f = 0; f < plan.flows.size(); ++f) {
      CHECK(run.end[f] - plan.flows[f].start >= run.solo[f].count() - 1);
      for (const LinkUse& use : plan.flows[f].route) {
        bytes[index(use.link)] += use.usage * static_cast<double>(plan.flows[f].size.count());
        flows_on[index(use.link)] += 1;
      }
    }
    for (std::size_t l = 0; l < bytes.size(); ++l) {
      const double capacity = static_cast<double>(plan.capacities[l].bytes_per_s());
      CHECK(run.usage[l].bytes == doctest::Approx(bytes[l]).epsilon(1e-12));
      CHECK(bytes[l] <= (in_seconds(run.usage[l].busy) + (flows_on[l] + 1) * 1e-11) * capacity);
      CHECK(run.usage[l].busy >= run.usage[l].binding);
      CHECK(run.usage[l].busy <= Duration(run.last));
    }
  }
}

// Simultaneous starts are permuted: slots, lists and components are then filled in another order.
// Ticks must not move at all.
TEST_CASE("permuting simultaneous starts moves no completion") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(2000 + seed);
    Style style = style_of(seed, rng);
    Plan plan = random_plan(rng, style);
    // Wide groups: everything within 64 ticks starts together.
    for (PlannedFlow& flow : plan.flows) flow.start -= flow.start % (style.gap_ticks * 8);
    std::vector<std::size_t> order(plan.flows.size());
    for (std::size_t f = 0; f < order.size(); ++f) order[f] = f;
    rng.shuffle(std::span(order));
    std::stable_sort(order.begin(), order.end(), [&plan](std::size_t a, std::size_t b) {
      return plan.flows[a].start < plan.flows[b].start;
    });
    Plan permuted{plan.capacities, {}};
    for (const std::size_t f : order) permuted.flows.push_back(plan.flows[f]);
    const Run first = run_plan(plan, false, "");
    const Run second = run_plan(permuted, false, "");
    INFO("seed " << seed);
    for (std::size_t f = 0; f < order.size(); ++f) CHECK(first.end[order[f]] == second.end[f]);
    for (std::size_t l = 0; l < plan.capacities.size(); ++l) {
      CHECK(first.usage[l].busy == second.usage[l].busy);
      CHECK(first.usage[l].binding == second.usage[l].binding);
    }
  }
}

// Links are renamed and everything starts 12,345 ticks later: only names and the origin change.
TEST_CASE("relabelling links and shifting time changes nothing else") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(3000 + seed);
    const Style style = style_of(seed, rng);
    const Plan plan = random_plan(rng, style);
    std::vector<std::uint32_t> name(plan.capacities.size());
    for (std::size_t l = 0; l < name.size(); ++l) name[l] = static_cast<std::uint32_t>(l);
    rng.shuffle(std::span(name));
    Plan renamed = plan;
    for (std::size_t l = 0; l < name.size(); ++l) renamed.capacities[name[l]] = plan.capacities[l];
    for (PlannedFlow& flow : renamed.flows) {
      flow.start += 12'345;
      for (LinkUse& use : flow.route) use.link = static_cast<LinkId>(name[index(use.link)]);
    }
    const Run first = run_plan(plan, false, "");
    const Run second = run_plan(renamed, false, "");
    INFO("seed " << seed);
    for (std::size_t f = 0; f < plan.flows.size(); ++f)
      CHECK(second.end[f] == first.end[f] + 12'345);
    for (std::size_t l = 0; l < name.size(); ++l)
      CHECK(first.usage[l].binding == second.usage[name[l]].binding);
  }
}

// Max-min as a whole is not monotone: a faster link may slow other flows. One flow alone is.
TEST_CASE("more bandwidth never slows a flow that is alone") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Rng rng(4000 + seed);
    Plan plan = random_plan(rng, Style{false, false, 2 + rng.below(20), 1, 1});
    plan.flows.resize(1);
    const Run slow = run_plan(plan, true, fmt::format("seed {}", seed));
    Plan faster = plan;
    Bandwidth& link = faster.capacities[rng.below(faster.capacities.size())];
    link = Bandwidth(link.bytes_per_s() + static_cast<std::int64_t>(1 + rng.below(10'000'000'000)));
    const Run fast = run_plan(faster, true, fmt::format("seed {}", seed));
    INFO("seed " << seed);
    CHECK(fast.end[0] <= slow.end[0]);
  }
}
