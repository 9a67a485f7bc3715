#include "railyard/config/json_stream.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "railyard/config/document.hpp"
#include "railyard/config/text_lines.hpp"

namespace railyard::config {
namespace {

constexpr std::uint32_t kStreamDepthMax = 256;
constexpr std::size_t kStringMax = std::size_t{64} << 20U;

void append_utf8(std::string& out, std::uint32_t code) {
  const auto byte = [&out](std::uint32_t value) { out += static_cast<char>(value); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xc0U | (code >> 6U));
    byte(0x80U | (code & 0x3fU));
  } else if (code < 0x10000) {
    byte(0xe0U | (code >> 12U));
    byte(0x80U | ((code >> 6U) & 0x3fU));
    byte(0x80U | (code & 0x3fU));
  } else {
    byte(0xf0U | (code >> 18U));
    byte(0x80U | ((code >> 12U) & 0x3fU));
    byte(0x80U | ((code >> 6U) & 0x3fU));
    byte(0x80U | (code & 0x3fU));
  }
}

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' ||
         c == '-' || c == '.';
}

}  // namespace

std::string JsonStream::place() const {
  return fmt::format("{}:{}", in_.name(), line_);
}

void JsonStream::fail(std::string_view what) const {
  throw ConfigError(fmt::format("{}: {}", place(), what));
}

char JsonStream::next_char() {
  while (in_.fill()) {
    const std::string_view rest = in_.rest();
    std::size_t at = 0;
    for (; at < rest.size(); ++at) {
      const char c = rest[at];
      if (c == '\n') ++line_;
      if (c != ' ' && c != '\n' && c != '\t' && c != '\r') {
        in_.skip(at);
        return c;
      }
    }
    in_.skip(at);
  }
  return 0;
}

void JsonStream::expect(char wanted) {
  const char found = next_char();
  if (found == 0) fail(fmt::format("the file ends where a '{}' is due", wanted));
  if (found != wanted) {
    fail(fmt::format("expected '{}', found {}", wanted, quoted(std::string_view(&found, 1))));
  }
  in_.skip(1);
}

void JsonStream::open(char bracket) {
  expect(bracket);
  if (++depth_ > kStreamDepthMax)
    fail(fmt::format("more than {} values inside each other", kStreamDepthMax));
  first_ = true;
}

bool JsonStream::next_element(char bracket) {
  const char found = next_char();
  if (found == bracket) {
    in_.skip(1);
    --depth_;
    first_ = false;
    return false;
  }
  if (!first_) expect(',');
  first_ = false;
  if (next_char() == bracket) fail("a comma before the end");
  return true;
}

JsonStream::Kind JsonStream::peek() {
  switch (next_char()) {
    case '{':
      return Kind::object;
    case '[':
      return Kind::array;
    case '"':
      return Kind::string;
    case 't':
    case 'f':
      return Kind::boolean;
    case 'n':
      return Kind::null;
    case 0:
      fail("the file ends where a value is due");
    default:
      return Kind::number;
  }
}

std::string_view JsonStream::take_word() {
  static_cast<void>(next_char());
  text_.clear();
  while (in_.fill()) {
    const std::string_view rest = in_.rest();
    std::size_t at = 0;
    while (at < rest.size() && is_word(rest[at])) ++at;
    text_.append(rest.substr(0, at));
    const bool ends = at < rest.size();
    in_.skip(at);
    if (ends || text_.size() > 64) break;
  }
  if (text_.empty()) fail("expected a value");
  return text_;
}

std::uint32_t JsonStream::take_hex4() {
  std::uint32_t code = 0;
  const std::string_view digits = in_.need(4) ? in_.rest().substr(0, 4) : std::string_view();
  const auto [stop, fault] =
      std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
  if (digits.size() != 4 || fault != std::errc{} || stop != digits.data() + 4)
    fail("expected four hexadecimal digits after \\u");
  in_.skip(4);
  return code;
}

/// What stands behind a backslash, which has been taken.
void JsonStream::take_escape(std::string& out) {
  if (!in_.fill()) fail("a string without end");
  const char c = in_.rest().front();
  in_.skip(1);
  static constexpr std::string_view kFrom = "\"\\/bfnrt";
  static constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
  if (const std::size_t at = kFrom.find(c); at != std::string_view::npos) {
    out += kTo[at];
    return;
  }
  if (c != 'u') fail("an unknown escape in a string");
  std::uint32_t code = take_hex4();
  if (code >= 0xd800 && code < 0xdc00 && in_.need(2) && in_.rest().starts_with("\\u")) {
    in_.skip(2);
    const std::uint32_t low = take_hex4();
    if (low >= 0xdc00 && low < 0xe000) {
      code = 0x10000 + ((code - 0xd800) << 10U) + (low - 0xdc00);
    } else {
      append_utf8(out, 0xfffd);
      code = low;
    }
  }
  append_utf8(out, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
}

std::string_view JsonStream::take_string() {
  if (next_char() != '"') fail("expected a string");
  in_.skip(1);
  text_.clear();
  for (;;) {
    if (!in_.fill()) fail("a string without end");
    const std::string_view rest = in_.rest();
    std::size_t at = 0;
    while (at < rest.size() && rest[at] != '"' && rest[at] != '\\') {
      if (rest[at] == '\n') ++line_;
      ++at;
    }
    text_.append(rest.substr(0, at));
    if (text_.size() > kStringMax) fail(fmt::format("a string of more than {} bytes", kStringMax));
    if (at == rest.size()) {
      in_.skip(at);
      continue;
    }
    const bool end = rest[at] == '"';
    in_.skip(at + 1);
    if (end) return text_;
    take_escape(text_);
  }
}

std::string_view JsonStream::string() {
  if (peek() != Kind::string) fail("expected a string");
  return take_string();
}

double JsonStream::number() {
  const bool is_string = peek() == Kind::string;
  const std::string_view word = is_string ? take_string() : take_word();
  if (word == "NaN" || word == "Infinity" || word == "-Infinity") return 0;
  const auto value = parse_real(word);
  if (!value) fail(fmt::format("expected a number, found {}", quoted(word)));
  return *value;
}

std::optional<std::int64_t> JsonStream::integer() {
  const bool is_string = peek() == Kind::string;
  const std::string_view word = is_string ? take_string() : take_word();
  if (const auto value = parse_integer(word)) return value;
  const auto real = parse_real(word);
  if (!real) fail(fmt::format("expected a number, found {}", quoted(word)));
  if (std::trunc(*real) == *real && std::abs(*real) < 9e15) return static_cast<std::int64_t>(*real);
  return std::nullopt;
}

bool JsonStream::boolean() {
  const std::string_view word = take_word();
  if (word != "true" && word != "false")
    fail(fmt::format("expected true or false, found {}", quoted(word)));
  return word == "true";
}

void JsonStream::skip() {
  switch (peek()) {
    case Kind::object:
      object([this](std::string_view) { skip(); });
      return;
    case Kind::array:
      array([this] { skip(); });
      return;
    case Kind::string:
      static_cast<void>(take_string());
      return;
    case Kind::number:
    case Kind::boolean:
    case Kind::null:
      static_cast<void>(take_word());
      return;
  }
}

std::string JsonStream::scalar() {
  switch (peek()) {
    case Kind::string:
      return std::string(take_string());
    case Kind::number:
    case Kind::boolean:
      return std::string(take_word());
    case Kind::object:
    case Kind::array:
    case Kind::null:
      break;
  }
  skip();
  return {};
}

void JsonStream::finish() {
  if (next_char() != 0) fail("something follows the end of the JSON text");
}

}  // namespace railyard::config
