// Pictures of a page's charts, drawn by the browser that is installed.
#pragma once

#include <filesystem>
#include <string>

namespace railyard::cli {

/// Writes ID.svg and ID.png of every chart of the page; the number of charts. Throws IoError where
/// no browser is at hand, or it does not open the page.
[[nodiscard]] std::size_t export_charts(const std::string& page,
                                        const std::filesystem::path& folder);

}  // namespace railyard::cli
