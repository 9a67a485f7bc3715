#include "railyard/sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "output.hpp"
#include "railyard/report/table.hpp"
#include "simulate.hpp"

namespace railyard::cli {

namespace {

/// The part of an axis a reader needs: the last name of its first pointer.
std::string short_name(const std::string& axis) {
  const std::string first = axis.substr(0, axis.find(' '));
  return first.substr(first.rfind('/') + 1);
}

report::Column axis_column(const sweep::Sweep& sweep, std::size_t axis,
                           const std::vector<sweep::PointResult>& points) {
  std::string title = short_name(sweep.axes[axis]);
  const auto same = [&](const std::string& other) { return short_name(other) == title; };
  if (std::count_if(sweep.axes.begin(), sweep.axes.end(), same) > 1) title = sweep.axes[axis];
  report::Column column{title, "", {}, false, false};
  for (const sweep::PointResult& point : points) {
    std::string value = sweep.points[point.index].values[axis];
    if (value.size() > 1 && value.front() == '"') value = value.substr(1, value.size() - 2);
    column.cells.push_back(value.empty() ? std::string(report::kNone) : value);
  }
  return column;
}

/// A row a point: its settings, who wins by what, then every other policy's ratio to the baseline
/// in the same metric.
report::Table point_table(const sweep::Sweep& sweep,
                          const std::vector<sweep::PointResult>& points) {
  report::Table table;
  report::Column index{"point", "", {}, true, false};
  report::Column seed{"seed", "", {}, false, false};
  report::Column winner{"winner", "", {}, true, false};
  report::Column by{"judged by", "", {}, true, false};
  report::Column value{"its value", "", {}, false, false};

  for (const sweep::PointResult& point : points) {
    const auto decided = report::verdict(point.result);
    index.cells.push_back(fmt::format("{}", point.index));
    seed.cells.push_back(fmt::format("{}", point.result.seed));
    const auto* best = decided ? &point.result.policies[decided->winner] : nullptr;
    const auto key = decided
                         ? metrics::metric_catalog()[static_cast<std::size_t>(decided->metric)].key
                         : report::kNone;
    const bool tie = decided && !decided->ties.empty();
    winner.cells.push_back(best ? best->name +
                                      (tie ? fmt::format(" (+{} equal)", decided->ties.size()) : "")
                                : std::string(report::kNone));
    by.cells.emplace_back(key);
    value.cells.push_back(best ? fmt::format("{:.5g}", *best->metrics.get(decided->metric))
                               : std::string(report::kNone));
  }
  table.columns.push_back(index);
  for (std::size_t axis = 0; axis < sweep.axes.size(); ++axis)
    table.columns.push_back(axis_column(sweep, axis, points));
  for (report::Column* column : {&seed, &winner, &by, &value})
    table.columns.push_back(std::move(*column));
  return table;
}

/// Ratio of each policy to the baseline, in the metric that decides the point.
void add_ratios(report::Table& table, const std::vector<sweep::PointResult>& points) {
  std::vector<std::string> names;
  for (const sweep::PointResult& point : points) {
    for (const auto& policy : point.result.policies) {
      if (std::find(names.begin(), names.end(), policy.name) == names.end())
        names.push_back(policy.name);
    }
  }
  for (const std::string& name : names) {
    report::Column column{name, "ratio", {}, false, false};
    for (const sweep::PointResult& point : points) {
      const auto decided = report::verdict(point.result);
      const auto& policies = point.result.policies;
      const auto at = std::find_if(policies.begin(), policies.end(),
                                   [&](const auto& policy) { return policy.name == name; });
      if (!decided || at == policies.end()) {
        column.cells.emplace_back(report::kNone);
      } else if (name == point.result.baseline) {
        column.cells.emplace_back("base");
      } else {
        const auto& base = policies[report::policy_index(point.result, point.result.baseline)];
        column.cells.push_back(report::ratio_text(*at->metrics.get(decided->metric),
                                                  *base.metrics.get(decided->metric)));
      }
    }
    table.columns.push_back(std::move(column));
  }
}

/// Takes the columns that say the same in every row out of the table, as sentences: a row a point
/// should fit the screen. The first column and those of the sweep's own axes stay.
std::string take_constant(report::Table& table, std::size_t kept) {
  std::string constant;
  std::vector<report::Column> columns;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    report::Column& column = table.columns[i];
    const auto differs = [&column](const std::string& cell) {
      return cell != column.cells.front();
    };
    const bool varies = std::any_of(column.cells.begin(), column.cells.end(), differs);
    if (i < kept || varies || column.cells.size() < 2) {
      columns.push_back(std::move(column));
    } else {
      constant +=
          fmt::format("{}{} {}", constant.empty() ? "" : ", ", column.title, column.cells[0]);
    }
  }
  table.columns = std::move(columns);
  return constant;
}

std::string rendered(const sweep::Sweep& sweep, const std::vector<sweep::PointResult>& points,
                     report::Format format) {
  if (format == report::Format::csv) return points_csv(sweep, points);
  if (format == report::Format::json) {
    std::string out = "[";
    for (const sweep::PointResult& point : points) {
      if (out.size() > 1) out += ',';
      out += '\n' + report::result_json(point.result);
    }
    return out + "]\n";
  }
  auto table = point_table(sweep, points);
  add_ratios(table, points);
  std::string head = report::wrapped("", fmt::format("{}: {}", sweep.name, sweep.description));
  const std::string constant = take_constant(table, 1 + sweep.axes.size());
  if (!constant.empty()) head += '\n' + report::wrapped("in every point: ", constant);
  return head + '\n' + (format == report::Format::markdown ? to_markdown(table) : to_text(table));
}

}  // namespace

int run_sweep(const CommandLine& line, const config::Document& document) {
  const report::Format format = line.format();
  const auto sweep =
      sweep::load(document, scenario_name(line.words().at(0)), line.changes(), line.number("seed"));
  if (line.has("dry-run")) {
    write_stdout(fmt::format("{}: {} points are well, nothing was simulated\n", sweep.name,
                             sweep.points.size()));
    return kGood;
  }
  const auto out = line.text("out");
  if (out) prepare_folder(*out);
  const auto simulated = simulate(line, sweep.specs);
  std::vector<sweep::PointResult> points;
  report::Meta meta{
      std::string(metrics::version()), line.command(), line.jobs(), line.elapsed_s(), {}};
  for (std::size_t i = 0; i < simulated.size(); ++i) {
    for (const auto& [policy, facts] : simulated[i].facts)
      meta.runs.emplace_back(fmt::format("{} {}", i, policy), facts);
    // A point that was interrupted half-way is no point of the table.
    if (simulated[i].result && simulated[i].complete) points.push_back({i, *simulated[i].result});
  }
  if (out) {
    write_file(std::filesystem::path(*out) / "points.csv", points_csv(sweep, points));
    write_file(std::filesystem::path(*out) / "meta.json", report::meta_json(meta));
  }
  write_stdout(rendered(sweep, points, format));
  if (exit_code() == kInterrupted) {
    say(fmt::format("interrupted: {} of {} points are kept", points.size(), sweep.points.size()));
  }
  return exit_code();
}

int sweep(const Arguments& arguments) {
  CommandLine line(
      {"sweep",
       "SWEEP",
       "Runs a scenario with every setting of a grid or list, and prints a row a point: settings, "
       "the winner, and\n"
       "each policy's ratio to the baseline in the metric that decides.",
       {"railyard sweep scenarios/sweeps/alpha_interval.json --out build/alpha_interval"}});
  line.simulation_options().format_option();
  line.option("out", "DIR",
              "writes points.csv (grid index, parameters, seed, every metric) and meta.json there");
  line.flag("dry-run", "checks every point, simulates nothing");
  if (!line.parse(arguments)) return kGood;
  line.expect_words(1, 1, "one sweep file");
  const auto document = config::Document::parse_file(line.words()[0]);
  if (!sweep::is_sweep(document)) {
    throw config::ConfigError(fmt::format(
        "{}: no sweep: it has no \"scenario\" with a \"grid\" or \"points\"; see railyard run",
        line.words()[0]));
  }
  return run_sweep(line, document);
}

}  // namespace railyard::cli
