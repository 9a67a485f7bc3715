// Any bytes as a CSV table: refused with errors that have a place, or every cell of it can be read.
#include <cstddef>
#include <cstdint>
#include <string>

#include "railyard/config/csv.hpp"
#include "railyard/core/check.hpp"

using railyard::config::ConfigError;
using railyard::config::Csv;
using railyard::config::CsvColumn;
using railyard::config::Errors;

namespace {

void read_cells(Csv& csv, const std::string& name) {
  Errors errors;
  const CsvColumn column = csv.required(name, errors);
  RAILYARD_CHECK(errors.empty(), "column {} of the header is not found", name);
  for (std::size_t row = 0; row < csv.rows(); ++row) {
    RAILYARD_CHECK(csv.is_empty(row, column) == csv.text(row, column).empty(), "row {}", row);
    const std::int64_t whole = csv.integer(row, column, errors, {.min = -5, .max = 1000});
    RAILYARD_CHECK(whole >= -5 && whole <= 1000, "row {}: {} is out of bounds", row, whole);
    const double real = csv.real(row, column, errors, {.min = 0});
    RAILYARD_CHECK(real >= 0, "row {}: {} is out of bounds", row, real);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    Csv csv = Csv::parse_text(std::string(reinterpret_cast<const char*>(data), size), "fuzz.csv");
    const auto columns = csv.columns();
    for (const std::string& name : columns) read_cells(csv, name);
  } catch (const ConfigError& error) {
    RAILYARD_CHECK(!error.lines().empty(), "refused without a word");
  }
  return 0;
}
