#include "railyard/collective/choices.hpp"

#include <algorithm>

#include "collective/algorithms.hpp"
#include "collective/chunks.hpp"
#include "railyard/collective/nccl.hpp"
#include "railyard/core/check.hpp"

namespace railyard::collective {

namespace {

constexpr std::string_view kFamily = "collective algorithm";

config::Document parsed(const std::string& text) {
  const bool is_object = !text.empty() && text.front() == '{';
  return config::Document::parse_text(is_object ? text : '"' + text + '"', "collectives");
}

}  // namespace

std::vector<const config::EntryDescription*> choice_descriptions() {
  auto out = config::descriptions(algorithm_catalog());
  out.push_back(&nccl::auto_description());
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

std::string read_choice(const config::Node& node, config::Errors& errors, Operation operation) {
  const std::size_t before = errors.count();
  const config::Choice choice = config::decode_choice(node, errors, kFamily, choice_descriptions());
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
      out[o] = read_choice(*child, errors, operation);
  }
  reader.finish();
  return out;
}

Choices changed(Choices choices, const PartialChoices& partial) {
  for (std::size_t o = 0; o < kOperations; ++o) {
    if (!partial[o].empty()) choices.text[o] = partial[o];
  }
  return choices;
}

}  // namespace railyard::collective
