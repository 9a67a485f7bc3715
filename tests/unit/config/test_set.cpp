#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "railyard/config/reader.hpp"
#include "unit/config/messages.hpp"

namespace {

using railyard::config::Document;
using railyard::config::Errors;
using railyard::config::Node;
using railyard::config::Reader;
using railyard::test::complaint;
using railyard::test::document;

constexpr std::string_view kText =
    R"({"placement": {"name": "arnold", "alpha": 0.3}, "hosts": [10, 12], "a/b": 1})";

std::string set_to(std::string_view pointer, std::string_view value) {
  return document(kText).set(pointer, value).root().dump();
}

std::string set_complaint(std::string_view pointer, std::string_view value) {
  return complaint([&] { static_cast<void>(document(kText).set(pointer, value)); });
}

TEST_CASE("a value is replaced where it stands and the original stays") {
  const Document before = document(kText);
  const Document after = before.set("/placement/alpha", "0.5");
  CHECK(after.root().dump() ==
        R"({"placement":{"name":"arnold","alpha":0.5},"hosts":[10,12],"a/b":1})");
  CHECK(before.root().find("placement")->find("alpha")->real() == 0.3);
  CHECK(after.name() == "scenarios/x.json");
}

TEST_CASE("a value is JSON where it parses as JSON, else a string") {
  CHECK(set_to("/hosts", "7").find(R"("hosts":7,)") != std::string::npos);
  CHECK(set_to("/hosts", R"({"x": [true, null]})").find(R"("hosts":{"x":[true,null]},)") !=
        std::string::npos);
  CHECK(set_to("/hosts", "\"7\"").find(R"("hosts":"7",)") != std::string::npos);
  CHECK(set_to("/hosts", "400Gbps").find(R"("hosts":"400Gbps",)") != std::string::npos);
  CHECK(set_to("/hosts", "../shared/kalos.csv").find(R"("hosts":"../shared/kalos.csv",)") !=
        std::string::npos);
  CHECK(set_to("/hosts", "[1,").find(R"("hosts":"[1,",)") != std::string::npos);
  CHECK(set_to("/hosts", "").find(R"("hosts":"",)") != std::string::npos);
}

TEST_CASE("a new key is added at the end, an element replaced or appended") {
  CHECK(set_to("/placement/beta", "1").find(R"({"name":"arnold","alpha":0.3,"beta":1})") !=
        std::string::npos);
  CHECK(set_to("/hosts/1", "9").find("[10,9]") != std::string::npos);
  CHECK(set_to("/hosts/2", "9").find("[10,12,9]") != std::string::npos);
  CHECK(set_to("/hosts/-", "9").find("[10,12,9]") != std::string::npos);
  CHECK(set_to("/a~1b", "2").find(R"("a/b":2)") != std::string::npos);
}

TEST_CASE("sets build on each other") {
  const Document twice = document(kText)
                             .set("/network", "{}")
                             .set("/network/model", "fluid")
                             .set("/network/model", "packet");
  CHECK(twice.root().find("network")->dump() == R"({"model":"packet"})");
  CHECK(twice.root().find("network")->find("model")->pointer() == "/network/model");
}

TEST_CASE("a pointer that leads nowhere is refused with the nearest key") {
  CHECK(set_complaint("/placment/alpha", "1") ==
        "--set /placment/alpha: the document has no \"placment\"; did you mean \"placement\"?");
  CHECK(set_complaint("/placement/x/y", "1") ==
        "--set /placement/x/y: /placement has no \"x\"; it has \"name\", \"alpha\"");
  CHECK(set_complaint("/placement/alpha/x", "1") ==
        "--set /placement/alpha/x: /placement/alpha at scenarios/x.json:1:43 is neither an object "
        "nor an array, so it has "
        "no \"x\"");
  CHECK(set_complaint("/hosts/3", "1") ==
        "--set /hosts/3: /hosts has 2 elements; \"3\" is no index of one, and \"-\" appends");
  CHECK(set_complaint("/hosts/01", "1") ==
        "--set /hosts/01: /hosts has 2 elements; \"01\" is no index of one, and \"-\" appends");
  CHECK(set_complaint("placement", "1") ==
        "--set placement: a JSON pointer begins with '/', as /policies/arnold/placement/alpha=0.3");
  CHECK(set_complaint("", "1") ==
        "--set : a JSON pointer begins with '/', as /policies/arnold/placement/alpha=0.3");
  CHECK(set_complaint("/a~b", "1") ==
        "--set /a~b: '~' in a JSON pointer is written ~0, and '/' ~1");
}

TEST_CASE("a value that is JSON but wrong is refused, not taken for a string") {
  CHECK(set_complaint("/hosts", "1e999") == "--set /hosts: the number 1e999 is too large");
  CHECK(set_complaint("/hosts", "99999999999999999999") ==
        "--set /hosts: the integer 99999999999999999999 does not fit 64 bits");
  CHECK(set_complaint("/hosts", R"({"a": 1, "a": 2})") ==
        "--set /hosts /hosts/a: duplicate key; it was given first at 1:2");
}

TEST_CASE("errors in set values name the option as their place") {
  const Document text = document(kText)
                            .set("/placement/alhpa", "0.5")
                            .set("/placement/alpha", "high")
                            .set("/placement/deep", R"({"q": 1})");
  CHECK(text.root().find("placement")->find("deep")->find("q")->place() == "--set /placement/deep");
  Errors errors;
  Reader reader(*text.root().find("placement"), errors);
  static_cast<void>(reader.required<std::string>("name"));
  static_cast<void>(reader.required<double>("alpha"));
  Reader deep(*reader.child("deep"), errors);
  deep.finish();
  reader.finish();
  CHECK(complaint(errors) ==
        "--set /placement/alpha: expected a number, found the string \"high\"\n"
        "--set /placement/deep /placement/deep/q: unknown key\n"
        "--set /placement/alhpa: unknown key; did you mean \"alpha\"?");
}

TEST_CASE("paths given by --set are relative to the working directory") {
  const Document text = document(R"({"trace": "a.csv"})");
  Errors errors;
  std::filesystem::path path;
  CHECK(decode(*text.root().find("trace"), errors, path));
  CHECK(path == std::filesystem::path("scenarios/a.csv"));
  CHECK(decode(*text.set("/trace", "a.csv").root().find("trace"), errors, path));
  CHECK(path == std::filesystem::path("a.csv"));
}

}  // namespace
