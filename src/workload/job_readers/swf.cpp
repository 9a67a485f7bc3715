// swf: the standard workload format of the Parallel Workloads Archive (Chapin, Cirne, Feitelson et
// al., "Benchmarks and Standards for the Evaluation of Parallel Job Schedulers", JSSPP 1999),
// version 2.2: 18 numbers a line, -1 where nothing is known, comments after a semicolon.
//
//   1 job, 2 submit, 3 wait, 4 run time, 5 processors, 8 processors asked for, 11 status
//   (1 completed, 0 failed, 5 cancelled), 12 user, 13 group, 15 queue
//
// Partial executions (status 2 to 4) are parts of a job that stands there whole, too.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <tuple>

#include "railyard/config/text_lines.hpp"
#include "workload/job_readers/common.hpp"

namespace railyard::workload {
namespace {

constexpr std::size_t kFields = 18;
using Fields = std::array<double, kFields>;

/// The fields of a line; false (and an error recorded) where it holds others.
bool take_fields(const config::TextLines& lines, std::size_t line, Fields& fields,
                 config::Errors& errors) {
  const auto words = config::words_of(lines[line]);
  if (words.size() != kFields) {
    errors.add(
        fmt::format("{}: has {} fields, a job has {}", lines.place(line), words.size(), kFields));
    return false;
  }
  for (std::size_t i = 0; i < kFields; ++i) {
    const auto number = config::parse_real(words[i]);
    if (!number || std::abs(*number) > 1e12) {
      errors.add(fmt::format("{} column {}: expected a number, found {}", lines.place(line), i + 1,
                             config::quoted(words[i])));
      return false;
    }
    fields[i] = *number;
  }
  return true;
}

std::string numbered(double number) {
  return number < 0 ? std::string() : fmt::format("{}", number);
}

}  // namespace

std::vector<config::ParameterSpec> swf_parameters() {
  return {{.name = "processors_per_gpu",
           .type = config::ParameterType::integer,
           .fallback = "1",
           .help = "so many processors of the archive are a GPU, rounded up",
           .min = 1,
           .max = 1e6},
          states_parameter()};
}

bool is_swf(std::string_view head) {
  bool known = false;
  config::for_each_line(head, [&](std::string_view line) {
    if (known || line.empty()) return;
    if (line.starts_with(';')) {
      known = line.find("Version:") != std::string_view::npos ||
              line.find("MaxProcs:") != std::string_view::npos;
      return;
    }
    const auto words = config::words_of(line);
    known = words.size() == kFields && config::parse_real(words[0]) && config::parse_real(words[3]);
  });
  return known;
}

JobTrace read_swf(const JobFile& file, const config::Parameters& terms) {
  const auto lines = config::TextLines::parse_text(file.contents(), file.path.string());
  const auto per_gpu = static_cast<double>(terms.get<std::int64_t>("processors_per_gpu"));
  config::Errors errors;
  JobCollector jobs(terms);
  for (std::size_t line = 0; line < lines.size(); ++line) {
    const std::string_view text = config::trimmed(lines[line]);
    if (text.empty() || text.starts_with(';')) continue;
    Fields fields{};
    if (!take_fields(lines, line, fields, errors)) continue;
    const auto [name, submit, wait, run, used] =
        std::tuple(fields[0], fields[1], fields[2], fields[3], fields[4]);
    const double status = fields[10];
    if (status >= 2 && status <= 4) {
      jobs.skip("partial executions", lines.place(line));
      continue;
    }
    RecordedJob record;
    record.job.name = fmt::format("{}", name);
    record.job.user = numbered(fields[11]);
    record.job.group = numbered(fields[12]);
    record.job.type = numbered(fields[14]);
    const double processors = used > 0 ? used : std::max(0.0, fields[7]);
    record.gpus = static_cast<std::int64_t>(std::ceil(processors / per_gpu));
    record.completed = status == 1;
    if (submit >= 0) record.submitted = submit;
    if (run > 0) {
      record.started = submit + std::max(0.0, wait);
      record.ended = *record.started + run;
    }
    const std::string wrong = jobs.add(std::move(record), lines.place(line));
    if (!wrong.empty()) errors.add(fmt::format("{}: {}", lines.place(line), wrong));
  }
  return jobs.finish(lines.name(), errors);
}

}  // namespace railyard::workload
