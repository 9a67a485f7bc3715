// A table of text cells and its three printed forms. The first column names the rows.
//
// As text it never grows wider than asked for: columns that do not fit are stacked below in further
// blocks, each with the row names in front. Widths count code points, so that "×" takes one place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace railyard::report {

inline constexpr std::size_t kWidth = 100;      ///< of every text this module prints
inline constexpr std::string_view kNone = "–";  ///< a value that has no meaning here

struct Column {
  std::string title;
  std::string unit;  ///< second heading line; may be empty
  std::vector<std::string> cells;
  bool left = false;    ///< aligned left
  bool joined = false;  ///< belongs to the column before it: never the first of a block
};

struct Table {
  std::vector<Column> columns;
};

[[nodiscard]] std::string to_text(const Table& table, std::size_t width = kWidth);
[[nodiscard]] std::string to_markdown(const Table& table);
/// Titles as given, without the units' line; cells quoted where CSV needs it.
[[nodiscard]] std::string to_csv(const Table& table);

/// Ticks as seconds; eleven decimals are exact.
[[nodiscard]] std::string exact_seconds(std::int64_t ticks);
/// One CSV field, quoted where it must be (RFC 4180).
[[nodiscard]] std::string csv_field(std::string_view text);
/// Text broken at spaces into lines of at most `width`, the first after `head`, the others indented
/// as deep as `head` is wide.
[[nodiscard]] std::string wrapped(std::string_view head, std::string_view text,
                                  std::size_t width = kWidth);
/// "1.034×", or "–" where there is no ratio.
[[nodiscard]] std::string ratio_text(double value, double baseline);

}  // namespace railyard::report
