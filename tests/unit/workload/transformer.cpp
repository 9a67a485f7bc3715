#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>

#include "railyard/workload/trace_job.hpp"
#include "railyard/workload/transformer.hpp"
#include "support/a100.hpp"
#include "support/dag_executor.hpp"
#include "workload/compute.hpp"
#include "workload/model.hpp"

namespace railyard::test {

using namespace workload;

namespace {

/// The 960-GPU job of the quickstart scenario.
TrainingSpec job_960() {
  TrainingSpec spec;
  spec.model = gpt3_175b();
  spec.parallelism = {.tensor = 8, .pipeline = 8, .data = 15};
  spec.global_batch = 480;
  spec.recompute = Recompute::full;
  return spec;
}

/// Small, with unequal widths everywhere.
TrainingSpec small(std::uint32_t tensor, std::uint32_t pipeline, std::uint32_t data) {
  TrainingSpec spec;
  spec.model = {.name = "small",
                .layers = 12,
                .hidden = 1536,
                .heads = 24,
                .kv_heads = 24,
                .head_dim = 64,
                .ffn = 6144,
                .vocabulary = 12288,
                .sequence = 512};
  spec.parallelism = {.tensor = tensor, .pipeline = pipeline, .data = data};
  spec.micro_batch = 2;
  spec.global_batch = 2 * 6 * data;
  spec.gradient_bucket = Bytes(std::int64_t{20} << 20U);
  return spec;
}

}  // namespace

// SC'21 Eq. 2: P = 12lh²(1 + 13/(12h) + (V + s)/(12lh)), and 2h for the last norm that it leaves
// out. GPT-3 175B: 12·96·12288² + 13·96·12288 + (51200 + 2048)·12288 + 2·12288 = 174,615,846,912.
TEST_CASE("parameter counts are the published ones") {
  CHECK(gpt3_175b().parameters() == 174'615'846'912.0);
  // Llama 3 8B and 70B as counted from the released weights: 8,030,261,248 and 70,553,706,496.
  CHECK(llama3_8b().parameters() == 8'030'261'248.0);
  CHECK(llama3_70b().parameters() == 70'553'706'496.0);
}

// SC'21 Eq. 3 without recomputation: 72·B·s·l·h²·(1 + s/(6h) + V/(12lh)).
TEST_CASE("model FLOPs follow the published formula") {
  const TrainingSpec spec = job_960();
  const double h = 12288;
  const double l = 96;
  const double formula =
      72.0 * 480 * 2048 * l * h * h * (1 + 2048 / (6 * h) + 51200 / (12 * l * h));
  CHECK(model_flops(spec) == doctest::Approx(formula).epsilon(1e-12));
  CHECK(build_iteration(spec, a100()).model_flops == model_flops(spec));
  CHECK(build_iteration(spec, a100()).tokens == 480.0 * 2048);
}

// 8192³ on an A100 in tiles of 256×128: 32 · 64 = 2048 tiles in ceil(2048/108) = 19 waves, each
// 108·256·128·2·8192 operations at 0.77 · 312e12, and one kernel overhead of 3 µs. Azure measures
// 253.7 Tflop/s = 4.334 ms, 6 % less.
TEST_CASE("a large GEMM takes whole waves of tiles") {
  const double waves = 19.0 * 108 * 256 * 128 * 2 * 8192 / (0.77 * 312e12);
  const double seconds = Roofline(a100()).gemm({8192, 8192, 8192});
  CHECK(seconds == doctest::Approx(waves + 3e-6).epsilon(1e-12));
  CHECK(std::abs(seconds / 4.334e-3 - 1) < 0.07);
}

// A product of rank 16 writes 8192² results of 2 bytes and hardly computes: (2 · 8192·16 + 8192²)·2
// bytes at 0.66 · 2.039 TB/s.
TEST_CASE("a thin GEMM takes the time of its bytes") {
  const double bytes = 2.0 * (2 * 8192.0 * 16 + 8192.0 * 8192);
  CHECK(Roofline(a100()).gemm({8192, 8192, 16}) ==
        doctest::Approx(bytes / (0.66 * 2.039e12) + 3e-6).epsilon(1e-12));
}

// Flash attention of one head, s = 2048, d = 128: 0.5·4·s²·d operations forward at 0.575 · 312e12;
// 2.5 times as many backward at 0.78 of that rate. The rest of the layer is equal, so the
// difference to unfused attention is that of attention alone.
TEST_CASE("attention is flash or memory-bound") {
  TrainingSpec spec = job_960();
  const PassTimes flash = layer_times(spec, a100(), 0);
  spec.flash_attention = false;
  const PassTimes unfused = layer_times(spec, a100(), 0);
  const double s = 2048;
  const double maps = 96.0 / 8;
  const double flash_forward = 0.5 * 4 * maps * s * s * 128 / (0.575 * 312e12) + 3e-6;
  const double flash_backward = 2.5 * 0.5 * 4 * maps * s * s * 128 / (0.78 * 0.575 * 312e12) + 3e-6;
  // Scores of 12 heads: a product moves 2·(2·12·s·d + 12·s²) bytes, which outlasts its 2·12·s²·d
  // operations at half the peak.
  const double bandwidth = 0.66 * 2.039e12;
  const double product = 2 * (2 * maps * s * 128 + maps * s * s) / bandwidth + 3e-6;
  const double forward = 2 * product + 9 * maps * s * s / bandwidth + 3e-6;
  const double backward = 4 * product + 11 * maps * s * s / bandwidth + 3e-6;
  CHECK(in_seconds(unfused.forward - flash.forward) ==
        doctest::Approx(forward - flash_forward).epsilon(1e-6));
  CHECK(in_seconds(unfused.backward - flash.backward) ==
        doctest::Approx(backward - flash_backward).epsilon(1e-6));
}

TEST_CASE(
    "full recomputation adds the layers' forward pass to the backward pass and nothing else") {
  TrainingSpec spec = job_960();
  const StageTimes full = stage_times(spec, a100(), 3);
  spec.recompute = Recompute::none;
  const StageTimes none = stage_times(spec, a100(), 3);
  CHECK(full.forward == none.forward);
  CHECK(full.backward == none.backward + none.forward);  // stage 3 is nothing but layers
}

// The first stage has the embedding and the last the logits; those between are equal. The optimizer
// works on the parameters of a rank: 30 bytes each at the memory bandwidth.
TEST_CASE("the ends of the pipeline have more to do") {
  const TrainingSpec spec = job_960();
  const StageTimes middle = stage_times(spec, a100(), 1);
  CHECK(stage_times(spec, a100(), 6).forward == middle.forward);
  CHECK(stage_times(spec, a100(), 0).forward - middle.forward ==
        embedding_times(spec, a100()).forward);
  CHECK(stage_times(spec, a100(), 7).backward - middle.backward ==
        head_times(spec, a100()).backward);
  const double parameters = static_cast<double>(stage_parameters_per_rank(spec, 1).total());
  CHECK(in_seconds(middle.optimizer) ==
        doctest::Approx(30 * parameters / (0.66 * 2.039e12) + 12e-6).epsilon(1e-9));
}

// Every actor computes m forward and m backward passes and one optimizer step, however the last
// backward is cut.
TEST_CASE("segments of the last backward pass add up to the tick") {
  for (const auto& [t, p, d] : {std::array{1U, 1U, 1U},
                                {8U, 1U, 1U},
                                {1U, 4U, 1U},
                                {1U, 1U, 3U},
                                {2U, 3U, 2U},
                                {4U, 2U, 5U}}) {
    for (const Recompute recompute : {Recompute::none, Recompute::full}) {
      TrainingSpec spec = small(t, p, d);
      spec.recompute = recompute;
      const IterationDag dag = build_iteration(spec, a100());
      dag.validate();
      std::vector<Duration> sums(dag.actors.size(), Duration(0));
      for (const Task& task : dag.tasks) {
        if (task.kind == TaskKind::compute) sums[task.actor] += task.duration;
      }
      for (std::uint32_t actor = 0; actor < sums.size(); ++actor) {
        const StageTimes times = stage_times(spec, a100(), actor / d);
        CHECK(sums[actor] ==
              (times.forward + times.backward) * spec.micro_batches() + times.optimizer);
      }
    }
  }
}

// What the wire must carry, by hand. Gradients: 2 bytes for every parameter of a rank, once. Tensor
// all-reduces: 2 a layer forward, 2 backward (4 with recomputation), one for the embedding and one
// for the logits, per micro-batch and replica.
TEST_CASE("a DAG carries the traffic of its parallelism and no other") {
  for (const auto& ranks : {std::array{1U, 1U, 1U},
                            {8U, 1U, 1U},
                            {1U, 4U, 1U},
                            {1U, 1U, 3U},
                            {2U, 3U, 2U},
                            {4U, 2U, 5U}}) {
    const std::uint32_t t = ranks[0];
    const std::uint32_t p = ranks[1];
    const std::uint32_t d = ranks[2];
    CAPTURE(t);
    CAPTURE(p);
    CAPTURE(d);
    TrainingSpec spec = small(t, p, d);
    spec.recompute = Recompute::full;
    const IterationDag dag = build_iteration(spec, a100());
    std::map<std::uint32_t, std::int64_t> gradients;  // by group
    std::int64_t tensor = 0;
    std::int64_t gathers = 0;
    std::int64_t tied = 0;
    std::int64_t sent = 0;
    for (const Task& task : dag.tasks) {
      if (task.kind == TaskKind::send)
        sent += task.size.count() * static_cast<std::int64_t>(dag.actors[task.actor].size());
      if (task.kind != TaskKind::collective) continue;
      if (task.cause == Cause::tensor) tensor += task.repeat;
      if (task.cause == Cause::pipeline) ++gathers;
      if (task.cause != Cause::data) continue;
      if (p > 1 && dag.groups[task.group].front() < Rank{t * d} &&
          dag.groups[task.group].back() >= Rank{t * d * (p - 1)}) {
        tied += task.size.count();
      } else {
        gradients[task.group] += task.size.count();
      }
    }
    const std::int64_t m = spec.micro_batches();
    CHECK(tensor == (t == 1 ? 0 : m * d * (12 * 6 + 2)));
    CHECK(gathers == (t == 1 ? 0 : 2 * m * d * (p - 1)));
    CHECK(sent == 2 * m * d * (p - 1) * (2LL * 2 * 512 * 1536));
    CHECK(tied == (p == 1 ? 0 : d * 2LL * 1536 * 12288));
    CHECK(gradients.size() == (d == 1 ? 0 : t * p));
    for (const auto& [group, bytes] : gradients) {
      const std::uint32_t stage =
          static_cast<std::uint32_t>(index(dag.groups[group].front())) / (t * d);
      CHECK(bytes == 2 * stage_parameters_per_rank(spec, stage).total());
      CHECK(dag.groups[group].size() == d);
    }
  }
}

// Without scattering every tensor rank sends the whole activation, and nobody gathers.
TEST_CASE("sends that are not scattered are whole") {
  TrainingSpec spec = small(4, 2, 1);
  spec.scatter_sends = false;
  for (const Task& task : build_iteration(spec, a100()).tasks) {
    CHECK((task.kind != TaskKind::send || task.size == Bytes(2LL * 2 * 512 * 1536)));
    CHECK((task.kind != TaskKind::collective || task.cause != Cause::pipeline));
  }
}

// A bucket that holds all layers leaves one all-reduce a group, a bucket of one byte one
// for each layer (12 layers on one stage).
TEST_CASE("the bucket size decides how many all-reduces there are") {
  TrainingSpec spec = small(1, 1, 2);
  const auto reductions = [&](Bytes bucket) {
    spec.gradient_bucket = bucket;
    const IterationDag dag = build_iteration(spec, a100());
    return std::ranges::count(dag.tasks, TaskKind::collective, &Task::kind);
  };
  CHECK(reductions(Bytes(1)) == 12);
  CHECK(reductions(Bytes(std::int64_t{1} << 40U)) == 1);
}

// Tasks of the 960-GPU job, m = 32. Passes: 15·8·32 forward and as many backward computes, each
// with one tensor all-reduce: 4 · 3840 = 15,360. Sends and their gathers: 2 · 15·7·32 · 2 = 13,440.
// A layer has 2·12·12288²/8 bytes of gradients = 453 MB, more than a bucket, so each of the 12
// layers of a stage is one: 11 more segments, each compute and all-reduce, on 120 cells: 2,640;
// 8·8·12 = 768 gradient all-reduces; 15·8 = 120 of the tied embedding; 120 optimizer steps.
TEST_CASE("the 960-GPU job is 32,448 tasks, built in milliseconds") {
  const auto start = std::chrono::steady_clock::now();
  const IterationDag dag = build_iteration(job_960(), a100());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("960-GPU iteration: %zu tasks built in %.1f ms\n", dag.tasks.size(),
              seconds.count() * 1e3);
  dag.validate();
  CHECK(dag.tasks.size() == 15'360 + 13'440 + 2'640 + 768 + 120 + 120);
  CHECK(dag.ranks == 960);
  CHECK(check_training(job_960(), a100()).empty());
}

// Rank = tensor + T·(data + D·stage): the actor of (data 1, stage 2) with T = 2, D = 2 holds ranks
// 2·(1 + 2·2) = 10 and 11.
TEST_CASE("ranks are numbered tensor first, then data, then stage") {
  const IterationDag dag = build_iteration(small(2, 3, 2), a100());
  CHECK(dag.actors[1 + 2 * 2] == std::vector<Rank>{Rank{10}, Rank{11}});
}

}  // namespace railyard::test
