// A trace job without a model gets one by rule, from its GPU count alone: tensor parallelism over
// min(8, GPUs), the largest of 8, 4, 2, 1 pipeline stages that divides its hosts, the rest data
// parallel; Llama-3 8B up to 64 GPUs, Llama-3 70B up to 256, GPT-3 175B above. Two micro-batches of
// one sequence per stage and replica (micro_batches = 2 · pipeline, global batch = data ·
// micro_batches): enough to fill the pipeline, few enough for communication to show, and short to
// simulate.
//
// The rule gives a trace job's traffic a plausible shape; it knows nothing of the real job. The
// memory check is not applied.
#pragma once

#include <cstdint>

#include "railyard/workload/transformer.hpp"

namespace railyard::workload {

/// The models of the rule; equal to the files in workloads/models/ (a test compares).
[[nodiscard]] ModelSpec llama3_8b();
[[nodiscard]] ModelSpec llama3_70b();
[[nodiscard]] ModelSpec gpt3_175b();

/// More than 8 GPUs take whole hosts of 8, so the ranks of the result are `gpus` rounded up to
/// them. gpus > 0.
[[nodiscard]] TrainingSpec training_of(std::uint32_t gpus);

}  // namespace railyard::workload
