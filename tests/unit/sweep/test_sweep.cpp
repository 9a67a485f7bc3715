#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "railyard/metrics/run_result.hpp"
#include "railyard/sweep/execute.hpp"
#include "railyard/sweep/sweep.hpp"
#include "support/shared_data.hpp"

using namespace railyard;

namespace {

/// A sweep over tests/cli/small.json (two policies, one job), with this as its last members.
sweep::Sweep load(const std::string& rest, const sweep::Changes& changes = {},
                  std::optional<std::uint64_t> seed = std::nullopt) {
  const std::string text =
      R"({"description": "x", "scenario": "tests/cli/small.json", )" + rest + "}";
  return sweep::load(config::Document::parse_text(text, "sweep.json", test::source_dir()), "sweep",
                     changes, seed);
}

std::string error_of(const std::string& rest) {
  try {
    static_cast<void>(load(rest));
  } catch (const config::ConfigError& error) {
    return error.lines().front();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

// 2 x 3 values: the first key changes every third point.
TEST_CASE("a grid is the product of its values, the first key slowest") {
  const auto sweep = load(R"("grid": {"/jobs/0/iterations": [1, 2], "/seed": [7, 8, 9]})");
  REQUIRE(sweep.points.size() == 6);
  CHECK(sweep.axes == std::vector<std::string>{"/jobs/0/iterations", "/seed"});
  CHECK(sweep.points[3].values == std::vector<std::string>{"2", "7"});
  CHECK(sweep.specs[5].seed() == 9);
}

// {"first": 3, "count": 2} is [3, 4].
TEST_CASE("a range of seeds is the list of them") {
  const auto sweep =
      load(R"("grid": {"/jobs/0/iterations": [1]}, "seeds": {"first": 3, "count": 2})");
  REQUIRE(sweep.points.size() == 2);
  CHECK(sweep.points[0].seed == 3);
  CHECK(sweep.points[1].seed == 4);
  CHECK(has(error_of(R"("grid": {"/seed": [1]}, "seeds": {"first": 3})"), "count"));
}

TEST_CASE("seeds vary fastest, and a seed from outside replaces the scenario's") {
  const auto sweep = load(R"("grid": {"/jobs/0/iterations": [1, 2]}, "seeds": [3, 4])");
  REQUIRE(sweep.points.size() == 4);
  CHECK(sweep.specs[1].seed() == 4);
  CHECK(sweep.points[2].values[0] == "2");
  CHECK(load(R"("grid": {"/jobs/0/iterations": [1]})", {}, 11).specs[0].seed() == 11);
}

TEST_CASE("listed points keep their order, and what a point leaves out stays the scenario's") {
  const auto sweep = load(R"("points": [{"/seed": 5}, {"/jobs/0/iterations": 2}])");
  REQUIRE(sweep.points.size() == 2);
  CHECK(sweep.points[1].values == std::vector<std::string>{"", "2"});
  CHECK(sweep.specs[0].seed() == 5);
  CHECK(sweep.specs[1].seed() == 1);  // of small.json
}

TEST_CASE("one axis may set several places, and changes apply to every point") {
  const auto sweep = load(R"("grid": {"/seed /jobs/0/iterations": [6]})", {{"/notes", "[]"}});
  CHECK(sweep.specs[0].seed() == 6);
}

TEST_CASE("a point that cannot run is refused before any other runs, by its number and value") {
  const std::string error = error_of(R"("grid": {"/jobs/0/gpus": [16, 24]})");
  CHECK(has(error, "point 1, /jobs/0/gpus = 24: "));
  CHECK(has(error_of(R"("grid": {"/policys/x": [1]})"), "/policys"));
  CHECK(has(error_of(R"("grid": {"/jobs/0/globl_batch": [16]})"), "globl_batch"));
}

// small.json has two policy sets. Its alpha is of the metrics: another value is another run. An
// axis in one policy set leaves the other as it is.
TEST_CASE("runs that an axis does not touch have one key") {
  const auto by_policy = load(
      R"("grid": {"/policies/gpu_packing/placement/rank_order": ["pp_fastest", "dp_fastest"]})");
  CHECK(by_policy.specs[0].run_key(0) == by_policy.specs[1].run_key(0));
  CHECK(by_policy.specs[0].run_key(1) != by_policy.specs[1].run_key(1));
  CHECK(by_policy.specs[0].run_key(0) != by_policy.specs[0].run_key(1));
  const auto by_alpha = load(R"("grid": {"/diffusion/alpha": [0.2, 0.3]}, "seeds": [1, 2])");
  CHECK(by_alpha.specs[0].run_key(0) != by_alpha.specs[1].run_key(0));
  CHECK(by_alpha.specs[0].run_key(0) != by_alpha.specs[2].run_key(0));
}

TEST_CASE("a sweep says what is missing or too much") {
  CHECK(has(error_of(R"("seeds": [1])"), "\"random\" or \"latin_hypercube\" is missing"));
  CHECK(has(error_of(R"("grid": {"/seed": [1]}, "points": [{}])"), "cannot both be given"));
  CHECK(has(error_of(R"("grid": {"/seed": []})"), "at least one value"));
  CHECK(has(error_of(R"("grid": {"/seed": [1]}, "seeds": [-1])"), "cannot be negative"));
  CHECK(has(error_of(R"("gird": {"/seed": [1]})"), "grid"));
}

namespace {

class Counter final : public sweep::Watcher {
 public:
  explicit Counter(std::size_t most) : most_(most) {}
  void finished(const sweep::Run&) override { ++done; }
  bool stop() override { return done >= most_; }
  std::size_t done = 0;

 private:
  std::size_t most_;
};

}  // namespace

// Four points of two policies: eight runs; the digests are those of one thread, whatever thread did
// what.
TEST_CASE("results do not depend on the number of threads") {
  const auto sweep = load(R"("grid": {"/jobs/0/iterations": [1, 2], "/seed": [1, 2]})");
  Counter counter(100);
  const auto one = sweep::execute(sweep.specs, 1, &counter);
  const auto four = sweep::execute(sweep.specs, 4);
  CHECK(counter.done == 8);
  for (std::size_t i = 0; i < sweep.specs.size(); ++i) {
    REQUIRE((one[i].complete() && four[i].complete()));
    CHECK(scenario::assemble(sweep.specs[i], one[i].finished()).digest ==
          scenario::assemble(sweep.specs[i], four[i].finished()).digest);
  }
}

// Told to stop after the first run: that one is kept, the others are missing, none is half there.
TEST_CASE("what was finished before an interrupt is kept") {
  const auto sweep = load(R"("grid": {"/seed": [1]})");
  Counter counter(1);
  const auto executed = sweep::execute(sweep.specs, 1, &counter);
  CHECK_FALSE(executed[0].complete());
  CHECK(executed[0].finished().size() == 1);
}

// A header, then a row per point and policy: 1 + 2 x 2 lines.
TEST_CASE("points.csv has a row per point and policy") {
  const auto sweep = load(R"("grid": {"/seed": [1, 2]})");
  const auto executed = sweep::execute(sweep.specs, 1);
  std::vector<sweep::PointResult> points;
  for (std::size_t i = 0; i < executed.size(); ++i) {
    points.push_back({i, scenario::assemble(sweep.specs[i], executed[i].finished())});
  }
  const std::string csv = sweep::points_csv(sweep, points);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 5);
  CHECK(has(csv, "point,/seed,seed,policy,digest,throughput_tokens_per_s,"));
  CHECK(has(csv, "\n1,2,2,gpu_packing,"));
}
