#include "schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "command_line.hpp"
#include "output.hpp"
#include "railyard/config/document.hpp"
#include "railyard/metrics/run_result.hpp"
#include "railyard/metrics/symptoms.hpp"

namespace railyard::cli {

namespace {

using namespace json_schema;

struct KindOfFile {
  std::string_view name;
  std::string_view summary;
  std::string (*schema)();
};
constexpr std::array<KindOfFile, 6> kFileKinds{{
    {"topology", "fabrics, as in topologies/", topology_schema},
    {"workload", "models and micro-benchmarks, as in workloads/", workload_schema},
    {"scenario", "what to simulate, as in scenarios/", scenario_schema},
    {"sweep", "one scenario with many settings, as in scenarios/sweeps/", sweep_schema},
    {"collective", "messages of a collective, as in workloads/collectives/", collective_schema},
    {"result", "result.json, and the output of --format json", result_schema},
}};

std::vector<std::string_view> kinds() {
  std::vector<std::string_view> out;
  for (const KindOfFile& kind : kFileKinds) out.push_back(kind.name);
  return out;
}

std::string nullable(std::string_view type) {
  return fmt::format(R"({{"type": ["{}", "null"]}})", type);
}

/// An object in which every member must be there.
std::string whole(const Members& members) {
  std::vector<std::string_view> names;
  for (const auto& [name, schema] : members) names.emplace_back(name);
  return object(members, names);
}

std::string attribution(std::span<const metrics::AttributionPart> parts) {
  Members out;
  for (const auto& part : parts) out.emplace_back(part.key, number(0, 1e300));
  return any_of({whole(out), R"({"type": "null"})"});
}

std::string metrics_schema() {
  Members members{{"attribution", attribution(metrics::attribution_parts())},
                  {"attribution_contention", attribution(metrics::contention_parts())}};
  for (const auto& metric : metrics::metric_catalog())
    members.emplace_back(metric.key, nullable("number"));
  return whole(members);
}

std::string job_schema() {
  Members members{{"name", text()},
                  {"gpus", integer(1)},
                  {"status", words({"finished", "running", "queued", "rejected"})}};
  for (const char* key : {"submit_s", "start_s", "finish_s", "iteration_s", "iteration_s_min",
                          "iteration_s_max", "slowdown", "shared_share", "contention_share"}) {
    members.emplace_back(key, nullable("number"));
  }
  for (const char* key : {"spread_dp_max", "spread_pp_max", "minipods", "leaves"}) {
    members.emplace_back(key, nullable("integer"));
  }
  for (const char* key : {"iteration_s_alone", "iteration_s_reference"}) {
    members.emplace_back(key, nullable("number"));
  }
  members.emplace_back("attribution", attribution(metrics::attribution_parts()));
  members.emplace_back("contended_with", array_of(text()));
  const Members span{{"from_s", number(0, 1e300)}, {"until_s", number(0, 1e300)}};
  const auto with = [&span](std::string_view key) {
    Members more = span;
    more.emplace_back(key, text());
    return array_of(whole(more));
  };
  members.emplace_back("runs", with("hosts"));
  std::vector<std::string_view> required;
  for (const auto& [key, schema] : members) required.emplace_back(key);
  Members all = members;
  all.emplace_back("attribution_contention", attribution(metrics::contention_parts()));
  for (const char* key : {"preemptions", "failures"}) all.emplace_back(key, integer(0));
  for (const char* key : {"kept_s", "cost"}) all.emplace_back(key, number(0, 1e300));
  all.emplace_back("held_back", with("why"));
  return object(all, required);
}

std::string cost_schema() {
  Members members{{"currency", text()}};
  for (const char* key :
       {"busy_gpu_h", "waiting_gpu_h", "reserved_gpu_h", "idle_gpu_h", "network_per_gpu_h",
        "energy_kwh", "gpus", "network", "energy", "switch_ports"}) {
    members.emplace_back(key, number(0, 1e300));
  }
  return whole(members);
}

std::string symptom_schema() {
  std::vector<std::string_view> names;
  for (const auto& symptom : metrics::symptom_catalog()) names.push_back(symptom.key);
  std::vector<std::string_view> causes;
  for (const auto& cause : metrics::cause_catalog()) {
    if (std::ranges::find(causes, cause.key) == causes.end()) causes.push_back(cause.key);
  }
  return whole({{"symptom", words(names)},
                {"job", text()},
                {"jobs", integer(1)},
                {"measure", text()},
                {"value", number(0, 1e300)},
                {"bound", number(0, 1)},
                {"cause", words(causes)},
                {"part", number(0, 1e300)},
                {"remedy", text()}});
}

std::string scheduling_schema() {
  Members members;
  for (const char* key : {"scheduler", "placement", "queue", "reservation", "predictor"}) {
    members.emplace_back(key, text());
  }
  for (const char* key : {"interval_s", "decision_latency_s"}) {
    members.emplace_back(key, number(0, 1e300));
  }
  return whole(members);
}

std::string cluster_schema() {
  return whole(
      {{"gpus_per_host", integer(1)},
       {"leaves", array_of(whole({{"name", text()}, {"minipod", text()}, {"hosts", text()}}))},
       {"background", text()},
       {"gpus", integer(1)},
       {"occupied_gpus", integer(0)}});
}

}  // namespace

std::string result_schema() {
  Members link{{"name", text()}, {"tier", text()}};
  for (const char* key : {"bytes", "utilization", "busy_share", "binding_share"})
    link.emplace_back(key, number(0, 1e300));
  const std::string point = whole({{"t_s", number(0, 1e300)},
                                   {"allocated_share", number(0, 1)},
                                   {"retained_share", nullable("number")}});
  const std::string policy =
      object({{"metrics", metrics_schema()},
              {"jobs", array_of(job_schema())},
              {"links", array_of(whole(link))},
              {"links_of", text()},
              {"curve", array_of(point)},
              {"scheduling", scheduling_schema()},
              {"cost", cost_schema()},
              {"symptoms", array_of(symptom_schema(), 1)},
              {"warnings", array_of(text())},
              {"placement", text()}},
             {"metrics", "jobs", "links", "links_of", "scheduling", "warnings", "placement"});
  Members ratios;
  for (const auto& metric : metrics::metric_catalog()) {
    ratios.emplace_back(metric.key, whole({{"ratio", nullable("number")}}));
  }
  return root("railyard result", whole({{"railyard", text()},
                                        {"scenario", text()},
                                        {"seed", integer(0)},
                                        {"digest", text()},
                                        {"baseline", text()},
                                        {"cluster", cluster_schema()},
                                        {"policies", map_of(policy, 1)},
                                        {"comparison", map_of(object(ratios))},
                                        {"notes", array_of(text())},
                                        {"description", text()}}));
}

CommandLine schema_options() {
  CommandLine line({"schema",
                    "[KIND]",
                    "The JSON Schema (draft 2020-12) of a kind of file, for editors and "
                    "validators; without a kind, the kinds.",
                    {"railyard schema", "railyard schema scenario"},
                    kinds()});
  return line;
}

int schema(const CommandLine& line) {
  line.expect_words(0, 1, "a kind of file at most");
  if (line.words().empty()) {
    std::string out;
    for (const KindOfFile& kind : kFileKinds)
      out += fmt::format("{:<12}{}\n", kind.name, kind.summary);
    write_stdout(out);
    return kGood;
  }
  const std::vector<std::string_view> names = kinds();
  const std::string& wanted = line.words()[0];
  const auto at = std::find(names.begin(), names.end(), wanted);
  if (at == names.end())
    throw config::ConfigError(unknown(fmt::format("\"{}\" has no schema", wanted), wanted, names));
  write_stdout(kFileKinds.at(static_cast<std::size_t>(at - names.begin())).schema());
  return kGood;
}

}  // namespace railyard::cli
