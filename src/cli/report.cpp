#include "railyard/report/report.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "command_line.hpp"
#include "output.hpp"
#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"
#include "railyard/report/page.hpp"
#include "report_export.hpp"

namespace railyard::cli {

CommandLine report_page_options() {
  CommandLine line({"report",
                    "RESULT|SWEEP",
                    "Writes a page of charts: one HTML file that opens without a network. RESULT "
                    "is the folder that `run --out`\n"
                    "wrote (or its result.json, without the charts of detail.json), SWEEP that of "
                    "`sweep --out`.",
                    {"railyard report build/quickstart -o build/quickstart.html",
                     "railyard report build/quickstart --export build/charts"}});
  line.option("output,o", "FILE", "the page (default: report.html in the folder of the result)");
  line.option("validation", "FILE",
              "adds published rows beside simulated ones: what `validate --format json` printed");
  line.option("export", "DIR",
              "writes every chart of the page there as ID.svg and ID.png, for papers, in place of "
              "the page; chromium draws them (or the browser that the variable CHROMIUM names)");
  return line;
}

int report_page(const CommandLine& line) {
  line.expect_words(1, 1, "one result or sweep");
  if (const std::string missing = report::page_missing(); !missing.empty()) {
    throw IoError("railyard report: " + missing);
  }
  const std::filesystem::path source = line.words()[0];
  std::optional<std::filesystem::path> validation;
  if (const auto given = line.text("validation")) validation = *given;
  const std::string page = report::page_html(source, validation);
  if (const auto charts = line.text("export")) {
    const std::size_t count = export_charts(page, *charts);
    write_stdout(fmt::format("{}: {} charts, each as SVG and PNG\n", *charts, count));
    if (!line.has("output")) return kGood;
  }
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(source, ignored);
  std::filesystem::path out = (folder ? source : source.parent_path()) / "report.html";
  if (const auto given = line.text("output")) out = *given;
  write_file(out, page);
  write_stdout(
      fmt::format("{}: {:.0f} kB\n", out.string(), static_cast<double>(page.size()) / 1000));
  return kGood;
}

}  // namespace railyard::cli
