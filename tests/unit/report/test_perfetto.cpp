#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "railyard/report/report.hpp"

using namespace railyard;

// Two bars overlap by 5 us on one row: the second goes to a thread beside. Ticks are 10 ps.
TEST_CASE("bars that overlap lie on threads of their own") {
  metrics::Timeline timeline;
  timeline.title = "a: ";
  timeline.rows = {{"ranks 0–7", "stream \"0\""}};
  timeline.bars = {{0, Duration(0), Duration(1'000'001), "send", "pipeline", {{"bytes", "8"}}},
                   {0, Duration(500'000), Duration(1'500'000), "send", "pipeline", {}},
                   {0, Duration(1'000'001), Duration(1'000'002), "compute", "compute", {}}};
  const auto json = nlohmann::json::parse(report::perfetto_json({timeline}));
  std::vector<nlohmann::json> bars;
  std::vector<std::string> names;
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] == "X") bars.push_back(event);
    if (event["ph"] == "M") names.push_back(event["args"]["name"]);
  }
  CHECK(names == std::vector<std::string>{"a: ranks 0–7", "stream \"0\"", "stream \"0\" (2)"});
  REQUIRE(bars.size() == 3);
  CHECK(bars[0]["tid"] != bars[1]["tid"]);
  CHECK(bars[2]["tid"] == bars[0]["tid"]);
  CHECK(bars[0]["dur"] == 10.00001);
  CHECK(bars[1]["ts"] == 5.0);
  CHECK(bars[0]["args"]["bytes"] == "8");
}
