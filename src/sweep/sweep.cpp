#include "railyard/sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include "draw.hpp"
#include "railyard/config/reader.hpp"
#include "railyard/core/check.hpp"
#include "railyard/core/digest.hpp"

namespace railyard::sweep {

namespace {

using config::Errors;
using config::Node;

/// "grid": the product of its values, first key slowest.
void read_grid(const Node& grid, Errors& errors, Sweep& sweep) {
  if (!grid.is_object() || grid.size() == 0) {
    errors.add(grid, "expected an object of JSON pointers with an array of values each");
    return;
  }
  sweep.points.push_back({std::vector<std::string>(grid.size()), 0, 0});
  for (std::size_t axis = 0; axis < grid.size(); ++axis) {
    sweep.axes.emplace_back(grid.key_at(axis));
    const Node values = grid.at(axis);
    if (!values.is_array() || values.size() == 0) {
      errors.add(values, "expected an array of at least one value");
      continue;
    }
    if (sweep.points.size() * values.size() > kMaxPoints) {
      errors.add(grid, fmt::format("more than {} points", kMaxPoints));
      return;
    }
    std::vector<Point> grown;
    for (const Point& point : sweep.points) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        grown.push_back(point);
        grown.back().values[axis] = values.at(i).dump();
      }
    }
    sweep.points = std::move(grown);
  }
}

/// "points": a list of objects of pointers and values.
void read_points(const Node& list, Errors& errors, Sweep& sweep) {
  if (!list.is_array() || list.size() == 0) {
    errors.add(list, "expected an array of at least one point");
    return;
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Node node = list.at(i);
    if (!node.is_object()) {
      errors.add(node, "expected an object of JSON pointers and values");
      continue;
    }
    Point point;
    point.values.resize(sweep.axes.size());
    for (std::size_t k = 0; k < node.size(); ++k) {
      const std::string key(node.key_at(k));
      const auto axis = static_cast<std::size_t>(
          std::find(sweep.axes.begin(), sweep.axes.end(), key) - sweep.axes.begin());
      if (axis == sweep.axes.size()) {
        sweep.axes.push_back(key);
        point.values.emplace_back();
      }
      point.values[axis] = node.at(k).dump();
    }
    sweep.points.push_back(std::move(point));
  }
  for (Point& point : sweep.points) point.values.resize(sweep.axes.size());
}

std::vector<std::uint64_t> read_seeds(config::Reader& reader) {
  std::vector<std::uint64_t> seeds;
  const auto node = reader.child("seeds");
  if (!node) return seeds;
  if (node->is_object()) {
    config::Reader range(*node, reader.errors());
    const auto first =
        range.optional<std::int64_t>("first", 1, config::Range<std::int64_t>{0, INT64_MAX / 2});
    const auto count =
        range.required<std::int64_t>("count", config::Range<std::int64_t>{1, 1'000'000});
    range.finish();
    for (std::int64_t i = 0; i < count; ++i) seeds.push_back(static_cast<std::uint64_t>(first + i));
    return seeds;
  }
  std::vector<std::int64_t> values;
  if (!config::decode(*node, reader.errors(), values)) return seeds;
  if (values.empty()) reader.fail("seeds", "expected at least one seed");
  for (const std::int64_t value : values) {
    if (value < 0) reader.fail("seeds", fmt::format("a seed cannot be negative, found {}", value));
    seeds.push_back(static_cast<std::uint64_t>(value));
  }
  return seeds;
}

/// The one of "grid", "points", "random" and "latin_hypercube" that is there, and the constraints.
void read_settings(config::Reader& reader, Sweep& sweep) {
  Errors& errors = reader.errors();
  std::vector<std::string_view> given;
  for (const std::string_view form : {"grid", "points", "random", "latin_hypercube"}) {
    if (reader.has(form)) given.push_back(form);
  }
  const auto grid = reader.child("grid");
  const auto points = reader.child("points");
  const auto random = reader.child("random");
  const auto latin = reader.child("latin_hypercube");
  const Conditions conditions = read_conditions(reader);
  if (given.size() > 1) {
    errors.add(reader.node(),
               fmt::format("\"{}\" and \"{}\" cannot both be given", given[0], given[1]));
    return;
  }
  if (grid) {
    read_grid(*grid, errors, sweep);
  } else if (points) {
    read_points(*points, errors, sweep);
  } else if (random) {
    draw_points(*random, false, conditions, errors, sweep);
  } else if (latin) {
    draw_points(*latin, true, conditions, errors, sweep);
  } else {
    errors.add(reader.node(), "\"grid\", \"points\", \"random\" or \"latin_hypercube\" is missing");
  }
  if (errors.empty()) apply_conditions(conditions, errors, reader.node(), sweep);
}

/// Of a document and of every file it names, as deep as they name others: a change of a topology
/// or trace is a change of the scenario.
void add_files(const Node& node, std::set<std::filesystem::path>& seen, Digest& digest) {
  if (node.is_string()) {
    const std::filesystem::path path = node.directory() / node.string();
    std::error_code ignored;
    if (node.string().find('.') == std::string::npos ||
        !std::filesystem::is_regular_file(path, ignored) || !seen.insert(path).second) {
      return;
    }
    std::ifstream in(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    digest.add(std::string_view(text));
    if (path.extension() == ".json")
      add_files(config::Document::parse_file(path).root(), seen, digest);
    return;
  }
  if (!node.is_object() && !node.is_array()) return;
  for (std::size_t i = 0; i < node.size(); ++i) add_files(node.at(i), seen, digest);
}

void add_fingerprints(const config::Document& sweep_file, const config::Document& scenario,
                      Sweep& sweep) {
  Digest of_scenario;
  std::set<std::filesystem::path> seen;
  of_scenario.add(std::string_view(scenario.root().dump()));
  add_files(scenario.root(), seen, of_scenario);
  add_files(sweep_file.root(), seen, of_scenario);
  sweep.scenario_fingerprint = of_scenario.hex();
  Digest of_points;
  for (const std::string& axis : sweep.axes) of_points.add(std::string_view(axis));
  for (const Point& point : sweep.points) {
    for (const std::string& value : point.values) of_points.add(std::string_view(value));
    of_points.add(point.seed);
  }
  sweep.points_fingerprint = of_points.hex();
}

std::string point_text(const Sweep& sweep, std::size_t index) {
  std::string out = fmt::format("point {}", index);
  for (std::size_t axis = 0; axis < sweep.axes.size(); ++axis) {
    const std::string& value = sweep.points[index].values[axis];
    if (!value.empty()) out += fmt::format(", {} = {}", sweep.axes[axis], value);
  }
  return out;
}

/// Applies the values of every point to the scenario and loads it; nothing has run when a point is
/// refused.
void load_points(Sweep& sweep, const config::Document& base, const std::string& scenario_name,
                 const std::filesystem::path& directory, const std::vector<std::uint64_t>& seeds,
                 std::optional<std::uint64_t> seed, const scenario::Catalogs& catalogs,
                 Errors& errors) {
  std::vector<Point> seeded;
  std::vector<std::optional<std::uint64_t>> chosen(seeds.begin(), seeds.end());
  if (chosen.empty()) chosen.push_back(seed);
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    try {
      config::Document document = base;
      for (std::size_t axis = 0; axis < sweep.axes.size(); ++axis) {
        const std::string& value = sweep.points[i].values[axis];
        if (value.empty()) continue;
        for (const std::string& pointer : pointers_of(sweep.axes[axis]))
          document = document.set(pointer, value, directory);
      }
      for (const auto one : chosen) {
        sweep.specs.push_back(scenario::load(document, scenario_name, one, catalogs));
        seeded.push_back(sweep.points[i]);
        seeded.back().seed = sweep.specs.back().seed();
        seeded.back().setting = i;
      }
    } catch (const config::ConfigError& error) {
      for (const std::string& line : error.lines())
        errors.add(fmt::format("{}: {}", point_text(sweep, i), line));
    }
  }
  sweep.points = std::move(seeded);
}

}  // namespace

bool is_sweep(const config::Document& document) {
  const Node root = document.root();
  return root.is_object() && root.find("scenario").has_value() &&
         !root.find("topology").has_value();
}

Sweep load(const config::Document& document, const std::string& name, const Changes& changes,
           std::optional<std::uint64_t> seed, const scenario::Catalogs& catalogs) {
  Errors errors;
  config::Reader reader(document.root(), errors);
  Sweep sweep;
  sweep.name = name;
  sweep.description = reader.required<std::string>("description");
  const auto path = reader.required<std::filesystem::path>("scenario");
  read_settings(reader, sweep);
  const auto seeds = read_seeds(reader);
  reader.finish();
  errors.throw_if_any();

  const auto scenario = config::Document::parse_file(path).set(changes);
  load_points(sweep, scenario, path.stem().string(), document.root().directory(), seeds, seed,
              catalogs, errors);
  errors.throw_if_any();
  add_fingerprints(document, scenario, sweep);
  return sweep;
}

}  // namespace railyard::sweep
