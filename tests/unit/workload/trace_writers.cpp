#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <sstream>

#include "railyard/workload/trace_writer.hpp"
#include "support/dag_executor.hpp"
#include "support/trace_texts.hpp"

using namespace railyard;
using namespace railyard::workload;
using namespace railyard::test;

namespace {

/// What a writer writes, by rank.
std::vector<std::string> written(std::string_view writer, const IterationDag& dag) {
  std::map<std::uint32_t, std::string> files;
  struct Keep final : std::ostringstream {
    std::string* to = nullptr;
    ~Keep() override { *to = str(); }
  };
  for (const TraceWriterEntry& entry : trace_writer_catalog()) {
    if (entry.name != writer) continue;
    entry.write({.description = "", .dag = dag, .times = {}, .context = ""},
                [&](std::uint32_t rank) {
                  auto out = std::make_unique<Keep>();
                  out->to = &files[rank];
                  return std::unique_ptr<std::ostream>(std::move(out));
                });
  }
  std::vector<std::string> out;
  for (auto& [rank, text] : files) out.push_back(std::move(text));
  return out;
}

/// Ranks 0 and 1 compute, all-reduce twice, and send what they have to ranks 2 and 3, which
/// compute. A barrier stands between, so that it has to be dissolved.
IterationDag sample() {
  DagBuilder builder;
  IterationDag& dag = builder.dag();
  dag.ranks = 4;
  dag.streams = 4;
  dag.actors = {{Rank{0}, Rank{1}}, {Rank{2}, Rank{3}}};
  dag.groups = {{Rank{1}, Rank{0}}, {Rank{0}, Rank{1}, Rank{2}, Rank{3}}};
  Task compute;
  compute.duration = Duration(123'456);  // 1.23456 us
  const auto first = builder.add(compute, {});
  Task reduce;
  reduce.kind = TaskKind::collective;
  reduce.cause = Cause::data;
  reduce.stream = 1;
  reduce.repeat = 2;
  reduce.size = Bytes(1000);
  const auto reduced = builder.add(reduce, std::span(&first, 1));
  Task barrier;
  barrier.kind = TaskKind::barrier;
  barrier.stream = 2;
  const auto joined = builder.add(barrier, std::span(&reduced, 1));
  Task send;
  send.kind = TaskKind::send;
  send.cause = Cause::pipeline;
  send.stream = 2;
  send.peer = 1;
  send.size = Bytes(500);
  const auto sent = builder.add(send, std::span(&joined, 1));
  compute.actor = 1;
  compute.stream = 3;
  const auto second = builder.add(compute, std::span(&sent, 1));
  Task gather = reduce;
  gather.operation = collective::Operation::all_gather;
  gather.repeat = 1;
  gather.group = 1;
  gather.size = Bytes(400);
  gather.stream = 3;
  builder.add(gather, std::span(&second, 1));
  return builder.dag();
}

/// The end of a DAG where every communication takes a microsecond a time, computation what it says.
Duration end_of(const IterationDag& dag) {
  return run_dag(dag,
                 [](const Task& task) {
                   if (task.kind == TaskKind::compute) return task.duration;
                   if (task.kind == TaskKind::barrier) return Duration(0);
                   return Duration(100'000) * static_cast<std::int64_t>(task.repeat);
                 })
      .total;
}

}  // namespace

// 1.23456 + 2 · 1 + 1 + 1.23456 + 1 us.
TEST_CASE("a DAG written as Chakra and read back means the same") {
  const IterationDag dag = sample();
  const auto texts = written("chakra", dag);
  REQUIRE(texts.size() == 4);
  const Trace trace = read_texts("chakra", texts);
  const IterationDag back = match(trace);
  back.validate();
  CHECK(end_of(dag) == Duration(2 * 123'456 + 4 * 100'000));
  CHECK(end_of(back) == end_of(dag));
  std::size_t collectives = 0;
  for (const Task& task : back.tasks) {
    if (task.kind != TaskKind::collective) continue;
    ++collectives;
    const bool gathers = task.operation == collective::Operation::all_gather;
    CHECK(task.size == Bytes(gathers ? 400 : 1000));
    CHECK(back.groups[task.group].size() == (gathers ? 4 : 2));
    if (!gathers) CHECK(back.groups[task.group] == dag.groups[0]);  // in ring order
  }
  CHECK(collectives == 3);
}

// A ring of 2 all-reduces 1000 B in 2 steps of 500 B per rank, twice: 2 · 2 · 2 messages; of 4
// all-gathers 400 B in 3 steps: 12; two sends of 500 B.
TEST_CASE("a DAG written as GOAL and read back sends the same bytes") {
  const auto texts = written("goal", sample());
  REQUIRE(texts.size() == 1);
  const IterationDag back = match(read_texts("goal", texts));
  back.validate();
  std::map<std::int64_t, int> messages;
  std::int64_t computed = 0;
  for (const Task& task : back.tasks) {
    if (task.kind == TaskKind::send) ++messages[task.size.count()];
    if (task.kind == TaskKind::compute) computed += task.duration.count();
  }
  CHECK(messages == std::map<std::int64_t, int>{{500, 8 + 2}, {100, 12}});
  CHECK(computed == 4 * 123'500);  // whole nanoseconds
  // Steps of a microsecond each: 2 · 2 + 1 + 3.
  CHECK(end_of(back) == Duration(2 * 123'500 + 8 * 100'000));
}

TEST_CASE("what a trace of ranks cannot say is refused") {
  DagBuilder builder;
  builder.dag().ranks = 2;
  builder.dag().streams = 2;
  builder.dag().actors = {{Rank{0}}, {Rank{1}}};
  Task task;
  const auto first = builder.add(task, {});
  task.actor = 1;
  task.stream = 1;
  builder.add(task, std::span(&first, 1));
  try {
    static_cast<void>(written("chakra", builder.dag()));
    FAIL("not refused");
  } catch (const config::ConfigError& error) {
    CHECK(error.lines().front().find("no rank takes part in both") != std::string::npos);
  }
}
