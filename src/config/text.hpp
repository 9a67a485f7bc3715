// How values and words are shown in messages. Private to config.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "railyard/config/document.hpp"

namespace railyard::config {

/// As json_string, but long texts are cut: messages stay one line.
[[nodiscard]] std::string in_quotes(std::string_view text);
/// `the number 5`, `the string "abc"`, `an object`: what a message found instead.
[[nodiscard]] std::string described(const Node& node);
/// `; did you mean "x"?` where a candidate is near, else `; <list_intro> "a", "b"`, else nothing.
[[nodiscard]] std::string hint(std::string_view word,
                               const std::vector<std::string_view>& candidates,
                               std::string_view list_intro);

}  // namespace railyard::config
