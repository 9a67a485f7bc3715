#include "training_job.hpp"

#include "railyard/collective/choices.hpp"

namespace railyard::scenario {
namespace {

using config::Range;
using config::Reader;

std::uint32_t positive(Reader& reader, std::string_view key, std::int64_t fallback) {
  return static_cast<std::uint32_t>(
      reader.optional<std::int64_t>(key, fallback, Range<std::int64_t>{1, kRanksMax}));
}

workload::Parallelism read_parallelism(const config::Node& node, config::Errors& errors) {
  Reader reader(node, errors);
  workload::Parallelism parallelism;
  parallelism.tensor = positive(reader, "tensor", 1);
  parallelism.pipeline = positive(reader, "pipeline", 1);
  parallelism.data = positive(reader, "data", 1);
  parallelism.context = positive(reader, "context", 1);
  parallelism.expert = positive(reader, "expert", 1);
  parallelism.expert_tensor = static_cast<std::uint32_t>(
      reader.optional<std::int64_t>("expert_tensor", 0, Range<std::int64_t>{0, kRanksMax}));
  parallelism.virtual_stages = positive(reader, "virtual_stages", 1);
  reader.finish();
  return parallelism;
}

/// "1f1b" and "interleaved" are one schedule; the name must fit the number of virtual stages.
workload::Schedule read_schedule(Reader& job, const workload::Parallelism& parallelism) {
  const bool interleaved = parallelism.virtual_stages > 1;
  const std::size_t word = job.optional_choice(
      "schedule", {"1f1b", "interleaved", "gpipe", "zb_h1", "dualpipe"}, interleaved ? 1 : 0);
  if (word == 0 && interleaved) {
    job.fail("schedule", "virtual_stages above 1 make 1F1B \"interleaved\"; say so");
  } else if (word == 1 && !interleaved) {
    job.fail("schedule", "\"interleaved\" needs \"virtual_stages\" above 1 in \"parallelism\"");
  }
  switch (word) {
    case 2:
      return workload::Schedule::gpipe;
    case 3:
      return workload::Schedule::zero_bubble;
    case 4:
      return workload::Schedule::dual_pipe;
    default:
      return workload::Schedule::one_forward_one_backward;
  }
}

/// A name, or {"launch": "40us"}.
workload::SoftwareStack read_stack(const config::Node& node, config::Errors& errors) {
  if (node.is_string()) {
    if (const workload::SoftwareStack* stack = workload::find_stack(node.string())) return *stack;
    errors.add(node, fmt::format("unknown software stack \"{}\"; there are graphs, eager, and "
                                 "objects with \"launch\"",
                                 node.string()));
    return {};
  }
  Reader reader(node, errors);
  workload::SoftwareStack stack{"own", reader.required<Duration>("launch"),
                                reader.optional<double>("gemm", 1, Range<double>{0.1, 10}),
                                reader.optional<Duration>("skew", Duration{})};
  reader.finish();
  return stack;
}

workload::ExpertLoad read_load(const config::Node& node, config::Errors& errors,
                               std::uint32_t experts) {
  Reader reader(node, errors);
  workload::ExpertLoad load;
  if (const auto histogram = reader.child("histogram"))
    config::decode(*histogram, errors, load.weights);
  for (const double weight : load.weights) {
    if (weight >= 0) continue;
    reader.fail("histogram", "an expert's share cannot be negative");
    break;
  }
  double sum = 0;
  for (const double weight : load.weights) sum += weight;
  if (reader.has("histogram") && !(sum > 0)) reader.fail("histogram", "all experts are idle");
  if (reader.has("skew")) {
    if (!load.weights.empty()) reader.fail("skew", "give \"histogram\" or \"skew\", not both");
    load.weights =
        workload::skewed_load(experts, reader.required<double>("skew", Range<double>{0, 10}),
                              static_cast<std::uint64_t>(reader.optional<std::int64_t>(
                                  "seed", 1, Range<std::int64_t>{0, INT64_MAX})));
  } else if (reader.has("seed")) {
    reader.fail("seed", "a seed needs \"skew\"");
  }
  load.capacity_factor = reader.optional<double>("capacity_factor", 0, Range<double>{0, 1000});
  reader.finish();
  return load;
}

void read_collectives(Reader& job, workload::TrainingSpec& spec) {
  using collective::Operation;
  if (const auto node = job.child("collectives"))
    spec.collectives =
        collective::changed(spec.collectives, collective::read_choices(*node, job.errors()));
  if (const auto node = job.child("all_reduce")) {
    spec.collectives.of(Operation::all_reduce) =
        collective::read_choice(*node, job.errors(), Operation::all_reduce);
    if (job.has("collectives"))
      job.fail("all_reduce", "give it inside \"collectives\", not beside it");
  }
}

}  // namespace

workload::TrainingSpec read_training(Reader& job, const config::Node& model) {
  workload::TrainingSpec spec;
  spec.model = workload::read_model(model, job.errors());
  if (const auto node = job.required_child("parallelism"))
    spec.parallelism = read_parallelism(*node, job.errors());
  spec.global_batch = static_cast<std::uint32_t>(
      job.required<std::int64_t>("global_batch", Range<std::int64_t>{1, kRanksMax}));
  spec.micro_batch = positive(job, "micro_batch", 1);
  spec.schedule = read_schedule(job, spec.parallelism);
  spec.recompute = static_cast<workload::Recompute>(
      job.optional_choice("recompute", {"none", "full", "selective"}, 0));
  spec.precision =
      workload::precision_of(job.optional_choice("precision", workload::precision_words(), 0));
  spec.flash_attention = job.optional_choice("attention", {"flash", "unfused"}, 0) == 0;
  spec.gradient_bytes = job.optional_choice("gradients", {"bf16", "fp32"}, 0) == 0 ? 2 : 4;
  spec.send_bytes = job.optional_choice("sends", {"as_computed", "fp8"}, 0) == 0 ? 0 : 1;
  spec.scatter_sends = job.optional<bool>("scatter_sends", true);
  spec.sequence_parallel = job.optional<bool>("sequence_parallel", false);
  spec.tensor_overlap = job.optional<bool>("tensor_overlap", false);
  spec.overlap_sends = job.optional<bool>("overlap_sends", true);
  spec.zero =
      static_cast<std::uint32_t>(job.optional<std::int64_t>("zero", 0, Range<std::int64_t>{0, 3}));
  spec.overlap_gradients = job.optional<bool>("overlap_gradients", true);
  spec.overlap_parameters = job.optional<bool>("overlap_parameters", false);
  spec.gradient_bucket = job.optional<Bytes>("gradient_bucket", spec.gradient_bucket);
  if (const auto layers = job.child("layers_per_stage")) {
    std::vector<std::int64_t> counts;
    config::decode(*layers, job.errors(), counts);
    for (const std::int64_t count : counts) {
      if (count < 0 || count > kRanksMax) job.fail("layers_per_stage", "expected counts of layers");
      spec.layers_per_stage.push_back(static_cast<std::uint32_t>(count));
    }
  }
  if (const auto load = job.child("expert_load"))
    spec.expert_load = read_load(*load, job.errors(), spec.model.experts.count);
  if (const auto stack = job.child("stack")) spec.stack = read_stack(*stack, job.errors());
  read_collectives(job, spec);
  return spec;
}

}  // namespace railyard::scenario
