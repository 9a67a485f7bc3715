#include "config/text.hpp"

#include <fmt/format.h>

namespace railyard::config {

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char letter : text) {
    switch (letter) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(letter));
        } else {
          out += letter;
        }
    }
  }
  return out + '"';
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kShown = 60;
  if (text.size() <= kShown) return json_string(text);
  std::size_t cut = kShown;
  // Not inside a UTF-8 sequence.
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0U) == 0x80U) --cut;
  return json_string(std::string(text.substr(0, cut)) + "…");
}

std::string described(const Node& node) {
  switch (node.kind()) {
    case Kind::null:
      return "null";
    case Kind::boolean:
      return node.boolean() ? "true" : "false";
    case Kind::integer:
      return fmt::format("the number {}", node.integer());
    case Kind::real:
      return fmt::format("the number {}", node.real());
    case Kind::string:
      return "the string " + in_quotes(node.string());
    case Kind::array:
      return "an array";
    case Kind::object:
      return "an object";
  }
  return "nothing";
}

std::string hint(std::string_view word, const std::vector<std::string_view>& candidates,
                 std::string_view list_intro) {
  if (const std::string_view near = nearest(word, candidates); !near.empty()) {
    return fmt::format("; did you mean {}?", in_quotes(near));
  }
  if (candidates.empty()) return {};
  constexpr std::size_t kListed = 12;
  std::string out = fmt::format("; {} ", list_intro);
  for (std::size_t i = 0; i < candidates.size() && i < kListed; ++i) {
    out += (i > 0 ? ", " : "") + in_quotes(candidates[i]);
  }
  if (candidates.size() > kListed) out += fmt::format(" and {} more", candidates.size() - kListed);
  return out;
}

}  // namespace railyard::config
