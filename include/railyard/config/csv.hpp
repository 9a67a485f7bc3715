// A table read from a CSV file, in which every cell knows its line.
//
//   const Csv csv = Csv::parse_file(path);
//   const auto submit = csv.required("submit_time_s", errors);      // missing columns are errors,
//   with the nearest name const auto user = csv.optional("user"); csv.finish({"cpus_per_gpu",
//   "mem_per_pod_gb"}, errors);         // any other column nobody asked for is an error if
//   (csv.rows() == 0) errors.add(csv.name() + ": has a header but no rows"); for (std::size_t row =
//   0; row < csv.rows(); ++row) job.submit = csv.real(row, submit, errors, {.min = 0});
//
// Fields are separated by commas; a field in double quotes may hold commas, line ends and doubled
// quotes (RFC 4180). A header row is required. A CsvDialect says where a file differs. CRLF, a byte
// order mark and blank lines are tolerated, and so is a file packed by gzip. The whole file stands
// in memory. Errors read `file:line column "name": what`. Not modelled: comments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "railyard/config/document.hpp"
#include "railyard/config/reader.hpp"

namespace railyard::config {

/// A column of a Csv. A default-constructed one is missing: its cells read as zero or empty,
/// without further errors.
class CsvColumn {
 public:
  CsvColumn() = default;
  [[nodiscard]] explicit operator bool() const { return index_ != kMissing; }

 private:
  friend class Csv;
  static constexpr std::uint32_t kMissing = 0xffffffff;
  explicit CsvColumn(std::uint32_t index) : index_(index) {}
  std::uint32_t index_ = kMissing;
};

/// How a table differs from a plain CSV.
struct CsvDialect {
  char separator = ',';
  bool quotes = true;                  ///< false: a quote is a letter like others
  std::vector<std::string> columns{};  ///< of a file without a header row
};

class Csv {
 public:
  /// Throws ConfigError (missing or empty file, unequal rows, bad quotes) or IoError (unreadable).
  static Csv parse_file(const std::filesystem::path& path);
  static Csv parse_text(std::string text, std::string name, CsvDialect dialect = {});

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }
  [[nodiscard]] std::size_t rows() const { return lines_.size(); }
  /// "file:line" of a row.
  [[nodiscard]] std::string place(std::size_t row) const;

  /// The column of that name; `required` records an error where there is none. Both mark it as
  /// known.
  [[nodiscard]] CsvColumn required(std::string_view column, Errors& errors);
  [[nodiscard]] CsvColumn optional(std::string_view column);
  /// Reports columns that nobody asked for, but those in `ignored`. Call once, after all columns
  /// were asked for.
  void finish(const std::vector<std::string_view>& ignored, Errors& errors) const;

  /// Cells. Where one holds no such value, an error is recorded and zero (or the nearest bound)
  /// returned. Numbers are finite.
  [[nodiscard]] std::int64_t integer(std::size_t row, CsvColumn column, Errors& errors,
                                     Range<std::int64_t> range = {}) const;
  [[nodiscard]] double real(std::size_t row, CsvColumn column, Errors& errors,
                            Range<double> range = {}) const;
  /// The text as it stands, without quotes; lives as long as the Csv.
  [[nodiscard]] std::string_view text(std::size_t row, CsvColumn column) const;
  [[nodiscard]] bool is_empty(std::size_t row, CsvColumn column) const {
    return text(row, column).empty();
  }

  /// Records `file:line column "name": message`.
  void fail(std::size_t row, CsvColumn column, Errors& errors, const std::string& message) const;

 private:
  struct Cell {
    std::size_t begin = 0;
    std::size_t size = 0;
  };
  /// One record from `at` on, unquoted in place; false at the end of the text.
  bool take_record(std::size_t& at, std::uint32_t& line, std::vector<Cell>& cells);
  Cell take_quoted(std::size_t& at, std::uint32_t& line);
  void take_header(const std::vector<Cell>& cells, std::uint32_t line);
  void name_columns(std::vector<std::string> names, std::uint32_t line);
  [[nodiscard]] std::optional<std::uint32_t> index_of(std::string_view column) const;

  std::string name_;
  std::string text_;
  CsvDialect dialect_;
  std::uint32_t header_line_ = 1;
  std::vector<std::string> columns_;
  std::vector<bool> known_;
  std::vector<std::uint32_t> lines_;  ///< by row
  std::vector<Cell> cells_;           ///< by row and column
};

}  // namespace railyard::config
