// The front end of a page, made from src/report/page when the program was built with npm at hand.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace railyard::report {

struct Bundle {
  std::span<const char* const> pieces;  ///< one HTML text; @@TITLE@@, @@DATA@@ to be filled in
  std::string_view missing;             ///< why there is none, and the fix; empty: there is one
};
[[nodiscard]] Bundle page_bundle();

}  // namespace railyard::report
