#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "support/dag_executor.hpp"
#include "support/pipeline_plan.hpp"
#include "workload/pipeline_schedule.hpp"

namespace railyard::test {

using namespace workload;

// p equal stages, forward f and backward 2f, m micro-batches, a free network: the ideal time is
// m·3f and the first and last stages idle for (p − 1)·3f, so the bubble is (p − 1)/m of the ideal
// time (SC'21, §2.2.1).
TEST_CASE("the 1F1B bubble is (p-1)/m of the ideal time") {
  for (const std::uint32_t p : {2U, 4U, 8U}) {
    for (const std::uint32_t m : {8U, 32U}) {
      for (const std::uint32_t d : {1U, 3U}) {
        const Duration f(1'234'567);
        ChunkPlan chunk = simple_chunk(f, f);
        for (auto* segments : {&chunk.forward, &chunk.backward})
          segments->front() = with_all_reduces(segments->front(), Bytes(1 << 20), 2);
        chunk.backward.front().gradients = Bytes(100);
        chunk.backward.push_back(chunk.backward.front());
        PipelinePlan plan = simple_pipeline(p, m, chunk);
        plan.parallelism = {.tensor = 2, .pipeline = p, .data = d};
        plan.scatter_sends = true;
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
  PipelinePlan plan = simple_pipeline(4, 16, simple_chunk(Duration(200), Duration(400)));
  plan.chunks[3] = simple_chunk(Duration(300), Duration(600));
  CHECK(run_on_free_network(build_pipeline(plan)).total == Duration(15 * 900 + 3 * 600 + 900));
}

// With sends that take d, uniform stages and the minimal warm-up of 1F1B every micro-batch waits 2d
// · (p − 1)/p on average for its neighbours (calibration study, §2). For two stages: the last stage
// finds every other forward late by 2d, because the first one sends it after the backward it
// answers. It starts at f + d, computes m(f + b) and waits before micro-batches 3, 5, …, m − 1; the
// last backward goes back in d + b:  T = f + d + m(f + b) + (m/2 − 1)·2d + d + b = (m + 1)(f + b) +
// m·d for even m.
TEST_CASE("1F1B with two equal stages pays one send for every micro-batch") {
  const PipelinePlan plan = simple_pipeline(2, 16, simple_chunk(Duration(200), Duration(400)));
  const IterationDag dag = build_pipeline(plan);
  const DagRun run = run_dag(dag, [](const Task& task) {
    return task.kind == TaskKind::send ? Duration(7) : task.duration;
  });
  CHECK(run.total == Duration(17 * 600 + 16 * 7));
}

namespace {

/// Idle time of the whole pipeline over the ideal time, in ticks.
Duration bubble_of(Schedule schedule, std::uint32_t p, std::uint32_t m, std::uint32_t v,
                   const ChunkPlan& chunk, Duration ideal) {
  PipelinePlan plan = simple_pipeline(p, m, chunk, v);
  plan.schedule = schedule;
  const IterationDag dag = build_pipeline(plan);
  dag.validate();
  return run_on_free_network(dag).total - ideal;
}

}  // namespace

// GPipe waits for the whole pipeline twice, as 1F1B does: (p − 1)(F + B).
TEST_CASE("GPipe has the bubble of 1F1B") {
  const Duration f(200);
  for (const std::uint32_t p : {2U, 4U, 8U}) {
    CHECK(bubble_of(Schedule::gpipe, p, 16, 1, simple_chunk(f, 2 * f), 16 * 3 * f) ==
          (p - 1) * 3 * f);
  }
}

// Interleaved with v chunks a stage, each 1/v of a stage's work: (p − 1)(F + B)/v (SC'21, §2.2.2).
TEST_CASE("v chunks a stage divide the bubble by v") {
  const Duration f(120);
  for (const std::uint32_t p : {2U, 4U, 8U}) {
    for (const std::uint32_t v : {2U, 3U, 4U}) {
      for (const std::uint32_t groups : {1U, 2U, 5U}) {
        const std::uint32_t m = groups * p;
        const ChunkPlan chunk = simple_chunk(f / v, 2 * f / v);
        CHECK(bubble_of(Schedule::one_forward_one_backward, p, m, v, chunk, m * 3 * f) ==
              (p - 1) * 3 * f / v);
      }
    }
  }
}

// ZB-H1: (p − 1)(F + B − W), B being the input's gradient and W the weights' (Qi et al., 2023,
// Table 2); with F = B = W a third of 1F1B's.
TEST_CASE("ZB-H1 leaves a third of the bubble of 1F1B") {
  const Duration f(200);
  for (const std::uint32_t p : {2U, 4U, 8U}) {
    const std::uint32_t m = 3 * p;
    CHECK(bubble_of(Schedule::zero_bubble, p, m, 1, simple_chunk(f, 2 * f, f), m * 3 * f) ==
          (p - 1) * f);
  }
}

// DualPipe: (p/2 − 1)(F&B + B − 3W) (DeepSeek-V3 report, Table 2). B is the whole backward pass, a
// pair takes F + B here; with F = W = f and B = 2f: (p/2 − 1)(3 + 2 − 3)f.
TEST_CASE("DualPipe's bubble is (p/2 - 1)(F&B + B - 3W)") {
  const Duration f(200);
  for (const std::uint32_t p : {2U, 4U, 8U, 16U}) {
    for (const std::uint32_t m : {2 * p, 2 * p + 4, 4 * p}) {
      CHECK(bubble_of(Schedule::dual_pipe, p, m, 1, simple_chunk(f, 2 * f, f), m * 3 * f) ==
            (p / 2 - 1) * 2 * f);
    }
  }
}

// Every stage runs every micro-batch once forward, once backward and once for the weights, whatever
// the order.
TEST_CASE("schedules lose no pass") {
  const auto count = [](const std::vector<Pass>& passes, auto kinds) {
    return std::count_if(passes.begin(), passes.end(), kinds);
  };
  for (const Schedule schedule : {Schedule::one_forward_one_backward, Schedule::gpipe,
                                  Schedule::zero_bubble, Schedule::dual_pipe}) {
    for (const std::uint32_t p : {2U, 4U, 6U}) {
      for (std::uint32_t stage = 0; stage < p; ++stage) {
        const std::uint32_t m = 2 * p + 2;
        const auto passes = passes_of_stage(schedule, stage, p, 1, m);
        CHECK(count(passes, [](const Pass& x) { return x.kind == Pass::forward; }) == m);
        CHECK(count(passes, [](const Pass& x) {
                return x.kind == Pass::backward || x.kind == Pass::backward_input;
              }) == m);
        CHECK(count(passes, [](const Pass& x) {
                return x.kind == Pass::backward || x.kind == Pass::backward_weight;
              }) == m);
      }
    }
  }
}

}  // namespace railyard::test
