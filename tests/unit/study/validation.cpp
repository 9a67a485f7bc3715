#include "railyard/study/validation.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "railyard/config/document.hpp"

namespace railyard::test {

using namespace study;

namespace {

std::filesystem::path file_with(const std::string& name, const std::string& text) {
  const auto path = std::filesystem::temp_directory_path() / ("railyard_study_" + name);
  std::ofstream(path) << text;
  return path;
}

constexpr const char* kOneGpu = R"({
  "table": "mine",
  "defaults": {"layers": 4, "hidden": 1024, "heads": 16, "seq": 1024, "micro_batch": 2, "tp": 1,
               "pp": 1, "gpu": "A100-80", "metric": "step_s", "value": 0.1},
  "columns": ["id", "global_batch", "gpus"],
  "rows": [["one", 2, 1], ["two", 4, 1]]
})";

}  // namespace

// One GPU has nobody to talk to: an iteration is its passes and the optimizer, to the tick.
TEST_CASE("a row on one GPU takes its computation") {
  const auto rows = read_validation_rows(file_with("one.json", kOneGpu));
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].table == "mine");
  for (const ValidationRow& row : rows) {
    const auto times = workload::stage_times(row.spec, *workload::find_gpu("A100-80"), 0);
    const std::int64_t passes = row.spec.global_batch / 2;
    const double expected = in_seconds((times.forward + times.backward) * passes + times.optimizer);
    const ValidationResult result = simulate(row);
    REQUIRE(result.simulated.has_value());
    CHECK(*result.simulated == doctest::Approx(expected).epsilon(1e-9));
    CHECK(*result.error_percent() == doctest::Approx(100 * (expected / 0.1 - 1)));
  }
}

// 96·B·s·l·h²(1 + s/(6h) + V/(16lh)) over time and GPUs (SC'21, Eq. 3).
TEST_CASE("the metric of SC'21 counts recomputation") {
  auto rows = read_validation_rows(file_with("metric.json", kOneGpu));
  const double step = *simulate(rows[0]).simulated;
  rows[0].metric = "tflops_per_gpu(96Bslh2 formula)";
  const double flops =
      96.0 * 2 * 1024 * 4 * 1024 * 1024 * (1 + 1024 / (6.0 * 1024) + 51200 / (16.0 * 4 * 1024));
  CHECK(*simulate(rows[0]).simulated == doctest::Approx(flops / step * 1e-12));
}

TEST_CASE("a row that lacks a field is not simulated and says which") {
  const auto rows = read_validation_rows(file_with("lacks.json", R"({"rows": [
    {"id": "a", "hidden": 1024, "heads": 16, "seq": 1024, "global_batch": 2, "micro_batch": 2,
     "tp": 1, "pp": 1, "gpu": "A100-80", "gpus": 1, "value": 1},
    {"id": "b", "layers": 4, "hidden": 1024, "heads": 16, "seq": 1024, "global_batch": 2,
     "micro_batch": 2, "tp": 2, "pp": 1, "dp": 3, "gpu": "A100-80", "gpus": 8, "value": 1},
    {"id": "c", "layers": 5, "hidden": 1024, "heads": 16, "seq": 1024, "global_batch": 2,
     "micro_batch": 1, "tp": 1, "pp": 2, "gpu": "A100-80", "gpus": 2, "value": 1}]})"));
  REQUIRE(rows.size() == 3);
  CHECK(simulate(rows[0]).note == "\"layers\" is not given");
  CHECK(simulate(rows[1]).note == "tp 2 × pp 1 × cp 1 × dp 3 is not 8 GPUs");
  CHECK(simulate(rows[2]).note == "5 layers do not divide into 2 pipeline stages");
  for (const ValidationRow& row : rows) CHECK_FALSE(simulate(row).error_percent().has_value());
}

TEST_CASE("vTrain's columns are understood, and a change reaches every row") {
  const auto path = file_with(
      "vtrain.csv",
      "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,"
      "tensor parallelism,data parallelism,pipeline parallelism,iteration time (ms)\n"
      "2,16,1,1024,16,24,1024,1,1,2,372.16\n");
  const auto rows = read_validation_rows(path, {{"gpu", "A100-80"}, {"stack", "eager"}});
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].published == doctest::Approx(0.37216));
  CHECK(rows[0].spec.parallelism.pipeline == 2);
  CHECK(rows[0].spec.stack.name == "eager");
  const auto graphs = read_validation_rows(path, {{"gpu", "A100-80"}});
  CHECK(*simulate(rows[0]).simulated > *simulate(graphs[0]).simulated);
}

TEST_CASE("mistakes in rows are named with their place") {
  const auto fails = [](const std::string& field) {
    try {
      static_cast<void>(
          read_validation_rows(file_with("bad.json", R"({"rows": [{"id": "a", )" + field + "}]}")));
    } catch (const config::ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(fails(R"("layers": 1.5)").find("\"layers\": expected a whole number") != std::string::npos);
  CHECK(fails(R"("precision": "int3")").find("expected one of bf16") != std::string::npos);
  CHECK(fails(R"("zero": 4)").find("\"zero\": expected 0 to 3") != std::string::npos);
  CHECK(fails(R"("latent": [1, 2])").find("\"latent\": expected query rank") != std::string::npos);
}

// Errors of 1, 2, 3 and 10 %: mean 4, median 2 and 95th percentile 10 by nearest rank; the row
// without a result counts as a row only.
TEST_CASE("a summary is by table, over the rows that were simulated") {
  std::vector<ValidationResult> results;
  for (const double error : {1.0, -2.0, 3.0, -10.0})
    results.push_back({"r", "t", "step_s", 100, 100 + error, ""});
  results.push_back({"r", "u", "step_s", 100, std::nullopt, "no"});
  const auto summary = summarise(results);
  REQUIRE(summary.size() == 3);
  CHECK(summary[0].mape_percent == doctest::Approx(4));
  CHECK(summary[0].median_percent == doctest::Approx(2));
  CHECK(summary[0].p95_percent == doctest::Approx(10));
  CHECK(summary[1].simulated == 0);
  CHECK(summary[2].table == "overall");
  CHECK(summary[2].rows == 5);
}

}  // namespace railyard::test
