#include "railyard/study/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "command_line.hpp"
#include "models.hpp"
#include "output.hpp"
#include "parallel.hpp"
#include "railyard/metrics/run_result.hpp"
#include "railyard/report/json_writer.hpp"
#include "railyard/report/report.hpp"
#include "railyard/report/table.hpp"
#include "topology.hpp"
#include "verbs.hpp"

namespace railyard::cli {

namespace {

using study::Finalist;
using study::PlanRequest;
using study::PlanResult;

constexpr std::size_t kShown = 10;

workload::ModelSpec model_of(const std::string& word) {
  config::Errors errors;
  const auto document = config::Document::parse_file(model_path(word));
  workload::ModelSpec model = workload::read_model(document.root(), errors);
  errors.throw_if_any();
  return model;
}

std::uint32_t count_of(const CommandLine& line, const std::string& option, std::uint64_t fallback,
                       std::uint64_t most) {
  const std::uint64_t given = line.number(option).value_or(fallback);
  if (given < 1 || given > most)
    throw config::ConfigError(fmt::format("--{}: expected 1 to {}, not {}", option, most, given));
  return static_cast<std::uint32_t>(given);
}

workload::Precision precision_of(const CommandLine& line, const workload::GpuSpec& gpu) {
  const std::string word = line.text("precision").value_or("bf16");
  const auto& words = workload::precision_words();
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end())
    throw config::ConfigError(
        unknown(fmt::format("--precision: \"{}\" is no precision", word), word, words));
  const auto precision = workload::precision_of(static_cast<std::size_t>(found - words.begin()));
  if (workload::peak_of(gpu, precision) > FlopRate()) return precision;
  throw config::ConfigError(fmt::format("--precision: {} has no {}; give bf16", gpu.name, word));
}

/// The kind of the first `gpus` GPUs; a stage's time is that of one kind.
workload::GpuSpec gpu_of(const topology::Topology& fabric, std::uint32_t gpus) {
  for (const topology::Host& host : fabric.hosts()) {
    if (index(host.first_gpu) < gpus && host.gpu_kind != fabric.hosts().front().gpu_kind) {
      throw config::ConfigError(fmt::format(
          "--gpus: the first {} GPUs are of several kinds; the first {} are {}: plan for those",
          gpus, index(host.first_gpu), fabric.gpu_kind()));
    }
  }
  if (const auto* gpu = workload::find_gpu(fabric.gpu_kind())) return *gpu;
  std::vector<std::string_view> known;
  for (const workload::GpuSpec& gpu : workload::gpu_catalog()) known.push_back(gpu.name);
  throw config::ConfigError(
      unknown(fmt::format("--topology: its GPU \"{}\" is in no catalog; give --set "
                          "/gpu=KIND",
                          fabric.gpu_kind()),
              fabric.gpu_kind(), known));
}

PlanRequest request_of(const CommandLine& line, const topology::Topology& fabric) {
  PlanRequest request;
  request.model = model_of(line.words().front());
  request.gpus = count_of(line, "gpus", fabric.gpu_count(), fabric.gpu_count());
  request.gpu = gpu_of(fabric, request.gpus);
  request.global_batch = count_of(line, "global-batch", 1024, 1U << 24U);
  request.precision = precision_of(line, request.gpu);
  const std::string attention = line.text("attention").value_or("flash");
  if (attention != "flash" && attention != "unfused") {
    throw config::ConfigError(unknown(fmt::format("--attention: \"{}\" is no kernel", attention),
                                      attention, {"flash", "unfused"}));
  }
  request.flash_attention = attention == "flash";
  request.finalists = count_of(line, "finalists", 16, 1U << 20U);
  return request;
}

std::string percent(double part, double whole) {
  return fmt::format("{:.1f}", 100 * part / whole);
}

std::string why(const Finalist& finalist) {
  if (finalist.loss.part.empty()) return std::string(report::kNone);
  return fmt::format("{} +{:.1f} %", finalist.loss.part, 100 * finalist.loss.share);
}

report::Table table_of(const PlanResult& result) {
  report::Table table{{{"plan", "", {}, true},
                       {"iteration", "s", {}},
                       {"tokens/s", "", {}},
                       {"MFU", "%", {}},
                       {"memory", "%", {}},
                       {"bubble", "%", {}},
                       {"exposed", "%", {}},
                       {"loses by", "", {}, true}}};
  for (std::size_t i = 0; i < std::min(kShown, result.finalists.size()); ++i) {
    const Finalist& it = result.finalists[i];
    const double whole = in_seconds(it.attribution.total());
    const std::vector<std::string> cells{name(it.strategy),
                                         fmt::format("{:.5g}", it.iteration_s),
                                         fmt::format("{:.0f}", it.tokens_per_s),
                                         fmt::format("{:.1f}", 100 * it.mfu),
                                         fmt::format("{:.1f}", 100 * it.memory_share),
                                         percent(in_seconds(it.attribution.bubble), whole),
                                         percent(in_seconds(it.attribution.communication()), whole),
                                         why(it)};
    for (std::size_t c = 0; c < cells.size(); ++c) table.columns[c].cells.push_back(cells[c]);
  }
  return table;
}

/// All finalists, fields of a strategy apart, SI units.
report::Table csv_table(const PlanResult& result) {
  report::Table table;
  const auto add = [&](const char* title, const auto& cell) {
    report::Column column{title, "", {}};
    for (const Finalist& it : result.finalists) column.cells.push_back(fmt::format("{}", cell(it)));
    table.columns.push_back(std::move(column));
  };
  add("tensor", [](const Finalist& it) { return it.strategy.parallelism.tensor; });
  add("pipeline", [](const Finalist& it) { return it.strategy.parallelism.pipeline; });
  add("data", [](const Finalist& it) { return it.strategy.parallelism.data; });
  add("context", [](const Finalist& it) { return it.strategy.parallelism.context; });
  add("expert", [](const Finalist& it) { return it.strategy.parallelism.expert; });
  add("virtual_stages", [](const Finalist& it) { return it.strategy.parallelism.virtual_stages; });
  add("micro_batch", [](const Finalist& it) { return it.strategy.micro_batch; });
  add("schedule", [](const Finalist& it) { return schedule_name(it.strategy); });
  add("recompute", [](const Finalist& it) { return recompute_name(it.strategy); });
  add("zero", [](const Finalist& it) { return it.strategy.zero; });
  add("iteration_s", [](const Finalist& it) { return it.iteration_s; });
  add("estimate_s", [](const Finalist& it) { return it.estimate.total(); });
  add("throughput_tokens_per_s", [](const Finalist& it) { return it.tokens_per_s; });
  add("mfu", [](const Finalist& it) { return it.mfu; });
  add("memory_bytes", [](const Finalist& it) { return it.memory.total().count(); });
  add("bubble_s", [](const Finalist& it) { return in_seconds(it.attribution.bubble); });
  add("exposed_s", [](const Finalist& it) { return in_seconds(it.attribution.communication()); });
  add("loses_by", [](const Finalist& it) { return it.loss.part; });
  add("loses_share", [](const Finalist& it) { return it.loss.share; });
  return table;
}

/// Why all the others are not in the table.
std::string account(const PlanResult& result) {
  std::string out = fmt::format("{} candidates", result.candidates);
  if (result.contradictory > 0) {
    out += fmt::format("; {} do not divide, {} of them because {}", result.contradictory,
                       result.commonest.candidates, result.commonest.sentence);
  }
  if (result.closest) {
    out += fmt::format("; {} do not fit in memory, the closest, {}, by {} bytes", result.too_large,
                       name(*result.closest), result.closest_lacks.count());
  }
  out += fmt::format("; {} estimated", result.estimated);
  std::string lost;
  for (std::size_t t = 0; t < study::kTerms; ++t) {
    if (result.pruned.at(t) == 0) continue;
    lost += fmt::format("{}{} by {}", lost.empty() ? "" : ", ", result.pruned.at(t),
                        study::name(static_cast<study::Term>(t)));
  }
  if (!lost.empty()) out += "; lost by estimate: " + lost;
  return out + ".";
}

std::string judgement(const PlanResult& result) {
  std::string out = fmt::format("{} simulated; their estimates are off by {:.1f} % at worst",
                                result.finalists.size(), 100 * result.estimate_error_worst);
  if (result.rank_correlation)
    out += fmt::format(", rank correlation {:.2f}", *result.rank_correlation);
  return out + ".";
}

void add_strategy(report::JsonWriter& json, const study::Strategy& strategy) {
  const workload::Parallelism& p = strategy.parallelism;
  json.member("tensor", p.tensor);
  json.member("pipeline", p.pipeline);
  json.member("data", p.data);
  json.member("context", p.context);
  json.member("expert", p.expert);
  json.member("expert_tensor", p.expert_tensor_ranks());
  json.member("virtual_stages", p.virtual_stages);
  json.member("micro_batch", strategy.micro_batch);
  json.member("schedule", schedule_name(strategy));
  json.member("recompute", recompute_name(strategy));
  json.member("zero", strategy.zero);
}

void add_finalist(report::JsonWriter& json, const Finalist& it) {
  json.open('{', true);
  add_strategy(json, it.strategy);
  json.member("iteration_s", it.iteration_s);
  json.member("estimate_s", it.estimate.total());
  json.key("estimate");
  json.open('{');
  for (std::size_t t = 0; t < study::kTerms; ++t)
    json.member(study::name(static_cast<study::Term>(t)), it.estimate.seconds.at(t));
  json.close('}');
  json.member("throughput_tokens_per_s", it.tokens_per_s);
  json.member("mfu", it.mfu);
  json.member("memory_bytes", static_cast<std::uint64_t>(it.memory.total().count()));
  json.member("memory_share", it.memory_share);
  json.key("attribution");
  json.open('{');
  for (const metrics::AttributionPart& part : metrics::attribution_parts())
    json.member(part.key, in_seconds(it.attribution.*part.member));
  json.close('}');
  json.key("loses_by");
  if (it.loss.part.empty()) {
    json.null();
  } else {
    json.value(it.loss.part);
  }
  json.member("loses_share", it.loss.share);
  json.close('}');
}

std::string to_json(const PlanRequest& request, const PlanResult& result) {
  report::JsonWriter json;
  json.open('{');
  json.member("model", std::string_view(request.model.name));
  json.member("gpu", std::string_view(request.gpu.name));
  json.member("gpus", request.gpus);
  json.member("global_batch", request.global_batch);
  json.member("candidates", result.candidates);
  json.key("refused");
  json.open('{');
  json.member("divisibility", result.contradictory);
  json.member("divisibility_commonest", std::string_view(result.commonest.sentence));
  json.member("memory", result.too_large);
  json.key("memory_closest_lacks_bytes");
  if (result.closest) {
    json.value(static_cast<std::uint64_t>(result.closest_lacks.count()));
  } else {
    json.null();
  }
  json.close('}');
  json.member("estimated", result.estimated);
  json.key("pruned");
  json.open('{');
  for (std::size_t t = 0; t < study::kTerms; ++t)
    json.member(study::name(static_cast<study::Term>(t)), result.pruned.at(t));
  json.close('}');
  json.member("rank_correlation", result.rank_correlation);
  json.member("estimate_error_worst", result.estimate_error_worst);
  json.key("plans");
  json.open('[');
  for (const Finalist& finalist : result.finalists) add_finalist(json, finalist);
  json.close(']');
  json.close('}');
  return json.finish();
}

/// Nothing is feasible: says why and what would help.
[[noreturn]] void refuse(const PlanRequest& request, const PlanResult& result) {
  std::string text =
      fmt::format("{} cannot be trained on {} {}: of {} candidates ", request.model.name,
                  request.gpus, request.gpu.name, result.candidates);
  if (result.closest) {
    text += fmt::format("{} do not fit in memory, the closest, {}, by {} bytes; give more --gpus",
                        result.too_large, name(*result.closest), result.closest_lacks.count());
  } else {
    text += fmt::format("none divides; {} because {}; change --gpus or --global-batch",
                        result.commonest.candidates, result.commonest.sentence);
  }
  throw config::ConfigError(text);
}

}  // namespace

CommandLine plan_options() {
  CommandLine line(
      {"plan",
       "MODEL",
       "Searches the parallelism, micro-batch, schedule, recomputation and ZeRO stage that "
       "train a model fastest\non the first N GPUs of a fabric. MODEL is a file, or a name in "
       "workloads/models. Candidates are ranked by\na closed form, the best of them simulated.",
       {"railyard plan llama3_8b --topology topologies/superpod_h100.json --gpus 64",
        "railyard plan workloads/models/gpt3_175b.json --topology topologies/superpod_a100.json "
        "--gpus 128 --global-batch 512"}});
  line.option("topology", "FILE", "the fabric; its GPU kind is the plan's")
      .option("gpus", "N", "the first N GPUs (default: all)")
      .option("global-batch", "N", "sequences an iteration (default: 1024)")
      .option("precision", "NAME", "bf16, fp16, fp8, tf32 or fp32 (default: bf16)")
      .one_of({"bf16", "fp16", "fp8", "tf32", "fp32"})
      .option("attention", "NAME", "flash or unfused (default: flash)")
      .one_of({"flash", "unfused"})
      .option("finalists", "N", "candidates to simulate (default: 16)")
      .option("jobs", "N", "threads; results do not depend on them (default: all cores)")
      .repeated("set", "/pointer=value", "changes the fabric's description, as in /gpu=H100")
      .format_option();
  return line;
}

int plan(const CommandLine& line) {
  const report::Format format = line.format();
  line.expect_words(1, 1, "a model");
  const auto file = line.text("topology");
  if (!file) throw config::ConfigError("railyard plan: give the fabric with --topology FILE");
  const topology::Topology fabric = read_topology(line, *file);
  const PlanRequest request = request_of(line, fabric);
  PlanResult result = study::shortlist(request, fabric);
  if (result.finalists.empty()) refuse(request, result);
  for_each_index(result.finalists.size(), line.jobs(),
                 [&](std::size_t i) { study::simulate(request, fabric, result.finalists[i]); });
  study::rank(result);
  const report::Table table = table_of(result);
  switch (format) {
    case report::Format::json:
      write_stdout(to_json(request, result));
      break;
    case report::Format::csv:
      write_stdout(report::to_csv(csv_table(result)));
      break;
    case report::Format::markdown:
      write_stdout(fmt::format("{}\n{}\n\n{}\n", report::to_markdown(table), account(result),
                               judgement(result)));
      break;
    case report::Format::table:
      write_stdout(fmt::format("{}\n{}{}", report::to_text(table),
                               report::wrapped("", account(result)),
                               report::wrapped("", judgement(result))));
      break;
  }
  return kGood;
}

}  // namespace railyard::cli
