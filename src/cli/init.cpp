// A first scenario from five answers: which fabric, which model, how many GPUs, what is taken,
// which placements.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iostream>

#include "command_line.hpp"
#include "models.hpp"
#include "output.hpp"
#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"
#include "railyard/scenario/scenario.hpp"
#include "railyard/scheduler/placement.hpp"
#include "railyard/study/plan.hpp"
#include "topology.hpp"

namespace railyard::cli {

namespace {

namespace fs = std::filesystem;

/// The flag, or the answer at a terminal; the default where neither is given.
std::string answer(const CommandLine& line, const std::string& option, const std::string& question,
                   const std::string& fallback) {
  if (const auto given = line.text(option)) return *given;
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDERR_FILENO) == 0) return fallback;
  std::cerr << fmt::format("{} [{}] ", question, fallback) << std::flush;
  std::string text;
  if (!std::getline(std::cin, text)) return fallback;
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return fallback;
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

template <typename Number>
Number number_of(const std::string& option, const std::string& text, Number least, Number most) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || !(value >= least) || !(value <= most)) {
    throw config::ConfigError(fmt::format("--{}: expected a number from {} to {}, found \"{}\"",
                                          option, least, most, text));
  }
  return value;
}

/// A file of the fabric, or the name of one in topologies/.
fs::path topology_path(const std::string& word) {
  const fs::path folder = bundled("topologies");
  if (!fs::exists(word) && !folder.empty() && fs::exists(folder / (word + ".json")))
    return folder / (word + ".json");
  if (!fs::exists(word)) {
    std::vector<std::string> names;
    if (!folder.empty()) {
      for (const auto& entry : fs::directory_iterator(folder))
        names.push_back(entry.path().stem().string());
    }
    std::sort(names.begin(), names.end());
    throw config::ConfigError(unknown(fmt::format("no file and no fabric is called \"{}\"", word),
                                      word, {names.begin(), names.end()}));
  }
  return word;
}

std::vector<std::string> placements_of(const std::string& text) {
  std::vector<std::string_view> known;
  for (const auto& entry : scheduler::placement_catalog()) known.push_back(entry.description.name);
  std::vector<std::string> out;
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string name = text.substr(at, end - at);
    at = end + 1;
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw config::ConfigError(
          unknown(fmt::format("--placements: \"{}\" is no placement", name), name, known));
    }
    if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
  }
  return out;
}

struct Answers {
  fs::path topology;
  fs::path model;
  std::uint32_t gpus = 0;
  double occupied = 0;
  std::vector<std::string> placements;
};

/// Most GPUs, up to a half of the fabric, that are a power of two times a host.
std::uint64_t usual_gpus(const topology::Topology& fabric) {
  std::uint64_t gpus = fabric.hosts().front().gpus;
  while (gpus * 4 <= fabric.gpu_count()) gpus *= 2;
  return gpus;
}

Answers ask(const CommandLine& line, topology::Topology& fabric) {
  Answers out;
  out.topology = topology_path(
      answer(line, "topology", "Which fabric: a file, or a name in topologies/?", "superpod_h100"));
  fabric = read_topology(line, out.topology.string());
  out.model = model_path(
      answer(line, "model", "Which model: a file, or a name in workloads/models/?", "llama3_70b"));
  const auto most = static_cast<std::uint32_t>(fabric.gpu_count());
  const std::string gpus =
      answer(line, "gpus", fmt::format("On how many of its {} GPUs?", fabric.gpu_count()),
             fmt::format("{}", usual_gpus(fabric)));
  out.gpus = number_of<std::uint32_t>("gpus", gpus, 1, most);
  const std::string occupied =
      answer(line, "occupied", "What share of the hosts do others hold, from 0 to 0.95?", "0.25");
  out.occupied = number_of<double>("occupied", occupied, 0.0, 0.95);
  out.placements = placements_of(answer(line, "placements", "Which placements, the baseline first?",
                                        "best_fit,gpu_packing,arnold"));
  return out;
}

/// The best of the closed form: what `railyard plan` simulates first.
study::Strategy parallelism_of(const Answers& answers, const topology::Topology& fabric,
                               workload::ModelSpec model) {
  study::PlanRequest request;
  request.model = std::move(model);
  request.gpus = answers.gpus;
  request.finalists = 1;
  const auto* gpu = workload::find_gpu(fabric.gpu_kind());
  if (gpu == nullptr) {
    throw config::ConfigError(
        fmt::format("{}: its GPU \"{}\" is in no catalog; see railyard list gpus",
                    answers.topology.string(), fabric.gpu_kind()));
  }
  request.gpu = *gpu;
  const study::PlanResult result = study::shortlist(request, fabric);
  if (result.finalists.empty()) {
    throw config::ConfigError(fmt::format(
        "{} cannot be trained on {} {} with {} sequences an iteration: {}; give other --gpus",
        request.model.name, answers.gpus, request.gpu.name, request.global_batch,
        result.closest ? fmt::format("the closest, {}, lacks {} bytes of memory",
                                     name(*result.closest), result.closest_lacks.count())
                       : result.commonest.sentence));
  }
  return result.finalists.front().strategy;
}

std::string job_text(const Answers& answers, const workload::ModelSpec& model,
                     const study::Strategy& strategy, const fs::path& folder) {
  const workload::Parallelism& p = strategy.parallelism;
  std::string parallelism =
      fmt::format(R"("tensor": {}, "pipeline": {}, "data": {})", p.tensor, p.pipeline, p.data);
  if (p.context > 1) parallelism += fmt::format(R"(, "context": {})", p.context);
  if (p.expert > 1) parallelism += fmt::format(R"(, "expert": {})", p.expert);
  if (p.virtual_stages > 1)
    parallelism += fmt::format(R"(, "virtual_stages": {})", p.virtual_stages);
  const study::PlanRequest usual;
  return fmt::format(
      R"(    {{
      "name": {},
      "workload": {},
      "gpus": {},
      // The best of `railyard plan`'s closed form that fits in memory; TP x PP x DP (x CP) = gpus.
      "parallelism": {{ {} }},
      "global_batch": {},          // sequences an iteration, over all data ranks
      "micro_batch": {},
      "recompute": "{}",
      "zero": {},                  // stage of the sharded optimizer, 0 to 3
      "schedule": "{}",
      "sequence_parallel": {},
      "iterations": 100,
      "arrival": "0s"
    }})",
      config::json_string(model.name),
      config::json_string(fs::relative(answers.model, folder).string()), answers.gpus, parallelism,
      usual.global_batch, strategy.micro_batch, recompute_name(strategy), strategy.zero,
      schedule_name(strategy), p.tensor > 1);
}

std::string scenario_text(const Answers& answers, const topology::Topology& fabric,
                          const workload::ModelSpec& model, const study::Strategy& strategy,
                          const fs::path& folder) {
  std::string policies;
  for (const std::string& name : answers.placements) {
    policies += fmt::format("{}    \"{}\": {{ \"placement\": {{ \"name\": \"{}\" }} }}",
                            policies.empty() ? "" : ",\n", name, name);
  }
  return fmt::format(
      R"(// Written by railyard init. `railyard schema scenario` has every key, `railyard list` every policy.
{{
  "description": {},
  // Any description that `railyard topology show` reads; the path is relative to this file.
  "topology": {},
  // Hosts that others hold all the time, drawn with the seed. Or: {{ "hosts_per_minipod": [4, 0] }}.
  "occupied": {{ "share": {} }},
  "jobs": [
{}
  ],
  // Weight of the DP groups in the spread (Eq. 2 of Arnold); the rest is the PP groups'.
  "diffusion": {{ "alpha": 0.3 }},
  // "spray" in place of "ecmp" shows what hash collisions cost.
  "network": {{ "model": "fluid", "routing": {{ "name": "ecmp", "queue_pairs": 1 }} }},
  // A policy set: how to place, and if you like "queue", "reservation", "predictor", "collectives".
  "policies": {{
{}
  }},
  "baseline": "{}",
  "seed": 1
}}
)",
      config::json_string(fmt::format("{} on {} of {} {}s: which placement trains it fastest?",
                                      model.name, answers.gpus, fabric.gpu_count(),
                                      fabric.gpu_kind())),
      config::json_string(fs::relative(answers.topology, folder).string()), answers.occupied,
      job_text(answers, model, strategy, folder), policies, answers.placements.front());
}

}  // namespace

CommandLine init_options() {
  CommandLine line({"init",
                    "[FILE]",
                    "Writes a commented scenario to begin with (default: scenario.json). Asks five "
                    "questions at a terminal;\n"
                    "flags answer them beforehand, and elsewhere what no flag answers takes its "
                    "default.",
                    {"railyard init build/mine.json --topology superpod_h100 --model llama3_8b "
                     "--gpus 64"}});
  line.option("topology", "FILE", "the fabric: a file, or a name in topologies/")
      .option("model", "FILE", "the model: a file, or a name in workloads/models/")
      .option("gpus", "N", "GPUs of the job")
      .option("occupied", "SHARE", "share of the hosts that others hold")
      .option("placements", "LIST", "placements to compare, with commas, the baseline first")
      .flag("force", "overwrites FILE");
  return line;
}

int init(const CommandLine& line) {
  line.expect_words(0, 1, "a file to write at most");
  const fs::path file = line.words().empty() ? "scenario.json" : line.words()[0];
  if (fs::exists(file) && !line.has("force")) {
    throw config::ConfigError(
        fmt::format("{}: exists; give another name, or --force", file.string()));
  }
  topology::Topology fabric;
  const Answers answers = ask(line, fabric);
  config::Errors errors;
  const auto document = config::Document::parse_file(answers.model);
  const workload::ModelSpec model = workload::read_model(document.root(), errors);
  errors.throw_if_any();
  const study::Strategy strategy = parallelism_of(answers, fabric, model);
  const fs::path folder = fs::absolute(file).parent_path();
  const std::string text = scenario_text(answers, fabric, model, strategy, folder);
  // What is written runs: it is read, built and placed before.
  const auto spec =
      scenario::load(config::Document::parse_text(text, file.string(), folder), "scenario");
  for (std::size_t policy = 0; policy < answers.placements.size(); ++policy)
    static_cast<void>(scenario::place(spec, policy));
  prepare_folder(folder);
  write_file(file, text);
  write_stdout(
      fmt::format("{}: {}\nnext: railyard run {}\n", file.string(), name(strategy), file.string()));
  return kGood;
}

}  // namespace railyard::cli
