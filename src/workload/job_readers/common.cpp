#include "workload/job_readers/common.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>

#include "railyard/config/text_lines.hpp"

namespace railyard::workload {
namespace {

using config::ParameterSpec;
using config::ParameterType;

/// Takes so many digits from the front; empty where they are not there.
std::optional<int> take_digits(std::string_view& text, std::size_t count) {
  if (text.size() < count) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(0, count)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(count);
  return value;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

/// "2023-05-17" as days since 1970.
std::optional<double> take_day(std::string_view& text) {
  using namespace std::chrono;
  const auto y = take_digits(text, 4);
  if (!y || !take(text, "-/")) return std::nullopt;
  const auto m = take_digits(text, 2);
  if (!m || !take(text, "-/")) return std::nullopt;
  const auto d = take_digits(text, 2);
  if (!d) return std::nullopt;
  const year_month_day date(year(*y), month(static_cast<unsigned>(*m)),
                            day(static_cast<unsigned>(*d)));
  if (!date.ok()) return std::nullopt;
  return static_cast<double>(sys_days(date).time_since_epoch().count());
}

/// "11:00" or "11:00:58.25" in seconds.
std::optional<double> take_clock(std::string_view& text) {
  const auto hour = take_digits(text, 2);
  if (!hour || *hour > 24 || !take(text, ":")) return std::nullopt;
  const auto minute = take_digits(text, 2);
  if (!minute || *minute > 59) return std::nullopt;
  double seconds = *hour * 3600.0 + *minute * 60.0;
  if (!take(text, ":")) return seconds;
  const auto second = take_digits(text, 2);
  if (!second || *second > 60) return std::nullopt;
  seconds += *second;
  if (!take(text, ".,")) return seconds;
  for (double digit = 0.1; !text.empty() && text.front() >= '0' && text.front() <= '9';
       digit /= 10) {
    seconds += (text.front() - '0') * digit;
    text.remove_prefix(1);
  }
  return seconds;
}

/// "Z", "+08:00" or "+0800" in seconds east; nothing is UTC.
std::optional<double> take_offset(std::string_view& text) {
  if (text.empty() || take(text, "Z")) return 0.0;
  const bool west = text.front() == '-';
  if (!take(text, "+-")) return std::nullopt;
  const auto hour = take_digits(text, 2);
  static_cast<void>(take(text, ":"));
  const auto minute = text.empty() ? std::optional(0) : take_digits(text, 2);
  if (!hour || !minute) return std::nullopt;
  const double seconds = *hour * 3600.0 + *minute * 60.0;
  return west ? -seconds : seconds;
}

}  // namespace

ParameterSpec states_parameter() {
  return {.name = "states",
          .type = ParameterType::choice,
          .fallback = "\"all\"",
          .help = "jobs that count: all that held GPUs, or those that completed",
          .choices = {"all", "completed"}};
}

bool is_absent(std::string_view text) {
  static constexpr std::array<std::string_view, 8> kWords{"",     "None", "none", "NULL",
                                                          "null", "nan",  "NaN",  "Unknown"};
  return std::ranges::find(kWords, config::trimmed(text)) != kWords.end();
}

std::optional<double> parse_moment(std::string_view text) {
  constexpr double kFarthest = 1e12;  // more than 30,000 years of seconds
  text = config::trimmed(text);
  if (const auto number = config::parse_real(text)) {
    return std::abs(*number) <= kFarthest ? number : std::nullopt;
  }
  const auto days = take_day(text);
  if (!days) return std::nullopt;
  if (text.empty()) return *days * 86'400;
  if (!take(text, "T ")) return std::nullopt;
  const auto clock = take_clock(text);
  if (!clock) return std::nullopt;
  const auto east = take_offset(text);
  if (!east || !text.empty()) return std::nullopt;
  return *days * 86'400 + *clock - *east;
}

std::optional<double> moment(const config::Csv& csv, std::size_t row, config::CsvColumn column,
                             config::Errors& errors) {
  if (!column) return std::nullopt;
  const std::string_view cell = csv.text(row, column);
  if (is_absent(cell)) return std::nullopt;
  const auto seconds = parse_moment(cell);
  if (!seconds) {
    csv.fail(row, column, errors,
             fmt::format("expected seconds or a date like 2023-05-17 11:00:58, found {}",
                         config::quoted(cell)));
  }
  return seconds;
}

bool has_columns(std::string_view head, std::string_view separator,
                 std::initializer_list<std::string_view> columns) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  std::string line =
      fmt::format("{}{}{}", separator, config::trimmed(head.substr(0, head.find('\n'))), separator);
  std::erase(line, '"');
  return std::ranges::all_of(columns, [&](std::string_view column) {
    return line.find(fmt::format("{}{}{}", separator, column, separator)) != std::string::npos;
  });
}

void JobCollector::skip(std::string_view reason, const std::string& place) {
  const auto known = std::ranges::find(trace_.skipped, reason, &SkippedRows::reason);
  if (known != trace_.skipped.end()) {
    ++known->rows;
  } else {
    trace_.skipped.push_back({std::string(reason), 1, place});
  }
}

void JobCollector::add_row(const config::Csv& csv, std::size_t row, const Moments& columns,
                           RecordedJob record, config::Errors& errors, std::size_t errors_before) {
  record.submitted = moment(csv, row, columns.submit, errors);
  record.started = moment(csv, row, columns.start, errors);
  record.ended = moment(csv, row, columns.end, errors);
  if (!record.ended) record.ended = moment(csv, row, columns.stop, errors);
  if (errors.count() != errors_before) return;
  const std::string wrong = add(std::move(record), csv.place(row));
  if (!wrong.empty()) csv.fail(row, columns.end, errors, wrong);
}

std::string JobCollector::add(RecordedJob record, const std::string& place) {
  TraceJob& job = record.job;
  if (job.name.empty()) return "a job needs a name";
  if (record.gpus < 0 || record.gpus > kTraceJobGpusMax)
    return fmt::format("{} GPUs, expected from 0 to {}", record.gpus, kTraceJobGpusMax);
  const auto [first, fresh] = place_.emplace(job.name, place);
  if (!fresh) return fmt::format("{} is taken by {}", config::quoted(job.name), first->second);
  if (record.started && record.ended && *record.ended < *record.started)
    return fmt::format("the job ends {} s before it starts", *record.started - *record.ended);
  if (record.gpus == 0) {
    skip("jobs without GPUs", place);
  } else if (only_completed_ && !record.completed) {
    skip("jobs that did not complete", place);
  } else if (!record.started) {
    skip("jobs that never ran", place);
  } else if (!record.ended) {
    skip("jobs without an end", place);
  } else if (*record.ended - *record.started > kTraceSecondsMax) {
    return fmt::format("the job runs for {} s, expected at most {}",
                       *record.ended - *record.started, kTraceSecondsMax);
  } else if (!record.submitted) {
    return "a job that ran was submitted some time";
  } else {
    job.gpus = static_cast<std::uint32_t>(record.gpus);
    job.duration = from_seconds(*record.ended - *record.started);
    if (job.duration == Duration{}) {
      skip("jobs that ended as they started", place);
      return {};
    }
    submitted_.push_back(*record.submitted);
    trace_.jobs.push_back(std::move(job));
  }
  return {};
}

JobTrace JobCollector::finish(const std::string& name, const config::Errors& errors) {
  errors.throw_if_any();
  trace_.name = name;
  if (trace_.jobs.empty()) {
    std::string message = name + ": holds no job that ran on GPUs";
    for (const std::string& line : skipped_text(trace_)) message += "; " + line;
    throw config::ConfigError(message);
  }
  const double first = *std::ranges::min_element(submitted_);
  const double last = *std::ranges::max_element(submitted_);
  if (last - first > kTraceSecondsMax) {
    throw config::ConfigError(
        fmt::format("{}: jobs are submitted over {} s, the clock ends after {}", name, last - first,
                    kTraceSecondsMax));
  }
  for (std::size_t j = 0; j < submitted_.size(); ++j)
    trace_.jobs[j].submit = from_seconds(submitted_[j] - first);
  std::ranges::stable_sort(trace_.jobs, {}, &TraceJob::submit);
  return std::move(trace_);
}

}  // namespace railyard::workload
