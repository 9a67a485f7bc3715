#include "simulate.hpp"

#include <fmt/format.h>

#include "output.hpp"
#include "progress.hpp"
#include "railyard/sweep/execute.hpp"

namespace railyard::cli {

namespace {

/// With an iteration under the winner and under what it is compared with.
metrics::Detail detail_of(const scenario::Spec& spec, const metrics::RunResult& result,
                          sweep::Executed& executed) {
  std::vector<metrics::PolicyDetail> finished;
  for (std::size_t policy = 0; policy < executed.policies.size(); ++policy) {
    if (executed.policies[policy]) finished.push_back(std::move(executed.details[policy]));
  }
  std::vector<std::string> timelines{result.baseline};
  if (const auto decided = report::verdict(result)) {
    timelines = {result.policies[decided->winner].name, result.policies[decided->against].name};
  }
  return scenario::detail(spec, std::move(finished), timelines);
}

/// The progress line, and whoever wants to know of finished scenarios.
class Onlooker final : public ProgressLine {
 public:
  Onlooker(const CommandLine& line, std::span<const scenario::Spec> specs, const Wishes& wishes)
      : ProgressLine(line, specs), wishes_(wishes) {}
  void completed(std::size_t spec, const sweep::Executed& executed) override {
    if (wishes_.completed) wishes_.completed(spec, executed);
  }

 private:
  const Wishes& wishes_;
};

}  // namespace

std::vector<Simulated> simulate(const CommandLine& line, std::span<const scenario::Spec> specs,
                                const Wishes& wishes) {
  hold_interrupts();
  std::vector<sweep::Executed> executed;
  {
    Onlooker onlooker(line, specs, wishes);
    executed = sweep::execute(specs, line.jobs(), &onlooker, wishes.keep);
  }
  std::vector<Simulated> out;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    Simulated one;
    one.complete = executed[i].complete();
    const auto names = specs[i].policy_names();
    for (std::size_t policy = 0; policy < names.size(); ++policy) {
      if (executed[i].policies[policy])
        one.facts.emplace_back(names[policy], executed[i].facts[policy]);
    }
    // Without its baseline a comparison has nothing to stand on.
    if (executed[i].policies[specs[i].baseline()]) {
      one.result = scenario::assemble(specs[i], executed[i].finished());
      if (!one.complete) {
        one.result->notes.push_back(
            fmt::format("interrupted: {} of {} policies finished", one.facts.size(), names.size()));
      }
      if (wishes.keep == sweep::Keep::details)
        one.detail = detail_of(specs[i], *one.result, executed[i]);
    }
    out.push_back(std::move(one));
  }
  return out;
}

config::Document read_scenario(const std::filesystem::path& path) {
  return config::Document::parse_file(input_file(path.string(), "scenarios"));
}

config::Document read_changed(const std::filesystem::path& path, const sweep::Changes& changes) {
  return read_scenario(path).set(changes);
}

std::string scenario_name(const std::filesystem::path& path) {
  return path.stem().string();
}

void say_warnings(const CommandLine& line, const metrics::RunResult& result) {
  if (line.has("quiet")) return;
  for (const std::string& warning : report::warnings_once(result)) say("warning: " + warning);
}

void write_result(const std::filesystem::path& folder, const Simulated& simulated,
                  const CommandLine& line) {
  report::Meta meta;
  meta.version = std::string(metrics::version());
  meta.command = line.command();
  meta.threads = line.jobs();
  meta.wall_s = line.elapsed_s();
  meta.runs = simulated.facts;
  write_file(folder / "result.json", report::result_json(*simulated.result));
  write_file(folder / "meta.json", report::meta_json(meta));
  if (simulated.detail) {
    write_file(folder / "detail.json", report::detail_json(*simulated.result, *simulated.detail));
  }
}

int exit_code() {
  return interrupted() ? kInterrupted : kGood;
}

}  // namespace railyard::cli
