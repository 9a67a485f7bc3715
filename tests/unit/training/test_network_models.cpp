#include <doctest/doctest.h>

#include <chrono>

#include "railyard/training/iteration_engine.hpp"
#include "railyard/workload/micro_benchmark.hpp"
#include "support/fabric.hpp"
#include "support/trace_texts.hpp"

using namespace railyard;
using namespace railyard::training;
using namespace std::chrono_literals;
using network::Fidelity;

namespace {

/// LogGPSim's defaults: L = 2500, o = 1500, g = 1000, G = 6 ns.
network::NetworkModel loggp() {
  return {Fidelity::loggp, {2500ns, 1500ns, 1000ns, Bandwidth(166'666'667)}, 0};
}

TaskTimes run(const workload::IterationDag& dag, const network::NetworkModel& model,
              const std::string& fabric = test::plain_clos("[8]")) {
  const auto topology = test::build_fabric(fabric);
  NetworkSettings network = test::free_of_latency(topology, "spray");
  network.model = model;
  std::vector<GpuId> gpus;
  for (std::uint32_t rank = 0; rank < dag.ranks; ++rank) gpus.push_back(static_cast<GpuId>(rank));
  return run_once(
      bind_job(std::make_shared<const workload::IterationDag>(dag), gpus, topology, network, 0),
      topology);
}

Duration end_of(const TaskTimes& times) {
  return Duration(*std::max_element(times.end.begin(), times.end.end()));
}

workload::IterationDag goal(const std::string& text) {
  return workload::match(test::read_texts("goal", {text}));
}

}  // namespace

// Dissemination: in round k rank r sends one byte to r + 2^k and goes on when that from r - 2^k is
// there. Every round costs o + L + o: 4 · (2500 + 2 · 1500) = 22,000 ns, LogGOPSim's documented
// value (peers.md §6c).
TEST_CASE("a dissemination barrier of 16 ranks takes 4(L + 2o) under LogGP") {
  std::string text = "num_ranks 16\n";
  for (int rank = 0; rank < 16; ++rank) {
    text += fmt::format("rank {} {{\n", rank);
    for (int round = 0; round < 4; ++round) {
      const int reach = 1 << round;
      text += fmt::format("s{0}: send 1b to {1} tag {0}\nr{0}: recv 1b from {2} tag {0}\n", round,
                          (rank + reach) % 16, (rank + 16 - reach) % 16);
      if (round > 0)
        text += fmt::format("s{0} requires r{1}\nr{0} requires r{1}\n", round, round - 1);
    }
    text += "}\n";
  }
  CHECK(end_of(run(goal(text), loggp())) == 22'000ns);
}

// peers.md §6c: rank 0 is free after o = 1500 and computes 500; rank 1 has the 1000 bytes after
// o + L + 999 G + o = 1500 + 2500 + 5994 + 1500 and computes 100 more.
TEST_CASE("a rank computes while its message is under way under LogGP") {
  const workload::IterationDag dag = goal(
      "num_ranks 2\n"
      "rank 0 {\nl1: send 1000b to 1 tag 7\nl2: calc 500\nl2 requires l1\n}\n"
      "rank 1 {\nl1: recv 1000b from 0 tag 7\nl2: calc 100\nl2 requires l1\n}\n");
  const TaskTimes times = run(dag, loggp());
  Duration end[2];
  for (std::size_t t = 0; t < dag.tasks.size(); ++t) {
    if (dag.tasks[t].kind == workload::TaskKind::compute)
      end[dag.tasks[t].actor] = Duration(times.end[t]);
  }
  CHECK(end[0] == 2'000ns);
  CHECK(end[1] == 11'594ns);
}

// Two messages ready at once: the processor of rank 0 takes o for each, so they enter at 1500 and
// 3000 (g = 1000 is over by then); the second is there at 3000 + 2500 + 1500.
TEST_CASE("overhead takes the processor of a rank message after message under LogGP") {
  const workload::IterationDag dag = goal(
      "num_ranks 3\nrank 0 {\nsend 1b to 1\nsend 1b to 2\n}\n"
      "rank 1 {\nrecv 1b from 0\n}\nrank 2 {\nrecv 1b from 0\n}\n");
  CHECK(end_of(run(dag, loggp())) == 7'000ns);
}

// GPUs 0 … 6 of a host send 125 MB each to the GPU of one NIC of another host, 12.5 GB/s: 10 ms
// alone and so in the analytic model, 7 times that in the fluid; LogGP with the path's G takes one
// in after the other: seven times, too.
TEST_CASE("an incast costs nothing in the analytic model and its factor in the others") {
  std::string text = "num_ranks 16\n";
  for (int rank = 0; rank < 7; ++rank)
    text += fmt::format("rank {} {{\nsend 125000000b to 8 tag {}\n}}\n", rank, rank);
  text += "rank 8 {\n";
  for (int rank = 0; rank < 7; ++rank)
    text += fmt::format("recv 125000000b from {} tag {}\n", rank, rank);
  text += "}\n";
  const workload::IterationDag dag = goal(text);
  CHECK(end_of(run(dag, {Fidelity::analytic, {}, 0})) == 10ms);
  CHECK(end_of(run(dag, {Fidelity::fluid, {}, 0})) == 70ms);
  const Duration with_loggp = end_of(run(dag, {Fidelity::loggp, {}, 0}));
  // (k-1)G each, so 7 · 8 ticks of one byte less.
  CHECK(std::abs((with_loggp - 70ms).count()) <= 100);
}

// A ring all-reduce of n = 4 ranks is 2(n-1) rounds of o + L + (k-1)G + o with k = S/n; three in a
// row take three times that.
TEST_CASE("a ring all-reduce takes its LogGP closed form, repeated or not") {
  workload::DagBuilder builder;
  builder.dag().ranks = 4;
  builder.dag().streams = 1;
  builder.dag().groups = {{Rank{0}, Rank{1}, Rank{2}, Rank{3}}};
  for (std::uint32_t rank = 0; rank < 4; ++rank) builder.dag().actors.push_back({Rank{rank}});
  workload::Task task;
  task.kind = workload::TaskKind::collective;
  task.cause = workload::Cause::data;
  task.size = Bytes(4004);
  builder.add(task, {});
  const Duration round = 1500ns + 2500ns + 6000ns + 1500ns;
  CHECK(std::abs((end_of(run(builder.dag(), loggp())) - 6 * round).count()) <= 6);
  builder.dag().tasks[0].repeat = 3;
  CHECK(std::abs((end_of(run(builder.dag(), loggp())) - 18 * round).count()) <= 18);
}
