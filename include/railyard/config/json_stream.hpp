// A JSON text read value by value from front to back, for files too large for a Document.
//
//   JsonStream json(ByteStream::open(path));
//   json.object([&](std::string_view key) {          // every member must be taken or skipped
//     if (key == "nodes") json.array([&] { read_node(json); });
//     else json.skip();
//   });
//   json.finish();                                   // nothing but blanks may follow
//
// Errors are ConfigError "file:line: what"; the first ends the reading. Strings come unescaped
// (UTF-8). Duplicate keys are not noticed; depth is limited to 256. The non-standard NaN and
// Infinity of profilers read as 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "railyard/config/byte_stream.hpp"

namespace railyard::config {

class JsonStream {
 public:
  explicit JsonStream(ByteStream in) : in_(std::move(in)) {}

  enum class Kind : std::uint8_t { object, array, string, number, boolean, null };
  /// Of the value that comes next.
  [[nodiscard]] Kind peek();

  /// Calls `member(key)` for every member; it must take the value. The key is valid until then.
  template <typename Member>
  void object(const Member& member) {
    open('{');
    while (next_element('}')) {
      const std::string key(take_string());
      expect(':');
      member(std::string_view(key));
    }
  }
  template <typename Element>
  void array(const Element& element) {
    open('[');
    while (next_element(']')) element();
  }
  /// A string; valid until the next call.
  [[nodiscard]] std::string_view string();
  /// A number, or a string that holds one (some writers quote them).
  [[nodiscard]] double number();
  /// A whole number, quoted or not; empty where the value is another number.
  [[nodiscard]] std::optional<std::int64_t> integer();
  [[nodiscard]] bool boolean();
  void skip();
  /// The value as a text: of a string its content, of a number its digits; of others nothing
  /// (they are skipped). For fields whose type differs between writers.
  [[nodiscard]] std::string scalar();
  void finish();

  [[nodiscard]] std::string place() const;
  [[noreturn]] void fail(std::string_view what) const;

 private:
  char next_char();  ///< after blanks, not taken; 0 at the end
  void expect(char wanted);
  void open(char bracket);
  bool next_element(char bracket);
  std::string_view take_string();
  std::string_view take_word();
  void take_escape(std::string& out);
  std::uint32_t take_hex4();

  ByteStream in_;
  std::string text_;
  std::uint64_t line_ = 1;
  std::uint32_t depth_ = 0;
  bool first_ = true;  ///< of the innermost object or array
};

}  // namespace railyard::config
