// Job traces that are one table with a row a job.
//
//   job_csv       our own (job_stream.hpp)
//   acme          AcmeTrace, trace_seren.csv and trace_kalos.csv (Hu et al., NSDI'24)
//   helios        HeliosData, cluster_log.csv (Hu et al., SC'21)
//   gavel_philly  arrivals and sizes of Philly as Gavel's simulator has them (OSDI'20)
//   csv           any other, with its columns named
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "railyard/config/text_lines.hpp"
#include "railyard/core/rng.hpp"
#include "workload/job_readers/common.hpp"

namespace railyard::workload {
namespace {

using config::Csv;
using config::CsvColumn;
using config::Errors;
using config::ParameterSpec;
using config::ParameterType;

/// What acme and helios have in common: absolute times, a state, GPUs in all.
JobTrace read_slurm_log(const JobFile& file, const config::Parameters& terms,
                        std::string_view type_column, std::string_view group_column) {
  Csv csv = Csv::parse_text(file.contents(), file.path.string());
  Errors errors;
  const auto name = csv.required("job_id", errors);
  const auto gpus = csv.required("gpu_num", errors);
  const auto state = csv.required("state", errors);
  const auto submit = csv.required("submit_time", errors);
  const auto start = csv.required("start_time", errors);
  const auto end = csv.required("end_time", errors);
  const auto user = csv.optional("user");
  const auto type = csv.optional(type_column);
  const auto group = csv.optional(group_column);
  // "duration" of AcmeTrace holds the time in the queue as well; start and end do not.
  csv.finish({"node_num", "cpu_num", "mem_per_pod_GB", "shared_mem_per_pod", "fail_time",
              "stop_time", "duration", "queue", "gpu_time", "jobname"},
             errors);
  errors.throw_if_any();
  JobCollector jobs(terms);
  for (std::size_t row = 0; row < csv.rows(); ++row) {
    const std::size_t before = errors.count();
    RecordedJob record;
    record.job.name = csv.text(row, name);
    record.job.user = csv.text(row, user);
    record.job.type = csv.text(row, type);
    record.job.group = csv.text(row, group);
    record.gpus = csv.integer(row, gpus, errors, {.min = 0, .max = kTraceJobGpusMax});
    record.completed = csv.text(row, state) == "COMPLETED";
    jobs.add_row(csv, row, {submit, start, end}, std::move(record), errors, before);
  }
  return jobs.finish(csv.name(), errors);
}

/// Run times of a file, one column, in an order that the seed draws.
std::vector<double> drawn_runtimes(const std::string& path, std::int64_t seed, Errors& errors) {
  Csv csv = Csv::parse_file(path);
  if (csv.columns().size() != 1) {
    errors.add(fmt::format("{}: has {} columns, expected one of run times in seconds", csv.name(),
                           csv.columns().size()));
    return {};
  }
  const auto runtime = csv.required(csv.columns().front(), errors);
  std::vector<double> out;
  for (std::size_t row = 0; row < csv.rows(); ++row) {
    const double seconds = csv.real(row, runtime, errors, {.min = 0, .max = kTraceSecondsMax});
    if (seconds > 0) out.push_back(seconds);
  }
  if (out.empty()) errors.add(csv.name() + ": holds no run time");
  Rng rng = RngStreams(static_cast<std::uint64_t>(seed)).stream("runtimes");
  rng.shuffle(std::span(out));
  return out;
}

/// A cell as a factor of seconds.
double seconds_of(const std::string& unit) {
  if (unit == "ms") return 1e-3;
  if (unit == "min") return 60;
  return unit == "h" ? 3600 : 1;
}

/// Columns of a table that the user named.
struct NamedColumns {
  NamedColumns(Csv& csv, const config::Parameters& terms, Errors& errors) {
    const auto take = [&](std::string_view key) -> CsvColumn {
      if (!terms.has_value(key)) return {};
      return csv.required(terms.get<std::string>(key), errors);
    };
    name = take("job");
    submit = take("submit");
    gpus = take("gpus");
    duration = take("duration");
    start = take("start");
    end = take("end");
    type = take("type");
    priority = take("priority");
    user = take("user");
    group = take("group");
    if (static_cast<bool>(duration) == (start && end)) {
      errors.add(csv.name() + ": reader csv: give either \"duration\" or \"start\" and \"end\"");
    }
  }
  CsvColumn name, submit, gpus, duration, start, end, type, priority, user, group;
};

}  // namespace

bool is_acme(std::string_view head) {
  return has_columns(head, ",", {"job_id", "gpu_num", "submit_time", "type"});
}

JobTrace read_acme(const JobFile& file, const config::Parameters& terms) {
  return read_slurm_log(file, terms, "type", "");
}

bool is_helios(std::string_view head) {
  return has_columns(head, ",", {"job_id", "gpu_num", "submit_time", "vc"});
}

JobTrace read_helios(const JobFile& file, const config::Parameters& terms) {
  return read_slurm_log(file, terms, "", "vc");
}

bool is_job_csv(std::string_view head) {
  return has_columns(head, ",", {"submit_time_s", "num_gpus"}) && !is_gavel_philly(head);
}

JobTrace read_job_csv(const JobFile& file, const config::Parameters& /*terms*/) {
  Csv csv = Csv::parse_text(file.contents(), file.path.string());
  Errors errors;
  const auto name = csv.required("job_id", errors);
  const auto submit = csv.required("submit_time_s", errors);
  const auto gpus = csv.required("num_gpus", errors);
  const auto duration = csv.required("duration_s", errors);
  const auto type = csv.optional("job_type");
  const auto priority = csv.optional("priority");
  const auto user = csv.optional("user");
  const auto group = csv.optional("group");
  csv.finish({"num_nodes", "gpus_per_node", "cpus_per_gpu", "mem_per_pod_gb"}, errors);
  if (csv.rows() == 0)
    errors.add(csv.name() + ": an empty trace: there is a header but not one job");
  errors.throw_if_any();
  JobTrace trace;
  trace.name = csv.name();
  std::unordered_map<std::string, std::size_t> row_of;
  for (std::size_t row = 0; row < csv.rows(); ++row) {
    TraceJob job;
    job.name = std::string(csv.text(row, name));
    if (job.name.empty()) csv.fail(row, name, errors, "a job needs a name");
    const auto [first, fresh] = row_of.emplace(job.name, row);
    if (!fresh) {
      csv.fail(row, name, errors,
               fmt::format("\"{}\" is taken by {}", job.name, csv.place(first->second)));
    }
    job.submit = from_seconds(csv.real(row, submit, errors, {.min = 0, .max = kTraceSecondsMax}));
    job.gpus = static_cast<std::uint32_t>(
        csv.integer(row, gpus, errors, {.min = 1, .max = kTraceJobGpusMax}));
    const std::size_t errors_before = errors.count();
    const double seconds = csv.real(row, duration, errors, {.min = 0, .max = kTraceSecondsMax});
    job.duration = from_seconds(seconds);
    if (seconds == 0 && errors.count() == errors_before) {
      csv.fail(row, duration, errors, "a job must last longer than nothing");
    }
    job.type = csv.text(row, type);
    job.user = csv.text(row, user);
    job.group = csv.text(row, group);
    if (priority) {
      job.priority = static_cast<std::int32_t>(csv.integer(
          row, priority, errors, {.min = -kTracePriorityMax, .max = kTracePriorityMax}));
    }
    trace.jobs.push_back(std::move(job));
  }
  errors.throw_if_any();
  std::ranges::stable_sort(trace.jobs, {}, &TraceJob::submit);
  return trace;
}

bool is_gavel_philly(std::string_view head) {
  return has_columns(head, ",", {"submit_time_s", "num_gpus", "gavel_steps"});
}

std::vector<ParameterSpec> gavel_philly_parameters() {
  return {{.name = "runtimes",
           .type = ParameterType::path,
           .fallback = "null",
           .help = "a table of one column of run times in s, dealt to the jobs at random; without "
                   "it Gavel's synthetic ones"},
          {.name = "seed",
           .type = ParameterType::integer,
           .fallback = "1",
           .help = "of the deal",
           .min = 0}};
}

JobTrace read_gavel_philly(const JobFile& file, const config::Parameters& terms) {
  Csv csv = Csv::parse_text(file.contents(), file.path.string());
  Errors errors;
  const auto submit = csv.required("submit_time_s", errors);
  const auto gpus = csv.required("num_gpus", errors);
  const auto group = csv.optional("vc");
  const auto duration = csv.required("v100_1gpu_duration_s", errors);
  csv.finish({"gavel_model", "gavel_steps"}, errors);
  std::vector<double> dealt;
  if (terms.has_value("runtimes")) {
    dealt =
        drawn_runtimes(terms.get<std::string>("runtimes"), terms.get<std::int64_t>("seed"), errors);
  }
  if (csv.rows() == 0) errors.add(csv.name() + ": there is a header but not one job");
  errors.throw_if_any();
  JobTrace trace;
  trace.name = csv.name();
  trace.notes.emplace_back(
      dealt.empty() ? "run times are Gavel's synthetic ones (a random model's steps on one V100), "
                      "not Philly's"
                    : "run times are dealt to the jobs at random: which job ran how long is not "
                      "recorded");
  for (std::size_t row = 0; row < csv.rows(); ++row) {
    TraceJob job;
    job.name = std::to_string(row);
    job.submit = from_seconds(csv.real(row, submit, errors, {.min = 0, .max = kTraceSecondsMax}));
    job.gpus = static_cast<std::uint32_t>(
        csv.integer(row, gpus, errors, {.min = 1, .max = kTraceJobGpusMax}));
    const double recorded = csv.real(row, duration, errors, {.min = 1e-9, .max = kTraceSecondsMax});
    job.duration = from_seconds(dealt.empty() ? recorded : dealt[row % dealt.size()]);
    job.group = csv.text(row, group);
    trace.jobs.push_back(std::move(job));
  }
  errors.throw_if_any();
  std::ranges::stable_sort(trace.jobs, {}, &TraceJob::submit);
  return trace;
}

std::vector<ParameterSpec> csv_jobs_parameters() {
  std::vector<ParameterSpec> out;
  const auto add = [&out](std::string_view name, std::string_view fallback, std::string_view help) {
    out.push_back(
        {.name = name, .type = ParameterType::string, .fallback = fallback, .help = help});
  };
  add("job", "null", "column of names; none: the jobs are numbered");
  add("submit", "", "column of submit times: a number in \"unit\", or a date");
  add("gpus", "", "column of GPUs in all");
  add("duration", "null", "column of run times, in \"unit\"");
  add("start", "null", "column of starts, with \"end\" in place of \"duration\"");
  add("end", "null", "column of ends");
  add("type", "null", "column of kinds of jobs");
  add("priority", "null", "column of priorities, whole numbers, higher goes first");
  add("user", "null", "column of users");
  add("group", "null", "column of groups of users");
  out.push_back({.name = "unit",
                 .type = ParameterType::choice,
                 .fallback = "\"s\"",
                 .help = "of times and durations that are numbers",
                 .choices = {"ms", "s", "min", "h"}});
  out.push_back({.name = "separator",
                 .type = ParameterType::choice,
                 .fallback = "\",\"",
                 .help = "between columns",
                 .choices = {",", ";", "|", "tab"}});
  return out;
}

JobTrace read_csv_jobs(const JobFile& file, const config::Parameters& terms) {
  const std::string separator = terms.get<std::string>("separator");
  Csv csv = Csv::parse_text(file.contents(), file.path.string(),
                            {.separator = separator == "tab" ? '\t' : separator.front()});
  Errors errors;
  const NamedColumns columns(csv, terms, errors);
  errors.throw_if_any();
  const double unit = seconds_of(terms.get<std::string>("unit"));
  const auto at = [&](std::size_t row, CsvColumn column) {
    const auto seconds = moment(csv, row, column, errors);
    // A date is in seconds whatever the unit of numbers.
    const bool number = seconds && config::parse_real(config::trimmed(csv.text(row, column)));
    return number ? std::optional(*seconds * unit) : seconds;
  };
  JobCollector jobs(terms);
  for (std::size_t row = 0; row < csv.rows(); ++row) {
    const std::size_t before = errors.count();
    RecordedJob record;
    record.job.name = columns.name ? std::string(csv.text(row, columns.name)) : std::to_string(row);
    record.job.type = csv.text(row, columns.type);
    record.job.user = csv.text(row, columns.user);
    record.job.group = csv.text(row, columns.group);
    record.job.priority = static_cast<std::int32_t>(
        columns.priority ? csv.integer(row, columns.priority, errors,
                                       {.min = -kTracePriorityMax, .max = kTracePriorityMax})
                         : 0);
    record.gpus = csv.integer(row, columns.gpus, errors, {.min = 0, .max = kTraceJobGpusMax});
    record.submitted = at(row, columns.submit);
    record.started = columns.duration ? std::optional(0.0) : at(row, columns.start);
    record.ended = at(row, columns.duration ? columns.duration : columns.end);
    if (errors.count() != before) continue;
    const std::string wrong = jobs.add(std::move(record), csv.place(row));
    if (!wrong.empty())
      csv.fail(row, columns.duration ? columns.duration : columns.end, errors, wrong);
  }
  return jobs.finish(csv.name(), errors);
}

}  // namespace railyard::workload
