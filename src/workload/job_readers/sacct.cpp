// sacct: what Slurm's accounting prints by `sacct -P`, a header and fields between bars. Wanted are
// JobID, Submit, Start, End, State and AllocTRES (or ReqTRES): for example
//
//   sacct -a -P -o JobID,User,Account,Partition,Priority,Submit,Start,End,State,AllocTRES
//
// GPUs are gres/gpu of the trackable resources. Other fields may stand there, unused. Steps of jobs
// ("42.batch") are skipped. Times are the cluster's local ones, without an offset.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "railyard/config/text_lines.hpp"
#include "workload/job_readers/common.hpp"

namespace railyard::workload {
namespace {

using config::Csv;
using config::CsvColumn;

/// gres/gpu=16 of "billing=128,gres/gpu:a100=16,gres/gpu=16,node=2"; kinds are summed where the
/// total does not stand there.
std::int64_t gpus_of(const Csv& csv, std::size_t row, CsvColumn column, config::Errors& errors) {
  std::string_view rest = csv.text(row, column);
  std::int64_t kinds = 0;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    const std::size_t equals = one.find('=');
    const std::string_view key = one.substr(0, equals);
    if (key != "gres/gpu" && !key.starts_with("gres/gpu:")) continue;
    const auto count = equals == std::string_view::npos
                           ? std::nullopt
                           : config::parse_integer(one.substr(equals + 1));
    if (!count || *count < 0 || *count > kTraceJobGpusMax) {
      csv.fail(row, column, errors,
               fmt::format("expected GPUs as gres/gpu=N, found {}", config::quoted(one)));
      return 0;
    }
    if (key == "gres/gpu") return *count;
    kinds += *count;
  }
  return kinds;
}

bool still_there(std::string_view state) {
  static constexpr std::array<std::string_view, 6> kWords{"PENDING",   "RUNNING",  "REQUEUED",
                                                          "SUSPENDED", "RESIZING", "CONFIGURING"};
  return std::ranges::find(kWords, state) != kWords.end();
}

}  // namespace

bool is_sacct(std::string_view head) {
  return has_columns(head, "|", {"JobID", "State"});
}

JobTrace read_sacct(const JobFile& file, const config::Parameters& terms) {
  Csv csv =
      Csv::parse_text(file.contents(), file.path.string(), {.separator = '|', .quotes = false});
  config::Errors errors;
  const auto name = csv.required("JobID", errors);
  const auto submit = csv.required("Submit", errors);
  const auto start = csv.required("Start", errors);
  const auto end = csv.required("End", errors);
  const auto state = csv.required("State", errors);
  auto resources = csv.optional("AllocTRES");
  if (!resources) resources = csv.optional("ReqTRES");
  if (!resources) resources = csv.required("AllocTRES", errors);
  const auto user = csv.optional("User");
  const auto account = csv.optional("Account");
  const auto partition = csv.optional("Partition");
  const auto priority = csv.optional("Priority");
  errors.throw_if_any();
  JobCollector jobs(terms);
  for (std::size_t row = 0; row < csv.rows(); ++row) {
    if (csv.text(row, name).find('.') != std::string_view::npos) {
      jobs.skip("steps of jobs", csv.place(row));
      continue;
    }
    const std::string_view word = csv.text(row, state);
    if (still_there(word.substr(0, word.find(' ')))) {
      jobs.skip("jobs that wait or run", csv.place(row));
      continue;
    }
    const std::size_t before = errors.count();
    RecordedJob record;
    record.job.name = csv.text(row, name);
    record.job.user = csv.text(row, user);
    record.job.group = csv.text(row, account);
    record.job.type = csv.text(row, partition);
    if (priority && !is_absent(csv.text(row, priority))) {
      // Slurm's are 32 bits without a sign.
      const std::int64_t value =
          csv.integer(row, priority, errors, {.min = 0, .max = std::int64_t{UINT32_MAX}});
      record.job.priority = static_cast<std::int32_t>(std::min(value, kTracePriorityMax));
    }
    record.gpus = gpus_of(csv, row, resources, errors);
    record.completed = word == "COMPLETED";
    jobs.add_row(csv, row, {submit, start, end}, std::move(record), errors, before);
  }
  return jobs.finish(csv.name(), errors);
}

}  // namespace railyard::workload
