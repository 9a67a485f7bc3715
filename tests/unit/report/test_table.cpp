#include <doctest/doctest.h>

#include "railyard/report/table.hpp"

using namespace railyard::report;

// "×" is one place: two cells "1×" and "10×" align on their right ends, "1×" with one space more
// than "10×".
TEST_CASE("widths count code points, not bytes") {
  const Table table{{{"p", "", {"a", "b"}, true}, {"r", "", {"1×", "10×"}}}};
  CHECK(to_text(table) == "p    r\na   1×\nb  10×\n");
}

// Names take 4, each value column 2 + 4 = 6: 4 + 6 + 6 = 16 fit into 16, the third would need 22
// and opens a second block.
TEST_CASE("columns that do not fit are stacked with the row names repeated") {
  const Table table{
      {{"name", "", {"x"}, true}, {"aaaa", "", {"1"}}, {"bbbb", "", {"2"}}, {"cccc", "", {"3"}}}};
  CHECK(to_text(table, 16) == "name  aaaa  bbbb\nx        1     2\n\nname  cccc\nx        3\n");
}

// b is joined to a: together 1 + 2 + 4 + 1 + 4 = 12 > 10, and still they stay in one block.
TEST_CASE("a joined column is never parted from the one before it") {
  const Table table{{{"n", "", {"x"}, true},
                     {"aaaa", "", {"1"}},
                     {"bbbb", "", {"2"}, false, true},
                     {"c", "", {"3"}}}};
  CHECK(to_text(table, 10) == "n  aaaa bbbb\nx     1    2\n\nn  c\nx  3\n");
}

TEST_CASE("units stand on a line of their own, or in brackets in markdown") {
  const Table table{{{"n", "", {"x"}, true}, {"time", "s", {"1.5"}}}};
  CHECK(to_text(table) == "n  time\n      s\nx   1.5\n");
  CHECK(to_markdown(table) == "| n | time [s] |\n| :-- | --: |\n| x | 1.5 |\n");
}

// RFC 4180: quotes around a field with a comma or a quote, quotes inside doubled.
TEST_CASE("csv fields are quoted where they must be") {
  CHECK(csv_field("plain") == "plain");
  CHECK(csv_field("a,b") == "\"a,b\"");
  CHECK(csv_field("say \"x\"") == "\"say \"\"x\"\"\"");
}

// Width 12 with the head of 6: six places a line; "aa bb" takes 5, "cccc" starts the second line
// under "aa".
TEST_CASE("long text wraps under its head") {
  CHECK(wrapped("note: ", "aa bb cccc", 12) == "note: aa bb\n      cccc\n");
  CHECK(wrapped("note: ", "averylongword", 12) == "note: averylongword\n");
}

TEST_CASE("a ratio to zero is none") {
  CHECK(ratio_text(1.25, 1.0) == "1.250×");
  CHECK(ratio_text(1.0, 0.0) == kNone);
}
