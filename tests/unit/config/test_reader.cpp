#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "railyard/config/reader.hpp"
#include "unit/config/messages.hpp"

namespace {

using namespace std::chrono_literals;
using railyard::Bandwidth;
using railyard::Duration;
using railyard::config::Document;
using railyard::config::Errors;
using railyard::config::Range;
using railyard::config::Reader;
using railyard::test::complaint;
using railyard::test::document;

TEST_CASE("values are read by type, with fallbacks for absent keys") {
  const Document text = document(
      R"({"bandwidth": "400Gbps", "count": 8, "big": 1e6, "share": 0.5, "name": "x", "on": true, "sizes": ["1KiB", "2KiB"]})");
  Errors errors;
  Reader reader(text.root(), errors);
  CHECK(reader.required<Bandwidth>("bandwidth") == Bandwidth(50'000'000'000));
  CHECK(reader.required<std::int64_t>("count") == 8);
  CHECK(reader.required<std::int64_t>("big") == 1'000'000);
  CHECK(reader.required<double>("share") == 0.5);
  CHECK(reader.required<std::string>("name") == "x");
  CHECK(reader.required<bool>("on"));
  CHECK(reader.required<std::vector<railyard::Bytes>>("sizes") ==
        std::vector{railyard::Bytes(1024), railyard::Bytes(2048)});
  CHECK(reader.optional<Duration>("latency", Duration(500ns)) == Duration(500ns));
  CHECK_FALSE(reader.maybe<double>("beta").has_value());
  CHECK(reader.has("count"));
  CHECK_FALSE(reader.has("counts"));
  reader.finish();
  CHECK(errors.empty());
}

// The form of docs/adr/0007; by hand, the key begins in line 4, column 20.
TEST_CASE("an unknown key is reported at its place with the nearest known one") {
  const Document text = document("{\n\n\n  \"topology\": {    \"link_bandwith\": \"1Gbps\" } }");
  Errors errors;
  Reader reader(*text.root().find("topology"), errors);
  static_cast<void>(reader.child("link_latency"));
  static_cast<void>(reader.child("link_bandwidth"));
  reader.finish();
  CHECK(complaint(errors) ==
        "scenarios/x.json:4:20 /topology/link_bandwith: unknown key; did you mean "
        "\"link_bandwidth\"?");
}

TEST_CASE("an unknown key that resembles none is answered by the known ones") {
  const Document text = document(R"({"zzzzzz": 1})");
  Errors errors;
  Reader reader(text.root(), errors);
  static_cast<void>(reader.child("alpha"));
  static_cast<void>(reader.child("unit"));
  reader.finish();
  CHECK(complaint(errors) ==
        "scenarios/x.json:1:2 /zzzzzz: unknown key; known keys are \"alpha\", \"unit\"");
}

// "alpa" is one letter from "alpha" and two from "alps"; "alpha" is given already, so "alps" was
// meant.
TEST_CASE("a key that is there already is not offered while another is near") {
  const Document text = document(R"({"alpha": 1, "alpa": 2})");
  Errors errors;
  Reader reader(text.root(), errors);
  static_cast<void>(reader.child("alpha"));
  static_cast<void>(reader.child("alps"));
  reader.finish();
  CHECK(complaint(errors) == "scenarios/x.json:1:14 /alpa: unknown key; did you mean \"alps\"?");
}

TEST_CASE("one pass reports every error, in the order of the reads") {
  const Document text = document(
      "{\"n\": \"x\",\n\"share\": 2, \"on\": 1, \"path\": 3, \"list\": [1, \"b\", 2.5], "
      "\"zzzzzz\": "
      "0}");
  Errors errors;
  Reader reader(text.root(), errors);
  CHECK(reader.required<std::int64_t>("n") == 0);
  CHECK(reader.required<double>("share", Range<double>{.min = 0.0, .max = 1.0}) == 1.0);
  CHECK_FALSE(reader.required<bool>("on"));
  CHECK(reader.required<std::filesystem::path>("path").empty());
  static_cast<void>(reader.required<std::vector<std::int64_t>>("list"));
  CHECK(reader.required<std::string>("gone").empty());
  reader.fail("n", "is odd");
  reader.fail("gone", "is needed here");
  reader.finish();
  CHECK(complaint(errors) ==
        "scenarios/x.json:1:7 /n: expected an integer, found the string \"x\"\n"
        "scenarios/x.json:2:10 /share: must be from 0 to 1, found 2\n"
        "scenarios/x.json:2:19 /on: expected true or false, found the number 1\n"
        "scenarios/x.json:2:30 /path: expected the path of a file, found the number 3\n"
        "scenarios/x.json:2:45 /list/1: expected an integer, found the string \"b\"\n"
        "scenarios/x.json:2:50 /list/2: expected an integer, found the number 2.5\n"
        "scenarios/x.json:1:1: missing key \"gone\"\n"
        "scenarios/x.json:1:7 /n: is odd\n"
        "scenarios/x.json:1:1: is needed here\n"
        "scenarios/x.json:2:56 /zzzzzz: unknown key; known keys are \"n\", \"share\", \"on\", "
        "\"path\", \"list\", \"gone\"");
}

TEST_CASE("bounds are inclusive, and a value of the wrong type is reported once") {
  const Document text = document(R"({"low": 0, "min": 1, "max": 8, "high": 9, "word": "x"})");
  Errors errors;
  Reader reader(text.root(), errors);
  const Range<std::int64_t> range{.min = 1, .max = 8};
  CHECK(reader.required<std::int64_t>("min", range) == 1);
  CHECK(reader.optional<std::int64_t>("max", 5, range) == 8);
  CHECK(reader.optional<std::int64_t>("absent", 5, range) == 5);
  CHECK(errors.empty());
  CHECK(reader.required<std::int64_t>("low", range) == 1);
  CHECK(reader.required<std::int64_t>("high", range) == 8);
  CHECK(reader.required<std::int64_t>("word", range) == 1);
  CHECK(reader.required<std::int64_t>("low", {.min = 1}) == 1);
  CHECK(reader.required<std::int64_t>("high", {.max = 8}) == 8);
  CHECK(complaint(errors) ==
        "scenarios/x.json:1:9 /low: must be from 1 to 8, found 0\n"
        "scenarios/x.json:1:40 /high: must be from 1 to 8, found 9\n"
        "scenarios/x.json:1:51 /word: expected an integer, found the string \"x\"\n"
        "scenarios/x.json:1:9 /low: must be at least 1, found 0\n"
        "scenarios/x.json:1:40 /high: must be at most 8, found 9");
}

TEST_CASE("where an object is wanted, anything else is reported once and its keys are not missed") {
  const Document text = document("[1]");
  Errors errors;
  Reader reader(text.root(), errors);
  static_cast<void>(reader.required<std::int64_t>("a"));
  reader.finish();
  CHECK(complaint(errors) == "scenarios/x.json:1:1: expected an object, found an array");
}

TEST_CASE("a word is one of a list, and a wrong one is answered by the nearest") {
  const Document text = document(R"({"unit": "dp", "order": "pp_fastets", "solver": "quantum"})");
  Errors errors;
  Reader reader(text.root(), errors);
  CHECK(reader.required_choice("unit", {"pp", "dp"}) == 1);
  CHECK(reader.optional_choice("absent", {"a", "b"}, 1) == 1);
  CHECK(reader.optional_choice("order", {"pp_fastest", "dp_fastest"}, 1) == 1);
  CHECK(reader.required_choice("solver", {"exact", "mip"}) == 0);
  CHECK(
      complaint(errors) ==
      "scenarios/x.json:1:25 /order: unknown value \"pp_fastets\"; did you mean \"pp_fastest\"?\n"
      "scenarios/x.json:1:49 /solver: unknown value \"quantum\"; it is one of \"exact\", \"mip\"");
}

TEST_CASE("paths are relative to the file that holds them") {
  const Document text = document(R"({"a": "../topologies/t.json", "b": "/data/t.json"})");
  Errors errors;
  Reader reader(text.root(), errors);
  CHECK(reader.required<std::filesystem::path>("a") == std::filesystem::path("topologies/t.json"));
  CHECK(reader.required<std::filesystem::path>("b") == std::filesystem::path("/data/t.json"));
}

TEST_CASE("long texts are cut in messages") {
  Errors errors;
  std::int64_t out = 0;
  CHECK_FALSE(decode(document("[\"" + std::string(500, 'a') + "\"]").root().at(0), errors, out));
  CHECK(complaint(errors) == "scenarios/x.json:1:2 /0: expected an integer, found the string \"" +
                                 std::string(60, 'a') + "…\"");
}

// 2^53 is the last double below which every integer is one.
TEST_CASE("a real number is an integer only while it says exactly which") {
  Errors errors;
  std::int64_t out = 0;
  CHECK(decode(document("[9007199254740992.0]").root().at(0), errors, out));
  CHECK(out == (INT64_C(1) << 53));
  CHECK_FALSE(decode(document("[9007199254740994.0]").root().at(0), errors, out));
}

}  // namespace
