// A page that people look at: one HTML file with its charts, its numbers and its licences inside,
// which asks for nothing else.
//
// The charts are drawn by Apache ECharts, bundled into the program where npm was at hand when it
// was built. Everything shown comes from result.json (and detail.json beside it), from a sweep's
// points.json, or from `validate --format json`.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace railyard::report {

/// Why this program cannot write pages, and what to do; empty: it can.
[[nodiscard]] std::string page_missing();

/// The page of a result.json, of a folder that `run --out` or `sweep --out` wrote, or of a
/// points.json; with the rows of a validation beside it. Throws ResultError (missing, malformed, or
/// a detail.json of another run) or IoError (unreadable). Checked: page_missing() is empty.
[[nodiscard]] std::string page_html(const std::filesystem::path& source,
                                    const std::optional<std::filesystem::path>& validation);

/// A chart of a page as pictures.
struct ChartPicture {
  std::string id;  ///< "completion"; letters, digits, - and _
  std::string svg;
  std::string png;  ///< of twice the size
};
/// The pictures that a page leaves in its document where a browser opened it with "#export", from
/// the document's text. Throws ResultError where there are none.
[[nodiscard]] std::vector<ChartPicture> exported_charts(const std::string& document);

/// JSON that may stand in a <script>: no tag can end in it, no line separator breaks it.
[[nodiscard]] std::string script_safe(const std::string& json);

}  // namespace railyard::report
