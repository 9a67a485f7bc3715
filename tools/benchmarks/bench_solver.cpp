// The max-min solver on random problems, and flows over time on a three-tier CLOS.
//
// bench_solver [--smoke]        the sizes below
// bench_solver FOLDER [TIMES]   a recorded workload of ../shared/data/peers/simgrid
#include <algorithm>
#include <cstdint>
#include <vector>

#include "railyard/core/digest.hpp"
#include "railyard/core/rng.hpp"
#include "railyard/network/flow_network.hpp"
#include "railyard/network/max_min.hpp"
#include "support.hpp"
#include "support/simgrid_workload.hpp"

namespace {

using railyard::Bandwidth;
using railyard::Bytes;
using railyard::Digest;
using railyard::LinkId;
using railyard::Rng;
using railyard::TimePoint;
using railyard::benchmark::Measurement;
using railyard::network::FinishedFlow;
using railyard::network::FlowNetwork;
using railyard::network::FlowSpec;
using railyard::network::NetworkCounters;
using railyard::topology::LinkUse;

/// The same random problem solved again and again: 6 links a flow, capacities of 12.5 to 100 GB/s.
Measurement pure_solver(const char* name, std::uint32_t links, std::uint32_t flows,
                        std::uint64_t solves) {
  Rng rng(links);
  std::vector<double> capacity(links);
  for (double& each : capacity) each = 12.5e9 * static_cast<double>(1 + rng.below(8));
  std::vector<std::uint32_t> first_use{0};
  std::vector<std::uint32_t> link;
  for (std::uint32_t flow = 0; flow < flows; ++flow) {
    // One link from each sixth of the fabric: a route never has a link twice.
    for (std::uint32_t sixth = 0; sixth < 6; ++sixth) {
      link.push_back(static_cast<std::uint32_t>(sixth * (links / 6) + rng.below(links / 6)));
    }
    first_use.push_back(static_cast<std::uint32_t>(link.size()));
  }
  const std::vector<double> usage(link.size(), 1.0);
  const std::vector<double> share(flows, 1.0);
  const std::vector<double> cap(flows, 12.5e9);
  std::vector<double> rate(flows);
  std::vector<std::uint32_t> binding(flows);
  std::vector<double> level(flows);
  std::vector<double> link_level(links);
  railyard::network::MaxMinWorkspace workspace;
  for (std::uint64_t i = 0; i < solves; ++i) {
    solve_max_min({capacity, first_use, link, usage, share, cap}, workspace,
                  {rate, level, binding, link_level});
  }
  Digest digest;
  for (const double each : rate) digest.add(each);
  return {name, "solves", solves, {{"flows", flows}, {"links", links}}, digest.hex()};
}

Measurement network_measurement(const std::string& name, const FlowNetwork& network,
                                const Digest& digest) {
  const NetworkCounters& counters = network.counters();
  return {name,
          "flows",
          counters.flows_finished,
          {{"solves", counters.solves},
           {"flows touched", counters.flows_touched},
           {"links touched", counters.links_touched}},
          digest.hex()};
}

/// A three-tier CLOS in closed form: 2,048 NICs of 12.5 GB/s on 32 leaves, 16 spines a minipod of 4
/// leaves, core planes at 4:1.
struct Clos {
  static constexpr std::uint32_t kNics = 2048;
  static constexpr std::uint32_t kNicsPerLeaf = 64;
  static constexpr std::uint32_t kLeavesPerMinipod = 4;
  static constexpr std::uint32_t kSpines = 16;
  static constexpr std::uint32_t kLeaves = kNics / kNicsPerLeaf;
  static constexpr std::uint32_t kMinipods = kLeaves / kLeavesPerMinipod;
  static constexpr std::uint32_t kPcie = 0;
  static constexpr std::uint32_t kNic = kPcie + 2 * kNics;
  static constexpr std::uint32_t kLeaf = kNic + 2 * kNics;
  static constexpr std::uint32_t kSpine = kLeaf + 2 * kLeaves * kSpines;
  static constexpr std::uint32_t kLinks = kSpine + 2 * kMinipods * kSpines;

  static std::vector<Bandwidth> capacities() {
    std::vector<Bandwidth> result(kLinks, Bandwidth(50'000'000'000));
    std::fill(result.begin() + kPcie, result.begin() + kNic, Bandwidth(25'000'000'000));
    std::fill(result.begin() + kNic, result.begin() + kLeaf, Bandwidth(12'500'000'000));
    return result;
  }

  /// Eight links between minipods, six inside one; even ids lead up, odd ones down.
  static void route(std::uint32_t from, std::uint32_t to, std::uint32_t plane,
                    std::vector<LinkUse>& out) {
    const std::uint32_t leaf_from = from / kNicsPerLeaf;
    const std::uint32_t leaf_to = to / kNicsPerLeaf;
    const auto add = [&out](std::uint32_t link) {
      out.push_back(LinkUse{static_cast<LinkId>(link), 1.0});
    };
    out.clear();
    add(kPcie + 2 * from);
    add(kNic + 2 * from);
    add(kLeaf + 2 * (leaf_from * kSpines + plane));
    if (leaf_from / kLeavesPerMinipod != leaf_to / kLeavesPerMinipod) {
      add(kSpine + 2 * (leaf_from / kLeavesPerMinipod * kSpines + plane));
      add(kSpine + 2 * (leaf_to / kLeavesPerMinipod * kSpines + plane) + 1);
    }
    add(kLeaf + 2 * (leaf_to * kSpines + plane) + 1);
    add(kNic + 2 * to + 1);
    add(kPcie + 2 * to + 1);
  }
};

/// Bursts of random transfers, each burst after the last has ended. Every `coupled_every`-th is a
/// ring over 25 NICs as one flow.
Measurement bursts(const char* name, std::uint64_t flows, std::uint64_t burst,
                   std::uint64_t coupled_every) {
  FlowNetwork network(Clos::capacities());
  Rng rng(burst);
  Digest digest;
  std::vector<LinkUse> route;
  std::vector<LinkUse> edge;
  std::vector<FinishedFlow> done;
  TimePoint now{};
  for (std::uint64_t started = 0; started < flows;) {
    for (std::uint64_t i = 0; i < burst && started < flows; ++i, ++started) {
      const auto from = static_cast<std::uint32_t>(rng.below(Clos::kNics));
      route.clear();
      const std::uint32_t edges = coupled_every > 0 && started % coupled_every == 0 ? 25 : 1;
      for (std::uint32_t each = 0; each < edges; ++each) {
        const std::uint32_t a = (from + each * 8) % Clos::kNics;
        std::uint32_t b =
            edges == 1 ? static_cast<std::uint32_t>(rng.below(Clos::kNics)) : (a + 8) % Clos::kNics;
        if (b == a) b = (b + 1) % Clos::kNics;
        Clos::route(a, b, static_cast<std::uint32_t>(rng.below(Clos::kSpines)), edge);
        route.insert(route.end(), edge.begin(), edge.end());
      }
      const auto size = static_cast<std::int64_t>(1'000'000 * (1 + rng.below(8)));
      network.start(now, FlowSpec{Bytes(size), route, 1.0, started});
    }
    network.settle(now);
    while (network.running() > 0) {
      now = network.next_completion();
      done.clear();
      network.finish_due(now, done);
      for (const FinishedFlow& flow : done) digest.add(flow.tag);
      digest.add(now);
      network.settle(now);
    }
  }
  return network_measurement(name, network, digest);
}

/// A fat-tree of switches with 2 × half ports in closed form: half^2 × 2 × half hosts, all links
/// 50 GB/s; even ids lead up, odd ones down.
struct FatTree {
  std::uint32_t half;
  [[nodiscard]] std::uint32_t hosts() const { return 2 * half * half * half; }
  [[nodiscard]] std::vector<Bandwidth> capacities() const {
    return std::vector<Bandwidth>(std::size_t{6} * hosts(), Bandwidth(50'000'000'000));
  }
  /// Over spine `a` of the pod and core `c` of that spine, both below `half`.
  void route(std::uint32_t from, std::uint32_t to, std::uint32_t a, std::uint32_t c,
             std::vector<LinkUse>& out) const {
    const auto add = [&out](std::uint32_t link) {
      out.push_back(LinkUse{static_cast<LinkId>(link), 1.0});
    };
    out.clear();
    const std::uint32_t leaf = 2 * hosts();
    const std::uint32_t spine = 4 * hosts();
    const std::uint32_t pod_from = from / (half * half);
    const std::uint32_t pod_to = to / (half * half);
    add(2 * from);
    if (from / half != to / half) {
      add(leaf + 2 * (from / half * half + a));
      if (pod_from != pod_to) {
        add(spine + 2 * ((pod_from * half + a) * half + c));
        add(spine + 2 * ((pod_to * half + a) * half + c) + 1);
      }
      add(leaf + 2 * (to / half * half + a) + 1);
    }
    add(2 * to + 1);
  }
};

/// `concurrent` flows, each replaced by another when it ends: what one event costs. `draw` fills
/// the next route.
template <typename Draw>
Measurement closed_loop(const std::string& name, const std::vector<Bandwidth>& capacities,
                        std::uint64_t concurrent, std::uint64_t events, const Draw& draw) {
  FlowNetwork network(capacities, railyard::network::LinkStatistics::off);
  Rng rng(concurrent);
  Digest digest;
  std::vector<LinkUse> route;
  TimePoint now{};
  std::uint64_t started = 0;
  const auto start = [&] {
    draw(rng, route);
    network.start(now, FlowSpec{Bytes(static_cast<std::int64_t>(1 + rng.below(16'000'000))), route,
                                1.0, started++});
  };
  while (started < concurrent) start();
  network.settle(now);
  const double begin = railyard::benchmark::processor_seconds();
  std::vector<FinishedFlow> done;
  for (std::uint64_t event = 0; event < events; ++event) {
    now = network.next_completion();
    done.clear();
    network.finish_due(now, done);
    digest.add(now);
    for (std::size_t i = 0; i < done.size(); ++i) start();
    network.settle(now);
  }
  const double seconds = railyard::benchmark::processor_seconds() - begin;
  Measurement result = network_measurement(name, network, digest);
  result.note = fmt::format("{:.2f} us an event after the first",
                            1e6 * seconds / static_cast<double>(events));
  return result;
}

/// Random pairs of a fat-tree; `inside` of 20 flows stay in their pod.
Measurement random_pairs(const std::string& name, std::uint32_t half, std::uint64_t concurrent,
                         std::uint64_t events, std::uint64_t inside) {
  const FatTree tree{half};
  return closed_loop(name, tree.capacities(), concurrent, events,
                     [&](Rng& rng, std::vector<LinkUse>& route) {
                       const auto from = static_cast<std::uint32_t>(rng.below(tree.hosts()));
                       const std::uint32_t pod = half * half;
                       std::uint32_t to = from;
                       while (to == from) {
                         to = rng.below(20) < inside
                                  ? from / pod * pod + static_cast<std::uint32_t>(rng.below(pod))
                                  : static_cast<std::uint32_t>(rng.below(tree.hosts()));
                       }
                       const auto core = static_cast<std::uint32_t>(rng.below(half));
                       const auto spine = static_cast<std::uint32_t>(rng.below(half));
                       tree.route(from, to, spine, core, route);
                     });
}

/// Random pairs inside islands of 16 hosts around a switch, 100 flows each: components that share
/// nothing, so an event may not cost more in a larger run than finding the next one does.
Measurement independent(const std::string& name, std::uint64_t concurrent, std::uint64_t events) {
  constexpr std::uint64_t kHosts = 16;
  const std::uint64_t islands = concurrent / 100;
  const std::vector<Bandwidth> capacities(2 * kHosts * islands, Bandwidth(50'000'000'000));
  return closed_loop(name, capacities, concurrent, events,
                     [&](Rng& rng, std::vector<LinkUse>& route) {
                       const std::uint64_t first = rng.below(islands) * kHosts;
                       const std::uint64_t from = rng.below(kHosts);
                       const std::uint64_t to = (from + 1 + rng.below(kHosts - 1)) % kHosts;
                       route = {LinkUse{static_cast<LinkId>(2 * (first + from)), 1.0},
                                LinkUse{static_cast<LinkId>(2 * (first + to) + 1), 1.0}};
                     });
}

/// 1k to 1M concurrent flows: random pairs on a fat-tree of 101,306 hosts, and in islands.
void growth(const railyard::benchmark::Options& options) {
  constexpr std::uint32_t kHalf = 37;
  struct Size {
    std::uint64_t flows;
    std::uint64_t events;
  };
  constexpr Size kSizes[] = {{1'000, 20'000}, {10'000, 20'000}, {100'000, 2'000}, {1'000'000, 200}};
  for (const Size& size : kSizes) {
    railyard::benchmark::measure(options, [&size] {
      return random_pairs(fmt::format("growth {}k", size.flows / 1'000), kHalf, size.flows,
                          size.events, 0);
    });
  }
  for (const Size& size : kSizes) {
    railyard::benchmark::measure(options, [&size] {
      return independent(fmt::format("growth {}k, islands", size.flows / 1'000), size.flows,
                         100'000);
    });
  }
}

/// Repeats a recorded workload; prints processor seconds of one run: routes, network, flows.
void recorded(const std::string& folder, std::uint64_t repetitions) {
  const auto workload = railyard::test::read_simgrid_workload(folder);
  railyard::network::FlowListResult result;
  const double begin = railyard::benchmark::processor_seconds();
  for (std::uint64_t i = 0; i < repetitions; ++i) result = railyard::test::run_workload(workload);
  const double seconds =
      (railyard::benchmark::processor_seconds() - begin) / static_cast<double>(repetitions);
  Digest digest;
  for (const auto& times : result.times) digest.add(times.finish);
  fmt::print(
      "{} flows, {} solves, {} flows touched, {} links touched, hash {} | {:.6f} processor "
      "s, peak {:.1f} MiB\n",
      result.counters.flows_finished, result.counters.solves, result.counters.flows_touched,
      result.counters.links_touched, digest.hex(), seconds, railyard::benchmark::peak_memory_mib());
}

}  // namespace

int main(int argc, char** argv) {
  using railyard::benchmark::measure;
  const auto options = railyard::benchmark::parse_options(argc, argv);
  if (!options.folder.empty()) {
    recorded(options.folder, options.repetitions);
    return 0;
  }
  measure(options, [] { return pure_solver("solver small", 24, 20, 2'000); });
  measure(options, [] { return bursts("network small", 1'200, 120, 0); });
  measure(options, [] { return bursts("network coupled small", 1'200, 120, 10); });
  measure(options, [] { return random_pairs("closed loop small", 4, 300, 1'000, 10); });
  measure(options, [] { return independent("islands small", 1'000, 1'000); });
  if (options.smoke) return 0;
  measure(options, [] { return random_pairs("closed loop 1k", 16, 1'000, 20'000, 0); });
  measure(options, [] { return random_pairs("closed loop 10k", 16, 10'000, 20'000, 0); });
  measure(options, [] { return random_pairs("closed loop 30k", 16, 30'000, 10'000, 0); });
  measure(options, [] { return random_pairs("closed loop 100k", 16, 100'000, 2'000, 0); });
  measure(options, [] { return random_pairs("closed loop 100k, pods", 16, 100'000, 5'000, 19); });
  growth(options);
  measure(options, [] { return pure_solver("solver medium", 600, 1'000, 500); });
  measure(options, [] { return pure_solver("solver large", 12'000, 20'000, 20); });
  measure(options, [] { return bursts("network medium", 50'000, 120, 0); });
  measure(options, [] { return bursts("network coupled medium", 50'000, 120, 10); });
  measure(options, [] { return bursts("network large", 20'000, 960, 0); });
}
