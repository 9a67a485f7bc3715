#include "railyard/report/report.hpp"

namespace railyard::report {

std::string render(const metrics::RunResult& result, Format format) {
  switch (format) {
    case Format::json:
      return result_json(result);
    case Format::csv:
      return result_csv(result);
    case Format::markdown:
      return result_markdown(result);
    default:
      return result_table(result);
  }
}

}  // namespace railyard::report
