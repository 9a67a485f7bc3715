// Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using
// Megatron-LM", SC'21, Table 1.
#include <doctest/doctest.h>

#include <cmath>

#include "railyard/workload/transformer.hpp"
#include "support/shared_data.hpp"

namespace railyard::test {

using namespace workload;

namespace {

struct Row {
  const char* model;
  double billions;
  std::uint32_t gpus;
  std::uint32_t batch;
  double tflops_per_gpu;
  double seconds;  // as derived from the printed Tflop/s by the paper's Eq. 3, in the shared data
};
constexpr Row kTable1[] = {
    {"megatron_1_7b", 1.7, 32, 512, 137, 3.528},
    {"megatron_3_6b", 3.6, 64, 512, 138, 3.697},
    {"megatron_7_5b", 7.5, 128, 512, 142, 3.696},
    {"megatron_18_4b", 18.4, 256, 1024, 135, 9.399},
    {"megatron_39_1b", 39.1, 512, 1536, 138, 14.453},
    {"megatron_76_1b", 76.1, 1024, 1792, 140, 16.058},
    {"megatron_145_6b", 145.6, 1536, 2304, 148, 24.817},
    {"megatron_310_1b", 310.1, 1920, 2160, 155, 37.614},
    {"megatron_529_6b", 529.6, 2520, 2520, 163, 54.085},
    {"megatron_1t", 1008.0, 3072, 3072, 163, 102.63},
};

ModelSpec model_file(const std::string& name) {
  const auto document =
      config::Document::parse_file(source_dir() / "workloads" / "models" / (name + ".json"));
  config::Errors errors;
  ModelSpec model = read_model(document.root(), errors);
  errors.throw_if_any();
  return model;
}

}  // namespace

// The table prints one decimal of a billion: half of that is the tolerance.
TEST_CASE("the ten models of SC'21 Table 1 have the published number of parameters") {
  for (const Row& row : kTable1) {
    CAPTURE(row.model);
    CHECK(std::abs(model_file(row.model).parameters() / 1e9 - row.billions) <= 0.05);
  }
}

// Eq. 3 counts recomputation: F = 96·B·s·l·h²(1 + s/(6h) + V/(16lh)). Ours counts none, so the
// layers' forward pass, a third of their share, comes on top: 24·B·s·l·h²(1 + s/(6h)). Printed
// Tflop/s · GPUs · seconds must give it; the seconds have four to five digits.
TEST_CASE("FLOPs of the ten models are those of SC'21 Table 1") {
  for (const Row& row : kTable1) {
    CAPTURE(row.model);
    TrainingSpec spec;
    spec.model = model_file(row.model);
    spec.global_batch = row.batch;
    const double h = spec.model.hidden;
    const double s = spec.model.sequence;
    const double recomputed = 24.0 * row.batch * s * spec.model.layers * h * h * (1 + s / (6 * h));
    const double published = row.tflops_per_gpu * 1e12 * row.gpus * row.seconds;
    CHECK(std::abs((model_flops(spec) + recomputed) / published - 1) < 3e-4);
  }
}

// Meta's model cards: 8.03, 70.6 and 405.9 billion parameters.
TEST_CASE("the Llama 3 models have the published number of parameters") {
  CHECK(std::abs(model_file("llama3_8b").parameters() / 1e9 - 8.03) <= 0.005);
  CHECK(std::abs(model_file("llama3_70b").parameters() / 1e9 - 70.6) <= 0.05);
  CHECK(std::abs(model_file("llama3_405b").parameters() / 1e9 - 405.9) <= 0.05);
}

// Technical reports and model cards: GPT-3 (Table 2.1), Llama 2, Mixtral, DeepSeek-V3, Qwen3 and
// BLOOM. BERT-large has 335 million with segments
// and pooler, which are left out here, and ViT-H 632.
TEST_CASE("the models' files have the published number of parameters") {
  struct Published {
    const char* model;
    double billions;
    double tolerance;
  };
  for (const Published& row : {Published{"gpt3_1_3b", 1.3, 0.05},
                               {"gpt3_6_7b", 6.7, 0.05},
                               {"gpt3_13b", 13.0, 0.2},
                               {"llama2_7b", 6.74, 0.01},
                               {"llama2_13b", 13.02, 0.01},
                               {"llama2_70b", 68.98, 0.01},
                               {"mixtral_8x7b", 46.7, 0.05},
                               {"mixtral_8x22b", 140.6, 0.1},
                               {"deepseek_v3", 671.0, 0.1},
                               {"qwen3_30b_a3b", 30.5, 0.05},
                               {"qwen3_235b_a22b", 235.1, 0.1},
                               {"bloom_176b", 176.2, 0.1},
                               {"bert_large", 0.335, 0.003},
                               {"vit_huge", 0.632, 0.002}}) {
    CAPTURE(row.model);
    CHECK(std::abs(model_file(row.model).parameters() / 1e9 - row.billions) <= row.tolerance);
  }
}

}  // namespace railyard::test
