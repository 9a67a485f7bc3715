#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "railyard/config/csv.hpp"
#include "railyard/core/check.hpp"
#include "support/shared_data.hpp"
#include "unit/config/messages.hpp"

namespace {

using railyard::config::Csv;
using railyard::config::CsvColumn;
using railyard::config::Errors;
using railyard::test::complaint;

std::string csv_complaint(std::string text) {
  return complaint([&] { static_cast<void>(Csv::parse_text(std::move(text), "t.csv")); });
}

TEST_CASE("cells are read by column name and type") {
  Csv csv = Csv::parse_text("id,gpus,duration_s,kind\n0,64,104.5,Pretrain\n1, 8 ,1e3,\n", "t.csv");
  Errors errors;
  const CsvColumn gpus = csv.required("gpus", errors);
  const CsvColumn duration = csv.required("duration_s", errors);
  const CsvColumn kind = csv.optional("kind");
  csv.finish({"id"}, errors);
  REQUIRE(csv.rows() == 2);
  CHECK(csv.integer(0, gpus, errors) == 64);
  CHECK(csv.integer(1, gpus, errors) == 8);
  CHECK(csv.real(0, duration, errors) == 104.5);
  CHECK(csv.real(1, duration, errors) == 1000.0);
  CHECK(csv.text(0, kind) == "Pretrain");
  CHECK(csv.is_empty(1, kind));
  CHECK(csv.place(1) == "t.csv:3");
  CHECK(errors.empty());
}

TEST_CASE("quoted fields hold commas, quotes and line ends, and lines are counted through them") {
  Csv csv =
      Csv::parse_text("a,\"b\"\r\n\"x, \"\"y\"\"\",1\r\n\"two\nlines\",2\r\n\r\n\"\",3", "t.csv");
  Errors errors;
  const CsvColumn a = csv.required("a", errors);
  const CsvColumn b = csv.required("b", errors);
  REQUIRE(csv.rows() == 3);
  CHECK(csv.text(0, a) == "x, \"y\"");
  CHECK(csv.text(1, a) == "two\nlines");
  CHECK(csv.place(1) == "t.csv:3");
  CHECK(csv.text(2, a).empty());
  CHECK(csv.integer(2, b, errors) == 3);
  // The record on lines 3 and 4 and the blank line 5 come before it.
  CHECK(csv.place(2) == "t.csv:6");
}

TEST_CASE("a byte order mark, CRLF and a missing last line end do not matter") {
  const auto cells = [](const std::string& text) {
    const Csv csv = Csv::parse_text(text, "t.csv");
    Csv copy = csv;
    return std::string(copy.text(0, copy.optional("a"))) + "|" +
           std::string(copy.text(0, copy.optional("b")));
  };
  CHECK(cells("a,b\n1,2\n") == "1|2");
  CHECK(cells("\xef\xbb\xbf"
              "a,b\r\n1,2\r\n") == "1|2");
  CHECK(cells("a,b\n1,2") == "1|2");
  CHECK(cells("a,b\n1,") == "1|");
}

TEST_CASE("an empty file is an error and a header alone is an empty table") {
  CHECK(csv_complaint("") == "t.csv: the file is empty; expected a header row");
  CHECK(csv_complaint("\n\r\n") == "t.csv: the file is empty; expected a header row");
  CHECK(Csv::parse_text("a,b\n", "t.csv").rows() == 0);
}

TEST_CASE("broken tables are refused with the line") {
  CHECK(
      csv_complaint("a,b\n1\n1,2\n1,2,3\n") ==
      "t.csv:2: has 1 fields where the header has 2\nt.csv:4: has 3 fields where the header has 2");
  CHECK(csv_complaint("a,b\n1,\"x\n") == "t.csv:2: a quoted field has no closing quote");
  CHECK(csv_complaint("a,b\n\"x\"y,2\n") ==
        "t.csv:2: text follows the closing quote of a field; quotes inside one are doubled");
  CHECK(csv_complaint("a,b,a\n") == "t.csv:1: duplicate column \"a\"");
  CHECK(csv_complaint("a,,c\n") == "t.csv:1: column 2 has no name");
}

TEST_CASE("a missing column is answered by the nearest, an unknown one too") {
  Csv csv = Csv::parse_text("num_gpu,spare,extra\n1,2,3\n", "t.csv");
  Errors errors;
  const CsvColumn gpus = csv.required("num_gpus", errors);
  CHECK_FALSE(gpus);
  CHECK_FALSE(csv.required("user", errors));
  CHECK_FALSE(csv.optional("start"));
  csv.finish({"extras", "spare"}, errors);
  CHECK(complaint(errors) ==
        "t.csv:1: missing column \"num_gpus\"; the nearest is \"num_gpu\"\n"
        "t.csv:1: missing column \"user\"\n"
        "t.csv:1: unknown column \"num_gpu\"; known columns are \"extras\", \"spare\"\n"
        "t.csv:1: unknown column \"extra\"; did you mean \"extras\"?");
  // Its absence has been reported: its cells are not reported again.
  const std::size_t before = errors.count();
  CHECK(csv.integer(0, gpus, errors) == 0);
  CHECK(csv.text(0, gpus).empty());
  CHECK(errors.count() == before);
}

TEST_CASE("a cell that holds no such number is refused with line, column and text") {
  Csv csv = Csv::parse_text("n,x\n1,1\nabc,nan\n2.5,inf\n,\n8.0,1e999\n99999999999999999999,0x1\n",
                            "t.csv");
  Errors errors;
  const CsvColumn n = csv.required("n", errors);
  const CsvColumn x = csv.required("x", errors);
  for (std::size_t row = 0; row < csv.rows(); ++row) {
    static_cast<void>(csv.integer(row, n, errors));
    static_cast<void>(csv.real(row, x, errors));
  }
  CHECK(complaint(errors) ==
        "t.csv:3 column \"n\": expected an integer, found \"abc\"\n"
        "t.csv:3 column \"x\": expected a finite number, found \"nan\"\n"
        "t.csv:4 column \"n\": expected an integer, found \"2.5\"\n"
        "t.csv:4 column \"x\": expected a finite number, found \"inf\"\n"
        "t.csv:5 column \"n\": expected an integer, found \"\"\n"
        "t.csv:5 column \"x\": expected a finite number, found \"\"\n"
        "t.csv:6 column \"x\": expected a finite number, found \"1e999\"\n"
        "t.csv:7 column \"n\": expected an integer, found \"99999999999999999999\"\n"
        "t.csv:7 column \"x\": expected a finite number, found \"0x1\"");
}

TEST_CASE("bounds of cells are inclusive on both sides") {
  Csv csv = Csv::parse_text("n\n0\n1\n8\n9\n", "t.csv");
  Errors errors;
  const CsvColumn n = csv.required("n", errors);
  CHECK(csv.integer(1, n, errors, {.min = 1, .max = 8}) == 1);
  CHECK(csv.integer(2, n, errors, {.min = 1, .max = 8}) == 8);
  CHECK(errors.empty());
  CHECK(csv.integer(0, n, errors, {.min = 1, .max = 8}) == 1);
  CHECK(csv.real(3, n, errors, {.max = 8}) == 8.0);
  CHECK(complaint(errors) ==
        "t.csv:2 column \"n\": must be from 1 to 8, found 0\nt.csv:5 column \"n\": must be at most "
        "8, found 9");
}

TEST_CASE("a missing file is the user's fault, an unreadable one is not") {
  CHECK(complaint([] { static_cast<void>(Csv::parse_file("no/such.csv")); }) ==
        "no/such.csv: no such file");
  CHECK_THROWS_AS(static_cast<void>(Csv::parse_file(railyard::test::source_dir())),
                  railyard::IoError);
}

// 847 hosts in 3 pods, as the issue and the paper's appendix count them: 362, 306 and 179.
TEST_CASE("the Lingjun fabric is read whole") {
  const auto path = railyard::test::shared_data("traces/alibaba_lingjun_topo/topo_compact.csv");
  if (!path) return;
  Csv csv = Csv::parse_file(*path);
  Errors errors;
  const CsvColumn host = csv.required("host_id", errors);
  const CsvColumn pod = csv.required("pod", errors);
  csv.finish({"core_group", "tor"}, errors);
  CHECK(csv.rows() == 847);
  std::size_t p10 = 0;
  for (std::size_t row = 0; row < csv.rows(); ++row) {
    CHECK(csv.integer(row, host, errors) == static_cast<std::int64_t>(row));
    if (csv.text(row, pod) == "P10") ++p10;
  }
  CHECK((p10 == 362 || p10 == 306 || p10 == 179));
  CHECK(errors.empty());
}

TEST_CASE("the Kalos trace is read whole") {
  const auto path = railyard::test::shared_data("traces/acme_kalos/kalos_jobs.csv");
  if (!path) return;
  Csv csv = Csv::parse_file(*path);
  Errors errors;
  const CsvColumn gpus = csv.required("num_gpus", errors);
  const CsvColumn submit = csv.required("submit_time_s", errors);
  double last = 0;
  for (std::size_t row = 0; row < csv.rows(); ++row) {
    CHECK(csv.integer(row, gpus, errors, {.min = 1}) > 0);
    const double now = csv.real(row, submit, errors, {.min = 0});
    CHECK(now >= last);
    last = now;
  }
  CHECK(csv.rows() > 0);
  CHECK(errors.empty());
}

}  // namespace
