#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>

#include "output.hpp"
#include "railyard/workload/recording.hpp"
#include "simulate.hpp"

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

double end_s(const std::vector<workload::TaskTimes>& times) {
  Duration end{};
  for (const workload::TaskTimes& one : times) end = std::max(end, one.end);
  return in_seconds(end);
}

std::string info_text(const Recording& recording) {
  static constexpr std::array<std::string_view, 4> kKinds{"compute", "collective", "send",
                                                          "barrier"};
  std::array<std::size_t, kKinds.size()> count{};
  for (const auto& task : recording.dag.tasks) ++count.at(static_cast<std::size_t>(task.kind));
  std::string out =
      fmt::format("{}\n{} ranks, {} tasks, {} dependencies, ends after {} s\n",
                  recording.description, recording.dag.ranks, recording.dag.tasks.size(),
                  recording.dag.dependencies.size(), end_s(recording.times));
  for (std::size_t i = 0; i < count.size(); ++i)
    out += fmt::format("  {:<10} {}\n", kKinds.at(i), count.at(i));
  return out;
}

int record(const CommandLine& line, const std::string& path) {
  const auto out = line.text("out");
  if (!out) throw config::ConfigError("railyard trace record wants --out FILE");
  const auto spec =
      scenario::load(read_changed(path, line.changes()), scenario_name(path), line.number("seed"));
  const Recording recording = scenario::record(spec, policy_of(line, spec));
  const auto parent = std::filesystem::path(*out).parent_path();
  if (!parent.empty()) prepare_folder(parent);
  std::ostringstream text;
  workload::write_recording(text, recording);
  write_file(*out, text.str());
  write_stdout(fmt::format("{}: {}", *out, info_text(recording)));
  return kGood;
}

int replay(const CommandLine& line, const std::string& path) {
  Recording recording = workload::read_recording(path);
  const bool same = !line.has("topology") && line.texts("network").empty();
  auto context =
      config::Document::parse_text(recording.context.empty() ? "{}" : recording.context, "context");
  if (const auto fabric = line.text("topology")) {
    context = context.set("/topology", config::Document::parse_file(*fabric).root().dump());
  }
  for (const std::string& change : line.texts("network")) {
    const auto equals = change.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw config::ConfigError(fmt::format("--network: expected key=value, found \"{}\"", change));
    }
    context = context.set("/network/" + change.substr(0, equals), change.substr(equals + 1));
  }
  recording.context = context.root().dump();
  const auto times = scenario::replay(recording);
  const auto [then, now] =
      std::mismatch(recording.times.begin(), recording.times.end(), times.begin(), times.end());
  const double recorded = end_s(recording.times);
  const double replayed = end_s(times);
  if (then == recording.times.end() && now == times.end()) {
    write_stdout(fmt::format("{}: all {} tasks end at the recorded ticks ({} s)\n", path,
                             times.size(), recorded));
    return kGood;
  }
  write_stdout(
      fmt::format("{}: recorded {} s, replayed {} s ({:.4f}×); task {} is the first to differ\n",
                  path, recorded, replayed, recorded > 0 ? replayed / recorded : 0.0,
                  then - recording.times.begin()));
  // On another fabric another time is the answer, not a failure.
  return same ? kDiffers : kGood;
}

}  // namespace

int trace(const Arguments& arguments) {
  CommandLine line(
      {"trace",
       "record|replay|info FILE",
       "record: runs one iteration of a scenario's first job and writes its tasks, transfers and "
       "end ticks to --out.\n"
       "replay: runs a recording again and compares every task's end, exit 1 where one differs; "
       "with --topology or\n"
       "--network it says instead how long the iteration takes there.\n"
       "info: says what a recording holds.",
       {"railyard trace record scenarios/quickstart.json --policy arnold_pp --out "
        "build/iteration.json",
        "railyard trace replay build/iteration.json", "railyard trace info build/iteration.json"}});
  line.repeated("set", "/pointer=value",
                "record: change the scenario at a JSON pointer (repeatable)");
  line.option("seed", "N", "record: seed, in place of the scenario's");
  line.option("policy", "NAME",
              "record: the policy set that places the job (default: the baseline)");
  line.option("out", "FILE", "record: the file to write");
  line.option("topology", "FILE", "replay: on this fabric instead of the recorded one");
  line.repeated("network", "key=value",
                "replay: with this network setting instead of the recorded one (repeatable)");
  if (!line.parse(arguments)) return kGood;
  line.expect_words(2, 2, "record, replay or info, and a file");
  const std::string& action = line.words()[0];
  const std::string& path = line.words()[1];
  if (action == "record") return record(line, path);
  if (action == "replay") return replay(line, path);
  if (action == "info") {
    write_stdout(info_text(workload::read_recording(path)));
    return kGood;
  }
  throw config::ConfigError(unknown(fmt::format("\"{}\" is no action of trace", action), action,
                                    {"record", "replay", "info"}));
}

}  // namespace railyard::cli
