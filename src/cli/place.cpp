// `place`: where a job goes under each policy set, and the files its launcher needs.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "host_files.hpp"
#include "output.hpp"
#include "railyard/report/json_writer.hpp"
#include "railyard/report/table.hpp"
#include "simulate.hpp"

namespace railyard::cli {

namespace {

namespace fs = std::filesystem;
using config::ConfigError;
using metrics::Metric;
using metrics::PolicyResult;
using scenario::PlacedJob;

constexpr std::size_t kLinksAtRisk = 5;
/// A link that holds up flows for longer than this share of an iteration is at risk.
constexpr double kAtRisk = 0.05;

/// The scenario with the one job that is to be placed.
config::Document with_one_job(config::Document document, const std::optional<std::string>& name) {
  const config::Node root = document.root();
  if (root.is_object() && root.find("job_trace"))
    throw ConfigError(
        "railyard place: the scenario has a \"job_trace\"; place decides for one job "
        "of \"jobs\"");
  const auto jobs = root.is_object() ? root.find("jobs") : std::nullopt;
  if (!jobs || !jobs->is_array()) return document;  // the loader says what is missing
  std::vector<std::string> names;
  std::string chosen;
  for (std::size_t i = 0; i < jobs->size(); ++i) {
    const auto its = jobs->at(i).is_object() ? jobs->at(i).find("name") : std::nullopt;
    names.push_back(its && its->is_string() ? its->string() : std::string());
    if (name && names.back() == *name) chosen = jobs->at(i).dump();
  }
  if (!name && names.size() <= 1) return document;
  if (!name) {
    throw ConfigError(
        fmt::format("railyard place: the scenario has {} jobs; choose one with --job: "
                    "{}",
                    names.size(), fmt::join(names, ", ")));
  }
  if (chosen.empty()) {
    throw ConfigError(unknown(fmt::format("--job: the scenario has no job \"{}\"", *name), *name,
                              {names.begin(), names.end()}));
  }
  return document.set("/jobs", fmt::format("[{}]", chosen));
}

std::vector<const metrics::LinkResult*> links_at_risk(const PolicyResult& policy) {
  std::vector<const metrics::LinkResult*> out;
  for (const metrics::LinkResult& link : policy.links) {
    if (link.binding_share > kAtRisk && link.tier != "nvlink" && out.size() < kLinksAtRisk)
      out.push_back(&link);
  }
  return out;
}

std::size_t hosts_of(const PlacedJob& job) {
  std::vector<std::string> names;
  for (const scenario::RankPlace& rank : job.ranks) names.push_back(rank.host);
  std::sort(names.begin(), names.end());
  return static_cast<std::size_t>(std::unique(names.begin(), names.end()) - names.begin());
}

std::string cell(std::optional<double> value, const char* form) {
  return value ? fmt::format(fmt::runtime(form), *value) : std::string(report::kNone);
}

std::string first_and_more(const std::vector<std::string>& names) {
  if (names.empty()) return std::string(report::kNone);
  if (names.size() == 1) return names.front();
  return fmt::format("{} and {} more", names.front(), names.size() - 1);
}

report::Table table_of(const std::vector<PlacedJob>& placed, const metrics::RunResult& result) {
  report::Table table{{{"policy set", "", {}, true},
                       {"hosts", "", {}},
                       {"minipods", "", {}},
                       {"DP spread", "", {}},
                       {"PP spread", "", {}},
                       {"iteration", "s", {}},
                       {"links at risk", "", {}, true}}};
  for (std::size_t p = 0; p < placed.size(); ++p) {
    const PolicyResult& policy = result.policies[p];
    std::vector<std::string> risks;
    for (const auto* link : links_at_risk(policy)) risks.push_back(link->name);
    const auto minipods = policy.jobs.front().minipods;
    const std::vector<std::string> cells{
        policy.name,
        fmt::format("{}", hosts_of(placed[p])),
        minipods ? fmt::format("{}", *minipods) : std::string(report::kNone),
        cell(policy.metrics.get(Metric::spread_dp_max), "{:.0f}"),
        cell(policy.metrics.get(Metric::spread_pp_max), "{:.0f}"),
        cell(policy.metrics.get(Metric::iteration_s_mean), "{:.5g}"),
        first_and_more(risks)};
    for (std::size_t c = 0; c < cells.size(); ++c) table.columns[c].cells.push_back(cells[c]);
  }
  return table;
}

void add_policy(report::JsonWriter& json, const PlacedJob& job, const PolicyResult& policy) {
  json.key(policy.name);
  json.open('{');
  for (const Metric metric : {Metric::spread_dp_max, Metric::spread_pp_max,
                              Metric::diffusion_weighted, Metric::iteration_s_mean}) {
    json.member(metrics::metric_catalog().at(static_cast<std::size_t>(metric)).key,
                policy.metrics.get(metric));
  }
  json.rows("links_at_risk", links_at_risk(policy), [&](const auto* link) {
    json.member("name", std::string_view(link->name));
    json.member("tier", std::string_view(link->tier));
    json.member("binding_share", link->binding_share);
  });
  json.rows("ranks", job.ranks, [&](const scenario::RankPlace& rank) {
    json.member("host", std::string_view(rank.host));
    json.member("gpu", rank.gpu);
  });
  json.close('}');
}

std::string to_json(const std::vector<PlacedJob>& placed, const metrics::RunResult& result) {
  report::JsonWriter json;
  json.open('{');
  json.member("scenario", std::string_view(result.scenario));
  json.member("job", std::string_view(placed.front().job));
  json.member("tensor", placed.front().tensor);
  json.member("pipeline", placed.front().pipeline);
  json.member("data", placed.front().data);
  json.key("policies");
  json.open('{');
  for (std::size_t p = 0; p < placed.size(); ++p) add_policy(json, placed[p], result.policies[p]);
  json.close('}');
  json.close('}');
  return json.finish();
}

/// A folder a policy set. Files of launchers that number ranks host by host only where they can.
void write_files(const fs::path& folder, const PlacedJob& job) {
  write_file(folder / "ranks.csv", ranks_csv(job));
  write_file(folder / "rankfile", rankfile(job));
  write_file(folder / "slurm_hostfile", slurm_hostfile(job));
  write_file(folder / "slurm_options", slurm_options(job));
  if (const std::string reason = refuse_blocks(job); !reason.empty()) {
    say(
        fmt::format("warning: policy set \"{}\": no hostfile and no torchrun file, which number "
                    "ranks host by host: {}",
                    job.policy, reason));
    return;
  }
  write_file(folder / "hostfile", hostfile(job));
  write_file(folder / "torchrun", torchrun(job));
}

}  // namespace

CommandLine place_options() {
  CommandLine line(
      {"place",
       "SCENARIO",
       "Decides where a job goes under every policy set of a scenario, on the hosts that are free "
       "as it starts, and\nwhat an iteration takes there. --out writes what mpirun, torchrun and "
       "Slurm need to start the ranks so:\nhostfile, rankfile, torchrun, slurm_hostfile, "
       "slurm_options and ranks.csv, a folder a policy set.",
       {"railyard place scenarios/quickstart.json",
        "railyard place scenarios/quickstart.json --out build/placed --format json"}});
  line.simulation_options().format_option();
  line.option("job", "NAME", "which job, where the scenario has several");
  line.option("out", "DIR", "writes the files of the launchers there");
  return line;
}

int place(const CommandLine& line) {
  line.expect_words(1, 1, "a scenario file");
  const report::Format format = line.format();
  const fs::path path = line.words().front();
  const auto document = with_one_job(read_changed(path, line.changes()), line.text("job"));
  const std::vector<scenario::Spec> specs{
      scenario::load(document, scenario_name(path), line.number("seed"), line.catalogs())};
  std::vector<PlacedJob> placed;
  for (std::size_t p = 0; p < specs.front().policy_names().size(); ++p)
    placed.push_back(scenario::place(specs.front(), p));
  const auto out = line.text("out");
  for (const PlacedJob& job : placed) {
    if (out) prepare_folder(fs::path(*out) / job.policy);
  }
  const auto simulated = simulate(line, specs);
  if (!simulated.front().complete) return kInterrupted;
  const metrics::RunResult& result = *simulated.front().result;
  for (const PlacedJob& job : placed) {
    if (out) write_files(fs::path(*out) / job.policy, job);
  }
  const report::Table table = table_of(placed, result);
  switch (format) {
    case report::Format::json:
      write_stdout(to_json(placed, result));
      break;
    case report::Format::csv:
      write_stdout(report::to_csv(table));
      break;
    case report::Format::markdown:
      write_stdout(report::to_markdown(table));
      break;
    case report::Format::table:
      write_stdout(report::to_text(table));
      break;
  }
  return exit_code();
}

}  // namespace railyard::cli
