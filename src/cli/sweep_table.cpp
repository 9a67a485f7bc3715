#include "sweep_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "railyard/config/document.hpp"
#include "railyard/report/json_writer.hpp"
#include "railyard/report/report.hpp"
#include "railyard/report/table.hpp"
#include "railyard/sweep/summary.hpp"

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

/// The metric that decides most points.
std::optional<metrics::Metric> judged_by(const std::vector<sweep::PointResult>& points) {
  std::map<metrics::Metric, std::size_t> counts;
  for (const sweep::PointResult& point : points) {
    if (const auto decided = report::verdict(point.result)) ++counts[decided->metric];
  }
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? std::nullopt : std::optional(most->first);
}

std::string plus_minus(const std::optional<sweep::Mean>& mean, int digits) {
  if (!mean) return std::string(report::kNone);
  const std::string value = fmt::format("{:.{}g}", mean->mean, digits);
  return mean->half_width ? fmt::format("{} ± {:.2g}", value, *mean->half_width) : value;
}

/// Policies under settings, a row each, with their means in some metrics.
report::Table choice_table(const sweep::Sweep& sweep, const std::vector<sweep::Setting>& settings,
                           const std::vector<sweep::Choice>& choices,
                           const std::vector<metrics::Metric>& metrics, const std::string& title) {
  report::Table table;
  table.columns.push_back({title, "", {}, true, false});
  for (const std::string& axis : sweep.axes)
    table.columns.push_back({short_name(axis), "", {}, false, false});
  for (const metrics::Metric metric : metrics) {
    const auto key = metrics::metric_catalog()[static_cast<std::size_t>(metric)].key;
    table.columns.push_back({std::string(key), "", {}, false, false});
    table.columns.push_back({"", "ratio", {}, false, true});
  }
  for (const sweep::Choice& choice : choices) {
    const sweep::Setting& setting = settings[choice.setting];
    const sweep::PolicyMeans& policy = setting.policies[choice.policy];
    std::size_t column = 0;
    table.columns[column++].cells.push_back(policy.name);
    for (const std::string& value : setting.values)
      table.columns[column++].cells.push_back(value.empty() ? std::string(report::kNone) : value);
    for (const metrics::Metric metric : metrics) {
      const auto m = static_cast<std::size_t>(metric);
      table.columns[column++].cells.push_back(plus_minus(policy.metrics[m], 5));
      table.columns[column++].cells.push_back(plus_minus(policy.ratios[m], 4));
    }
  }
  return table;
}

/// A row a setting, a column a policy set: means of one metric over the seeds.
report::Table metric_table(const sweep::Sweep& sweep, const std::vector<sweep::Setting>& settings,
                           metrics::Metric metric) {
  const auto m = static_cast<std::size_t>(metric);
  report::Table table;
  for (const std::string& axis : sweep.axes) {
    table.columns.push_back({short_name(axis), "", {}, table.columns.empty(), false});
  }
  if (sweep.axes.empty()) table.columns.push_back({"setting", "", {}, true, false});
  const std::size_t axes = table.columns.size();
  for (const sweep::PolicyMeans& policy : settings.front().policies) {
    table.columns.push_back(
        {policy.name, std::string(metrics::metric_catalog()[m].key), {}, false, false});
  }
  for (const sweep::Setting& setting : settings) {
    for (std::size_t a = 0; a < axes; ++a) {
      const std::string value = a < setting.values.size() ? setting.values[a] : "";
      table.columns[a].cells.push_back(value.empty() ? std::string(report::kNone) : value);
    }
    for (std::size_t p = axes; p < table.columns.size(); ++p) {
      const auto at =
          std::ranges::find(setting.policies, table.columns[p].title, &sweep::PolicyMeans::name);
      table.columns[p].cells.push_back(at == setting.policies.end()
                                           ? std::string(report::kNone)
                                           : plus_minus(at->metrics[m], 5));
    }
  }
  return table;
}

/// The best five settings in the metric that decides, and the front if one is asked for.
std::string summary(const CommandLine& line, const sweep::Sweep& sweep,
                    const std::vector<sweep::PointResult>& points) {
  constexpr std::size_t kBest = 5;
  const auto settings = sweep::settings_of(sweep, points);
  const auto metric = judged_by(points);
  std::string out;
  const auto add = [&](const report::Table& table) {
    out += '\n' + (line.format() == report::Format::markdown ? to_markdown(table) : to_text(table));
  };
  if (metric && settings.size() > 1) {
    auto best = sweep::ranked(settings, *metric);
    best.resize(std::min(best.size(), kBest));
    add(choice_table(sweep, settings, best, {*metric}, "best"));
  }
  if (const auto shown = shown_metric(line); shown && !settings.empty()) {
    add(metric_table(sweep, settings, *shown));
  }
  if (const auto pair = pareto_metrics(line); !pair.empty()) {
    add(choice_table(sweep, settings, sweep::pareto_front(settings, pair[0], pair[1]), pair,
                     "Pareto front"));
  }
  return out;
}

void add_values(report::JsonWriter& json, const std::vector<std::string>& values) {
  json.key("values");
  json.open('[', true);
  for (const std::string& value : values) json.raw(value.empty() ? "null" : value);
  json.close(']');
}

void add_points(report::JsonWriter& json, const sweep::Sweep& sweep,
                const std::vector<sweep::PointResult>& points) {
  json.rows("points", points, [&](const sweep::PointResult& point) {
    json.member("point", std::uint64_t{point.index});
    json.member("setting", std::uint64_t{sweep.points[point.index].setting});
    add_values(json, sweep.points[point.index].values);
    json.member("seed", point.result.seed);
    json.member("digest", point.result.digest);
    json.key("policies");
    json.open('{');
    for (const metrics::PolicyResult& policy : point.result.policies) {
      json.key(policy.name);
      json.open('{');
      for (std::size_t m = 0; m < metrics::kMetrics; ++m) {
        if (const auto value = policy.metrics.get(static_cast<metrics::Metric>(m)))
          json.member(metrics::metric_catalog()[m].key, *value);
      }
      json.close('}');
    }
    json.close('}');
  });
}

void add_means(report::JsonWriter& json, const sweep::PolicyMeans& policy) {
  json.key(policy.name);
  json.open('{');
  for (std::size_t m = 0; m < metrics::kMetrics; ++m) {
    if (!policy.metrics[m]) continue;
    const auto& ratio = policy.ratios[m];
    json.key(metrics::metric_catalog()[m].key);
    json.open('{');
    json.member("mean", policy.metrics[m]->mean);
    // One seed has no interval, and its ratio is that of the means.
    if (const auto& half = policy.metrics[m]->half_width) json.member("half_width", *half);
    if (ratio && ratio->half_width) {
      json.member("ratio", ratio->mean);
      json.member("ratio_half_width", *ratio->half_width);
    }
    json.close('}');
  }
  json.close('}');
}

void add_settings(report::JsonWriter& json, const std::vector<sweep::Setting>& settings) {
  json.rows("settings", settings, [&](const sweep::Setting& setting) {
    add_values(json, setting.values);
    json.key("points");
    json.open('[');
    for (const std::size_t point : setting.points) json.value(std::uint64_t{point});
    json.close(']');
    json.key("policies");
    json.open('{');
    for (const sweep::PolicyMeans& policy : setting.policies) add_means(json, policy);
    json.close('}');
  });
}

}  // namespace

std::vector<metrics::Metric> pareto_metrics(const CommandLine& line) {
  std::vector<metrics::Metric> out;
  const auto given = line.text("pareto");
  if (!given) return out;
  std::vector<std::string_view> known;
  for (const auto& metric : metrics::metric_catalog()) {
    if (metric.better != metrics::Better::neither) known.push_back(metric.key);
  }
  const std::size_t comma = std::min(given->find(','), given->size() - 1);
  for (const std::string& name : {given->substr(0, comma), given->substr(comma + 1)}) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw config::ConfigError(
          unknown(fmt::format("--pareto: expected METRIC,METRIC; \"{}\" is no metric that is "
                              "better high or low",
                              name),
                  name, known));
    }
    out.push_back(*metrics::find_metric(name));
  }
  return out;
}

std::optional<metrics::Metric> shown_metric(const CommandLine& line) {
  const auto given = line.text("metric");
  if (!given) return std::nullopt;
  const auto metric = metrics::find_metric(*given);
  if (metric) return metric;
  std::vector<std::string_view> known;
  for (const auto& one : metrics::metric_catalog()) known.push_back(one.key);
  throw config::ConfigError(
      unknown(fmt::format("--metric: no metric \"{}\"", *given), *given, known));
}

std::string sweep_text(const CommandLine& line, const sweep::Sweep& sweep,
                       const std::vector<sweep::PointResult>& points) {
  const report::Format format = line.format();
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
  return head + '\n' + (format == report::Format::markdown ? to_markdown(table) : to_text(table)) +
         summary(line, sweep, points);
}

std::string points_json(const sweep::Sweep& sweep, const std::vector<sweep::PointResult>& points) {
  report::JsonWriter json;
  json.open('{');
  json.member("railyard", metrics::version());
  json.member("name", sweep.name);
  json.member("description", sweep.description);
  json.member("baseline", points.empty() ? std::string() : points.front().result.baseline);
  json.key("judged_by");
  if (const auto metric = judged_by(points)) {
    json.value(metrics::metric_catalog()[static_cast<std::size_t>(*metric)].key);
  } else {
    json.null();
  }
  json.key("axes");
  json.open('[', true);
  for (const std::string& axis : sweep.axes) json.value(axis);
  json.close(']');
  add_points(json, sweep, points);
  add_settings(json, sweep::settings_of(sweep, points));
  json.close('}');
  return json.finish();
}

}  // namespace railyard::cli
