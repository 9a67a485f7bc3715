#include <doctest/doctest.h>

#include "railyard/workload/trace_job.hpp"
#include "railyard/workload/transformer.hpp"
#include "support/a100.hpp"

namespace railyard::test {

using namespace workload;

namespace {

TrainingSpec job() {
  TrainingSpec spec;
  spec.model = gpt3_175b();
  spec.parallelism = {.tensor = 8, .pipeline = 8, .data = 15};
  spec.global_batch = 480;
  spec.recompute = Recompute::full;
  return spec;
}
/// The one problem of the spec.
std::string problem_of(const TrainingSpec& spec, const GpuSpec& gpu = a100()) {
  const std::vector<std::string> problems = check_training(spec, gpu);
  REQUIRE(problems.size() == 1);
  return problems.front();
}

}  // namespace

// Stage 0 of GPT-3 175B on TP 8, PP 8. Parameters of a rank: 12 layers of (12·12288² + 7·12288)/8
// sharded (biases of q, k, v and of the first matrix: 3h + 4h) and 6·12288 replicated, the
// embedding 51200·12288/8 and 2048·12288 positions:
//   12 · (226,503,168 + 73,728) + 78,643,200 + 25,165,824 = 2,822,731,776 by 2, 2 and 12 bytes.
// Activations: 8 micro-batches in flight, 12 layer inputs of 2·2048·12288 bytes each, the
// embedding's dropout mask of 2048·12288, and one layer's sbh(10 + 24/8) while it is recomputed.
TEST_CASE("memory of the 960-GPU job is what the formulas say") {
  const MemoryUse use = memory_use(job());
  const std::int64_t layer = (12LL * 12288 * 12288 + 7 * 12288) / 8 + 6 * 12288;
  const std::int64_t parameters = 12 * layer + 51200LL * 12288 / 8 + 2048LL * 12288;
  CHECK(use.parameters == Bytes(2 * parameters));
  CHECK(use.gradients == Bytes(2 * parameters));
  CHECK(use.optimizer == Bytes(12 * parameters));
  const std::int64_t sbh = 2048LL * 12288;
  CHECK(use.activations == Bytes(8 * (12 * 2 * sbh + sbh) + 13 * sbh));
}

// Korthikanti et al., Eq. 2: sbh(10 + 24/t + 5as/(ht)) a layer with unfused attention, and without
// the last term with flash; one stage, one micro-batch, so the head's 4sbh + 4sbV/t and the
// embedding's sbh come on top.
TEST_CASE("activations follow Korthikanti") {
  TrainingSpec spec = job();
  spec.parallelism = {.tensor = 8, .pipeline = 1, .data = 1};
  spec.global_batch = 1;
  spec.recompute = Recompute::none;
  const std::int64_t sbh = 2048LL * 12288;
  const std::int64_t ends = sbh + 4 * sbh + 4 * 2048LL * 51200 / 8;
  CHECK(memory_use(spec).activations == Bytes(96 * 13 * sbh + ends));
  spec.flash_attention = false;
  CHECK(memory_use(spec).activations == Bytes(96 * (13 * sbh + 5LL * 96 * 2048 * 2048 / 8) + ends));
}

TEST_CASE("memory that just fits is taken and one byte less is refused, naming the bytes") {
  GpuSpec gpu = a100();
  gpu.memory = memory_use(job()).total();
  CHECK(check_training(job(), gpu).empty());
  gpu.memory = gpu.memory - Bytes(1);
  const std::string problem = problem_of(job(), gpu);
  // 2,822,731,776 parameters · 2 bytes = 5.258 GiB, · 12 = 31.55 GiB; activations 5,360,320,512
  // bytes = 4.992 GiB.
  CHECK(problem ==
        "needs 47.1 GiB of the 47.1 GiB of A100-80: parameters 5.3, gradients 5.3, optimizer 31.5, "
        "activations 5.0 "
        "(1 bytes too many); try a higher \"zero\" or more pipeline stages or tensor ranks");
}

TEST_CASE("a job without recomputation that does not fit is told to recompute") {
  TrainingSpec spec = job();
  spec.recompute = Recompute::none;
  spec.flash_attention = false;
  CHECK(problem_of(spec).find("try recompute \"full\" or a higher \"zero\" or more") !=
        std::string::npos);
}

TEST_CASE("each contradiction of a training job is one sentence") {
  TrainingSpec spec = job();
  spec.parallelism.pipeline = 7;
  CHECK(problem_of(spec) == "96 layers do not divide into 7 pipeline stages");
  spec = job();
  spec.model.vocabulary = 50257;
  CHECK(problem_of(spec) ==
        "vocabulary 50257 does not divide over 8 tensor ranks; pad it to 51200");
  spec = job();
  spec.model.heads = 92;
  CHECK(check_training(spec, a100()).front() == "92 heads do not divide over 8 tensor ranks");
  spec = job();
  spec.model.kv_heads = 4;
  CHECK(problem_of(spec) == "4 kv_heads do not divide over 8 tensor ranks");
  spec = job();
  spec.model.ffn = 49156;
  CHECK(problem_of(spec) == "ffn 49156 does not divide over 8 tensor ranks");
  spec = job();
  spec.global_batch = 481;
  CHECK(problem_of(spec) ==
        "global_batch 481 is not a multiple of micro_batch 1 × 15 data replicas");
  spec = job();
  spec.gradient_bytes = 3;
  CHECK(problem_of(spec) == "gradients of 3 bytes are not known; 2 (bf16) and 4 (fp32) are");
  spec = job();
  spec.gradient_bucket = Bytes(0);
  CHECK(problem_of(spec) == "gradient_bucket must be positive");
  spec = job();
  spec.micro_batch = 0;
  CHECK(problem_of(spec) ==
        "tensor, pipeline and data ranks, global_batch and micro_batch must be at least 1");
}

// The rule: tensor min(8, GPUs); pipeline the largest of 8, 4, 2, 1 that divides the hosts; rest
// data.
TEST_CASE("trace jobs get a model and a parallelism by rule") {
  struct Row {
    std::uint32_t gpus, tensor, pipeline, data;
    const char* model;
  };
  for (const Row& row : {Row{1, 1, 1, 1, "llama3_8b"},
                         {2, 2, 1, 1, "llama3_8b"},
                         {8, 8, 1, 1, "llama3_8b"},
                         {12, 8, 2, 1, "llama3_8b"},
                         {32, 8, 4, 1, "llama3_8b"},
                         {64, 8, 8, 1, "llama3_8b"},
                         {96, 8, 4, 3, "llama3_70b"},
                         {256, 8, 8, 4, "llama3_70b"},
                         {296, 8, 1, 37, "gpt3_175b"},
                         {504, 8, 1, 63, "gpt3_175b"},
                         {512, 8, 8, 8, "gpt3_175b"},
                         {1024, 8, 8, 16, "gpt3_175b"}}) {
    CAPTURE(row.gpus);
    const TrainingSpec spec = training_of(row.gpus);
    CHECK(spec.model.name == row.model);
    CHECK(spec.parallelism.tensor == row.tensor);
    CHECK(spec.parallelism.pipeline == row.pipeline);
    CHECK(spec.parallelism.data == row.data);
    CHECK(spec.micro_batches() == 2 * row.pipeline);
    const IterationDag dag = build_iteration(spec, a100());
    dag.validate();
    CHECK(dag.ranks == (row.gpus <= 8 ? row.gpus : (row.gpus + 7) / 8 * 8));
  }
}

}  // namespace railyard::test
