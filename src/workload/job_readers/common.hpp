// What the readers of job traces have in common: points in time, rows that are skipped, one clock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "railyard/config/csv.hpp"
#include "railyard/workload/job_reader.hpp"

namespace railyard::workload {

[[nodiscard]] JobTrace read_acme(const JobFile& file, const config::Parameters& terms);
[[nodiscard]] bool is_acme(std::string_view head);
[[nodiscard]] JobTrace read_csv_jobs(const JobFile& file, const config::Parameters& terms);
[[nodiscard]] std::vector<config::ParameterSpec> csv_jobs_parameters();
[[nodiscard]] JobTrace read_gavel_philly(const JobFile& file, const config::Parameters& terms);
[[nodiscard]] bool is_gavel_philly(std::string_view head);
[[nodiscard]] std::vector<config::ParameterSpec> gavel_philly_parameters();
[[nodiscard]] JobTrace read_helios(const JobFile& file, const config::Parameters& terms);
[[nodiscard]] bool is_helios(std::string_view head);
[[nodiscard]] JobTrace read_job_csv(const JobFile& file, const config::Parameters& terms);
[[nodiscard]] bool is_job_csv(std::string_view head);
[[nodiscard]] JobTrace read_lingjun(const JobFile& file, const config::Parameters& terms);
[[nodiscard]] bool is_lingjun(std::string_view head);
[[nodiscard]] std::vector<config::ParameterSpec> lingjun_parameters();
[[nodiscard]] JobTrace read_pai(const JobFile& file, const config::Parameters& terms);
[[nodiscard]] bool is_pai(std::string_view head);
[[nodiscard]] JobTrace read_philly(const JobFile& file, const config::Parameters& terms);
[[nodiscard]] bool is_philly(std::string_view head);
[[nodiscard]] JobTrace read_sacct(const JobFile& file, const config::Parameters& terms);
[[nodiscard]] bool is_sacct(std::string_view head);
[[nodiscard]] JobTrace read_swf(const JobFile& file, const config::Parameters& terms);
[[nodiscard]] bool is_swf(std::string_view head);
[[nodiscard]] std::vector<config::ParameterSpec> swf_parameters();

/// "states": which jobs count by how they ended.
[[nodiscard]] config::ParameterSpec states_parameter();

/// Nothing is written there: an empty field, or what tools print instead.
[[nodiscard]] bool is_absent(std::string_view text);

/// Seconds since 1970: a number, or a date "2023-05-17 11:00:58", with T or a blank between, with
/// or without seconds, fractions of them, and an offset "Z" or "+08:00" (none: UTC). Empty where
/// the text is neither.
[[nodiscard]] std::optional<double> parse_moment(std::string_view text);
/// The same of a cell; empty where nothing is written there, and where an error was recorded.
[[nodiscard]] std::optional<double> moment(const config::Csv& csv, std::size_t row,
                                           config::CsvColumn column, config::Errors& errors);

/// Are all these words columns of the text's first line?
[[nodiscard]] bool has_columns(std::string_view head, std::string_view separator,
                               std::initializer_list<std::string_view> columns);

/// A job as a foreign trace records it.
struct RecordedJob {
  TraceJob job;  ///< all but submit, GPUs and duration
  std::optional<double> submitted;
  std::optional<double> started;
  std::optional<double> ended;
  std::int64_t gpus = 0;
  bool completed = true;
};

/// Collects the jobs of a trace that count, and counts the others.
class JobCollector {
 public:
  /// `terms` has "states".
  explicit JobCollector(const config::Parameters& terms)
      : only_completed_(terms.get<std::string>("states") == "completed") {}

  void skip(std::string_view reason, const std::string& place);
  /// Empty where the job was taken or skipped; else what is wrong with it.
  [[nodiscard]] std::string add(RecordedJob record, const std::string& place);
  struct Moments {
    config::CsvColumn submit;
    config::CsvColumn start;
    config::CsvColumn end;
    config::CsvColumn stop{};  ///< of jobs without an end; may be absent
  };
  /// Reads when the row's job was submitted, ran and ended, and adds it, or records what is wrong.
  /// Not where the row has had errors, since there were `errors_before`.
  void add_row(const config::Csv& csv, std::size_t row, const Moments& columns, RecordedJob record,
               config::Errors& errors, std::size_t errors_before);
  /// All submit times from the first on. Throws the errors, or ConfigError where no job is left.
  [[nodiscard]] JobTrace finish(const std::string& name, const config::Errors& errors);

 private:
  bool only_completed_;
  JobTrace trace_;
  std::vector<double> submitted_;                       ///< by job
  std::unordered_map<std::string, std::string> place_;  ///< by name
};

}  // namespace railyard::workload
