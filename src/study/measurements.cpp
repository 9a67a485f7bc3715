#include "railyard/study/collective_rows.hpp"
#include "railyard/study/validation.hpp"
#include "study/record.hpp"

namespace railyard::study {

namespace {

std::vector<Measurement> of_rows(std::vector<ValidationRow> rows) {
  std::vector<Measurement> out;
  for (ValidationRow& row : rows) {
    const std::string table = row.table;
    out.push_back({table, [row = std::move(row)] { return std::vector{simulate(row)}; }});
  }
  return out;
}

}  // namespace

std::vector<Measurement> read_measurements(const std::filesystem::path& path,
                                           const Changes& changes) {
  if (is_csv(path)) return of_rows(read_validation_rows(path, changes));
  const auto document = config::Document::parse_file(path);
  if (!has_collectives(document)) return of_rows(read_validation_rows(document, changes));
  std::vector<Measurement> out;
  for (CollectiveTable& table : read_collective_rows(document)) {
    const std::string name = table.name;
    out.push_back({name, [table = std::move(table)] { return simulate(table); }});
  }
  return out;
}

}  // namespace railyard::study
