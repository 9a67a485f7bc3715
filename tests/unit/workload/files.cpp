// Readers of models, GPUs, micro-benchmarks and job traces: what is right is read, what is wrong is
// named.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

#include "railyard/workload/job_reader.hpp"
#include "railyard/workload/micro_benchmark.hpp"
#include "railyard/workload/trace_job.hpp"
#include "railyard/workload/transformer.hpp"
#include "support/shared_data.hpp"

namespace railyard::test {

using namespace workload;

namespace {

ModelSpec model_file(const std::string& name) {
  const auto document =
      config::Document::parse_file(source_dir() / "workloads" / "models" / (name + ".json"));
  config::Errors errors;
  const ModelSpec model = read_model(document.root(), errors);
  errors.throw_if_any();
  return model;
}

/// The first error line of reading `text` by `read`, or empty.
template <typename Read>
std::string error_of(const std::string& text, Read read) {
  const auto document = config::Document::parse_text(text, "x.json");
  config::Errors errors;
  static_cast<void>(read(document.root(), errors));
  try {
    errors.throw_if_any();
  } catch (const config::ConfigError& error) {
    return error.lines().front();
  }
  return {};
}
bool has_text(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::vector<TraceJob> read_trace(const std::string& text, double arrival_scale = 1) {
  const std::filesystem::path path = "workload_job_stream_test.csv";
  {
    std::ofstream file(path);
    file << text;
  }
  auto jobs = read_jobs({path}).jobs;
  if (arrival_scale != 1) scale_arrivals(jobs, arrival_scale);
  return jobs;
}
std::string trace_error(const std::string& text) {
  try {
    static_cast<void>(read_trace(text));
  } catch (const config::ConfigError& error) {
    return error.lines().front();
  }
  return {};
}

constexpr const char* kModel =
    R"("kind": "transformer", "name": "m", "layers": 2, "hidden": 64, "heads": 4, "vocabulary": 128, "sequence": 32)";

}  // namespace

TEST_CASE("every model file is read and named as its file") {
  std::size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(source_dir() / "workloads" / "models")) {
    CAPTURE(entry.path().string());
    const auto document = config::Document::parse_file(entry.path());
    if (document.root().find("kind")->string() != "transformer") continue;  // applications.cpp
    CHECK(model_file(entry.path().stem().string()).name == entry.path().stem().string());
    ++files;
  }
  CHECK(files >= 14);
}

TEST_CASE("the models of the trace-job rule equal their files") {
  CHECK(model_file("llama3_8b") == llama3_8b());
  CHECK(model_file("llama3_70b") == llama3_70b());
  CHECK(model_file("gpt3_175b") == gpt3_175b());
}

TEST_CASE("a model file may leave out what follows from the rest") {
  const auto document = config::Document::parse_text(fmt::format("{{{}}}", kModel), "x.json");
  config::Errors errors;
  const ModelSpec model = read_model(document.root(), errors);
  errors.throw_if_any();
  CHECK(model.kv_heads == 4);
  CHECK(model.head_dim == 16);
  CHECK(model.ffn == 256);
  CHECK(model.tied_embeddings);
}

TEST_CASE("mistakes in a model file are named") {
  const auto error = [](const std::string& more) {
    return error_of(fmt::format("{{{}, {}}}", kModel, more), read_model);
  };
  CHECK(has_text(error(R"("kv_heads": 3)"), "3 kv_heads do not divide 4 heads"));
  CHECK(has_text(error(R"("head_dims": 3)"), "head_dim"));
  CHECK(has_text(error(R"("ffn": 0)"), "/ffn"));
  CHECK(has_text(error_of(R"({"kind": "transfomer"})", read_model), "transformer"));
  CHECK(has_text(
      error_of(
          R"({"kind": "transformer", "name": "m", "layers": 2, "hidden": 64, "heads": 5, "vocabulary": 1,
                             "sequence": 1})",
          read_model),
      "5 heads do not divide hidden 64; give head_dim"));
}

TEST_CASE("a GPU is a name of the catalog or an object") {
  for (const GpuSpec& gpu : gpu_catalog()) {
    CHECK(find_gpu(gpu.name) == &gpu);
    CHECK(gpu.memory > Bytes(0));
    CHECK_FALSE(gpu.source.empty());
  }
  CHECK(find_gpu("A100") == nullptr);
  const auto document = config::Document::parse_text(
      R"([{"base": "A100-80", "name": "half", "memory_bandwidth": "1TB/s"}, "H100"])", "x.json");
  config::Errors errors;
  const GpuSpec half = read_gpu(document.root().at(0), errors);
  const GpuSpec h100 = read_gpu(document.root().at(1), errors);
  errors.throw_if_any();
  CHECK(half.name == "half");
  CHECK(half.memory_bandwidth == Bandwidth(1'000'000'000'000));
  CHECK(half.multiprocessors == 108);
  CHECK(h100.multiprocessors == 132);
}

// workloads/gpus is where users start from: each file says what the catalog says.
TEST_CASE("the files of GPUs equal the catalog") {
  for (const GpuSpec& known : gpu_catalog()) {
    CAPTURE(known.name);
    const auto document =
        config::Document::parse_file(source_dir() / "workloads" / "gpus" / (known.name + ".json"));
    config::Errors errors;
    const GpuSpec read = read_gpu(document.root(), errors);
    errors.throw_if_any();
    CHECK(read.name == known.name);
    CHECK(read.peak_bf16 == known.peak_bf16);
    CHECK(read.peak_fp8 == known.peak_fp8);
    CHECK(read.peak_tf32 == known.peak_tf32);
    CHECK(read.peak_fp32 == known.peak_fp32);
    CHECK(read.memory == known.memory);
    CHECK(read.memory_bandwidth == known.memory_bandwidth);
    CHECK(read.gemm_efficiency == known.gemm_efficiency);
    CHECK(read.gemm_efficiency_fp8 == known.gemm_efficiency_fp8);
    CHECK(read.memory_efficiency == known.memory_efficiency);
    CHECK(read.attention_efficiency == known.attention_efficiency);
    CHECK(read.multiprocessors == known.multiprocessors);
    CHECK(read.kernel_overhead == known.kernel_overhead);
    CHECK(read.power_w == known.power_w);
    CHECK(read.idle_power_w == known.idle_power_w);
    CHECK(read.source == known.source);
  }
}

TEST_CASE("mistakes in a GPU are named") {
  CHECK(has_text(error_of(R"({"base": "H100", "power": 700})", read_gpu),
                 "expected a power with a unit, as \"700W\" or \"1.2kW\""));
  CHECK(has_text(error_of(R"({"base": "H100", "power": "700 watts"})", read_gpu),
                 "units are \"W\", \"kW\" and \"MW\""));
  CHECK(has_text(error_of(R"({"base": "H100", "idle_power": "0.8kW"})", read_gpu),
                 "is more than \"power\""));
  CHECK(has_text(error_of(R"("A100-81")", read_gpu),
                 "unknown GPU \"A100-81\"; did you mean \"A100-80\"?"));
  CHECK(has_text(error_of(R"("abacus")", read_gpu),
                 "known are A100-40, A100-80, B200, B300, GB200, GB300, H100, H200, H800, L20, "
                 "MI250X, MI300X, V100"));
  CHECK(has_text(error_of(R"({"base": "H100", "gemm_efficiency": 1.1})", read_gpu),
                 "a share above 0 and up to 1"));
  CHECK(has_text(error_of(R"({"base": "H100", "multiprocessors": 0})", read_gpu), "1 to 100000"));
  CHECK(has_text(error_of(R"({"base": "H100", "memroy": "8GiB"})", read_gpu), "memory"));
  CHECK(has_text(error_of(R"({"name": "x"})", read_gpu), "peak_bf16"));
}

TEST_CASE("micro-benchmarks are read and refused as the collectives are") {
  const auto document = config::Document::parse_text(
      R"([{"kind": "collective", "operation": "all_gather", "size": "1GiB", "groups": "world", "repeats": 5},
          {"kind": "p2p", "size": "64MiB"}, {"kind": "collective", "operation": "all_to_all", "size": "1MB"}])",
      "x.json");
  config::Errors errors;
  const MicroBenchmark gather = read_micro_benchmark(document.root().at(0), errors);
  const MicroBenchmark pairs = read_micro_benchmark(document.root().at(1), errors);
  const MicroBenchmark exchange = read_micro_benchmark(document.root().at(2), errors);
  errors.throw_if_any();
  CHECK(gather.operation == collective::Operation::all_gather);
  CHECK(gather.algorithm == "ring");
  CHECK(gather.world);
  CHECK(gather.repeats == 5);
  CHECK(gather.size == Bytes(std::int64_t{1} << 30U));
  CHECK(pairs.point_to_point);
  CHECK(exchange.algorithm == "direct");
  const auto error = [](const std::string& text) { return error_of(text, read_micro_benchmark); };
  CHECK(has_text(
      error(
          R"({"kind": "collective", "operation": "all_to_all", "algorithm": "ring", "size": "1MB"})"),
      "for all_to_all use direct"));
  CHECK(has_text(error(R"({"kind": "p2p", "size": "0B"})"), "expected at least one byte"));
  CHECK(
      has_text(error(R"({"kind": "p2p", "size": "1MB", "operation": "all_reduce"})"), "operation"));
  CHECK(has_text(error(R"({"kind": "collective", "operation": "all_reduse", "size": "1MB"})"),
                 "all_reduce"));
}

TEST_CASE("the micro-benchmark files are read") {
  for (const std::string_view name : {"all_reduce_1gib.json", "send_recv_64mib.json"}) {
    CAPTURE(name);
    const auto document = config::Document::parse_file(source_dir() / "workloads" / "micro" / name);
    config::Errors errors;
    const MicroBenchmark spec = read_micro_benchmark(document.root(), errors);
    errors.throw_if_any();
    CHECK(spec.point_to_point == (name == "send_recv_64mib.json"));
    CHECK(spec.size == Bytes(std::int64_t{spec.point_to_point ? 64 : 1024} << 20U));
    CHECK(check_micro_benchmark(spec, 64, 8).empty());
  }
}

TEST_CASE("a job trace is read in order of submission, its arrivals compressed") {
  const auto jobs = read_trace(
      "job_id,submit_time_s,num_gpus,duration_s,job_type,num_nodes\nb,10.5,16,100,Pretrain,2\na,4,"
      "8,1e3,,1\n",
      2);
  REQUIRE(jobs.size() == 2);
  CHECK(jobs[0] == TraceJob{.name = "a",
                            .submit = from_seconds(2),
                            .gpus = 8,
                            .duration = from_seconds(1000),
                            .type = ""});
  CHECK(jobs[1] == TraceJob{.name = "b",
                            .submit = from_seconds(5.25),
                            .gpus = 16,
                            .duration = from_seconds(100),
                            .type = "Pretrain"});
}

TEST_CASE("a job trace says whose its jobs are and what goes first") {
  const auto jobs = read_trace(
      "job_id,submit_time_s,num_gpus,duration_s,priority,user,group\na,0,8,10,-3,ann,nlp\n");
  REQUIRE(jobs.size() == 1);
  CHECK(jobs[0].priority == -3);
  CHECK(jobs[0].user == "ann");
  CHECK(jobs[0].group == "nlp");
  CHECK(has_text(trace_error("job_id,submit_time_s,num_gpus,duration_s,priority\na,0,8,10,high\n"),
                 ":2 column \"priority\""));
}

TEST_CASE("mistakes in a job trace are named by file and line") {
  const std::string head = "job_id,submit_time_s,num_gpus,duration_s\n";
  CHECK(has_text(trace_error(head), "an empty trace"));
  CHECK(has_text(trace_error(head + "a,0,8,10\nb,-1,8,10\n"),
                 "workload_job_stream_test.csv:3 column \"submit_time_s\""));
  CHECK(has_text(trace_error(head + "a,0,0,10\n"), ":2 column \"num_gpus\""));
  CHECK(has_text(trace_error(head + "a,0,8,0\n"), "a job must last longer than nothing"));
  CHECK(has_text(trace_error(head + "a,0,8,10\na,1,8,10\n"),
                 ":3 column \"job_id\": \"a\" is taken by"));
  CHECK(has_text(trace_error(head + ",0,8,10\n"), "a job needs a name"));
  CHECK(has_text(trace_error("job_id,submit_time_s,gpus,duration_s\na,0,8,10\n"), "num_gpus"));
  CHECK(has_text(trace_error("job_id,submit_time_s,num_gpus,duration_s,colour\na,0,8,10,red\n"),
                 "colour"));
  std::filesystem::remove("workload_job_stream_test.csv");
}

// The README of the data says 319 jobs of up to 1,024 GPUs; 38 of them take all 1,024.
TEST_CASE("the real Kalos trace is read") {
  const auto path = shared_data("traces/acme_kalos/kalos_jobs.csv");
  if (!path) return;
  const auto jobs = read_jobs({*path}).jobs;
  CHECK(jobs.size() == 319);
  CHECK(std::ranges::count(jobs, 1024U, &TraceJob::gpus) == 38);
  CHECK(jobs.front().type == "OtherOrSFT");
}

}  // namespace railyard::test
