#include "draw.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "sampling.hpp"

namespace railyard::sweep {

namespace {

using config::Errors;
using config::Node;

/// The number a JSON text is, if it is one.
std::optional<double> drawn_number(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

/// Index of the axis that sets a variable's pointer.
std::optional<std::size_t> axis_of(const std::vector<std::string>& axes,
                                   const std::string& pointer) {
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const auto pointers = pointers_of(axes[axis]);
    if (std::find(pointers.begin(), pointers.end(), pointer) != pointers.end()) return axis;
  }
  return std::nullopt;
}

/// Values of the variables that are axes; empty where one of them is no number.
std::optional<Values> values_of(const Conditions& conditions, const std::vector<std::string>& axes,
                                const Row& row) {
  Values out;
  for (const auto& [name, pointer] : conditions.variables) {
    const auto axis = axis_of(axes, pointer);
    if (!axis) continue;
    const auto number = drawn_number(row[*axis]);
    if (!number) return std::nullopt;
    out[name] = *number;
  }
  return out;
}

/// Are all the names of a constraint known?
bool is_bound(const Constraint& constraint, const Values& values) {
  return std::all_of(constraint.coefficients().begin(), constraint.coefficients().end(),
                     [&](const auto& one) { return values.count(one.first) > 0; });
}

/// Does the row meet those constraints that speak of axes only? The others are met later.
bool meets(const Conditions& conditions, const std::vector<std::string>& axes, const Row& row) {
  const auto values = values_of(conditions, axes, row);
  if (!values) return true;  // refused with a message when the conditions are applied
  return std::all_of(conditions.constraints.begin(), conditions.constraints.end(),
                     [&](const Constraint& constraint) {
                       return !is_bound(constraint, *values) || constraint.holds(*values);
                     });
}

Axis read_axis(std::string_view key, const Node& node, Errors& errors) {
  Axis axis;
  axis.key = key;
  if (node.is_array()) {
    if (node.size() == 0) errors.add(node, "expected an array of at least one value");
    for (std::size_t i = 0; i < node.size(); ++i) axis.choices.push_back(node.at(i).dump());
    return axis;
  }
  config::Reader reader(node, errors);
  axis.from = reader.required<double>("from");
  axis.to = reader.required<double>("to");
  axis.whole = reader.optional<bool>("whole", false);
  axis.unit = reader.optional<std::string>("unit", "");
  const auto scale = reader.optional<std::string>("scale", "linear");
  axis.log = scale == "log";
  if (!axis.log && scale != "linear") reader.fail("scale", "expected \"linear\" or \"log\"");
  if (!(axis.from < axis.to)) reader.fail("to", "must be more than \"from\"");
  if (axis.log && !(axis.from > 0)) reader.fail("from", "a logarithm wants numbers above 0");
  const bool whole = axis.from == std::floor(axis.from) && axis.to == std::floor(axis.to);
  if (axis.whole && !whole) reader.fail("whole", "\"from\" and \"to\" must be whole numbers");
  reader.finish();
  return axis;
}

/// The name in a constraint whose value follows from the others, if exactly one is not known yet.
std::optional<std::string> unknown_in(const Constraint& constraint, const Values& values) {
  std::optional<std::string> out;
  for (const auto& [name, coefficient] : constraint.coefficients()) {
    if (values.count(name) > 0) continue;
    if (out) return std::nullopt;
    out = name;
  }
  return out;
}

/// Solves equalities one after the other, as they become solvable.
void derive(const Conditions& conditions, Values& values) {
  for (bool found = true; found;) {
    found = false;
    for (const Constraint& constraint : conditions.constraints) {
      const auto name = unknown_in(constraint, values);
      if (!name) continue;
      if (const auto value = constraint.solve(*name, values)) {
        values[*name] = *value;
        found = true;
      }
    }
  }
}

}  // namespace

std::vector<std::string> pointers_of(std::string_view axis) {
  std::vector<std::string> out;
  while (!axis.empty()) {
    const std::size_t end = std::min(axis.find(' '), axis.size());
    if (end > 0) out.emplace_back(axis.substr(0, end));
    axis.remove_prefix(std::min(end + 1, axis.size()));
  }
  return out;
}

Conditions read_conditions(config::Reader& sweep) {
  Conditions out;
  const auto variables = sweep.child("variables");
  if (variables && !variables->is_object()) {
    sweep.errors().add(*variables, "expected an object of names with a JSON pointer each");
  } else if (variables) {
    for (std::size_t i = 0; i < variables->size(); ++i) {
      std::string pointer;
      if (!config::decode(variables->at(i), sweep.errors(), pointer)) continue;
      out.variables.emplace_back(variables->key_at(i), pointer);
    }
  }
  const auto list = sweep.child("constraints");
  std::vector<std::string> texts;
  if (!list || !config::decode(*list, sweep.errors(), texts)) return out;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::string why;
    const auto constraint = Constraint::parse(texts[i], why);
    if (!constraint) {
      sweep.errors().add(list->at(i), why);
      continue;
    }
    for (const auto& [name, coefficient] : constraint->coefficients()) {
      bool known = false;
      for (const auto& variable : out.variables) known = known || variable.first == name;
      if (known) continue;
      sweep.errors().add(list->at(i),
                         fmt::format("no variable is named \"{}\"; \"variables\" gives names to "
                                     "JSON pointers",
                                     name));
    }
    out.constraints.push_back(*constraint);
  }
  return out;
}

void draw_points(const Node& node, bool latin, const Conditions& conditions, Errors& errors,
                 Sweep& sweep) {
  config::Reader reader(node, errors);
  const auto count = reader.required<std::int64_t>(
      "points", config::Range<std::int64_t>{1, static_cast<std::int64_t>(kMaxPoints)});
  const auto seed =
      reader.optional<std::int64_t>("seed", 1, config::Range<std::int64_t>{0, INT64_MAX});
  const auto axes = reader.required_child("axes");
  reader.finish();
  if (!axes) return;
  if (!axes->is_object() || axes->size() == 0) {
    errors.add(*axes,
               "expected an object of JSON pointers with a range or an array of values each");
    return;
  }
  std::vector<Axis> drawn;
  for (std::size_t i = 0; i < axes->size(); ++i) {
    drawn.push_back(read_axis(axes->key_at(i), axes->at(i), errors));
    sweep.axes.push_back(drawn.back().key);
  }
  if (!errors.empty()) return;
  const auto accepted = [&](const Row& row) { return meets(conditions, sweep.axes, row); };
  const auto sample = latin ? sample_latin_hypercube : sample_random;
  const auto wanted = static_cast<std::size_t>(count);
  for (Row& row : sample(drawn, wanted, static_cast<std::uint64_t>(seed), accepted))
    sweep.points.push_back({std::move(row), 0, 0});
  sweep.left_out = wanted - sweep.points.size();
}

void apply_conditions(const Conditions& conditions, Errors& errors, const Node& where,
                      Sweep& sweep) {
  const std::vector<std::string> axes = sweep.axes;
  std::vector<std::pair<std::string, std::string>> derived;
  for (const auto& variable : conditions.variables) {
    if (!axis_of(axes, variable.second)) derived.push_back(variable);
  }
  for (const auto& [name, pointer] : derived) sweep.axes.push_back(pointer);
  std::vector<Point> kept;
  for (Point& point : sweep.points) {
    auto values = values_of(conditions, axes, point.values);
    if (!values) {
      errors.add(where, "a variable of the constraints has a value that is no number");
      return;
    }
    derive(conditions, *values);
    for (const auto& [name, pointer] : derived) {
      const auto value = values->find(name);
      if (value == values->end()) {
        errors.add(where, fmt::format("the variable \"{}\" is no axis, and no equality says what "
                                      "its value is",
                                      name));
        return;
      }
      point.values.push_back(fmt::format("{:.12g}", value->second));
    }
    const bool holds =
        std::all_of(conditions.constraints.begin(), conditions.constraints.end(),
                    [&](const Constraint& constraint) { return constraint.holds(*values); });
    if (holds) kept.push_back(std::move(point));
  }
  sweep.left_out += sweep.points.size() - kept.size();
  if (kept.empty()) errors.add(where, "no point meets the constraints");
  sweep.points = std::move(kept);
}

}  // namespace railyard::sweep
