// `calibrate`: a user's own measurements to files that scenarios take.
#include "railyard/study/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "output.hpp"
#include "railyard/config/reader.hpp"
#include "railyard/report/json_writer.hpp"
#include "railyard/report/table.hpp"
#include "railyard/topology/fabric_reader.hpp"
#include "simulate.hpp"

namespace railyard::cli {

namespace {

namespace fs = std::filesystem;
using config::ConfigError;
using study::Residual;

/// What a part of the calibration found.
struct Finding {
  std::string source;
  std::string parameters;
  std::string file;   ///< name of what is written
  std::string text;   ///< and its content
  std::string range;  ///< sizes that were measured
  std::vector<Residual> residuals;
};

Finding calibrate_gpu(const CommandLine& line, const std::string& file) {
  const auto name = line.text("gpu");
  if (!name) throw ConfigError("--gemm: say which GPU was measured with --gpu NAME");
  config::Errors errors;
  const auto document = config::Document::parse_text(config::json_string(*name), "--gpu");
  const workload::GpuSpec base = workload::read_gpu(document.root(), errors);
  errors.throw_if_any();
  const auto sweep = study::read_gemm_sweep(file);
  const study::GpuFit fit = study::fit_gpu(base, sweep);
  double least = INFINITY;
  double most = 0;
  bool fp8 = false;
  for (const study::GemmMeasurement& each : sweep) {
    const double flops = 2.0 * static_cast<double>(each.rows) * static_cast<double>(each.columns) *
                         static_cast<double>(each.depth);
    least = std::min(least, flops);
    most = std::max(most, flops);
    fp8 = fp8 || each.precision == workload::Precision::fp8;
  }
  std::string parameters =
      fmt::format("gemm_efficiency {:.3f}, kernel_overhead {:.1f} us", fit.gpu.gemm_efficiency,
                  in_seconds(fit.gpu.kernel_overhead) * 1e6);
  if (fp8) parameters += fmt::format(", gemm_efficiency_fp8 {:.3f}", fit.gpu.gemm_efficiency_fp8);
  return {file,
          parameters,
          "gpu.json",
          study::gpu_json(base, fit),
          fmt::format("{:.3g} to {:.3g} FLOPs a product", least, most),
          fit.residuals};
}

/// "OPERATION=FILE"
Finding calibrate_fabric(const CommandLine& line, const std::string& given) {
  const std::size_t equals = given.find('=');
  const auto operation = equals == std::string::npos
                             ? std::nullopt
                             : collective::operation_of(given.substr(0, equals));
  if (!operation) {
    throw ConfigError(
        fmt::format("--nccl: expected OPERATION=FILE, as all_reduce=log.txt, found \"{}\"", given));
  }
  const auto topology = line.text("topology");
  const auto ranks = line.number("ranks");
  if (!topology || !ranks)
    throw ConfigError("--nccl: say where it ran with --topology FILE and --ranks N");
  const std::string file = given.substr(equals + 1);
  const auto log = study::read_nccl_tests(config::TextLines::parse_file(file));
  const auto description = topology::describe_file(*topology).set(line.changes());
  const study::FabricFit fit = study::fit_fabric(
      description, *operation,
      static_cast<std::uint32_t>(std::min<std::uint64_t>(*ranks, UINT32_MAX)), log);
  const auto [least, most] = std::minmax_element(
      log.begin(), log.end(), [](const auto& a, const auto& b) { return a.size < b.size; });
  return {file,
          fmt::format("{} efficiency {:.3f}, launch {:.1f} us", fit.link, fit.efficiency,
                      in_seconds(fit.launch) * 1e6),
          fit.link == "nic" ? "topology_nic.json" : "topology_nvlink.json",
          fit.topology + "\n",
          fmt::format("{} to {} bytes; scenario \"network\": {{\"protocol\": {{\"launch\": "
                      "\"{:.0f}ns\"}}}}",
                      least->size.count(), most->size.count(), in_seconds(fit.launch) * 1e9),
          fit.residuals};
}

/// The stack of a scenario's first job with another rate of matrix products, as JSON.
std::string stack_json(const config::Node& job, double gemm) {
  workload::SoftwareStack stack;
  if (const auto given = job.find("stack")) {
    if (const auto* known = given->is_string() ? workload::find_stack(given->string()) : nullptr) {
      stack = *known;
    } else if (given->is_object()) {
      config::Errors errors;
      config::Reader reader(*given, errors);
      stack.launch = reader.optional<Duration>("launch", Duration{});
      stack.skew = reader.optional<Duration>("skew", Duration{});
    }
  }
  return fmt::format(R"({{"launch": "{:.0f}ns", "gemm": {:.4f}, "skew": "{:.0f}ns"}})",
                     in_seconds(stack.launch) * 1e9, gemm, in_seconds(stack.skew) * 1e9);
}

/// "SCENARIO=TIME": the rate of products at which its baseline takes that long.
Finding calibrate_iteration(const CommandLine& line, const std::string& given) {
  const std::size_t equals = given.rfind('=');
  const auto measured =
      equals == std::string::npos ? std::nullopt : config::parse_duration(given.substr(equals + 1));
  if (!measured || *measured <= Duration{}) {
    throw ConfigError(fmt::format(
        "--iteration: expected SCENARIO=TIME, as scenarios/mine.json=11.7s, found \"{}\"", given));
  }
  const fs::path path = given.substr(0, equals);
  const config::Document document = config::Document::parse_file(path);
  const auto jobs = document.root().is_object() ? document.root().find("jobs") : std::nullopt;
  if (!jobs || !jobs->is_array() || jobs->size() != 1 || !jobs->at(0).is_object())
    throw ConfigError(fmt::format("--iteration: {} needs \"jobs\" with one job", path.string()));
  const auto seconds_at = [&](double gemm) {
    const auto changed = document.set("/jobs/0/stack", stack_json(jobs->at(0), gemm));
    const auto spec =
        scenario::load(changed, scenario_name(path), line.number("seed"), line.catalogs());
    metrics::RunFacts facts;
    const auto result = scenario::run_policy(spec, spec.baseline(), facts);
    const auto iteration = result.metrics.get(metrics::Metric::iteration_s_mean);
    if (!iteration)
      throw ConfigError(fmt::format("--iteration: {} has no iteration", path.string()));
    return *iteration;
  };
  const double wanted = in_seconds(*measured);
  const double gemm = study::golden_section(
      0.2, 2, [&](double value) { return std::abs(std::log(seconds_at(value) / wanted)); });
  return {path.string(),
          fmt::format("stack gemm {:.3f}", gemm),
          "stack.json",
          stack_json(jobs->at(0), gemm) + "\n",
          "one iteration; a job's \"stack\"",
          {{"iteration", wanted, seconds_at(gemm)}}};
}

std::string to_json(const std::vector<Finding>& findings) {
  report::JsonWriter json;
  json.open('{');
  json.rows("calibrations", findings, [&](const Finding& each) {
    json.member("source", std::string_view(each.source));
    json.member("parameters", std::string_view(each.parameters));
    json.member("range", std::string_view(each.range));
    json.member("mape_percent", study::mean_error_percent(each.residuals));
    json.rows("rows", each.residuals, [&](const Residual& residual) {
      json.member("id", std::string_view(residual.id));
      json.member("measured_s", residual.measured_s);
      json.member("simulated_s", residual.simulated_s);
      json.member("error_percent", residual.error_percent());
    });
  });
  json.close('}');
  return json.finish();
}

report::Table residual_table(const Finding& finding) {
  report::Table table{{{"measured", "", {}, true, false},
                       {"time", "us", {}, false, false},
                       {"simulated", "us", {}, false, false},
                       {"error", "%", {}, false, false}}};
  for (const Residual& each : finding.residuals) {
    const std::string cells[] = {each.id, fmt::format("{:.5g}", each.measured_s * 1e6),
                                 fmt::format("{:.5g}", each.simulated_s * 1e6),
                                 fmt::format("{:+.1f}", each.error_percent())};
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      table.columns[c].cells.push_back(cells[c]);
  }
  return table;
}

std::string printed(const std::vector<Finding>& findings, report::Format format) {
  if (format == report::Format::json) return to_json(findings);
  std::string out;
  for (const Finding& each : findings) {
    const report::Table table = residual_table(each);
    if (format == report::Format::csv) {
      std::string text = report::to_csv(table);
      if (!out.empty()) text.erase(0, text.find('\n') + 1);
      out += text;
      continue;
    }
    out += fmt::format("{}{}: {}; {} rows, {:.1f} % off on average\nmeasured: {}\n\n",
                       out.empty() ? "" : "\n", each.source, each.parameters, each.residuals.size(),
                       study::mean_error_percent(each.residuals), each.range);
    out += format == report::Format::markdown ? report::to_markdown(table) : report::to_text(table);
  }
  return out;
}

}  // namespace

CommandLine calibrate_options() {
  CommandLine line(
      {"calibrate",
       "",
       "Fits the few parameters of a GPU, a fabric and a software stack to your own measurements, "
       "prints what is\nleft of the errors, and writes gpu.json, topology_nvlink.json or "
       "topology_nic.json, and stack.json to --out.",
       {"railyard calibrate --gpu A100-80 --gemm tests/cli/gemm.csv",
        "railyard calibrate --topology topologies/superpod_a100.json --ranks 8 --nccl "
        "all_reduce=tests/cli/nccl.txt"}});
  line.option("gpu", "NAME", "the GPU of the sweep; what the sweep does not tell stays as it is")
      .member_of("gpus")
      .option("gemm", "FILE", "CSV with m, n, k and time_s, time_us or tflops (and precision)")
      .option("topology", "FILE", "the fabric of the logs")
      .option("ranks", "N", "its first N GPUs ran nccl-tests")
      .repeated("nccl", "OP=FILE", "a log of nccl-tests, as all_reduce=log.txt")
      .option("iteration", "SCENARIO=TIME", "one measured iteration, as mine.json=11.7s")
      .option("seed", "N", "of the scenario's random streams")
      .option("out", "DIR", "writes the files there")
      .repeated("set", "/pointer=value", "changes the fabric's description")
      .format_option();
  return line;
}

int calibrate(const CommandLine& line) {
  line.expect_words(0, 0, "no argument");
  const report::Format format = line.format();
  std::vector<Finding> findings;
  if (const auto file = line.text("gemm")) findings.push_back(calibrate_gpu(line, *file));
  for (const std::string& log : line.texts("nccl")) findings.push_back(calibrate_fabric(line, log));
  if (const auto given = line.text("iteration"))
    findings.push_back(calibrate_iteration(line, *given));
  for (std::size_t i = 0; i < findings.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (findings[i].file != findings[j].file) continue;
      throw ConfigError(
          fmt::format("--nccl: {} and {} tell of the same links; calibrate them one at "
                      "a time, the second with --set of what the first found",
                      findings[j].source, findings[i].source));
    }
  }
  if (findings.empty()) {
    throw ConfigError(
        "railyard calibrate: nothing to fit; give --gemm, --nccl or --iteration (--help)");
  }
  if (const auto out = line.text("out")) {
    prepare_folder(*out);
    for (const Finding& each : findings) write_file(fs::path(*out) / each.file, each.text);
  }
  write_stdout(printed(findings, format));
  return kGood;
}

}  // namespace railyard::cli
