// Which algorithm runs each operation of a job: what a user chose, as text.
//
// A choice is the name of an algorithm, "ring", or an object with parameters as JSON text,
// {"name":"ring","channels":8}. Beside the algorithms of the catalog there are "auto", the
// algorithm and protocol that NCCL would take (nccl.hpp), and "file", messages that a user wrote
// down (file.hpp); the text of such a choice holds what stood in the file, so that it goes where
// the choice goes.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "railyard/collective/collective.hpp"
#include "railyard/config/reader.hpp"

namespace railyard::collective {

/// How rings go around a group: by rank, or so that they leave islands, leaves and minipods as
/// seldom as they can (topology/ring_order.hpp). Rings of islands (hierarchical) follow it too.
enum class RingOrder : std::uint8_t { rank, topology };
[[nodiscard]] inline const std::vector<std::string_view>& ring_order_words() {
  static const std::vector<std::string_view> kWords{"rank", "topology"};
  return kWords;
}

struct Choices {
  /// By operation. Rings, direct exchange, and the only algorithm of a barrier.
  std::array<std::string, kOperations> text{"ring",   "ring", "ring",   "ring",
                                            "direct", "ring", "direct", "dissemination"};
  RingOrder ring_order = RingOrder::rank;
  [[nodiscard]] const std::string& of(Operation operation) const {
    return text[static_cast<std::size_t>(operation)];
  }
  [[nodiscard]] std::string& of(Operation operation) {
    return text[static_cast<std::size_t>(operation)];
  }
  friend bool operator==(const Choices&, const Choices&) = default;
};

/// The algorithms, "auto" and "file", for readers, lists and schemas.
[[nodiscard]] std::vector<const config::EntryDescription*> choice_descriptions();

/// A choice from its text. Checked: it is one that was accepted before.
[[nodiscard]] config::Choice decode_choice_text(const std::string& text);

/// The choice for a group of `ranks`: of a file for another number its "otherwise", where it has
/// one; else the choice itself.
[[nodiscard]] std::string choice_for(const std::string& text, std::uint32_t ranks);

/// What a choice other than "auto" names.
[[nodiscard]] std::shared_ptr<const Algorithm> algorithm_of(const config::Choice& choice);

/// Reads one choice and returns its text; records an error where it is unknown or can never do the
/// operation, and then returns the default's.
[[nodiscard]] std::string read_choice(const config::Node& node, config::Errors& errors,
                                      Operation operation);

/// What `read_choices` found: text for the operations that the object names, else empty.
struct PartialChoices {
  std::array<std::string, kOperations> text;
  std::optional<RingOrder> ring_order;
  friend bool operator==(const PartialChoices&, const PartialChoices&) = default;
};

/// Reads {"all_reduce": …, "all_gather": …, …, "ring_order": …}; other keys are errors.
[[nodiscard]] PartialChoices read_choices(const config::Node& node, config::Errors& errors);

/// `choices` with what `partial` names replaced.
[[nodiscard]] Choices changed(Choices choices, const PartialChoices& partial);

}  // namespace railyard::collective
