#include "railyard/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "railyard/core/check.hpp"
#include "railyard/core/time.hpp"

namespace railyard::report {

namespace {

constexpr std::size_t kGap = 2;        // between columns
constexpr std::size_t kJoinedGap = 1;  // before a joined column

/// Code points: bytes that do not continue another.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char letter) {
    return (static_cast<unsigned char>(letter) & 0xC0U) != 0x80U;
  }));
}

std::size_t width_of(const Column& column) {
  std::size_t width = std::max(width_of(column.title), width_of(column.unit));
  for (const std::string& cell : column.cells) width = std::max(width, width_of(cell));
  return width;
}

void pad(std::string& line, std::string_view text, std::size_t width, bool left) {
  const std::string spaces(width - std::min(width, width_of(text)), ' ');
  if (!left) line += spaces;
  line += text;
  if (left) line += spaces;
}

/// Adds one printed line of the columns [first, last) and the row names; spaces at its end are cut.
template <typename CellOf>
void add_line(std::string& out, const Table& table, std::size_t first, std::size_t last,
              CellOf cell_of) {
  std::string line;
  pad(line, cell_of(table.columns[0]), width_of(table.columns[0]), true);
  for (std::size_t i = first; i < last; ++i) {
    const Column& column = table.columns[i];
    line.append(column.joined ? kJoinedGap : kGap, ' ');
    pad(line, cell_of(column), width_of(column), column.left);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + '\n';
}

/// One past the last column of the block that starts at `first`: as many as fit, at least one with
/// those joined to it.
std::size_t block_end(const Table& table, std::size_t first, std::size_t width) {
  std::size_t used = width_of(table.columns[0]);
  std::size_t end = first;
  while (end < table.columns.size()) {
    std::size_t group_end = end;
    std::size_t group = 0;
    do {
      const Column& column = table.columns[group_end];
      group += width_of(column) + (column.joined ? kJoinedGap : kGap);
      ++group_end;
    } while (group_end < table.columns.size() && table.columns[group_end].joined);
    if (end > first && used + group > width) break;
    used += group;
    end = group_end;
  }
  return end;
}

}  // namespace

std::string to_text(const Table& table, std::size_t width) {
  RAILYARD_CHECK(!table.columns.empty(), "a table needs a column of row names");
  const std::size_t rows = table.columns[0].cells.size();
  std::string out;
  std::size_t first = 1;
  do {
    const std::size_t end = block_end(table, first, width);
    if (first > 1) out += '\n';
    const auto is_unit = [](const Column& column) { return !column.unit.empty(); };
    const bool units =
        std::any_of(table.columns.begin() + static_cast<std::ptrdiff_t>(first),
                    table.columns.begin() + static_cast<std::ptrdiff_t>(end), is_unit);
    add_line(out, table, first, end, [](const Column& column) { return column.title; });
    if (units) add_line(out, table, first, end, [](const Column& column) { return column.unit; });
    for (std::size_t row = 0; row < rows; ++row) {
      add_line(out, table, first, end,
               [row](const Column& column) { return column.cells.at(row); });
    }
    first = end;
  } while (first < table.columns.size());
  return out;
}

std::string to_markdown(const Table& table) {
  RAILYARD_CHECK(!table.columns.empty(), "a table needs a column of row names");
  std::string head = "|";
  std::string rule = "|";
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Column& column = table.columns[i];
    const std::string unit = column.unit.empty() ? "" : fmt::format(" [{}]", column.unit);
    head += fmt::format(" {}{} |", column.title, unit);
    rule += i == 0 || column.left ? " :-- |" : " --: |";
  }
  std::string out = head + '\n' + rule + '\n';
  for (std::size_t row = 0; row < table.columns[0].cells.size(); ++row) {
    out += '|';
    for (const Column& column : table.columns) out += fmt::format(" {} |", column.cells.at(row));
    out += '\n';
  }
  return out;
}

std::string exact_seconds(std::int64_t ticks) {
  return fmt::format("{}.{:011}", ticks / kTicksPerSecond, ticks % kTicksPerSecond);
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char letter : text) {
    if (letter == '"') out += '"';
    out += letter;
  }
  return out + '"';
}

std::string to_csv(const Table& table) {
  std::string out;
  const auto add = [&](auto cell_of) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (i > 0) out += ',';
      out += csv_field(cell_of(table.columns[i]));
    }
    out += '\n';
  };
  add([](const Column& column) { return column.title; });
  for (std::size_t row = 0; row < table.columns.at(0).cells.size(); ++row) {
    add([row](const Column& column) { return column.cells.at(row); });
  }
  return out;
}

std::string wrapped(std::string_view head, std::string_view text, std::size_t width) {
  const std::string indent(width_of(head), ' ');
  std::string out;
  std::string line(head);
  bool started = false;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    if (started && width_of(line) + 1 + width_of(word) > width) {
      out += line + '\n';
      line = indent;
      started = false;
    }
    if (started) line += ' ';
    line += word;
    started = true;
  }
  return out + line + '\n';
}

std::string ratio_text(double value, double baseline) {
  if (baseline == 0.0) return std::string(kNone);
  return fmt::format("{:.3f}×", value / baseline);
}

}  // namespace railyard::report
