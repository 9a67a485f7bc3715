#include <algorithm>

#include "railyard/config/csv.hpp"
#include "railyard/study/calibration.hpp"

namespace railyard::study {

namespace {

using config::ConfigError;

workload::Precision precision_of(const config::Csv& csv, std::size_t row, config::CsvColumn column,
                                 config::Errors& errors) {
  if (!column || csv.is_empty(row, column)) return workload::Precision::bf16;
  const auto& words = workload::precision_words();
  const auto found = std::find(words.begin(), words.end(), csv.text(row, column));
  const auto precision =
      found == words.end()
          ? workload::Precision::fp32
          : workload::precision_of(static_cast<std::size_t>(found - words.begin()));
  if (precision == workload::Precision::bf16 || precision == workload::Precision::fp8)
    return precision;
  csv.fail(row, column, errors, "expected bf16, fp16 or fp8");
  return workload::Precision::bf16;
}

}  // namespace

std::vector<GemmMeasurement> read_gemm_sweep(const std::filesystem::path& file) {
  config::Csv csv = config::Csv::parse_file(file);
  config::Errors errors;
  const auto m = csv.required("m", errors);
  const auto n = csv.required("n", errors);
  const auto k = csv.required("k", errors);
  const auto precision = csv.optional("precision");
  const auto time_s = csv.optional("time_s");
  const auto time_us = csv.optional("time_us");
  const auto tflops = csv.optional("tflops");
  csv.finish({}, errors);
  if ((time_s ? 1 : 0) + (time_us ? 1 : 0) + (tflops ? 1 : 0) != 1)
    errors.add(csv.name() + ": give one of the columns time_s, time_us and tflops");
  errors.throw_if_any();
  std::vector<GemmMeasurement> out;
  constexpr config::Range<std::int64_t> kSide{1, 1'000'000'000};
  constexpr config::Range<double> kPositive{1e-12, 1e12};
  for (std::size_t row = 0; row < csv.rows(); ++row) {
    GemmMeasurement each;
    each.rows = csv.integer(row, m, errors, kSide);
    each.columns = csv.integer(row, n, errors, kSide);
    each.depth = csv.integer(row, k, errors, kSide);
    each.precision = precision_of(csv, row, precision, errors);
    const double given =
        csv.real(row, time_s ? time_s : (time_us ? time_us : tflops), errors, kPositive);
    const double flops = 2.0 * static_cast<double>(each.rows) * static_cast<double>(each.columns) *
                         static_cast<double>(each.depth);
    each.seconds = time_s ? given : (time_us ? given * 1e-6 : flops / (given * 1e12));
    out.push_back(each);
  }
  if (out.empty()) errors.add(csv.name() + ": has a header but no rows");
  errors.throw_if_any();
  return out;
}

std::vector<CollectiveMeasurement> read_nccl_tests(const config::TextLines& log) {
  std::vector<CollectiveMeasurement> out;
  std::optional<std::size_t> time;
  for (std::size_t i = 0; i < log.size(); ++i) {
    std::vector<std::string_view> words = config::words_of(log[i]);
    if (words.empty()) continue;
    if (words.front().starts_with('#')) {
      // "#       size         count      type   redop    root     time   algbw …": the first time.
      words.erase(words.begin());
      if (words.empty() || words.front() != "size") continue;
      const auto found = std::find(words.begin(), words.end(), "time");
      if (found == words.end()) {
        throw ConfigError(fmt::format("{}: the header has no column \"time\"", log.place(i)));
      }
      time = static_cast<std::size_t>(found - words.begin());
      continue;
    }
    const auto size = config::parse_integer(words.front());
    if (!size) continue;  // what the launcher and NCCL print between
    if (!time) {
      throw ConfigError(
          fmt::format("{}: a row without the header line of nccl-tests (\"# size count type …\")",
                      log.place(i)));
    }
    const auto microseconds =
        *time < words.size() ? config::parse_real(words[*time]) : std::optional<double>();
    if (!microseconds || *microseconds <= 0) {
      throw ConfigError(fmt::format(
          "{}: expected a time in column {}, found {}", log.place(i), *time + 1,
          *time < words.size() ? config::quoted(words[*time]) : std::string("nothing")));
    }
    if (*size > 0) out.push_back({Bytes(*size), *microseconds * 1e-6});
  }
  if (out.empty()) {
    throw ConfigError(
        fmt::format("{}: no row of nccl-tests (size, count, type, …, time)", log.name()));
  }
  return out;
}

}  // namespace railyard::study
