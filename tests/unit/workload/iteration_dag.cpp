#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "railyard/workload/iteration_dag.hpp"
#include "railyard/workload/micro_benchmark.hpp"
#include "railyard/workload/recording.hpp"
#include "support/dag_executor.hpp"
#include "support/pipeline_plan.hpp"
#include "workload/pipeline_dag.hpp"

namespace railyard::test {

using namespace workload;

namespace {

IterationDag two_computes() {
  DagBuilder builder;
  builder.dag().ranks = 2;
  builder.dag().streams = 2;
  builder.dag().actors = {{Rank{0}}, {Rank{1}}};
  Task task;
  task.duration = Duration(10);
  const std::uint32_t first = builder.add(task, {});
  task.stream = 1;
  task.actor = 1;
  builder.add(task, std::span(&first, 1));
  return builder.dag();
}

std::string fault_of(const IterationDag& dag) {
  try {
    dag.validate();
  } catch (const InternalError& fault) {
    return fault.what();
  }
  return {};
}
bool fails_with(const IterationDag& dag, std::string_view part) {
  return fault_of(dag).find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a good DAG validates") {
  CHECK(fault_of(two_computes()).empty());
}

TEST_CASE("every broken invariant of a DAG is caught") {
  IterationDag dag = two_computes();
  dag.tasks[1].stream = 2;
  CHECK(fails_with(dag, "stream 2 of 2"));
  dag = two_computes();
  dag.tasks[0].actor = 2;
  CHECK(fails_with(dag, "actor 2 of 2"));
  dag = two_computes();
  dag.dependencies[0] = 7;
  CHECK(fails_with(dag, "depends on task 7"));
  dag = two_computes();
  dag.tasks[1].repeat = 0;
  CHECK(fails_with(dag, "repeated 0 times"));
  dag = two_computes();
  dag.tasks[0].kind = TaskKind::send;
  dag.tasks[0].peer = 1;
  CHECK(fails_with(dag, "0 bytes"));
  dag.tasks[0].size = Bytes(1);
  CHECK(fault_of(dag).empty());
  dag.tasks[0].peer = 0;
  CHECK(fails_with(dag, "from actor 0 to 0"));
  dag = two_computes();
  dag.tasks[0].kind = TaskKind::collective;
  CHECK(fails_with(dag, "group 0 of 0"));
  dag = two_computes();
  dag.actors[1] = {Rank{2}};
  CHECK(fails_with(dag, "rank 2 of 2"));
  dag = two_computes();
  dag.groups = {{Rank{1}, Rank{0}, Rank{1}}};
  CHECK(fails_with(dag, "a rank twice"));
}

// Task 0 waits for task 1 by a dependency and task 1 for task 0 by stream order (and then by a
// dependency as well).
TEST_CASE("a circle of dependencies and stream order is caught") {
  IterationDag dag = two_computes();
  dag.tasks[1].stream = 0;
  dag.tasks[1].dependency_count = 0;
  dag.tasks[0].first_dependency = 0;
  dag.tasks[0].dependency_count = 1;
  dag.dependencies[0] = 1;
  CHECK(fails_with(dag, "2 of 2 tasks wait for one another"));
}

// Four stages, six micro-batches. Stage s warms up with min(p − s − 1, m) forwards: 3, 2, 1, 0;
// then forward and backward take turns; the backwards left over end it. Read from the durations of
// stage 0's compute stream: forward 2, backward 3.
TEST_CASE("stages run their passes in 1F1B order") {
  const IterationDag dag =
      build_pipeline(simple_pipeline(4, 6, simple_chunk(Duration(2), Duration(3))));
  dag.validate();
  std::vector<std::string> order(4);
  for (const Task& task : dag.tasks) {
    if (task.kind == TaskKind::compute)
      order[task.actor] += task.duration == Duration(2) ? 'F' : 'B';
  }
  CHECK(order[0] == "FFFFBFBFBBBB");
  CHECK(order[1] == "FFFBFBFBFBBB");
  CHECK(order[2] == "FFBFBFBFBFBB");
  CHECK(order[3] == "FBFBFBFBFBFB");
}

// Fewer micro-batches than stages: nobody warms up longer than there is work.
TEST_CASE("a pipeline longer than its micro-batches works") {
  const IterationDag dag =
      build_pipeline(simple_pipeline(5, 2, simple_chunk(Duration(2), Duration(4))));
  dag.validate();
  CHECK(run_on_free_network(dag).total == Duration((2 + 5 - 1) * 6));
}

// Two segments of 5 and 7 ticks, p = 1, m = 1, d = 2: the first bucket's all-reduce (100 ticks)
// starts after 1 + 5, the second after both its own compute (1 + 5 + 7) and the first: 6 + 100 +
// 100; the optimizer of 3 ticks follows.
TEST_CASE("gradients of a segment are reduced while the next one computes") {
  PipelinePlan plan;
  plan.parallelism.data = 2;
  plan.chunks = {{.forward = {{.works = {{.compute = Duration(1)}}}},
                  .backward = {{.works = {{.compute = Duration(5)}}, .gradients = Bytes(10)},
                               {.works = {{.compute = Duration(7)}}, .gradients = Bytes(20)}}}};
  plan.optimizer = {Duration(3)};
  const IterationDag dag = build_pipeline(plan);
  dag.validate();
  const DagRun run = run_dag(dag, [](const Task& task) {
    return task.kind == TaskKind::compute ? task.duration : Duration(100);
  });
  CHECK(run.total == Duration(1 + 5 + 100 + 100 + 3));
}

TEST_CASE("a recording is read back as it was written") {
  PipelinePlan plan;
  plan.parallelism = {.tensor = 2, .pipeline = 2, .data = 2};
  plan.micro_batches = 3;
  plan.activation = Bytes(4096);
  plan.scatter_sends = true;
  plan.tied_gradients = Bytes(512);
  ChunkPlan chunk = simple_chunk(Duration(20), Duration(40));
  chunk.backward.front().gradients = Bytes(1024);
  for (auto* segments : {&chunk.forward, &chunk.backward})
    segments->front() = with_all_reduces(segments->front(), plan.activation, 2);
  plan.chunks.assign(2, chunk);
  plan.optimizer.assign(2, Duration(5));
  Recording recording;
  recording.description = "a \"test\" with a \\ and a\nline end";
  recording.dag = build_pipeline(plan);
  recording.dag.model_flops = 0.1 + 0.2;  // needs all its digits
  recording.dag.tokens = 12345;
  for (std::uint32_t i = 0; i < recording.dag.tasks.size(); ++i)
    recording.times.push_back({Duration(i), Duration(2 * i)});
  const std::filesystem::path path = "workload_recording_test.json";
  {
    std::ofstream file(path);
    write_recording(file, recording);
  }
  CHECK(read_recording(path) == recording);
  recording.times.clear();
  recording.context = R"({"hosts":[1,2],"name":"x"})";
  {
    std::ofstream file(path);
    write_recording(file, recording);
  }
  CHECK(read_recording(path) == recording);
  std::ostringstream text;
  write_recording(text, recording);
  std::string broken = text.str();
  broken.replace(broken.find("\"compute\""), 9, "\"dream\"");
  {
    std::ofstream file(path);
    file << broken;
  }
  CHECK_THROWS_AS(static_cast<void>(read_recording(path)), config::ConfigError);
  broken = text.str();
  broken.replace(broken.find("\"ranks\": 8"), 10, "\"ranks\": 7");
  {
    std::ofstream file(path);
    file << broken;
  }
  CHECK_THROWS_AS(static_cast<void>(read_recording(path)), config::ConfigError);
  std::filesystem::remove(path);
}

TEST_CASE("micro-benchmarks group ranks by rail, or all, or in pairs") {
  const IterationDag rails = build_micro_benchmark({.size = Bytes(100), .repeats = 3}, 16, 8);
  rails.validate();
  REQUIRE(rails.groups.size() == 8);
  CHECK(rails.groups[3] == std::vector<Rank>{Rank{3}, Rank{11}});
  CHECK(rails.tasks.size() == 8 * 3);  // a task a repeat, in a row on the group's stream
  CHECK(rails.tasks[4].stream == rails.tasks[3].stream);
  const IterationDag world = build_micro_benchmark({.size = Bytes(100), .world = true}, 16, 8);
  world.validate();
  REQUIRE(world.groups.size() == 1);
  CHECK(world.groups[0].size() == 16);
  const IterationDag pairs =
      build_micro_benchmark({.point_to_point = true, .size = Bytes(100), .repeats = 2}, 16, 8);
  pairs.validate();
  CHECK(pairs.tasks.size() == 16);
  CHECK(pairs.tasks[5].actor == 5);
  CHECK(pairs.tasks[5].peer == 13);
  CHECK(pairs.tasks[13].stream == 5);
  CHECK(check_micro_benchmark({.point_to_point = true, .size = Bytes(1)}, 7, 8).size() == 1);
  CHECK(check_micro_benchmark({.size = Bytes(1)}, 12, 8).size() == 1);
  // Rails of one host are groups of one rank: nothing to exchange.
  CHECK(check_micro_benchmark({.size = Bytes(1)}, 8, 8).size() == 1);
}

}  // namespace railyard::test
