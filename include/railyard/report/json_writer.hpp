// Writes JSON in the order it is called, so that equal results give equal bytes. Doubles in their
// shortest round-trip form.
//
// Blocks put each member on a line of its own; inside a `row` everything stands on one line, so
// that a job or a link is a line and differences between two results read well.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace railyard::report {

class JsonWriter {
 public:
  /// Opens an object '{' or array '['; `row` keeps it and all inside it on one line.
  void open(char bracket, bool row = false);
  void close(char bracket);
  void key(std::string_view name);

  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  /// Checked: finite. JSON has no other numbers.
  void value(double number);
  void value(std::uint64_t number);
  void value(std::uint32_t number) { value(std::uint64_t{number}); }
  void value(const std::vector<std::string>& texts);
  void null();
  /// A text that is JSON already.
  void raw(std::string_view json);
  template <typename T>
  void value(const std::optional<T>& maybe) {
    if (maybe) {
      value(*maybe);
    } else {
      null();
    }
  }
  template <typename T>
  void member(std::string_view name, const T& what) {
    key(name);
    value(what);
  }
  /// An array of objects, whose members `add` writes; as `rows` each on one line.
  template <typename Range, typename Add>
  void objects(std::string_view name, const Range& range, const Add& add) {
    array(name, range, false, add);
  }
  template <typename Range, typename Add>
  void rows(std::string_view name, const Range& range, const Add& add) {
    array(name, range, true, add);
  }
  /// The text, with a line feed at its end. Checked: everything is closed.
  [[nodiscard]] std::string finish();

 private:
  template <typename Range, typename Add>
  void array(std::string_view name, const Range& range, bool row, const Add& add) {
    key(name);
    open('[');
    for (const auto& one : range) {
      open('{', row);
      add(one);
      close('}');
    }
    close(']');
  }
  void before_value();
  void line_break();

  std::string out_;
  std::size_t depth_ = 0;
  std::size_t row_depth_ = 0;  ///< depth at which a row was opened; 0 = none
  bool first_ = true;
  bool after_key_ = false;
};

}  // namespace railyard::report
