// What a call complains about, as one text: lines of a ConfigError joined by line ends, or "" when
// there is no complaint.
#pragma once

#include <string>

#include "railyard/config/document.hpp"

namespace railyard::test {

template <typename Call>
[[nodiscard]] std::string complaint(const Call& call) {
  try {
    call();
  } catch (const config::ConfigError& error) {
    return error.what();
  }
  return {};
}

[[nodiscard]] inline std::string complaint(const config::Errors& errors) {
  return complaint([&] { errors.throw_if_any(); });
}

[[nodiscard]] inline config::Document document(std::string_view text) {
  return config::Document::parse_text(text, "scenarios/x.json", "scenarios");
}

}  // namespace railyard::test
