#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "railyard/config/document.hpp"
#include "railyard/sweep/sweep.hpp"
#include "support/shared_data.hpp"

using namespace railyard;

namespace {

sweep::Sweep load_sampled(const std::string& rest) {
  const std::string text =
      R"({"description": "x", "scenario": "tests/cli/small.json", )" + rest + "}";
  return sweep::load(config::Document::parse_text(text, "sweep.json", test::source_dir()), "sweep");
}

std::string sampling_error(const std::string& rest) {
  try {
    static_cast<void>(load_sampled(rest));
  } catch (const config::ConfigError& error) {
    return error.what();
  }
  return "";
}

std::vector<double> numbers(const sweep::Sweep& sweep, std::size_t axis) {
  std::vector<double> out;
  for (const auto& point : sweep.points) out.push_back(std::stod(point.values[axis]));
  return out;
}

}  // namespace

// By definition: with 20 points, slice k of 20 is [k/20, (k+1)/20), and of the 20 values of every
// axis one lies in each. Values have six digits, so that none crosses a border.
TEST_CASE("a Latin hypercube has one point in every slice of every axis") {
  const auto sweep = load_sampled(
      R"("latin_hypercube": {"points": 20, "axes": {"/diffusion/alpha": {"from": 0, "to": 1},
         "/jobs/0/iterations": {"from": 1, "to": 20, "whole": true}}})");
  REQUIRE(sweep.points.size() == 20);
  std::set<int> slices;
  for (const double alpha : numbers(sweep, 0)) slices.insert(static_cast<int>(alpha * 20));
  CHECK(slices.size() == 20);
  // Twenty whole numbers in twenty slices: each once.
  const auto whole = numbers(sweep, 1);
  CHECK(std::set<double>(whole.begin(), whole.end()).size() == 20);
}

// Of a hundred numbers of a logarithmic axis from 1 to 10,000, those below 100 are a half: 50 ± 5
// standard deviations of a binomial (5 each).
TEST_CASE("a logarithmic axis has as many points in every decade") {
  const auto sweep = load_sampled(
      R"("random": {"points": 100, "seed": 3, "axes": {"/jobs/0/iterations": {"from": 1,
         "to": 10000, "scale": "log", "whole": true}}})");
  const auto values = numbers(sweep, 0);
  const auto low = std::count_if(values.begin(), values.end(), [](double v) { return v < 100; });
  CHECK(low > 25);
  CHECK(low < 75);
  CHECK(*std::min_element(values.begin(), values.end()) >= 1);
}

TEST_CASE("random points depend on the sweep's seed alone, and more of them begin with the fewer") {
  const auto points = [](const std::string& count, const std::string& seed) {
    return load_sampled(R"("random": {"points": )" + count + R"(, "seed": )" + seed +
                        R"(, "axes": {"/diffusion/alpha": {"from": 0, "to": 1}}})");
  };
  const auto few = numbers(points("5", "1"), 0);
  const auto more = numbers(points("9", "1"), 0);
  CHECK(std::equal(few.begin(), few.end(), more.begin()));
  CHECK(few != numbers(points("5", "2"), 0));
}

// n is no axis: it follows from n = 8 a; the second condition leaves a = 0.25 and 0.5.
TEST_CASE("constraints give the values of what is no axis, and leave points out") {
  const auto sweep = load_sampled(
      R"("grid": {"/diffusion/alpha": [0.25, 0.5, 0.75]},
         "variables": {"a": "/diffusion/alpha", "n": "/jobs/0/iterations"},
         "constraints": ["n - 8 * a = 0", "2 * a <= 1"])");
  CHECK(sweep.axes.back() == "/jobs/0/iterations");
  CHECK(numbers(sweep, 1) == std::vector<double>{2, 4});
  CHECK(sweep.left_out == 1);
}

TEST_CASE("random points meet the constraints between axes") {
  const auto sweep = load_sampled(
      R"("random": {"points": 50, "axes": {"/diffusion/alpha": {"from": 0, "to": 1},
         "/jobs/0/iterations": {"from": 1, "to": 10, "whole": true}}},
         "variables": {"a": "/diffusion/alpha", "n": "/jobs/0/iterations"},
         "constraints": ["n <= 10 * a"])");
  REQUIRE(sweep.points.size() == 50);
  CHECK(sweep.left_out == 0);
  for (const auto& point : sweep.points)
    CHECK(std::stod(point.values[1]) <= 10 * std::stod(point.values[0]) + 1e-9);
}

TEST_CASE("what cannot be drawn or met is refused with its reason") {
  const std::string axis = R"("axes": {"/diffusion/alpha": {"from": 0, "to": 1}})";
  const auto has = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(has(sampling_error(R"("random": {"points": 0, )" + axis + "}"), "points"));
  CHECK(has(sampling_error(R"("random": {"points": 5, "axes": {"/x": {"from": 2, "to": 1}}})"),
            "must be more than"));
  CHECK(has(sampling_error(R"("random": {"points": 5, "axes": {"/x": {"from": 0, "to": 1,
                         "scale": "log"}}})"),
            "a logarithm wants numbers above 0"));
  CHECK(has(sampling_error(R"("random": {"points": 5, )" + axis + R"(}, "grid": {"/seed": [1]})"),
            "cannot both be given"));
  const std::string grid = R"("grid": {"/diffusion/alpha": [0.5]}, )";
  CHECK(has(
      sampling_error(grid + R"("variables": {"a": "/diffusion/alpha"}, "constraints": ["a = 2"])"),
      "no point meets the constraints"));
  CHECK(has(sampling_error(grid + R"("constraints": ["a = 1"])"), "no variable is named \"a\""));
  CHECK(has(sampling_error(grid +
                           R"("variables": {"a": "/diffusion/alpha"}, "constraints": ["a + = 1"])"),
            "expected a number or a name"));
  CHECK(has(sampling_error(grid + R"("variables": {"a": "/diffusion/alpha", "b": "/seed"},
                               "constraints": ["a < b"])"),
            "no equality says"));
}
