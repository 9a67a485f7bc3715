// A job that tests of the training step share: dense, 64 GPUs.
#pragma once

#include "railyard/workload/transformer.hpp"

namespace railyard::test {

/// A small dense model: 8 layers over 4 stages, 2 replicas, 8 tensor ranks: 64 GPUs, 8 hosts.
inline workload::TrainingSpec small_training() {
  workload::TrainingSpec spec;
  spec.model = workload::ModelSpec{.name = "small",
                                   .layers = 8,
                                   .hidden = 4096,
                                   .heads = 32,
                                   .kv_heads = 32,
                                   .head_dim = 128,
                                   .ffn = 16384,
                                   .gated = false,
                                   .vocabulary = 51200,
                                   .sequence = 2048,
                                   .tied_embeddings = true,
                                   .learned_positions = true};
  spec.parallelism = {.tensor = 8, .pipeline = 4, .data = 2};
  spec.global_batch = 16;
  return spec;
}

}  // namespace railyard::test
