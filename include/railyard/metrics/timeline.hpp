// What happened when: bars on named rows, for people to look at (report writes them for
// ui.perfetto.dev).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "railyard/core/time.hpp"

namespace railyard::metrics {

/// A row of a group of rows: "ranks 0–7" / "stream 3", "links" / "leaf-0->spine-1".
struct TimelineRow {
  std::string group;
  std::string name;
};

/// A bar. Bars of one row may overlap.
struct TimelineBar {
  std::uint32_t row = 0;
  Duration start{};
  Duration end{};
  std::string name;
  std::string category;  ///< may be empty
  std::vector<std::pair<std::string, std::string>> facts;
};

struct Timeline {
  std::string title;
  std::vector<TimelineRow> rows;
  std::vector<TimelineBar> bars;
};

}  // namespace railyard::metrics
