#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "command_line.hpp"
#include "list.hpp"
#include "output.hpp"
#include "railyard/bridge/catalogs.hpp"
#include "railyard/cluster/cluster.hpp"
#include "railyard/collective/choices.hpp"
#include "railyard/config/catalog.hpp"
#include "railyard/config/reader.hpp"
#include "railyard/core/check.hpp"
#include "railyard/metrics/run_result.hpp"
#include "railyard/metrics/symptoms.hpp"
#include "railyard/network/network_model.hpp"
#include "railyard/network/transport.hpp"
#include "railyard/report/table.hpp"
#include "railyard/scheduler/catalogs.hpp"
#include "railyard/topology/builder.hpp"
#include "railyard/topology/fabric_reader.hpp"
#include "railyard/topology/routing.hpp"
#include "railyard/topology/writer.hpp"
#include "railyard/workload/compression.hpp"
#include "railyard/workload/job_reader.hpp"
#include "railyard/workload/recommender.hpp"
#include "railyard/workload/stencil.hpp"
#include "railyard/workload/trace_reader.hpp"
#include "railyard/workload/trace_writer.hpp"
#include "railyard/workload/transformer.hpp"

namespace railyard::cli {

namespace {

namespace fs = std::filesystem;
using config::EntryDescription;

/// A member of a family: its line in the list, and what `list FAMILY NAME` says of it.
struct Entry {
  std::string name;
  std::string summary;
  std::string details;
};
using Entries = std::vector<Entry>;

std::string_view name_of(config::ParameterType type) {
  static constexpr std::array<std::string_view, 10> kNames{
      "boolean", "integer",   "real",     "string", "choice",
      "bytes",   "bandwidth", "duration", "path",   "command"};
  return kNames.at(static_cast<std::size_t>(type));
}

std::string range_of(const config::ParameterSpec& parameter) {
  if (!parameter.choices.empty()) return fmt::format("{}", fmt::join(parameter.choices, " | "));
  if (parameter.min && parameter.max)
    return fmt::format("{} to {}", *parameter.min, *parameter.max);
  if (parameter.min) return fmt::format("from {}", *parameter.min);
  return parameter.max ? fmt::format("up to {}", *parameter.max) : std::string();
}

Entry entry_of(const EntryDescription& description) {
  Entry entry{std::string(description.name), std::string(description.summary), ""};
  if (description.parameters.empty()) {
    entry.details = "no parameters\n";
    return entry;
  }
  report::Table table{{{"parameter", "", {}, true, false},
                       {"type", "", {}, true, false},
                       {"default", "", {}, true, false},
                       {"values", "", {}, true, false},
                       {"meaning", "", {}, true, false}}};
  for (const auto& parameter : description.parameters) {
    const std::string cells[] = {
        std::string(parameter.name), std::string(name_of(parameter.type)),
        parameter.fallback.empty() ? "required" : std::string(parameter.fallback),
        range_of(parameter), std::string(parameter.help)};
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      table.columns[i].cells.push_back(cells[i]);
  }
  entry.details = report::to_text(table, 1000);
  return entry;
}

Entries entries_of(const std::vector<const EntryDescription*>& descriptions) {
  Entries out;
  for (const auto* description : descriptions) out.push_back(entry_of(*description));
  return out;
}

Entries topologies() {
  Entries out;
  for (const auto& builder : topology::topology_catalog()) {
    out.push_back({std::string(builder.name), std::string(builder.summary),
                   report::wrapped("keys: ", fmt::format("{}", fmt::join(builder.keys, ", ")))});
  }
  return out;
}
Entries readers() {
  Entries out;
  for (const auto& reader : topology::reader_catalog()) {
    out.push_back(
        {std::string(reader.name), std::string(reader.summary),
         report::wrapped("files: ", reader.endings.empty()
                                        ? std::string("any")
                                        : fmt::format("*{}", fmt::join(reader.endings, ", *"))) +
             report::wrapped("keys: ", fmt::format("{}", fmt::join(reader.keys, ", ")))});
  }
  return out;
}
Entries writers() {
  Entries out;
  for (const auto& writer : topology::writer_catalog())
    out.push_back({std::string(writer.name), std::string(writer.summary),
                   fmt::format("railyard topology convert FILE --to {}\n", writer.name)});
  return out;
}
Entries job_readers() {
  Entries out;
  for (const auto& reader : workload::job_reader_catalog())
    out.push_back(entry_of(reader.description));
  return out;
}
Entries trace_readers() {
  Entries out;
  for (const auto& reader : workload::trace_reader_catalog()) {
    out.push_back(entry_of(reader.description));
    out.back().details += fmt::format("\nfiles: *{}\n", fmt::join(reader.endings, ", *"));
  }
  return out;
}
Entries trace_writers() {
  Entries out;
  for (const auto& writer : workload::trace_writer_catalog())
    out.push_back({std::string(writer.name), std::string(writer.summary),
                   fmt::format("railyard trace convert FILE --to {} --out FILE\n", writer.name)});
  return out;
}
Entries routings() {
  return entries_of(config::descriptions(topology::routing_catalog()));
}
Entries transports() {
  return entries_of(config::descriptions(network::transport_catalog()));
}
Entries networks() {
  return entries_of(config::descriptions(network::network_model_catalog()));
}
Entries collectives() {
  return entries_of(collective::choice_descriptions());
}
Entries compressions() {
  return entries_of(config::descriptions(workload::compression_catalog()));
}
Entries traffic() {
  return entries_of(config::descriptions(cluster::traffic_catalog()));
}
/// A family of policies, which a plug-in may have added to.
template <auto Member>
Entries policies(const scheduler::Catalogs& catalogs) {
  return entries_of(config::descriptions(scheduler::table(catalogs.*Member)));
}

Entries failures() {
  return entries_of(config::descriptions(cluster::failure_catalog()));
}

Entries gpus() {
  Entries out;
  for (const workload::GpuSpec& gpu : workload::gpu_catalog()) {
    const double peak = gpu.peak_bf16.per_s() * 1e-12;
    const auto gib = static_cast<double>(gpu.memory.count()) / (1U << 30U);
    out.push_back(
        {gpu.name,
         fmt::format("{:.0f} Tflops bf16, {:.0f} GiB, {:.0f} GB/s", peak, gib,
                     static_cast<double>(gpu.memory_bandwidth.bytes_per_s()) * 1e-9),
         fmt::format(
             "bf16 peak: {} Tflops\nmemory: {} bytes at {} bytes/s\nGEMM efficiency: "
             "{}\nmemory efficiency: {}\n"
             "attention efficiency: {}\nmultiprocessors: {}\nkernel overhead: {} s\npower: {}\n{}",
             peak, gpu.memory.count(), gpu.memory_bandwidth.bytes_per_s(), gpu.gemm_efficiency,
             gpu.memory_efficiency, gpu.attention_efficiency, gpu.multiprocessors,
             in_seconds(gpu.kernel_overhead),
             gpu.power_w > 0 ? fmt::format("{} W", gpu.power_w) : "not known",
             report::wrapped("source: ", gpu.source))});
  }
  return out;
}

Entries models() {
  Entries out;
  const fs::path folder = bundled("workloads");
  if (folder.empty())
    throw config::ConfigError("no folder \"workloads\" here or beside the program");
  std::vector<fs::path> files;
  for (const auto& file : fs::directory_iterator(folder / "models")) {
    if (file.path().extension() == ".json") files.push_back(file.path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    config::Errors errors;
    const auto document = config::Document::parse_file(file);
    const auto kind = document.root().find("kind");
    std::string summary;
    if (kind && kind->is_string() && kind->string() == "recommender") {
      const auto model = workload::read_recommender(document.root(), errors);
      summary = fmt::format("recommender, {} tables of {} columns, {} rows in all", model.tables,
                            model.embedding_dim, model.rows);
    } else if (kind && kind->is_string() && kind->string() == "stencil") {
      const auto model = workload::read_stencil(document.root(), errors);
      summary = fmt::format("halo exchange, {} x {} x {} cells a GPU, {} variables", model.cells[0],
                            model.cells[1], model.cells[2], model.variables);
    } else {
      const auto model = workload::read_model(document.root(), errors);
      summary = fmt::format("{:.1f} billion parameters, {} layers of {}, sequence {}",
                            model.parameters() * 1e-9, model.layers, model.hidden, model.sequence);
    }
    errors.throw_if_any();
    out.push_back({file.stem().string(), summary,
                   fmt::format("file: {}\n{}\n", shown_path(file), document.root().dump())});
  }
  return out;
}

Entries all_metrics() {
  Entries out;
  for (const auto& metric : metrics::metric_catalog()) {
    const std::string_view better = metric.better == metrics::Better::higher  ? "higher is better"
                                    : metric.better == metrics::Better::lower ? "lower is better"
                                                                              : "neither is better";
    out.push_back(
        {std::string(metric.key), std::string(metric.summary), fmt::format("{}\n", better)});
  }
  return out;
}

Entries symptoms() {
  Entries out;
  for (const auto& symptom : metrics::symptom_catalog()) {
    Entry entry{std::string(symptom.key),
                fmt::format("{}: {} {:g} %", symptom.title, symptom.below ? "below" : "above",
                            symptom.bound * 100),
                report::wrapped("bound: ", symptom.reason)};
    report::Table table{
        {{"cause", "", {}, true}, {"measure", "", {}, true}, {"remedy", "", {}, true}}};
    for (const auto& cause : metrics::cause_catalog()) {
      if (cause.symptom != symptom.symptom) continue;
      table.columns[0].cells.emplace_back(cause.key);
      table.columns[1].cells.emplace_back(cause.measure);
      table.columns[2].cells.emplace_back(cause.remedy);
    }
    entry.details += report::to_text(table, 1000);
    out.push_back(std::move(entry));
  }
  return out;
}

struct Family {
  std::string_view name;
  std::string_view summary;
  Entries (*entries)();  ///< null: a family of policies
  Entries (*policies)(const scheduler::Catalogs& catalogs) = nullptr;
};
constexpr std::array<Family, 22> kFamilies{{
    {"topologies", "builders of fabrics, \"builder\" of a topology file", topologies},
    {"readers", "files of other programs, \"format\" of a topology file of builder \"read\"",
     readers},
    {"writers", "files for other programs, `railyard topology convert`", writers},
    {"job_readers", "job traces of clusters, \"job_trace\" of a scenario, `railyard trace`",
     job_readers},
    {"trace_readers", "communication traces of other programs, `railyard trace`", trace_readers},
    {"trace_writers", "communication traces for other programs, `railyard trace convert`",
     trace_writers},
    {"routings", "path choice, \"routing\" of a scenario's network", routings},
    {"networks", "how much of the network is modelled, --network of flows", networks},
    {"transports", "what packets add to the fluid, --transport of flows", transports},
    {"collectives", "algorithms of collective operations", collectives},
    {"schedulers", "what decides over jobs, \"scheduler\" of a policy set", nullptr,
     policies<&scheduler::Catalogs::schedulers>},
    {"placements", "placement policies, \"placement\" of a policy set", nullptr,
     policies<&scheduler::Catalogs::placements>},
    {"queues", "queue policies, \"queue\" of a policy set", nullptr,
     policies<&scheduler::Catalogs::queues>},
    {"predictors", "estimates of run times, \"predictor\" of a policy set", nullptr,
     policies<&scheduler::Catalogs::predictors>},
    {"reservations", "hosts kept for jobs to come, \"reservation\" of a policy set", nullptr,
     policies<&scheduler::Catalogs::reservations>},
    {"failures", "hosts that fail, \"failures\" of a scenario", failures},
    {"compressions", "compression of gradients, \"compression\" of a policy set", compressions},
    {"traffic", "which jobs go first on links they share, \"traffic\" of a policy set", traffic},
    {"gpus", "kinds of GPUs, \"gpu\" of a topology file", gpus},
    {"models", "model files in workloads/models", models},
    {"metrics", "what a result says of each policy set", all_metrics},
    {"symptoms", "what a run warns of, from which cause, with which remedy", symptoms},
}};

std::vector<std::string_view> family_names() {
  std::vector<std::string_view> out;
  for (const Family& family : kFamilies) out.push_back(family.name);
  return out;
}

Entries entries_of(const Family& family, const scheduler::Catalogs& catalogs) {
  return family.entries != nullptr ? family.entries() : family.policies(catalogs);
}

std::string names_and_summaries(const std::vector<std::pair<std::string, std::string>>& rows) {
  std::size_t width = 0;
  for (const auto& [name, summary] : rows) width = std::max(width, name.size());
  std::string out;
  for (const auto& [name, summary] : rows)
    out += report::wrapped(fmt::format("{:<{}}  ", name, width), summary);
  return out;
}

std::string list_text(const Arguments& words, const scheduler::Catalogs& catalogs) {
  std::vector<std::pair<std::string, std::string>> rows;
  if (words.empty()) {
    for (const Family& family : kFamilies) rows.emplace_back(family.name, family.summary);
    return names_and_summaries(rows);
  }
  const std::vector<std::string_view> known = family_names();
  const auto at = std::find(known.begin(), known.end(), words[0]);
  if (at == known.end())
    throw config::ConfigError(
        unknown(fmt::format("\"{}\" is no family", words[0]), words[0], known));
  const Entries entries =
      entries_of(kFamilies.at(static_cast<std::size_t>(at - known.begin())), catalogs);
  if (words.size() == 1) {
    for (const Entry& entry : entries) rows.emplace_back(entry.name, entry.summary);
    return names_and_summaries(rows);
  }
  std::vector<std::string_view> names;
  for (const Entry& entry : entries) {
    if (entry.name == words[1])
      return fmt::format("{}: {}\n\n{}", entry.name, entry.summary, entry.details);
    names.push_back(entry.name);
  }
  throw config::ConfigError(
      unknown(fmt::format("\"{}\" is none of {}", words[1], words[0]), words[1], names));
}

}  // namespace

std::vector<std::string> members_of(std::string_view family) {
  const auto names = family_names();
  const auto at = std::find(names.begin(), names.end(), family);
  RAILYARD_CHECK(at != names.end(), "an option takes its values from a family there is");
  std::vector<std::string> out;
  for (const Entry& entry : entries_of(kFamilies.at(static_cast<std::size_t>(at - names.begin())),
                                       *bridge::make_catalogs({})))
    out.push_back(entry.name);
  return out;
}

CommandLine list_options() {
  CommandLine line(
      {"list",
       "[FAMILY [NAME]]",
       "What this program can be asked for: the families, the members of one, or one member with "
       "its parameters.",
       {"railyard list", "railyard list placements", "railyard list placements arnold"},
       family_names()});
  line.plugin_option();
  return line;
}

int list(const CommandLine& line) {
  line.expect_words(0, 2, "a family and a name at most");
  write_stdout(list_text(line.words(), *line.catalogs()));
  return kGood;
}

}  // namespace railyard::cli
