#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "output.hpp"
#include "simulate.hpp"

namespace railyard::cli {

namespace {

/// Results of several scenarios in one form.
std::string rendered(const std::vector<const metrics::RunResult*>& results, report::Format format) {
  std::string out;
  for (const metrics::RunResult* result : results) {
    std::string text = report::render(*result, format);
    switch (format) {
      case report::Format::json:
        if (results.size() > 1) out += out.empty() ? "[\n" : ",\n";
        break;
      case report::Format::csv:
        if (!out.empty()) text.erase(0, text.find('\n') + 1);  // one header for all
        break;
      default:
        if (!out.empty()) out += '\n';
    }
    out += text;
  }
  if (format == report::Format::json && results.size() > 1) out += "]\n";
  return out;
}

std::vector<scenario::Spec> load_all(const CommandLine& line,
                                     const std::vector<config::Document>& documents) {
  std::vector<scenario::Spec> specs;
  config::Errors errors;
  std::set<std::string> names;
  const auto catalogs = line.catalogs();
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const std::string name = scenario_name(line.words()[i]);
    if (!names.insert(name).second)
      errors.add(fmt::format("{}: a second scenario is named \"{}\"", line.words()[i], name));
    try {
      specs.push_back(scenario::load(documents[i], name, line.number("seed"), catalogs));
    } catch (const config::ConfigError& error) {
      errors.add(error);
    }
  }
  errors.throw_if_any();
  return specs;
}

int dry_run(const std::vector<scenario::Spec>& specs) {
  std::string out;
  for (const scenario::Spec& spec : specs) {
    out += fmt::format("{}: everything is well, nothing was simulated\n", spec.name());
    for (const std::string& row : spec.summary()) out += fmt::format("  {}\n", row);
  }
  write_stdout(out);
  return kGood;
}

void write_timelines(const std::string& file, const std::vector<scenario::Spec>& specs) {
  if (specs.size() > 1) throw config::ConfigError("--perfetto: takes one scenario at a time");
  std::vector<metrics::Timeline> timelines;
  for (std::size_t policy = 0; policy < specs[0].policy_names().size(); ++policy)
    timelines.push_back(scenario::timeline(specs[0], policy));
  write_file(file, report::perfetto_json(timelines));
}

}  // namespace

CommandLine run_options() {
  CommandLine line(
      {"run",
       "SCENARIO…",
       "Simulates every policy set of each scenario and prints the comparison against its "
       "baseline. A sweep\n"
       "file runs as `railyard sweep` does.",
       {"railyard run scenarios/quickstart.json",
        "railyard run scenarios/quickstart.json --set /seed=2 --format json --out build/quickstart",
        "railyard run scenarios/quickstart.json --dry-run"}});
  line.simulation_options().format_option();
  line.option("out", "DIR",
              "writes result.json, meta.json and what `railyard report` draws there (in a folder "
              "each, for several scenarios)");
  line.option("perfetto", "FILE",
              "writes a timeline of one iteration of the first job under every policy set, for "
              "ui.perfetto.dev");
  line.option("trace", "FILE",
              "writes what happened under every policy set as JSON lines: jobs that arrive, start, "
              "are preempted, finish; hosts that fail; decisions refused");
  line.flag("dry-run", "checks everything, simulates nothing");
  return line;
}

int run(const CommandLine& line) {
  line.expect_words(1, 1000, "a scenario file");
  const report::Format format = line.format();

  std::vector<config::Document> documents;
  for (const std::string& path : line.words()) {
    documents.push_back(read_scenario(path));
    if (!sweep::is_sweep(documents.back())) {
      documents.back() = read_changed(path, line.changes());
    } else if (line.words().size() > 1) {
      throw config::ConfigError(fmt::format("{}: a sweep runs alone", path));
    } else {
      return run_sweep(line, documents.back());
    }
  }
  const auto specs = load_all(line, documents);
  if (line.has("dry-run")) return dry_run(specs);

  const auto folder_of = [&](std::size_t i) {
    const std::filesystem::path out(*line.text("out"));
    return specs.size() == 1 ? out : out / specs[i].name();
  };
  for (std::size_t i = 0; line.has("out") && i < specs.size(); ++i) prepare_folder(folder_of(i));
  if (const auto file = line.text("perfetto")) write_timelines(*file, specs);
  Wishes wishes;
  if (line.has("trace") && specs.size() > 1) {
    throw config::ConfigError("--trace: takes one scenario at a time");
  }
  if (line.has("out") || line.has("trace")) wishes.keep = sweep::Keep::details;
  const auto simulated = simulate(line, specs, wishes);
  std::vector<const metrics::RunResult*> results;
  for (std::size_t i = 0; i < simulated.size(); ++i) {
    if (!simulated[i].result) continue;
    results.push_back(&*simulated[i].result);
    if (line.has("out")) write_result(folder_of(i), simulated[i], line);
    if (const auto file = line.text("trace")) {
      write_file(*file, report::event_lines(*simulated[i].result, *simulated[i].detail));
    }
    if (format != report::Format::table) say_warnings(line, *simulated[i].result);
  }
  write_stdout(rendered(results, format));
  if (exit_code() == kInterrupted) say("interrupted: what was finished is kept");
  return exit_code();
}

}  // namespace railyard::cli
