#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "railyard/config/catalog.hpp"
#include "unit/config/messages.hpp"

namespace {

using namespace std::chrono_literals;
using namespace railyard::config;
using railyard::Bandwidth;
using railyard::Bytes;
using railyard::Duration;
using railyard::test::complaint;
using railyard::test::document;

using Factory = double (*)(const Parameters&);

/// A family with every type of parameter; entries return a number that shows which was made.
std::span<const CatalogEntry<Factory>> family() {
  static const std::vector<CatalogEntry<Factory>> kTable{
      {{"ecmp",
        "hashes flows over equal paths",
        {{.name = "queue_pairs",
          .type = ParameterType::integer,
          .fallback = "1",
          .min = 1,
          .max = 64},
         {.name = "share", .type = ParameterType::real, .fallback = "0.5", .min = 0, .max = 1},
         {.name = "on", .type = ParameterType::boolean, .fallback = "true"},
         {.name = "label", .type = ParameterType::string, .fallback = "\"none\""},
         {.name = "unit",
          .type = ParameterType::choice,
          .fallback = "\"pp\"",
          .choices = {"pp", "dp"}},
         {.name = "buffer", .type = ParameterType::bytes, .fallback = "\"1MiB\""},
         {.name = "floor", .type = ParameterType::bandwidth, .fallback = "\"1Gbps\""},
         {.name = "interval", .type = ParameterType::duration, .fallback = "\"5min\"", .max = 3600},
         {.name = "limit", .type = ParameterType::real, .fallback = "null"}}},
       [](const Parameters& parameters) { return parameters.get<double>("share"); }},
      {{"spray", "splits flows", {}}, [](const Parameters&) { return -1.0; }},
      {{"fixed", "one path", {{.name = "path", .type = ParameterType::integer, .min = 2}}},
       [](const Parameters& parameters) {
         return static_cast<double>(parameters.get<std::int64_t>("path"));
       }}};
  return kTable;
}

Choice decoded(std::string_view json, Errors& errors) {
  return decode_choice(*document(json).root().find("routing"), errors, "routing",
                       descriptions(family()));
}

std::string refusal(std::string_view json) {
  Errors errors;
  static_cast<void>(decoded(json, errors));
  return complaint(errors);
}

TEST_CASE("an entry is chosen by its name, with its defaults") {
  Errors errors;
  const Choice choice = decoded(R"({"routing": "ecmp"})", errors);
  CHECK(errors.empty());
  CHECK(choice.name == "ecmp");
  CHECK(choice.parameters.get<std::int64_t>("queue_pairs") == 1);
  CHECK(choice.parameters.get<bool>("on"));
  CHECK(choice.parameters.get<std::string>("label") == "none");
  CHECK(choice.parameters.get<std::string>("unit") == "pp");
  CHECK(choice.parameters.get<Bytes>("buffer") == Bytes(1 << 20));
  CHECK(choice.parameters.get<Bandwidth>("floor") == Bandwidth(125'000'000));
  CHECK(choice.parameters.get<Duration>("interval") == Duration(5min));
  CHECK_FALSE(choice.parameters.has_value("limit"));
  CHECK_FALSE(choice.parameters.given("share"));
  CHECK(entry_of(family(), choice.name).create(choice.parameters) == 0.5);
}

TEST_CASE("an entry is chosen by an object, whose keys are its parameters") {
  Errors errors;
  const Choice choice = decoded(
      R"({"routing": {"name": "ecmp", "share": 1, "unit": "dp", "limit": 2.5, "queue_pairs": 64, "interval": "1h"}})",
      errors);
  CHECK(errors.empty());
  CHECK(choice.parameters.get<double>("share") == 1.0);
  CHECK(choice.parameters.given("share"));
  CHECK(choice.parameters.get<std::string>("unit") == "dp");
  CHECK(choice.parameters.get<double>("limit") == 2.5);
  CHECK(choice.parameters.get<std::int64_t>("queue_pairs") == 64);
  CHECK(choice.parameters.canonical() ==
        "buffer=1048576B,floor=125000000B/"
        "s,interval=360000000000000ticks,label=\"none\",limit=2.5,on=true,"
        "queue_pairs=64,share=1,unit=\"dp\"");
  CHECK(decoded(R"({"routing": {"name": "fixed", "path": 3}})", errors)
            .parameters.get<std::int64_t>("path") == 3);
  CHECK_FALSE(decoded(R"({"routing": {"name": "ecmp", "limit": null}})", errors)
                  .parameters.has_value("limit"));
  CHECK(errors.empty());
}

TEST_CASE("an unknown name is answered by the nearest entry, or by all") {
  CHECK(refusal(R"({"routing": "ecpm"})") ==
        "scenarios/x.json:1:13 /routing: unknown routing \"ecpm\"; did you mean \"ecmp\"?");
  CHECK(refusal(R"({"routing": {"name": "valiant"}})") ==
        "scenarios/x.json:1:22 /routing/name: unknown routing \"valiant\"; there are \"ecmp\", "
        "\"spray\", \"fixed\"");
}

TEST_CASE("what chooses nothing is refused") {
  CHECK(refusal(R"({"routing": 5})") ==
        "scenarios/x.json:1:13 /routing: expected a routing: its name, or an object with \"name\"; "
        "found the number 5");
  CHECK(refusal(R"({"routing": {}})") ==
        "scenarios/x.json:1:13 /routing: missing key \"name\", which chooses the routing");
  CHECK(refusal(R"({"routing": {"name": 5}})") ==
        "scenarios/x.json:1:22 /routing/name: expected a string, found the number 5");
}

TEST_CASE("an unknown parameter is answered by the nearest") {
  CHECK(refusal(R"({"routing": {"name": "ecmp", "queue_pair": 4}})") ==
        "scenarios/x.json:1:30 /routing/queue_pair: unknown key; did you mean \"queue_pairs\"?");
  CHECK(refusal(R"({"routing": {"name": "spray", "x": 4}})") ==
        "scenarios/x.json:1:31 /routing/x: unknown key; known keys are \"name\"");
}

// Bounds of queue_pairs are 1 and 64, of share 0 and 1, of interval at most 3,600 s: the values at
// them are accepted above.
TEST_CASE("a parameter out of range or of the wrong type is refused, and all at once") {
  CHECK(
      refusal(
          R"({"routing": {"name": "ecmp", "queue_pairs": 0, "share": 1.5, "interval": "61min"}})") ==
      "scenarios/x.json:1:45 /routing/queue_pairs: must be from 1 to 64, found 0\n"
      "scenarios/x.json:1:57 /routing/share: must be from 0 to 1, found 1.5\n"
      "scenarios/x.json:1:74 /routing/interval: must be at most 3600s, found \"61min\"");
  CHECK(
      refusal(
          R"({"routing": {"name": "ecmp", "queue_pairs": 65, "on": 1, "unit": "dpx", "buffer": 5}})") ==
      "scenarios/x.json:1:45 /routing/queue_pairs: must be from 1 to 64, found 65\n"
      "scenarios/x.json:1:55 /routing/on: expected true or false, found the number 1\n"
      "scenarios/x.json:1:66 /routing/unit: unknown value \"dpx\"; did you mean \"dp\"?\n"
      "scenarios/x.json:1:83 /routing/buffer: expected a size with a unit, as \"25MB\" or "
      "\"1GiB\", found the number 5");
}

TEST_CASE("after an error there are values of the right type to go on with") {
  Errors errors;
  const Choice unknown = decoded(R"({"routing": "nothing_like_it"})", errors);
  CHECK(unknown.name == "ecmp");
  CHECK(unknown.parameters.get<double>("share") == 0.5);
  const Choice wrong = decoded(R"({"routing": {"name": "ecmp", "share": "x"}})", errors);
  CHECK(wrong.parameters.get<double>("share") == 0.5);
  const Choice incomplete = decoded(R"({"routing": {"name": "fixed"}})", errors);
  CHECK(incomplete.parameters.get<std::int64_t>("path") == 2);
}

TEST_CASE("a required parameter must be given, and the message shows how") {
  CHECK(refusal(R"({"routing": "fixed"})") ==
        "scenarios/x.json:1:13 /routing: \"fixed\" needs the parameter \"path\": write {\"name\": "
        "\"fixed\", \"path\": …}");
  CHECK(refusal(R"({"routing": {"name": "fixed"}})") ==
        "scenarios/x.json:1:13 /routing: missing key \"path\"");
}

TEST_CASE(
    "default choices are those of an empty object, and exist only without required parameters") {
  Errors errors;
  CHECK(default_choice("ecmp", descriptions(family())).parameters.canonical() ==
        decoded(R"({"routing": {"name": "ecmp"}})", errors).parameters.canonical());
  CHECK(default_choice("spray", descriptions(family())).parameters.canonical().empty());
  CHECK_THROWS_AS(static_cast<void>(default_choice("fixed", descriptions(family()))),
                  railyard::InternalError);
  CHECK_THROWS_AS(static_cast<void>(default_choice("none", descriptions(family()))),
                  railyard::InternalError);
}

TEST_CASE("asking for what was not declared, or for another type, is an internal error") {
  const Parameters parameters = default_choice("ecmp", descriptions(family())).parameters;
  CHECK_THROWS_AS(static_cast<void>(parameters.get<double>("shares")), railyard::InternalError);
  CHECK_THROWS_AS(static_cast<void>(parameters.get<std::int64_t>("share")),
                  railyard::InternalError);
  CHECK_THROWS_AS(static_cast<void>(parameters.get<double>("limit")), railyard::InternalError);
  CHECK_THROWS_AS(static_cast<void>(parameters.given("shares")), railyard::InternalError);
}

}  // namespace
