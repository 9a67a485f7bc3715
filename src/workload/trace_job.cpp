#include "railyard/workload/trace_job.hpp"

#include <algorithm>

#include "railyard/core/check.hpp"

namespace railyard::workload {

namespace {
constexpr std::uint32_t kGpusPerHost = 8;
}

ModelSpec llama3_8b() {
  return {.name = "llama3_8b",
          .layers = 32,
          .hidden = 4096,
          .heads = 32,
          .kv_heads = 8,
          .head_dim = 128,
          .ffn = 14336,
          .gated = true,
          .vocabulary = 128256,
          .sequence = 8192,
          .tied_embeddings = false,
          .learned_positions = false};
}

ModelSpec llama3_70b() {
  ModelSpec model = llama3_8b();
  model.name = "llama3_70b";
  model.layers = 80;
  model.hidden = 8192;
  model.heads = 64;
  model.ffn = 28672;
  return model;
}

ModelSpec gpt3_175b() {
  return {.name = "gpt3_175b",
          .layers = 96,
          .hidden = 12288,
          .heads = 96,
          .kv_heads = 96,
          .head_dim = 128,
          .ffn = 49152,
          .gated = false,
          .vocabulary = 51200,
          .sequence = 2048,
          .tied_embeddings = true,
          .learned_positions = true};
}

TrainingSpec training_of(std::uint32_t gpus) {
  RAILYARD_CHECK(gpus > 0, "a trace job of no GPUs");
  const std::uint32_t hosts = (gpus + kGpusPerHost - 1) / kGpusPerHost;
  TrainingSpec spec;
  spec.model = gpus <= 64 ? llama3_8b() : gpus <= 256 ? llama3_70b() : gpt3_175b();
  spec.parallelism.tensor = std::min(kGpusPerHost, gpus);
  for (const std::uint32_t stages : {8U, 4U, 2U, 1U}) {
    if (hosts % stages != 0) continue;
    spec.parallelism.pipeline = stages;
    break;
  }
  spec.parallelism.data = hosts / spec.parallelism.pipeline;
  spec.micro_batch = 1;
  spec.global_batch = spec.parallelism.data * 2 * spec.parallelism.pipeline;
  return spec;
}

}  // namespace railyard::workload
