// Laws of iterations under every parallelism.
#include <doctest/doctest.h>

#include <array>
#include <map>
#include <string>

#include "railyard/workload/transformer.hpp"
#include "support/dag_executor.hpp"
#include "workload/model.hpp"

namespace railyard::test {

using namespace workload;
using collective::Operation;

namespace {

ModelSpec dense() {
  return {.name = "dense",
          .layers = 16,
          .hidden = 1024,
          .heads = 16,
          .kv_heads = 16,
          .head_dim = 64,
          .ffn = 4096,
          .vocabulary = 8192,
          .sequence = 512};
}

ModelSpec sparse() {
  ModelSpec model = dense();
  model.name = "sparse";
  model.gated = true;
  model.tied_embeddings = false;
  model.experts = {.count = 8, .per_token = 2, .ffn = 1024, .shared = 1, .dense_layers = 2};
  return model;
}

const GpuSpec& h100() {
  return *find_gpu("H100");
}

TrainingSpec job(ModelSpec model, Parallelism parallelism) {
  TrainingSpec spec;
  spec.model = std::move(model);
  spec.parallelism = parallelism;
  spec.global_batch = 16 * parallelism.data;
  spec.gradient_bucket = Bytes(1 << 22);
  return spec;
}

/// Bytes of all tasks of an operation for a cause, over the groups' ranks.
double moved(const IterationDag& dag, Cause cause, Operation operation) {
  double sum = 0;
  for (const Task& task : dag.tasks) {
    if (task.kind == TaskKind::collective && task.cause == cause && task.operation == operation)
      sum += static_cast<double>(task.size.count()) * task.repeat *
             static_cast<double>(dag.groups[task.group].size());
  }
  return sum;
}

std::vector<TrainingSpec> many() {
  std::vector<TrainingSpec> specs;
  for (const ModelSpec& model : {dense(), sparse()}) {
    for (const auto& [t, p, d, c, e] : {std::array{1U, 1U, 1U, 1U, 1U},
                                        {2U, 2U, 2U, 1U, 1U},
                                        {4U, 4U, 1U, 2U, 1U},
                                        {2U, 2U, 4U, 2U, 4U},
                                        {1U, 4U, 8U, 1U, 8U}}) {
      if (e > 1 && model.experts.count == 0) continue;
      for (const std::uint32_t zero : {0U, 1U, 3U}) {
        TrainingSpec spec =
            job(model, {.tensor = t, .pipeline = p, .data = d, .context = c, .expert = e});
        spec.zero = zero;
        spec.sequence_parallel = t > 1;
        if (e > 1) spec.parallelism.expert_tensor = 1;
        specs.push_back(spec);
        spec.overlap_parameters = zero == 1;
        spec.recompute = Recompute::selective;
        spec.tensor_overlap = spec.sequence_parallel;
        specs.push_back(spec);
        if (p == 1) continue;
        spec.schedule = Schedule::zero_bubble;
        specs.push_back(spec);
        spec.schedule = Schedule::one_forward_one_backward;
        spec.parallelism.virtual_stages = 2;
        specs.push_back(spec);
        spec.parallelism.virtual_stages = 1;
        spec.schedule = Schedule::dual_pipe;
        if (zero < 3) specs.push_back(spec);
      }
    }
  }
  return specs;
}

std::string name_of(const TrainingSpec& spec) {
  const Parallelism& parallelism = spec.parallelism;
  return spec.model.name + fmt::format(" t{} p{} d{} c{} e{} v{} zero {} schedule {}",
                                       parallelism.tensor, parallelism.pipeline, parallelism.data,
                                       parallelism.context, parallelism.expert,
                                       parallelism.virtual_stages, spec.zero,
                                       static_cast<int>(spec.schedule));
}

}  // namespace

// Whatever the schedule and the parallelism, a stage computes m forward passes, m backward passes
// and one optimizer step; under DualPipe its two chunks share the micro-batches.
TEST_CASE("every stage computes its passes, whatever the parallelism") {
  for (const TrainingSpec& spec : many()) {
    CAPTURE(name_of(spec));
    REQUIRE(check_training(spec, h100()).empty());
    const IterationDag dag = build_iteration(spec, h100());
    dag.validate();
    std::map<std::uint32_t, Duration> computed;
    for (const Task& task : dag.tasks)
      if (task.kind == TaskKind::compute) computed[task.actor] += task.duration;
    const std::uint32_t p = spec.parallelism.pipeline;
    const auto blocks = static_cast<std::uint32_t>(dag.actors.size()) / p;
    for (const auto& [actor, time] : computed) {
      const StageTimes stage = stage_times(spec, h100(), actor / blocks);
      const std::int64_t m = spec.micro_batches();
      const Duration passes = (stage.forward + stage.backward) * m;
      const bool dual = spec.schedule == Schedule::dual_pipe;
      CHECK(time == (dual ? passes / 2 : passes) + stage.optimizer);
    }
  }
}

// Ring attention hides behind the attention of its own pass only. With a tick for every computation
// and every exchange a forward pass is attention beside a gather and then the rest, 2; a backward
// pass is attention beside a gather and a scatter and then the rest, 3; two micro-batches and the
// optimizer: 2 · 5 + 1. Gathers that ran ahead would save ticks.
TEST_CASE("what is exchanged beside a pass does not run ahead of it") {
  TrainingSpec spec = job(dense(), {.tensor = 1, .pipeline = 1, .data = 1, .context = 2});
  spec.global_batch = 2;
  spec.overlap_gradients = false;
  const DagRun run = run_dag(build_iteration(spec, h100()), [](const Task& task) {
    return task.cause == Cause::data || task.kind == TaskKind::barrier ? Duration(0) : Duration(1);
  });
  CHECK(run.total == Duration(2 * 5 + 1));
}

// Gradients of every parameter are reduced once: over all groups, ranks × bytes is what the ranks
// hold, 2 bytes a parameter; where nothing is shared, nothing is reduced.
TEST_CASE("every gradient is reduced once") {
  for (const TrainingSpec& spec : many()) {
    if (spec.zero == 3 || spec.schedule == Schedule::dual_pipe) continue;
    CAPTURE(name_of(spec));
    const IterationDag dag = build_iteration(spec, h100());
    const Operation operation = spec.zero == 0 ? Operation::all_reduce : Operation::reduce_scatter;
    const Parallelism& parallelism = spec.parallelism;
    const double ranks = parallelism.tensor * parallelism.replicas();
    const double expert_copies = ranks / (parallelism.expert * parallelism.expert_tensor_ranks());
    double expected = 0;
    for (std::uint32_t stage = 0; stage < parallelism.pipeline; ++stage) {
      const RankParameters count = stage_parameters_per_rank(spec, stage);
      const bool spread = parallelism.expert > 1;
      const auto experts = static_cast<double>(count.expert);
      const double whole = static_cast<double>(count.dense) + (spread ? 0 : experts);
      if (parallelism.replicas() > 1) expected += 2 * ranks * whole;
      if (spread && expert_copies > 1) expected += 2 * ranks * experts;
    }
    double tied = 0;
    if (spec.model.tied_embeddings && parallelism.pipeline > 1)
      tied = 2.0 * 2 * 1024 * 8192 * parallelism.replicas();
    const double reduced =
        moved(dag, Cause::data, operation) - (operation == Operation::all_reduce ? tied : 0);
    CHECK(reduced == doctest::Approx(expected).epsilon(1e-12));
  }
}

// FSDP gathers every parameter in every forward and every backward pass and scatters every
// gradient in every backward pass (Rajbhandari et al., 2020, §7: three times the parameters).
TEST_CASE("ZeRO 3 moves every parameter three times a micro-batch") {
  TrainingSpec spec = job(dense(), {.tensor = 1, .pipeline = 1, .data = 4});
  spec.zero = 3;
  const IterationDag dag = build_iteration(spec, h100());
  const double bytes = 2.0 * static_cast<double>(stage_parameters_per_rank(spec, 0).total()) * 4;
  const double passes = spec.micro_batches();
  CHECK(moved(dag, Cause::data, Operation::all_gather) ==
        doctest::Approx(2 * passes * bytes).epsilon(1e-12));
  CHECK(moved(dag, Cause::data, Operation::reduce_scatter) ==
        doctest::Approx(passes * bytes).epsilon(1e-12));
}

// A rank sends its share of the tokens to two experts each, there and back, forward and backward:
// 4 · layers · m · tokens/t · 2 · h · 2 bytes (14 of 16 layers have experts).
TEST_CASE("experts get every token as often as it visits them") {
  TrainingSpec spec =
      job(sparse(), {.tensor = 2, .pipeline = 2, .data = 4, .expert = 8, .expert_tensor = 1});
  spec.sequence_parallel = true;
  const IterationDag dag = build_iteration(spec, h100());
  const double each = 512.0 / 2 * 2 * 1024 * 2;
  CHECK(moved(dag, Cause::expert, Operation::all_to_all) ==
        doctest::Approx(4.0 * 14 * 16 * each * 2 * 4));
}

// The busiest of four expert ranks holds the two experts of weights 5 and 1: 6 of 12 in place of a
// quarter, so 2; a capacity of 1.5 cuts the first to 1.5 of the mean: (1.5 + 2/3)/2.
TEST_CASE("uneven experts make the busiest rank the slowest") {
  TrainingSpec spec = job(sparse(), {.tensor = 1, .pipeline = 1, .data = 4, .expert = 4});
  spec.expert_load.weights = {5, 1, 1, 1, 1, 1, 1, 1};
  CHECK(expert_imbalance(spec) == doctest::Approx(2));
  const StageTimes uneven = stage_times(spec, h100(), 0);
  spec.expert_load.capacity_factor = 1.5;
  CHECK(expert_imbalance(spec) == doctest::Approx((1.5 + 8.0 / 12) / 2));
  spec.expert_load = {};
  CHECK(expert_imbalance(spec) == 1);
  CHECK(stage_times(spec, h100(), 0).forward < uneven.forward);
  CHECK(skewed_load(8, 0, 1) == std::vector<double>(8, 1.0));
}

// Loads of the four expert ranks are 2, 2/3, 2/3, 2/3 of the mean: of the S = tokens · 2 experts ·
// h · 2 bytes that every rank sends, rank 0 gets a half and the others a sixth each; on the way
// back they return as much, and every rank has its S again. Both are as uneven as what is computed.
TEST_CASE("uneven experts get uneven traffic, of which nothing is lost") {
  TrainingSpec spec = job(sparse(), {.tensor = 1, .pipeline = 1, .data = 4, .expert = 4});
  spec.expert_load.weights = {5, 1, 1, 1, 1, 1, 1, 1};
  const IterationDag dag = build_iteration(spec, h100());
  const double size = static_cast<double>(spec.tokens()) * 2 * spec.model.hidden * 2;
  std::size_t there = 0;
  std::size_t back = 0;
  for (const Task& task : dag.tasks) {
    if (task.cause != Cause::expert || task.operation != Operation::all_to_all) continue;
    ++(task.by_source ? back : there);
    REQUIRE(task.shares == 1);
    const auto& shares = dag.shares.front();
    const double whole = static_cast<double>(shares[0] + shares[1] + shares[2] + shares[3]);
    CHECK(static_cast<double>(task.size.count()) == size);
    CHECK(shares[0] / whole == doctest::Approx(expert_imbalance(spec) / 4));
    for (const std::size_t other : {1U, 2U, 3U})
      CHECK(shares[other] / whole == doctest::Approx(1.0 / 6));
  }
  CHECK(there > 0);
  CHECK(there == back);
}

// Capacity 1.5 cuts the first expert from 10/3 to 1.5 of the mean: 1.5 + 7·2/3 of 8 are left.
TEST_CASE("what experts drop is neither sent nor computed") {
  TrainingSpec spec = job(sparse(), {.tensor = 1, .pipeline = 1, .data = 4, .expert = 4});
  spec.expert_load.weights = {5, 1, 1, 1, 1, 1, 1, 1};
  const double all = moved(build_iteration(spec, h100()), Cause::expert, Operation::all_to_all);
  spec.expert_load.capacity_factor = 1.5;
  CHECK(moved(build_iteration(spec, h100()), Cause::expert, Operation::all_to_all) ==
        doctest::Approx(all * (1.5 + 7 * 8.0 / 12) / 8));
}

TEST_CASE("even experts are the same iteration, however the evenness is written") {
  TrainingSpec spec = job(sparse(), {.tensor = 1, .pipeline = 1, .data = 4, .expert = 4});
  const IterationDag even = build_iteration(spec, h100());
  spec.expert_load.weights = std::vector<double>(8, 3.0);
  CHECK(build_iteration(spec, h100()) == even);
  spec.expert_load.weights = skewed_load(8, 0, 7);
  CHECK(build_iteration(spec, h100()) == even);
}

// An eager host that takes a second an operation decides alone: 30 and 42 operations a layer, 68
// for the ends, m micro-batches one after the other.
TEST_CASE("a slow host sets the pace") {
  TrainingSpec spec = job(dense(), {.tensor = 1, .pipeline = 1, .data = 1});
  spec.stack = {"slow", std::chrono::seconds(1), 1, Duration(0)};
  const DagRun run = run_on_free_network(build_iteration(spec, h100()));
  const DagRun host = run_dag(build_iteration(spec, h100()), [](const Task& task) {
    return task.kind == TaskKind::host ? task.duration : Duration(0);
  });
  CHECK(in_seconds(host.total) == doctest::Approx(16.0 * (16 * 72 + 68)));
  CHECK(run.total < host.total);
}

// DeepSeek-V3: 671 billion parameters (arXiv 2412.19437, §2); Mixtral 8x7B: 46.7 (arXiv
// 2401.04088).
TEST_CASE("models with experts have the published number of parameters") {
  const ModelSpec mixtral{.name = "mixtral",
                          .layers = 32,
                          .hidden = 4096,
                          .heads = 32,
                          .kv_heads = 8,
                          .head_dim = 128,
                          .ffn = 14336,
                          .gated = true,
                          .vocabulary = 32000,
                          .sequence = 4096,
                          .tied_embeddings = false,
                          .learned_positions = false,
                          .experts = {.count = 8, .per_token = 2, .ffn = 14336}};
  CHECK(mixtral.parameters() / 1e9 == doctest::Approx(46.7).epsilon(0.001));
  ModelSpec deepseek = mixtral;
  deepseek.layers = 61;
  deepseek.hidden = 7168;
  deepseek.heads = deepseek.kv_heads = 128;
  deepseek.ffn = 18432;
  deepseek.vocabulary = 129280;
  deepseek.experts = {.count = 256, .per_token = 8, .ffn = 2048, .shared = 1, .dense_layers = 3};
  deepseek.latent = {
      .query_rank = 1536, .key_value_rank = 512, .key_dim = 128, .rope_dim = 64, .value_dim = 128};
  CHECK(deepseek.parameters() / 1e9 == doctest::Approx(671.0).epsilon(0.001));
}

}  // namespace railyard::test
