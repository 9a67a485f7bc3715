#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>

#include "support/dag_executor.hpp"
#include "workload/pipeline_dag.hpp"

namespace railyard::test {

using namespace workload;

// p equal stages, forward f and backward 2f, m micro-batches, a free network: the ideal time is
// m·3f and the first and last stages idle for (p − 1)·3f, so the bubble is (p − 1)/m of the ideal
// time (SC'21, §2.2.1).
TEST_CASE("the 1F1B bubble is (p-1)/m of the ideal time") {
  for (const std::uint32_t p : {2U, 4U, 8U}) {
    for (const std::uint32_t m : {8U, 32U}) {
      for (const std::uint32_t d : {1U, 3U}) {
        PipelinePlan plan;
        plan.parallelism = {.tensor = 2, .pipeline = p, .data = d};
        plan.micro_batches = m;
        plan.activation = Bytes(1 << 20);
        plan.scatter_sends = true;
        const Duration f(1'234'567);
        plan.stages.assign(
            p, {.forward = f,
                .forward_all_reduces = 2,
                .backward = {{.duration = f, .tensor_all_reduces = 2, .gradients = Bytes(100)},
                             {.duration = f, .tensor_all_reduces = 2, .gradients = Bytes(100)}}});
        const IterationDag dag = build_pipeline(plan);
        dag.validate();
        const double ideal = in_seconds(3 * f) * m;
        const double bubble = in_seconds(run_on_free_network(dag).total) / ideal - 1;
        const double expected = (p - 1.0) / m;
        std::printf("1F1B p=%u m=%u: bubble expected %.6f simulated %.6f\n", p, m, expected,
                    bubble);
        CHECK(std::abs(bubble / expected - 1) < 1e-3);
      }
    }
  }
}

// One stage that takes 50 % longer sets the pace: (m − 1)·max + sum over the stages (calibration
// study, checked there by an event simulation). Slow last stage, as the logits make it.
TEST_CASE("a slow last stage sets the pace of 1F1B") {
  PipelinePlan plan;
  plan.parallelism = {.tensor = 1, .pipeline = 4, .data = 1};
  plan.micro_batches = 16;
  plan.activation = Bytes(1024);
  plan.stages.assign(4, {.forward = Duration(200),
                         .forward_all_reduces = 0,
                         .backward = {{.duration = Duration(400)}}});
  plan.stages[3].forward = Duration(300);
  plan.stages[3].backward[0].duration = Duration(600);
  CHECK(run_on_free_network(build_pipeline(plan)).total == Duration(15 * 900 + 3 * 600 + 900));
}

// With sends that take d, uniform stages and the minimal warm-up of 1F1B every micro-batch waits 2d
// · (p − 1)/p on average for its neighbours (calibration study, §2). For two stages: the last stage
// finds every other forward late by 2d, because the first one sends it after the backward it
// answers. It starts at f + d, computes m(f + b) and waits before micro-batches 3, 5, …, m − 1; the
// last backward goes back in d + b:  T = f + d + m(f + b) + (m/2 − 1)·2d + d + b = (m + 1)(f + b) +
// m·d for even m.
TEST_CASE("1F1B with two equal stages pays one send for every micro-batch") {
  PipelinePlan plan;
  plan.parallelism = {.tensor = 1, .pipeline = 2, .data = 1};
  plan.micro_batches = 16;
  plan.activation = Bytes(1024);
  plan.stages.assign(2, {.forward = Duration(200),
                         .forward_all_reduces = 0,
                         .backward = {{.duration = Duration(400)}}});
  const IterationDag dag = build_pipeline(plan);
  const DagRun run = run_dag(dag, [](const Task& task) {
    return task.kind == TaskKind::send ? Duration(7) : task.duration;
  });
  CHECK(run.total == Duration(17 * 600 + 16 * 7));
}

}  // namespace railyard::test
