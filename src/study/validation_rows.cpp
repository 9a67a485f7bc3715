// Rows of measurements to training specifications.
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "railyard/config/catalog.hpp"
#include "railyard/study/validation.hpp"
#include "study/record.hpp"

namespace railyard::study {

namespace {

using config::Errors;
using workload::TrainingSpec;

std::string lower(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::tolower(letter));
  return text;
}

/// Reads one row; remembers the first field that is missing.
class RowReader {
 public:
  RowReader(const Record& record, Errors& errors) : record_(record), errors_(errors) {}

  ValidationRow read() {
    ValidationRow row;
    row.id = record_.text("id").value_or(record_.place());
    row.table = record_.text("table").value_or(record_.text("source_file").value_or("rows"));
    row.note = record_.text("note").value_or("");
    row.metric = record_.text("metric").value_or("step_s");
    constexpr std::array<std::string_view, 3> kMetrics{"step_s", "tflops_per_gpu(96Bslh2 formula)",
                                                       "tokens_per_s_per_gpu"};
    if (std::ranges::find(kMetrics, row.metric) == kMetrics.end())
      missing_ =
          fmt::format("the metric \"{}\" is not one of {}", row.metric, fmt::join(kMetrics, ", "));
    row.published = record_.number("value", errors_);
    if (!row.published) lacks("value");
    if (row.published && *row.published <= 0)
      record_.fail("value", errors_, "expected a measurement above 0");
    read_model(row.spec.model);
    read_parallelism(row.spec);
    read_training(row.spec);
    read_cluster(row);
    if (const auto why = record_.text("not_simulated")) missing_ = *why;
    row.not_simulated = missing_;
    return row;
  }

 private:
  void lacks(const std::string& field) {
    if (missing_.empty()) missing_ = "\"" + field + "\" is not given";
  }
  std::uint32_t need(const std::string& field) {
    const auto value = record_.count(field, errors_);
    if (!value || *value == 0) lacks(field);
    return value.value_or(1) == 0 ? 1 : value.value_or(1);
  }
  std::uint32_t count(const std::string& field, std::uint32_t fallback) {
    return record_.count(field, errors_).value_or(fallback);
  }
  bool flag(const std::string& field, bool fallback) {
    return record_.flag(field, errors_).value_or(fallback);
  }
  /// Index into `words`; the fallback where the field is missing, an error where it is another
  /// word.
  std::size_t choice(const std::string& field, const std::vector<std::string_view>& words,
                     std::size_t fallback) {
    const auto given = record_.text(field);
    if (!given) return fallback;
    const auto found = std::ranges::find(words, *given);
    if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
    record_.fail(field, errors_, fmt::format("expected one of {}", fmt::join(words, ", ")));
    return fallback;
  }

  /// Without a family the model's name tells: Llama's descendants say so.
  [[nodiscard]] std::string family() const {
    if (const auto given = record_.text("family")) return *given;
    const std::string name = lower(record_.text("model").value_or(""));
    for (const char* word :
         {"llama", "mistral", "mixtral", "qwen", "deepseek", "internlm", "gemma"})
      if (name.find(word) != std::string::npos) return "llama";
    return name.find("nemotron") != std::string::npos ? "squared" : "gpt";
  }

  void read_model(workload::ModelSpec& model) {
    model.name = record_.text("model").value_or("model");
    model.layers = need("layers");
    model.hidden = need("hidden");
    model.heads = need("heads");
    model.kv_heads = count("kv_heads", model.heads);
    model.head_dim = count("head_dim", std::max(1U, model.hidden / model.heads));
    model.ffn = count("ffn", 4 * model.hidden);
    // Megatron pads GPT-2's 50,257 tokens to a multiple of 128 tensor ranks.
    model.vocabulary = count("vocab", 51'200);
    model.sequence = need("seq");
    const std::string kind = family();
    model.gated = kind == "llama";
    model.tied_embeddings = flag("tied_embeddings", kind == "gpt");
    model.learned_positions = kind == "gpt";
    if (kind != "gpt" && kind != "llama" && kind != "squared")
      record_.fail("family", errors_, "expected gpt, llama or squared");
    model.experts.count = count("experts", 0);
    if (model.experts.count > 0) {
      model.experts.per_token = need("experts_per_token");
      model.experts.ffn = need("expert_ffn");
      model.experts.shared = count("shared_experts", 0);
      model.experts.dense_layers = count("dense_layers", 0);
    }
    const std::vector<double> latent = record_.list("latent", errors_);
    if (latent.empty()) return;
    if (latent.size() != 5) {
      record_.fail("latent", errors_, "expected query rank, key/value rank, key, rope, value dims");
      return;
    }
    const auto at = [&](std::size_t i) { return static_cast<std::uint32_t>(latent[i]); };
    model.latent = {at(0), at(1), at(2), at(3), at(4)};
  }

  void read_parallelism(TrainingSpec& spec) {
    workload::Parallelism& parallelism = spec.parallelism;
    parallelism.tensor = need("tp");
    parallelism.pipeline = need("pp");
    parallelism.context = count("cp", 1);
    parallelism.expert = count("ep", 1);
    if (parallelism.expert > 1) parallelism.expert_tensor = count("etp", 1);
    parallelism.virtual_stages = std::max(1U, count("vp", 1));
    if (parallelism.pipeline == 1) parallelism.virtual_stages = 1;
    const std::uint32_t gpus = need("gpus");
    const std::uint32_t model_ranks =
        parallelism.tensor * parallelism.pipeline * parallelism.context;
    parallelism.data = count("dp", gpus / model_ranks);
    if (missing_.empty() && std::uint64_t{model_ranks} * parallelism.data != gpus) {
      missing_ = fmt::format("tp {} × pp {} × cp {} × dp {} is not {} GPUs", parallelism.tensor,
                             parallelism.pipeline, parallelism.context, parallelism.data, gpus);
    }
    parallelism.data = std::max(1U, parallelism.data);
    for (const double layers : record_.list("layers_per_stage", errors_))
      spec.layers_per_stage.push_back(static_cast<std::uint32_t>(layers));
  }

  void read_training(TrainingSpec& spec) {
    spec.global_batch = need("global_batch");
    spec.micro_batch = need("micro_batch");
    spec.precision = workload::precision_of(choice("precision", workload::precision_words(), 0));
    const std::string recompute = record_.text("recompute").value_or("none");
    if (recompute.starts_with("full")) {
      spec.recompute = workload::Recompute::full;
      if (recompute != "full" && missing_.empty())
        missing_ = "recompute \"" + recompute + "\": offloading is not modelled";
    } else {
      spec.recompute = choice("recompute", {"none", "selective"}, 0) == 1
                           ? workload::Recompute::selective
                           : workload::Recompute::none;
    }
    // NCCL's choice, or the rings of a stack that has fewer.
    std::string choice_text = "auto";
    if (const std::uint32_t channels = count("ring_channels", 0); channels > 0)
      choice_text = fmt::format(R"({{"name":"ring","channels":{}}})", channels);
    using collective::Operation;
    for (const Operation operation :
         {Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter})
      spec.collectives.of(operation) = choice_text;
    spec.zero = count("zero", 0);
    if (spec.zero > 3) record_.fail("zero", errors_, "expected 0 to 3");
    spec.sequence_parallel = flag("seq_parallel", false) && spec.parallelism.tensor > 1;
    // Megatron-LM's sequence parallelism (2022) and flash attention came together.
    const std::size_t attention = flag("seq_parallel", false) || spec.zero == 3 ? 0 : 1;
    spec.flash_attention = choice("attention", {"flash", "unfused"}, attention) == 0;
    spec.tensor_overlap = flag("tensor_overlap", false) && spec.sequence_parallel;
    // Local DDP with a pipeline, torch's without (Megatron-LM's SC'21 scripts).
    spec.overlap_gradients =
        flag("overlap_gradients", spec.zero > 0 || spec.parallelism.pipeline == 1);
    spec.overlap_parameters = flag("overlap_parameters", false) && spec.zero > 0 && spec.zero < 3;
    spec.gradient_bytes = count("gradient_bytes", 2);
    spec.stack =
        *workload::find_stack(choice("stack", {"graphs", "eager"}, 0) == 1 ? "eager" : "graphs");
    spec.stack.gemm = record_.number("stack_gemm", errors_).value_or(1);
    if (spec.stack.gemm < 0.1 || spec.stack.gemm > 10)
      record_.fail("stack_gemm", errors_, "expected a factor from 0.1 to 10");
    const auto microseconds = [&](const std::string& field, Duration fallback) {
      const auto value = record_.number(field, errors_);
      return value && *value >= 0 && *value < 1e6 ? from_seconds(*value * 1e-6) : fallback;
    };
    spec.stack.launch = microseconds("stack_launch_us", spec.stack.launch);
    spec.stack.skew = microseconds("stack_skew_us", spec.stack.skew);
    spec.logits_rate = FlopRate(record_.number("logits_tflops", errors_).value_or(0) * 1e12);
    // Megatron-LM waited for its sends until it learned to overlap them (2023, with the
    // interleaved schedule).
    spec.overlap_sends = flag("overlap_sends", spec.sequence_parallel);
  }

  void read_cluster(ValidationRow& row) {
    Cluster& cluster = row.cluster;
    cluster.gpu = record_.text("gpu").value_or("");
    if (cluster.gpu.empty()) lacks("gpu");
    if (cluster.gpu == "H100-80") cluster.gpu = "H100";
    if (!cluster.gpu.empty() && workload::find_gpu(cluster.gpu) == nullptr && missing_.empty())
      missing_ = "GPU \"" + cluster.gpu + "\" is not in the catalog";
    cluster.gpus = need("gpus");
    cluster.gpus_per_host = std::max(1U, count("gpus_per_host", 8));
    cluster.nics_per_host = cluster.gpus_per_host;
    cluster.nic = Bandwidth(25'000'000'000);
    cluster.nic_share = record_.number("nic_share", errors_).value_or(cluster.nic_share);
    const auto network = record_.text("network");
    if (!network) {
      if (cluster.gpus > cluster.gpus_per_host) lacks("network");
      return;
    }
    // "8x200Gb …": NICs of a host and their rate.
    unsigned nics = 0;
    unsigned gigabits = 0;
    if (std::sscanf(network->c_str(), "%ux%uGb", &nics, &gigabits) == 2 && nics > 0 &&
        gigabits > 0 && cluster.gpus_per_host % nics == 0) {
      cluster.nics_per_host = nics;
      cluster.nic = Bandwidth(std::int64_t{gigabits} * 125'000'000);
    } else if (cluster.gpus > cluster.gpus_per_host && missing_.empty()) {
      missing_ = "the network \"" + *network + "\" does not begin with NICs and rate (8x200Gb)";
    }
  }

  const Record& record_;
  Errors& errors_;
  std::string missing_;
};

}  // namespace

namespace {

std::vector<ValidationRow> rows_of(std::vector<Record> records, const Changes& changes,
                                   const std::string& name, Errors& errors) {
  std::vector<ValidationRow> rows;
  for (Record& record : records) {
    for (const auto& [field, value] : changes) record.set(field, value_of(value));
    rows.push_back(RowReader(record, errors).read());
  }
  if (rows.empty() && errors.empty()) errors.add(name + ": no rows");
  errors.throw_if_any();
  return rows;
}

}  // namespace

std::vector<ValidationRow> read_validation_rows(const std::filesystem::path& path,
                                                const Changes& changes) {
  if (!is_csv(path)) return read_validation_rows(config::Document::parse_file(path), changes);
  Errors errors;
  return rows_of(csv_records(path, errors), changes, path.generic_string(), errors);
}

std::vector<ValidationRow> read_validation_rows(const config::Document& document,
                                                const Changes& changes) {
  Errors errors;
  return rows_of(json_records(document, errors), changes, document.name(), errors);
}

}  // namespace railyard::study
