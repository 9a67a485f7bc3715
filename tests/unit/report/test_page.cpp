#include "railyard/report/page.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "example.hpp"
#include "railyard/core/check.hpp"
#include "railyard/report/compare.hpp"
#include "railyard/report/report.hpp"

using namespace railyard;

namespace {

namespace fs = std::filesystem;

struct Folder {
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
  }
  fs::path path = fs::temp_directory_path() / "railyard-test-page";
};

metrics::RunResult named_example() {
  metrics::RunResult result = test::example_result();
  result.digest = metrics::digest_of(result);
  return result;
}

metrics::Detail detail_of(const metrics::RunResult& result) {
  metrics::Detail detail;
  detail.fabric.minipods = {{"minipod-0", 8}};
  detail.policies.resize(result.policies.size());
  detail.policies[0].holdings = {{0, 0, 8, 1.5, 2.5}};
  return detail;
}

}  // namespace

// JSON says the same with \u003c and \u2028 in place of the characters.
TEST_CASE("what stands in a script can neither end it nor break its lines") {
  const std::string name = "</script><!--\xe2\x80\xa8\xe2\x80\xa9 \xe2\x80\xa6";
  const std::string json = nlohmann::json{{"name", name}}.dump();
  const std::string safe = report::script_safe(json);
  CHECK(safe.find('<') == std::string::npos);
  CHECK(safe.find("\xe2\x80\xa8") == std::string::npos);
  CHECK(nlohmann::json::parse(safe).at("name") == name);
}

TEST_CASE("details are columns under the result's digest") {
  const auto result = named_example();
  const auto json = nlohmann::json::parse(report::detail_json(result, detail_of(result)));
  CHECK(json.at("digest") == result.digest);
  CHECK(json.at("fabric").at("minipods").at("gpus").at(0) == 8);
  const auto& holdings = json.at("policies").at("best_fit").at("holdings");
  CHECK(holdings.at("from_s").at(0) == 1.5);
  CHECK(holdings.at("gpus").size() == 1);
  CHECK(json.at("policies").at("best_fit").at("groups").is_null());
}

TEST_CASE("a page holds its result, and a detail of another run is refused") {
  if (!report::page_missing().empty()) {
    MESSAGE("built without pages: ", report::page_missing());
    CHECK_THROWS_AS(static_cast<void>(report::page_html("x", {})), InternalError);
    return;
  }
  const Folder folder;
  auto result = named_example();
  folder.write("result.json", report::result_json(result));
  folder.write("detail.json", report::detail_json(result, detail_of(result)));
  const std::string page = report::page_html(folder.path, {});
  const std::string head = R"(<script type="application/json" id="data">)";
  const auto from = page.find(head) + head.size();
  const auto data = nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
  CHECK(data.at("result").at("digest") == result.digest);
  CHECK(data.at("jobs").at("name").at(0) == "job");
  CHECK(data.at("result").at("policies").at("arnold").at("jobs").at("finish_s").size() == 1);
  CHECK(data.at("verdict").at("winner") == "arnold");
  CHECK(data.at("detail").at("policies").at("best_fit").at("holdings").at("to_s").at(0) == 2.5);
  result.digest[0] = result.digest[0] == '0' ? '1' : '0';
  folder.write("result.json", report::result_json(result));
  CHECK_THROWS_AS(static_cast<void>(report::page_html(folder.path, {})), report::ResultError);
}
