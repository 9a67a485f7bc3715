// Traces of Alibaba's clusters.
//
//   lingjun  alibaba-lingjun-dataset-2023 (Crux, SIGCOMM'24): job.csv with a row a job, worker.csv
//            with a row a worker, whose RES is a JSON object that says "nvidia.com/gpu". Times have
//            the resolution of a minute.
//   pai      cluster-trace-gpu-v2020 (Weng et al., NSDI'22): pai_task_table.csv, without a header.
//            A job is its tasks; plan_gpu is in per cent of a GPU and instance. The table does not
//            say when a job was submitted: its first task's start stands for it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "railyard/config/file.hpp"
#include "railyard/config/text_lines.hpp"
#include "workload/job_readers/common.hpp"

namespace railyard::workload {
namespace {

using config::Csv;
using config::CsvColumn;
using config::Errors;

/// GPUs by job of worker.csv.
std::map<std::string, std::int64_t, std::less<>> read_workers(const std::string& text,
                                                              const std::string& name,
                                                              Errors& errors) {
  Csv csv = Csv::parse_text(text, name);
  const auto job = csv.required("job_name", errors);
  const auto resources = csv.required("RES", errors);
  std::map<std::string, std::int64_t, std::less<>> gpus;
  errors.throw_if_any();
  for (std::size_t row = 0; row < csv.rows(); ++row) {
    if (is_absent(csv.text(row, resources))) continue;
    try {
      const auto document = config::Document::parse_text(csv.text(row, resources), "RES");
      if (!document.root().is_object()) throw config::ConfigError("no object");
      const auto count = document.root().find("nvidia.com/gpu");
      if (!count) continue;
      const auto number = count->is_string() ? config::parse_integer(count->string())
                          : count->kind() == config::Kind::integer ? std::optional(count->integer())
                                                                   : std::nullopt;
      if (!number || *number < 0 || *number > kTraceJobGpusMax)
        throw config::ConfigError("no number of GPUs");
      std::int64_t& sum = gpus[std::string(csv.text(row, job))];
      sum = std::min(sum + *number, kTraceJobGpusMax);
    } catch (const config::ConfigError&) {
      csv.fail(row, resources, errors,
               fmt::format("expected a JSON object with \"nvidia.com/gpu\", found {}",
                           config::quoted(csv.text(row, resources))));
    }
  }
  return gpus;
}

CsvColumn first_of(Csv& csv, std::initializer_list<std::string_view> columns) {
  for (const std::string_view column : columns) {
    if (const auto found = csv.optional(column)) return found;
  }
  return {};
}

}  // namespace

std::vector<config::ParameterSpec> lingjun_parameters() {
  return {{.name = "workers",
           .type = config::ParameterType::path,
           .fallback = "null",
           .help = "worker.csv; where it is not given, the one beside job.csv"},
          states_parameter()};
}

bool is_lingjun(std::string_view head) {
  return has_columns(head, ",", {"job_name", "gmt_job_submitted"});
}

JobTrace read_lingjun(const JobFile& file, const config::Parameters& terms) {
  const std::string workers =
      terms.has_value("workers")
          ? terms.get<std::string>("workers")
          : (file.path.parent_path() /
             (file.path.extension() == ".gz" ? "worker.csv.gz" : "worker.csv"))
                .string();
  Errors errors;
  const auto gpus = read_workers(config::read_file(workers), workers, errors);
  Csv csv = Csv::parse_text(file.contents(), file.path.string());
  const auto name = csv.required("job_name", errors);
  const auto submit = csv.required("gmt_job_submitted", errors);
  const auto start = csv.required("gmt_job_running", errors);
  const auto finish = csv.required("gmt_job_finished", errors);
  const auto stop = csv.optional("gmt_job_stopped");
  const auto status = csv.optional("status");
  const auto model = csv.optional("model");
  const auto kind = csv.optional("kind");
  const auto priority = csv.optional("priority");
  const auto user = first_of(csv, {"user_id", "user"});
  const auto group = first_of(csv, {"tenant_id", "tenant", "group_id", "group"});
  errors.throw_if_any();
  JobCollector jobs(terms);
  for (std::size_t row = 0; row < csv.rows(); ++row) {
    const std::size_t before = errors.count();
    RecordedJob record;
    record.job.name = csv.text(row, name);
    record.job.type = csv.text(row, is_absent(csv.text(row, model)) ? kind : model);
    record.job.user = csv.text(row, user);
    record.job.group = csv.text(row, group);
    if (priority && !is_absent(csv.text(row, priority))) {
      record.job.priority = static_cast<std::int32_t>(csv.integer(
          row, priority, errors, {.min = -kTracePriorityMax, .max = kTracePriorityMax}));
    }
    if (const auto found = gpus.find(record.job.name); found != gpus.end())
      record.gpus = found->second;
    const std::string_view word = csv.text(row, status);
    record.completed = word == "Succeeded" || word == "Success" || word == "Finished";
    jobs.add_row(csv, row, {submit, start, finish, stop}, std::move(record), errors, before);
  }
  return jobs.finish(csv.name(), errors);
}

bool is_pai(std::string_view head) {
  if (has_columns(head, ",", {"job_name", "task_name", "inst_num", "plan_gpu"})) return true;
  const std::string_view line = head.substr(0, head.find('\n'));
  const bool has_state = line.find(",Terminated,") != std::string_view::npos ||
                         line.find(",Failed,") != std::string_view::npos ||
                         line.find(",Running,") != std::string_view::npos ||
                         line.find(",Waiting,") != std::string_view::npos;
  return has_state && std::ranges::count(line, ',') == 9;
}

JobTrace read_pai(const JobFile& file, const config::Parameters& terms) {
  std::string text = file.contents();
  config::CsvDialect dialect;
  if (!text.starts_with("job_name,")) {
    dialect.columns = {"job_name", "task_name", "inst_num", "status",   "start_time",
                       "end_time", "plan_cpu",  "plan_mem", "plan_gpu", "gpu_type"};
  }
  Csv csv = Csv::parse_text(std::move(text), file.path.string(), dialect);
  Errors errors;
  const auto name = csv.required("job_name", errors);
  const auto instances = csv.required("inst_num", errors);
  const auto status = csv.required("status", errors);
  const auto start = csv.required("start_time", errors);
  const auto end = csv.required("end_time", errors);
  const auto percent = csv.required("plan_gpu", errors);
  const auto kind = csv.optional("gpu_type");
  csv.finish({"task_name", "plan_cpu", "plan_mem"}, errors);
  errors.throw_if_any();
  struct Sum {
    RecordedJob record;
    double percent = 0;
    std::size_t first_row = 0;
    bool open = false;
  };
  std::map<std::string, std::size_t, std::less<>> index_of;
  std::vector<Sum> sums;
  for (std::size_t row = 0; row < csv.rows(); ++row) {
    const auto [found, fresh] = index_of.emplace(std::string(csv.text(row, name)), sums.size());
    if (fresh) {
      sums.emplace_back();
      sums.back().first_row = row;
      sums.back().record.job.name = found->first;
      sums.back().record.job.type = csv.text(row, kind);
    }
    Sum& sum = sums[found->second];
    const double count =
        is_absent(csv.text(row, instances))
            ? 0
            : csv.real(row, instances, errors, {.min = 0, .max = double{kTraceJobGpusMax}});
    const double share = is_absent(csv.text(row, percent))
                             ? 0
                             : csv.real(row, percent, errors, {.min = 0, .max = 1e6});
    sum.percent += count * share;
    sum.record.completed = sum.record.completed && csv.text(row, status) == "Terminated";
    const auto began = moment(csv, row, start, errors);
    const auto ended = moment(csv, row, end, errors);
    if (began) sum.record.started = std::min(*began, sum.record.started.value_or(*began));
    if (began && !ended) sum.open = true;
    if (ended) sum.record.ended = std::max(*ended, sum.record.ended.value_or(*ended));
  }
  JobCollector jobs(terms);
  for (Sum& sum : sums) {
    sum.record.gpus = static_cast<std::int64_t>(
        std::min(std::ceil(sum.percent / 100), double{kTraceJobGpusMax} + 1));
    sum.record.submitted = sum.record.started;
    if (sum.open) sum.record.ended.reset();
    const std::string wrong = jobs.add(std::move(sum.record), csv.place(sum.first_row));
    if (!wrong.empty()) csv.fail(sum.first_row, end, errors, wrong);
  }
  JobTrace trace = jobs.finish(csv.name(), errors);
  trace.notes.emplace_back(
      "jobs are submitted when their first task starts: the table says no more");
  return trace;
}

}  // namespace railyard::workload
