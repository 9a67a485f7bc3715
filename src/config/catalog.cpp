#include "railyard/config/catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "config/text.hpp"
#include "railyard/config/reader.hpp"

namespace railyard::config {
namespace {

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

/// Bounds of a parameter, in its base unit: bytes, bytes per second, seconds.
void check_bounds(const Node& node, Errors& errors, const ParameterSpec& spec, double value,
                  std::string_view unit) {
  const bool low = spec.min && value < *spec.min;
  const bool high = spec.max && value > *spec.max;
  if (!low && !high) return;
  const std::string bounds =
      spec.min && spec.max ? fmt::format("from {}{} to {}{}", *spec.min, unit, *spec.max, unit)
      : spec.min           ? fmt::format("at least {}{}", *spec.min, unit)
                           : fmt::format("at most {}{}", *spec.max, unit);
  errors.add(node, fmt::format("must be {}, found {}", bounds, node.dump()));
}

template <typename T>
std::optional<T> decoded(const Node& node, Errors& errors) {
  T value{};
  if (!decode(node, errors, value)) return std::nullopt;
  return value;
}

/// One parameter's value; monostate for null and where errors were recorded.
ParameterValue decode_parameter(const Node& node, Errors& errors, const ParameterSpec& spec) {
  if (node.kind() == Kind::null && spec.fallback == "null") return {};
  switch (spec.type) {
    case ParameterType::boolean:
      if (const auto value = decoded<bool>(node, errors)) return *value;
      break;
    case ParameterType::integer:
      if (const auto value = decoded<std::int64_t>(node, errors)) {
        check_bounds(node, errors, spec, static_cast<double>(*value), "");
        return *value;
      }
      break;
    case ParameterType::real:
      if (const auto value = decoded<double>(node, errors)) {
        check_bounds(node, errors, spec, *value, "");
        return *value;
      }
      break;
    case ParameterType::string:
      if (auto value = decoded<std::string>(node, errors)) return std::move(*value);
      break;
    case ParameterType::choice:
      if (auto value = decoded<std::string>(node, errors)) {
        if (std::find(spec.choices.begin(), spec.choices.end(), *value) != spec.choices.end()) {
          return std::move(*value);
        }
        errors.add(node, fmt::format("unknown value {}{}", in_quotes(*value),
                                     hint(*value, spec.choices, "it is one of")));
      }
      break;
    case ParameterType::bytes:
      if (const auto value = decoded<Bytes>(node, errors)) {
        check_bounds(node, errors, spec, static_cast<double>(value->count()), "B");
        return *value;
      }
      break;
    case ParameterType::bandwidth:
      if (const auto value = decoded<Bandwidth>(node, errors)) {
        check_bounds(node, errors, spec, static_cast<double>(value->bytes_per_s()), "B/s");
        return *value;
      }
      break;
    case ParameterType::duration:
      if (const auto value = decoded<Duration>(node, errors)) {
        check_bounds(node, errors, spec, in_seconds(*value), "s");
        return *value;
      }
      break;
    case ParameterType::path:
      if (const auto value = decoded<std::filesystem::path>(node, errors)) return value->string();
      break;
    case ParameterType::command:
      if (auto words = decoded<std::vector<std::string>>(node, errors)) {
        if (!words->empty() && !words->front().empty()) {
          return Command{std::move(*words), node.directory()};
        }
        errors.add(node, "expected a program and its arguments: [\"python3\", \"policy.py\"]");
      }
      break;
  }
  return {};
}

/// The declared fallback, through the same decoder as a user's text. A bad one is our fault.
ParameterValue fallback_of(const EntryDescription& entry, const ParameterSpec& spec) {
  Errors errors;
  const Document text =
      Document::parse_text(spec.fallback, fmt::format("default of {}/{}", entry.name, spec.name));
  ParameterValue value = decode_parameter(text.root(), errors, spec);
  errors.throw_if_any();
  return value;
}

/// Something of the right type, so that decoding can go on to find further errors.
ParameterValue stand_in(const EntryDescription& entry, const ParameterSpec& spec) {
  if (!spec.fallback.empty()) return fallback_of(entry, spec);
  const double near_zero = std::clamp(0.0, spec.min.value_or(0.0),
                                      spec.max.value_or(std::max(0.0, spec.min.value_or(0.0))));
  switch (spec.type) {
    case ParameterType::boolean:
      return false;
    case ParameterType::integer:
      return static_cast<std::int64_t>(near_zero);
    case ParameterType::real:
      return near_zero;
    case ParameterType::string:
    case ParameterType::path:
      return std::string();
    case ParameterType::command:
      return Command{{"true"}, {}};
    case ParameterType::choice:
      return std::string(spec.choices.empty() ? "" : spec.choices.front());
    case ParameterType::bytes:
      return Bytes(static_cast<std::int64_t>(near_zero));
    case ParameterType::bandwidth:
      return Bandwidth(std::max<std::int64_t>(1, static_cast<std::int64_t>(near_zero)));
    case ParameterType::duration:
      return from_seconds(near_zero);
  }
  return {};
}

const EntryDescription* entry_named(std::string_view name,
                                    const std::vector<const EntryDescription*>& entries) {
  for (const EntryDescription* entry : entries) {
    if (entry->name == name) return entry;
  }
  return nullptr;
}

/// Parameters that nobody gave: fallbacks, and an error for each required one.
Choice with_defaults(const EntryDescription& entry, const Node* node, Errors* errors) {
  Choice choice{std::string(entry.name), {}};
  for (const ParameterSpec& spec : entry.parameters) {
    if (spec.fallback.empty() && node != nullptr && errors != nullptr) {
      errors->add(*node, fmt::format("{} needs the parameter {}: write {{\"name\": {}, {}: …}}",
                                     in_quotes(entry.name), in_quotes(spec.name),
                                     in_quotes(entry.name), in_quotes(spec.name)));
    }
    choice.parameters.set(std::string(spec.name), stand_in(entry, spec), false);
  }
  return choice;
}

Choice decode_object(const Node& node, Errors& errors, const EntryDescription& entry) {
  Reader reader(node, errors);
  static_cast<void>(reader.has("name"));
  Choice choice{std::string(entry.name), {}};
  for (const ParameterSpec& spec : entry.parameters) {
    RAILYARD_CHECK(spec.name != "name", "entry {} declares a parameter called name", entry.name);
    const auto child =
        spec.fallback.empty() ? reader.required_child(spec.name) : reader.child(spec.name);
    if (!child) {
      choice.parameters.set(std::string(spec.name), stand_in(entry, spec), false);
      continue;
    }
    const std::size_t before = errors.count();
    ParameterValue value = decode_parameter(*child, errors, spec);
    if (errors.count() != before) value = stand_in(entry, spec);
    choice.parameters.set(std::string(spec.name), std::move(value), true);
  }
  reader.finish();
  return choice;
}

}  // namespace

bool Parameters::given(std::string_view name) const {
  static_cast<void>(at(name));
  return values_.find(name)->second.second;
}

void Parameters::set(std::string name, ParameterValue value, bool given) {
  values_.insert_or_assign(std::move(name), std::make_pair(std::move(value), given));
}

const ParameterValue& Parameters::at(std::string_view name) const {
  const auto found = values_.find(name);
  RAILYARD_CHECK(found != values_.end(), "parameter {} was not declared", name);
  return found->second.first;
}

std::string Parameters::canonical() const {
  std::string out;
  for (const auto& [name, entry] : values_) {
    if (!out.empty()) out += ',';
    out += name + "=";
    out += std::visit(
        Overloaded{[](std::monostate) { return std::string("null"); },
                   [](bool value) { return std::string(value ? "true" : "false"); },
                   [](std::int64_t value) { return fmt::format("{}", value); },
                   [](double value) { return fmt::format("{}", value); },
                   [](const std::string& value) { return json_string(value); },
                   [](Bytes value) { return fmt::format("{}B", value.count()); },
                   [](Bandwidth value) { return fmt::format("{}B/s", value.bytes_per_s()); },
                   [](Duration value) { return fmt::format("{}ticks", value.count()); },
                   // Not the folder: what is printed must not depend on where a checkout lies.
                   [](const Command& value) {
                     std::string words;
                     for (const std::string& word : value.words) {
                       words += (words.empty() ? "" : " ") + word;
                     }
                     return json_string(words);
                   }},
        entry.first);
  }
  return out;
}

Choice decode_choice(const Node& node, Errors& errors, std::string_view family,
                     const std::vector<const EntryDescription*>& entries) {
  RAILYARD_CHECK(!entries.empty(), "the family {} has no entries", family);
  std::optional<Node> name_node;
  if (node.is_string()) {
    name_node = node;
  } else if (node.is_object()) {
    name_node = node.find("name");
    if (!name_node)
      errors.add(node, fmt::format("missing key \"name\", which chooses the {}", family));
  } else {
    errors.add(node, fmt::format("expected a {}: its name, or an object with \"name\"; found {}",
                                 family, described(node)));
  }
  const EntryDescription* entry = nullptr;
  std::string name;
  if (name_node && decode(*name_node, errors, name)) {
    entry = entry_named(name, entries);
    if (entry == nullptr) {
      std::vector<std::string_view> names;
      for (const EntryDescription* known : entries) names.push_back(known->name);
      errors.add(*name_node, fmt::format("unknown {} {}{}", family, in_quotes(name),
                                         hint(name, names, "there are")));
    }
  }
  if (entry == nullptr) return with_defaults(*entries.front(), nullptr, nullptr);
  return node.is_object() ? decode_object(node, errors, *entry)
                          : with_defaults(*entry, &node, &errors);
}

Choice default_choice(std::string_view name, const std::vector<const EntryDescription*>& entries) {
  const EntryDescription* entry = entry_named(name, entries);
  RAILYARD_CHECK(entry != nullptr, "no catalog entry named {}", name);
  for (const ParameterSpec& spec : entry->parameters) {
    RAILYARD_CHECK(!spec.fallback.empty(), "{} has no default: {} is required", name, spec.name);
  }
  return with_defaults(*entry, nullptr, nullptr);
}

}  // namespace railyard::config
