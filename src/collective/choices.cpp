#include "railyard/collective/choices.hpp"

#include <algorithm>

#include "collective/algorithms.hpp"
#include "collective/chunks.hpp"
#include "railyard/collective/file.hpp"
#include "railyard/collective/nccl.hpp"
#include "railyard/config/text_lines.hpp"
#include "railyard/core/check.hpp"

namespace railyard::collective {

namespace {

constexpr std::string_view kFamily = "collective algorithm";

config::Document parsed(const std::string& text) {
  const bool is_object = !text.empty() && text.front() == '{';
  return config::Document::parse_text(is_object ? text : '"' + text + '"', "collectives");
}

/// Why the algorithm for groups that a file does not serve cannot be it, or empty.
std::string refuse_otherwise(const std::string& otherwise, Operation operation) {
  if (otherwise == nccl::auto_description().name) return {};
  for (const AlgorithmOperations& known : algorithm_operations()) {
    if (known.algorithm == otherwise)
      return refuse_operation(otherwise, known.operations, operation);
  }
  return fmt::format("otherwise: \"{}\" is no algorithm; give one that does {} by name", otherwise,
                     name(operation));
}

/// Reads the file, so that the choice holds its text. Empty where there was an error.
std::string read_file_choice(const config::Node& node, config::Errors& errors, Operation operation,
                             const config::Parameters& parameters) {
  const auto& path = parameters.get<std::string>("path");
  std::string otherwise;
  if (parameters.has_value("otherwise")) {
    otherwise = parameters.get<std::string>("otherwise");
    const std::string refusal = refuse_otherwise(otherwise, operation);
    if (!refusal.empty()) errors.add(node, refusal);
  }
  try {
    const std::string text = parameters.has_value("text")
                                 ? parameters.get<std::string>("text")
                                 : config::TextLines::parse_file(path).text();
    const FileCollective file = read_collective(text, path);
    if (file.operation != operation) {
      errors.add(
          node, fmt::format("{} performs {}, not {}", path, name(file.operation), name(operation)));
    }
    return fmt::format(
        R"({{"name": "file", "path": {}, "otherwise": {}, "text": {}}})", config::json_string(path),
        otherwise.empty() ? "null" : config::json_string(otherwise), config::json_string(text));
  } catch (const config::ConfigError& error) {
    errors.add(error);
  }
  return {};
}

}  // namespace

std::vector<const config::EntryDescription*> choice_descriptions() {
  auto out = config::descriptions(algorithm_catalog());
  out.push_back(&nccl::auto_description());
  out.push_back(&file_description());
  return out;
}

config::Choice decode_choice_text(const std::string& text) {
  config::Errors errors;
  const config::Document document = parsed(text);
  config::Choice choice =
      config::decode_choice(document.root(), errors, kFamily, choice_descriptions());
  RAILYARD_CHECK(errors.empty(), "the choice {} was accepted before", text);
  return choice;
}

std::string choice_for(const std::string& text, std::uint32_t ranks) {
  const config::Choice choice = decode_choice_text(text);
  if (choice.name != file_description().name || !choice.parameters.has_value("otherwise"))
    return text;
  if (file_collective(choice.parameters).ranks == ranks) return text;
  return choice.parameters.get<std::string>("otherwise");
}

std::shared_ptr<const Algorithm> algorithm_of(const config::Choice& choice) {
  if (choice.name == file_description().name) return file_collective(choice.parameters).algorithm;
  return config::entry_of(algorithm_catalog(), choice.name).create(choice.parameters);
}

std::string read_choice(const config::Node& node, config::Errors& errors, Operation operation) {
  const std::size_t before = errors.count();
  const config::Choice choice = config::decode_choice(node, errors, kFamily, choice_descriptions());
  if (errors.count() == before && choice.name == file_description().name) {
    std::string text = read_file_choice(node, errors, operation, choice.parameters);
    return errors.count() == before ? text : Choices{}.of(operation);
  }
  if (errors.count() == before) {
    for (const AlgorithmOperations& known : algorithm_operations()) {
      if (known.algorithm != choice.name) continue;
      const std::string refusal = refuse_operation(choice.name, known.operations, operation);
      if (!refusal.empty()) errors.add(node, refusal);
    }
    if (choice.name == nccl::auto_description().name) {
      const std::string refusal = nccl::refuse_restriction(choice.parameters, operation);
      if (!refusal.empty()) errors.add(node, refusal);
    }
  }
  if (errors.count() != before) return Choices{}.of(operation);
  return node.is_string() ? node.string() : node.dump();
}

PartialChoices read_choices(const config::Node& node, config::Errors& errors) {
  PartialChoices out;
  config::Reader reader(node, errors);
  for (std::size_t o = 0; o < kOperations; ++o) {
    const Operation operation = operation_at(o);
    if (const auto child = reader.child(name(operation)))
      out.text[o] = read_choice(*child, errors, operation);
  }
  if (reader.has("ring_order")) {
    out.ring_order =
        static_cast<RingOrder>(reader.required_choice("ring_order", ring_order_words()));
  }
  reader.finish();
  return out;
}

Choices changed(Choices choices, const PartialChoices& partial) {
  for (std::size_t o = 0; o < kOperations; ++o) {
    if (!partial.text[o].empty()) choices.text[o] = partial.text[o];
  }
  if (partial.ring_order) choices.ring_order = *partial.ring_order;
  return choices;
}

}  // namespace railyard::collective
