#include "railyard/study/validation.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "study/alone.hpp"
#include "study/cluster_fabric.hpp"

namespace railyard::study {

namespace {

/// SC'21, Eq. 3: operations of an iteration with full recomputation, 96·B·s·l·h²(1 + s/(6h) +
/// V/(16lh)).
double sc21_flops(const workload::TrainingSpec& spec) {
  const workload::ModelSpec& m = spec.model;
  const double h = m.hidden;
  const double s = m.sequence;
  const double l = m.layers;
  return 96.0 * spec.global_batch * s * l * h * h *
         (1 + s / (6 * h) + m.vocabulary / (16.0 * l * h));
}

double in_metric(const ValidationRow& row, double step_s) {
  if (row.metric == "tflops_per_gpu(96Bslh2 formula)")
    return sc21_flops(row.spec) / (step_s * row.cluster.gpus) * 1e-12;
  if (row.metric == "tokens_per_s_per_gpu")
    return static_cast<double>(row.spec.global_batch) * row.spec.model.sequence /
           (step_s * row.cluster.gpus);
  return step_s;
}

/// What contradicts the row, but memory: measured rows did fit.
std::string contradictions(const ValidationRow& row, const workload::GpuSpec& gpu) {
  workload::GpuSpec roomy = gpu;
  roomy.memory = Bytes(INT64_MAX / 2);
  std::string all;
  for (const std::string& problem : workload::check_training(row.spec, roomy))
    all += (all.empty() ? "" : "; ") + problem;
  return all;
}

double iteration_seconds(const ValidationRow& row, const workload::GpuSpec& gpu) {
  config::Errors errors;
  const topology::Topology fabric = fabric_of(row.cluster, errors);
  errors.throw_if_any();
  const auto dag =
      std::make_shared<const workload::IterationDag>(workload::build_iteration(row.spec, gpu));
  return run_alone(dag, row.cluster.gpus, fabric).iteration_ticks /
         static_cast<double>(kTicksPerSecond);
}

}  // namespace

ValidationResult simulate(const ValidationRow& row) {
  ValidationResult result{row.id, row.table, row.metric, row.published, std::nullopt, row.note};
  std::string why = row.not_simulated;
  const workload::GpuSpec* gpu = workload::find_gpu(row.cluster.gpu);
  if (why.empty() && gpu != nullptr) why = contradictions(row, *gpu);
  if (why.empty()) {
    result.simulated = in_metric(row, iteration_seconds(row, *gpu));
  } else {
    result.note = why;
  }
  return result;
}

namespace {

ValidationSummary summary_of(const std::string& table, std::vector<double> errors,
                             std::size_t rows) {
  ValidationSummary summary{table, rows, errors.size(), 0, 0, 0};
  if (errors.empty()) return summary;
  std::sort(errors.begin(), errors.end());
  const auto count = static_cast<double>(errors.size());
  summary.mape_percent = std::accumulate(errors.begin(), errors.end(), 0.0) / count;
  const auto at = [&](double share) {
    return errors[static_cast<std::size_t>(std::max(1.0, std::ceil(share * count))) - 1];
  };
  summary.median_percent = at(0.5);
  summary.p95_percent = at(0.95);
  return summary;
}

}  // namespace

std::vector<ValidationSummary> summarise(const std::vector<ValidationResult>& results) {
  std::vector<std::string> tables;
  for (const ValidationResult& result : results) {
    if (std::ranges::find(tables, result.table) == tables.end()) tables.push_back(result.table);
  }
  std::vector<ValidationSummary> out;
  std::vector<double> all;
  for (const std::string& table : tables) {
    std::vector<double> errors;
    std::size_t rows = 0;
    for (const ValidationResult& result : results) {
      if (result.table != table) continue;
      ++rows;
      if (const auto error = result.error_percent()) errors.push_back(std::abs(*error));
    }
    all.insert(all.end(), errors.begin(), errors.end());
    out.push_back(summary_of(table, std::move(errors), rows));
  }
  out.push_back(summary_of("overall", std::move(all), results.size()));
  return out;
}

}  // namespace railyard::study
