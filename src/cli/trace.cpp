#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "output.hpp"
#include "railyard/network/network_model.hpp"
#include "railyard/topology/fabric_reader.hpp"
#include "railyard/workload/recording.hpp"
#include "simulate.hpp"
#include "trace_import.hpp"
#include "trace_jobs.hpp"

namespace railyard::cli {

namespace {

using workload::Recording;

std::size_t policy_of(const CommandLine& line, const scenario::Spec& spec) {
  const auto wanted = line.text("policy");
  if (!wanted) return spec.baseline();
  const auto names = spec.policy_names();
  const auto at = std::find(names.begin(), names.end(), *wanted);
  if (at != names.end()) return static_cast<std::size_t>(at - names.begin());
  const std::vector<std::string_view> known(names.begin(), names.end());
  throw config::ConfigError(
      unknown(fmt::format("--policy: no policy set is named \"{}\"", *wanted), *wanted, known));
}

int record(const CommandLine& line, const std::string& path) {
  const auto out = line.text("out");
  if (!out) throw config::ConfigError("railyard trace record wants --out FILE");
  const auto spec = scenario::load(read_changed(path, line.changes()), scenario_name(path),
                                   line.number("seed"), line.catalogs());
  const Recording recording = scenario::record(spec, policy_of(line, spec));
  write_stdout(convert_trace(recording, "recording", *out));
  return kGood;
}

/// "a=1,b={\"c\": 2}" at its commas outside of brackets and quotes.
std::vector<std::string> settings_of(const std::string& text) {
  std::vector<std::string> out(1);
  int depth = 0;
  bool in_quotes = false;
  for (const char c : text) {
    if (c == '"') in_quotes = !in_quotes;
    if (!in_quotes && (c == '{' || c == '[')) ++depth;
    if (!in_quotes && (c == '}' || c == ']')) --depth;
    if (c == ',' && depth == 0 && !in_quotes) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

/// The parameters of a network model may be written beside it: model=loggp,L=2500ns.
bool is_model_parameter(const std::string& key) {
  for (const auto& entry : network::network_model_catalog()) {
    for (const auto& parameter : entry.description.parameters) {
      if (parameter.name == key) return true;
    }
  }
  return false;
}

config::Document with_network(config::Document context, const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string, std::string>> of_model;
  for (const std::string& text : texts) {
    for (const std::string& change : settings_of(text)) {
      const auto equals = change.find('=');
      if (equals == std::string::npos || equals == 0)
        throw config::ConfigError(
            fmt::format("--network: expected key=value, found \"{}\"", change));
      const std::string key = change.substr(0, equals);
      const std::string value = change.substr(equals + 1);
      if (key == "phases" || key == "iterations_together") {
        throw config::ConfigError(fmt::format(
            "--network {}: without effect on a replay, in which one job runs once", key));
      }
      if (is_model_parameter(key)) {
        of_model.emplace_back(key, value);
      } else {
        context = context.set("/network/" + key, value);
      }
    }
  }
  if (of_model.empty()) return context;
  const auto model = context.root().find("network")->find("model");
  if (!model) throw config::ConfigError("--network: give model=loggp with its parameters");
  if (model->is_string())
    context = context.set("/network/model", fmt::format("{{\"name\": {}}}", model->dump()));
  for (const auto& [key, value] : of_model) context = context.set("/network/model/" + key, value);
  return context;
}

/// A description's own file, seen from the working directory.
config::Document fabric_file(const std::string& path) {
  const auto document = topology::describe_file(input_file(path, "topologies"));
  const auto file = document.root().find("file");
  if (!file || !file->is_string()) return document;
  const auto from = std::filesystem::path(path).parent_path() / file->string();
  return document.set("/file", config::json_string(from.string()));
}

config::Document context_of(const CommandLine& line, const Recording& recording) {
  auto context =
      config::Document::parse_text(recording.context.empty() ? "{}" : recording.context, "context");
  for (const auto& [key, fallback] : {std::pair("/network", "{}"), std::pair("/seed", "0")}) {
    if (recording.context.empty()) context = context.set(key, fallback);
  }
  if (const auto fabric = line.text("topology"))
    context = context.set("/topology", fabric_file(*fabric).root().dump());
  if (!context.root().find("topology")) {
    throw config::ConfigError(
        "the trace does not say on which fabric it ran: give --topology FILE");
  }
  return with_network(std::move(context), line.texts("network"));
}

int replay(const CommandLine& line, const std::string& path) {
  Recording recording = read_any_trace(line, path, true).recording;
  const bool same = !line.has("topology") && line.texts("network").empty();
  recording.context = context_of(line, recording).root().dump();
  const auto times = scenario::replay(recording);
  const auto recorded = std::exchange(recording.times, times);
  if (const auto out = line.text("out"))
    static_cast<void>(convert_trace(recording, "recording", *out));
  if (const auto file = line.text("perfetto"))
    write_file(*file, report::perfetto_json({scenario::timeline(recording)}));
  const double replayed_s = in_seconds(workload::last_end(times));
  if (recorded.empty()) {
    write_stdout(fmt::format("{}: {} ranks, {} tasks, ends after {} s\n", path, recording.dag.ranks,
                             times.size(), replayed_s));
    return kGood;
  }
  const auto [then, now] =
      std::mismatch(recorded.begin(), recorded.end(), times.begin(), times.end());
  const double recorded_s = in_seconds(workload::last_end(recorded));
  if (then == recorded.end() && now == times.end()) {
    write_stdout(fmt::format("{}: all {} tasks end at the recorded ticks ({} s)\n", path,
                             times.size(), recorded_s));
    return kGood;
  }
  write_stdout(
      fmt::format("{}: recorded {} s, replayed {} s ({:.4f}×); task {} is the first to differ\n",
                  path, recorded_s, replayed_s, recorded_s > 0 ? replayed_s / recorded_s : 0.0,
                  then - recorded.begin()));
  // On another fabric another time is the answer, not a failure.
  return same ? kDiffers : kGood;
}

int convert(const CommandLine& line, const std::string& path) {
  const auto to = line.text("to");
  const auto out = line.text("out");
  if (!to || !out)
    throw config::ConfigError("railyard trace convert wants --to FORMAT and --out FILE");
  if (const auto jobs = read_job_trace(line, path)) {
    write_stdout(convert_job_trace(*jobs, *to, *out));
    return kGood;
  }
  write_stdout(convert_trace(read_any_trace(line, path, true).recording, *to, *out));
  return kGood;
}

int validate_trace(const CommandLine& line, const std::string& path) {
  if (const auto jobs = read_job_trace(line, path)) {
    write_stdout(job_trace_text(*jobs) +
                 fmt::format("{}: in order, {} jobs\n", path, jobs->jobs.size()));
    return kGood;
  }
  const ReadTrace trace = read_any_trace(line, path, true);
  write_stdout(trace_text(trace) + fmt::format("{}: fits together, {} tasks\n", path,
                                               trace.recording.dag.tasks.size()));
  return kGood;
}

const std::vector<std::string_view> kTraceActions{"record",   "replay",  "info",
                                                  "validate", "convert", "generate"};

void declare_trace(CommandLine& line) {
  line.repeated("set", "/pointer=value",
                "record: change the scenario at a JSON pointer (repeatable)");
  line.option("seed", "N", "record: seed, in place of the scenario's; generate: seed (default: 1)");
  line.option("policy", "NAME",
              "record: the policy set that places the job (default: the baseline)");
  line.option("out", "FILE", "record, convert, replay, generate: the file to write");
  line.option("to", "FORMAT", "convert: recording, or see railyard list trace_writers; job_csv")
      .one_of({"recording", "job_csv"})
      .member_of("trace_writers");
  line.option("reader", "NAME",
              "how a foreign file is read, also as {\"name\": …, parameters}; see railyard list "
              "trace_readers and job_readers")
      .member_of("trace_readers")
      .member_of("job_readers");
  line.option("profile", "NAME", "generate: a file of workloads/profiles, or one of your own");
  line.option("load", "SHARE", "generate: GPU time asked for (default: 0.8)");
  line.option("gpus", "N", "generate: of the cluster");
  line.option("days", "D", "generate: over which jobs are submitted (default: 30)");
  line.option("absent", "WORD",
              "ranks without a file: refuse (default), or join what the others do")
      .one_of({"refuse", "join"});
  line.option("perfetto", "FILE", "replay: writes a timeline for ui.perfetto.dev");
  line.option("topology", "FILE", "replay: on this fabric instead of the recorded one");
  line.repeated("network", "key=value,…",
                "replay: with these network settings instead of the recorded ones (repeatable)");
}

}  // namespace

CommandLine trace_options() {
  CommandLine line(
      {"trace",
       "record|replay|info|validate|convert|generate [FILE]",
       "record: runs one iteration of a scenario's first job and writes its tasks, transfers and "
       "end ticks to --out.\n"
       "replay: runs a recording again and compares every task's end, exit 1 where one differs; "
       "with --topology or\n"
       "--network it says instead how long the iteration takes there. Traces of other tools want "
       "--topology; rank r\n"
       "runs on GPU r.\n"
       "info: says what a trace holds. validate: checks that its ranks fit together, exit 2 where "
       "they do not.\n"
       "convert: writes it in another format. FILE is a recording, or a trace that `railyard list "
       "trace_readers`\n"
       "names: a file, the prefix of files \"prefix.<rank>.et\", or their folder.\n"
       "Traces of a cluster's jobs (`railyard list job_readers`) are said, checked and converted "
       "as "
       "well, to job_csv.\n"
       "generate: draws one from published distributions, at a load of so many GPUs.",
       {"railyard trace record scenarios/quickstart.json --policy arnold_pp --out "
        "build/iteration.json",
        "railyard trace replay build/iteration.json", "railyard trace info build/iteration.json",
        "railyard trace convert build/iteration.json --to chakra --out build/iteration",
        "railyard trace validate build/iteration",
        "railyard trace generate --profile acme_kalos --load 0.8 --gpus 2416 --days 30 --seed 1 "
        "--out build/jobs.csv",
        "railyard trace info build/jobs.csv"},
       kTraceActions});
  declare_trace(line);
  return line;
}

int trace(const CommandLine& line) {
  if (!line.words().empty() && line.words()[0] == "generate") {
    line.expect_words(1, 1, "generate, and no file");
    return generate_job_trace(line);
  }
  line.expect_words(2, 2, "record, replay, info, validate or convert, and a file");
  const std::string& action = line.words()[0];
  const std::string& path = line.words()[1];
  if (action == "record") return record(line, path);
  if (action == "replay") return replay(line, path);
  if (action == "validate") return validate_trace(line, path);
  if (action == "convert") return convert(line, path);
  if (action == "info") {
    if (const auto jobs = read_job_trace(line, path)) {
      write_stdout(job_trace_text(*jobs));
      return kGood;
    }
    write_stdout(trace_text(read_any_trace(line, path, false)));
    return kGood;
  }
  throw config::ConfigError(
      unknown(fmt::format("\"{}\" is no action of trace", action), action, kTraceActions));
}

}  // namespace railyard::cli
