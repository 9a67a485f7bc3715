// Any bytes as a JSON document: refused with errors that have a place, or read; and what was read,
// written again, reads as the same. Internal errors and sanitizers end the run.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"

namespace {

using railyard::config::ConfigError;
using railyard::config::Document;
using railyard::config::Node;

void visit(const Node& node) {
  RAILYARD_CHECK(!node.place().empty(), "a value without a place");
  if (!node.is_array() && !node.is_object()) return;
  for (std::size_t i = 0; i < node.size(); ++i) {
    if (node.is_object()) {
      const auto found = node.find(node.key_at(i));
      RAILYARD_CHECK(found && found->pointer() == node.at(i).pointer(), "key {} is not found again",
                     node.key_at(i));
    }
    visit(node.at(i));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const Document document = Document::parse_text(text, "fuzz.json");
    visit(document.root());
    const std::string written = document.root().dump();
    const std::string again = Document::parse_text(written, "again.json").root().dump();
    RAILYARD_CHECK(again == written, "read again, {} became {}", written, again);
  } catch (const ConfigError& error) {
    RAILYARD_CHECK(!error.lines().empty(), "refused without a word");
    for (const std::string& line : error.lines()) {
      RAILYARD_CHECK(line.starts_with("fuzz.json:"), "an error without its place: {}", line);
    }
  }
  return 0;
}
