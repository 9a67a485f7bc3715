// What the readers of flow lists share.
#pragma once

#include <string_view>

#include "railyard/config/document.hpp"
#include "railyard/config/text_lines.hpp"
#include "railyard/network/flow_list.hpp"

namespace railyard::network {

/// Takes the next word off the front; empty at the end.
[[nodiscard]] inline std::string_view take_word(std::string_view& rest) {
  rest = config::trimmed(rest);
  const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
  rest.remove_prefix(word.size());
  return word;
}

/// Records an error when flows wait for each other in a circle, or for signals that never come.
void check_no_cycle(const FlowList& list, config::Errors& errors);

}  // namespace railyard::network
