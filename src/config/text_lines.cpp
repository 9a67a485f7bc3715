#include "railyard/config/text_lines.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "config/text.hpp"
#include "railyard/config/file.hpp"

namespace railyard::config {

TextLines TextLines::parse_file(const std::filesystem::path& path) {
  return parse_text(read_file(path), path.string());
}

TextLines TextLines::parse_text(std::string text, std::string name) {
  TextLines out;
  out.name_ = std::move(name);
  out.text_ = std::move(text);
  const std::size_t begin = out.text_.starts_with("\xef\xbb\xbf") ? 3 : 0;
  for_each_line(std::string_view(out.text_).substr(begin), [&out](std::string_view line) {
    out.lines_.emplace_back(static_cast<std::size_t>(line.data() - out.text_.data()), line.size());
  });
  return out;
}

std::string TextLines::place(std::size_t line) const {
  return fmt::format("{}:{}", name_, line + 1);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& letter : out) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return out;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> out;
  constexpr std::string_view kBlank = " \t";
  for (std::size_t at = line.find_first_not_of(kBlank); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    out.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlank, end);
  }
  return out;
}

namespace {

template <typename T>
std::optional<T> parse_number(std::string_view text) {
  T out{};
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  const char* end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, out);
  if (fault != std::errc{} || stop != end) return std::nullopt;
  return out;
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  return parse_number<std::int64_t>(text);
}

std::optional<double> parse_real(std::string_view text) {
  const auto value = parse_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::string quoted(std::string_view text) {
  return in_quotes(text);
}

}  // namespace railyard::config
