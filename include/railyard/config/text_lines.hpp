// A text file read whole, line by line, for formats that are neither JSON nor CSV.
//
// Every line knows its place, "file:line", so that whatever a reader refuses can be found. CRLF
// line ends are tolerated, and so is a byte order mark. Views live as long as the TextLines.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace railyard::config {

/// Calls `visit` with every line of a text, without its line end.
template <typename Visit>
void for_each_line(std::string_view text, const Visit& visit) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    visit(line);
    begin = end + 1;
  }
}

class TextLines {
 public:
  /// Throws ConfigError (missing file) or IoError (unreadable).
  static TextLines parse_file(const std::filesystem::path& path);
  static TextLines parse_text(std::string text, std::string name);

  [[nodiscard]] const std::string& name() const { return name_; }
  /// The whole text, for parsers that want it in one piece.
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::size_t size() const { return lines_.size(); }
  [[nodiscard]] std::string_view operator[](std::size_t line) const {
    const auto& [begin, length] = lines_[line];
    return std::string_view(text_).substr(begin, length);
  }
  /// "file:line", counted from 1. One past the last line is allowed: what is missing at the end.
  [[nodiscard]] std::string place(std::size_t line) const;

 private:
  std::string name_;
  std::string text_;
  std::vector<std::pair<std::size_t, std::size_t>> lines_;  ///< begin and length
};

/// The words of a line: what stands between blanks and tabs.
[[nodiscard]] std::vector<std::string_view> words_of(std::string_view line);
/// Without blanks, tabs and line ends at either end.
[[nodiscard]] std::string_view trimmed(std::string_view text);
/// With the capitals of ASCII as small letters, whatever the locale.
[[nodiscard]] std::string lowered(std::string_view text);
/// The text as a whole number or a finite one; empty when it is none, or holds anything else.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);
[[nodiscard]] std::optional<double> parse_real(std::string_view text);
/// The text in quotes for a message: control characters escaped, long texts cut.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace railyard::config
