#include "railyard/config/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/text.hpp"
#include "railyard/config/file.hpp"
#include "railyard/config/text_lines.hpp"
#include "railyard/core/check.hpp"

namespace railyard::config {
namespace {

/// 8.0 is an integer: tables written from data frames have such cells.
std::optional<std::int64_t> integer_in(std::string_view cell) {
  if (const auto integer = parse_integer(cell)) return integer;
  const auto real = parse_real(cell);
  constexpr double kExactMax = 9'007'199'254'740'992.0;
  if (!real || std::trunc(*real) != *real || std::abs(*real) > kExactMax) return std::nullopt;
  return static_cast<std::int64_t>(*real);
}

template <typename T>
std::string bounds_text(Range<T> range) {
  const bool has_min = range.min > std::numeric_limits<T>::lowest();
  const bool has_max = range.max < std::numeric_limits<T>::max();
  if (has_min && has_max) return fmt::format("from {} to {}", range.min, range.max);
  return has_min ? fmt::format("at least {}", range.min) : fmt::format("at most {}", range.max);
}

}  // namespace

Csv Csv::parse_file(const std::filesystem::path& path) {
  return parse_text(read_file(path), path.string());
}

Csv Csv::parse_text(std::string text, std::string name, CsvDialect dialect) {
  Csv csv;
  csv.dialect_ = std::move(dialect);
  csv.name_ = std::move(name);
  csv.text_ = std::move(text);
  std::size_t at = csv.text_.starts_with("\xef\xbb\xbf") ? 3 : 0;
  std::uint32_t line = 1;
  std::vector<Cell> cells;
  std::uint32_t begins = line;
  // `begins` is the line of the record just taken: a quoted field may run over several.
  const auto next = [&] {
    for (;;) {
      begins = line;
      cells.clear();
      if (!csv.take_record(at, line, cells)) return false;
      if (cells.size() > 1 || cells.front().size > 0) return true;
    }
  };
  if (!csv.dialect_.columns.empty()) {
    csv.name_columns(csv.dialect_.columns, line);
  } else if (next()) {
    csv.take_header(cells, begins);
  } else {
    throw ConfigError(fmt::format("{}: the file is empty; expected a header row", csv.name_));
  }
  Errors errors;
  while (next()) {
    if (cells.size() != csv.columns_.size()) {
      errors.add(fmt::format("{}:{}: has {} fields where the header has {}", csv.name_, begins,
                             cells.size(), csv.columns_.size()));
      continue;
    }
    csv.lines_.push_back(begins);
    csv.cells_.insert(csv.cells_.end(), cells.begin(), cells.end());
  }
  errors.throw_if_any();
  return csv;
}

bool Csv::take_record(std::size_t& at, std::uint32_t& line, std::vector<Cell>& cells) {
  if (at >= text_.size()) return false;
  for (;;) {
    if (dialect_.quotes && at < text_.size() && text_[at] == '"') {
      cells.push_back(take_quoted(at, line));
    } else {
      const std::size_t begin = at;
      while (at < text_.size() && text_[at] != dialect_.separator && text_[at] != '\n') ++at;
      std::size_t end = at;
      if (end > begin && text_[end - 1] == '\r' && (at == text_.size() || text_[at] == '\n')) --end;
      cells.push_back({begin, end - begin});
    }
    if (at >= text_.size()) return true;
    if (text_[at] == '\r') ++at;
    if (at >= text_.size()) return true;
    if (text_[at++] == dialect_.separator) continue;
    ++line;
    return true;
  }
}

Csv::Cell Csv::take_quoted(std::size_t& at, std::uint32_t& line) {
  const std::uint32_t begins = line;
  const std::size_t begin = ++at;
  std::size_t write = begin;  // unquoting only shrinks, so it can be done in place
  for (;; ++at) {
    if (at >= text_.size()) {
      throw ConfigError(fmt::format("{}:{}: a quoted field has no closing quote", name_, begins));
    }
    if (text_[at] == '"') {
      const bool doubled = at + 1 < text_.size() && text_[at + 1] == '"';
      if (!doubled) break;
      ++at;
    }
    if (text_[at] == '\n') ++line;
    text_[write++] = text_[at];
  }
  ++at;
  const bool ends = at >= text_.size() || text_[at] == dialect_.separator || text_[at] == '\n' ||
                    (text_[at] == '\r' && (at + 1 >= text_.size() || text_[at + 1] == '\n'));
  if (!ends) {
    throw ConfigError(fmt::format(
        "{}:{}: text follows the closing quote of a field; quotes inside one are doubled", name_,
        line));
  }
  return {begin, write - begin};
}

void Csv::take_header(const std::vector<Cell>& cells, std::uint32_t line) {
  std::vector<std::string> names;
  for (const Cell& cell : cells)
    names.emplace_back(trimmed(std::string_view(text_).substr(cell.begin, cell.size)));
  name_columns(std::move(names), line);
}

void Csv::name_columns(std::vector<std::string> names, std::uint32_t line) {
  header_line_ = line;
  Errors errors;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& column = names[i];
    if (column.empty()) {
      errors.add(fmt::format("{}:{}: column {} has no name", name_, line, i + 1));
    } else if (index_of(column)) {
      errors.add(fmt::format("{}:{}: duplicate column {}", name_, line, in_quotes(column)));
    }
    columns_.push_back(column);
  }
  errors.throw_if_any();
  known_.assign(columns_.size(), false);
}

std::optional<std::uint32_t> Csv::index_of(std::string_view column) const {
  const auto found = std::find(columns_.begin(), columns_.end(), column);
  if (found == columns_.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - columns_.begin());
}

std::string Csv::place(std::size_t row) const {
  RAILYARD_CHECK(row < lines_.size(), "{} has {} rows, not {}", name_, lines_.size(), row + 1);
  return fmt::format("{}:{}", name_, lines_[row]);
}

CsvColumn Csv::optional(std::string_view column) {
  const auto index = index_of(column);
  if (!index) return {};
  known_[*index] = true;
  return CsvColumn(*index);
}

CsvColumn Csv::required(std::string_view column, Errors& errors) {
  const CsvColumn found = optional(column);
  if (!found) {
    const std::vector<std::string_view> names(columns_.begin(), columns_.end());
    const std::string_view near = nearest(column, names);
    errors.add(fmt::format(
        "{}:{}: missing column {}{}", name_, header_line_, in_quotes(column),
        near.empty() ? std::string() : fmt::format("; the nearest is {}", in_quotes(near))));
  }
  return found;
}

void Csv::finish(const std::vector<std::string_view>& ignored, Errors& errors) const {
  std::vector<std::string_view> names(ignored);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (known_[i]) names.push_back(columns_[i]);
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (std::find(names.begin(), names.end(), columns_[i]) != names.end()) continue;
    errors.add(fmt::format("{}:{}: unknown column {}{}", name_, header_line_,
                           in_quotes(columns_[i]), hint(columns_[i], names, "known columns are")));
  }
}

std::string_view Csv::text(std::size_t row, CsvColumn column) const {
  if (!column) return {};
  RAILYARD_CHECK(row < lines_.size(), "{} has {} rows, not {}", name_, lines_.size(), row + 1);
  const Cell& cell = cells_[row * columns_.size() + column.index_];
  return std::string_view(text_).substr(cell.begin, cell.size);
}

void Csv::fail(std::size_t row, CsvColumn column, Errors& errors,
               const std::string& message) const {
  errors.add(fmt::format("{} column {}: {}", place(row),
                         in_quotes(column ? columns_[column.index_] : "?"), message));
}

std::int64_t Csv::integer(std::size_t row, CsvColumn column, Errors& errors,
                          Range<std::int64_t> range) const {
  const std::string_view cell = trimmed(text(row, column));
  const auto value = column ? integer_in(cell) : std::nullopt;
  if (!column) {
    // Its absence has been reported, or it is optional.
  } else if (!value) {
    fail(row, column, errors, fmt::format("expected an integer, found {}", in_quotes(cell)));
  } else if (*value < range.min || *value > range.max) {
    fail(row, column, errors, fmt::format("must be {}, found {}", bounds_text(range), *value));
  }
  return std::clamp(value.value_or(0), range.min, range.max);
}

double Csv::real(std::size_t row, CsvColumn column, Errors& errors, Range<double> range) const {
  const std::string_view cell = trimmed(text(row, column));
  const auto value = column ? parse_real(cell) : std::nullopt;
  if (!column) {
    // Its absence has been reported, or it is optional.
  } else if (!value) {
    fail(row, column, errors, fmt::format("expected a finite number, found {}", in_quotes(cell)));
  } else if (*value < range.min || *value > range.max) {
    fail(row, column, errors, fmt::format("must be {}, found {}", bounds_text(range), *value));
  }
  return std::clamp(value.value_or(0), range.min, range.max);
}

}  // namespace railyard::config
