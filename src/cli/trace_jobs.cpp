#include "trace_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>
#include <vector>

#include "output.hpp"
#include "railyard/config/text_lines.hpp"
#include "railyard/workload/job_profile.hpp"
#include "railyard/workload/job_reader.hpp"

namespace railyard::cli {
namespace {

namespace fs = std::filesystem;
using workload::JobTrace;
using workload::TraceJob;

/// --reader as a document: a name, or an object with a name and parameters.
std::optional<config::Document> reader_of(const CommandLine& line) {
  const auto given = line.text("reader");
  if (!given) return std::nullopt;
  const bool is_object = given->starts_with('{');
  return config::Document::parse_text(is_object ? *given : config::json_string(*given), "--reader");
}

bool names_job_reader(const config::Node& reader) {
  const auto name = reader.is_object() ? reader.find("name") : std::optional(reader);
  if (!name || !name->is_string()) return false;
  const auto known = workload::job_reader_catalog();
  return std::ranges::any_of(
      known, [&](const auto& entry) { return entry.description.name == name->string(); });
}

/// Smallest, quartiles, largest of sorted values.
std::string spread_text(std::vector<double> values) {
  std::ranges::sort(values);
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
  };
  return fmt::format("{:.6g} (least), {:.6g}, {:.6g}, {:.6g} (quartiles), {:.6g} (most)", at(0),
                     at(0.25), at(0.5), at(0.75), at(1));
}

/// A number of an option that may have a fraction; more than nothing.
double positive(const CommandLine& line, const std::string& option, double fallback) {
  const auto text = line.text(option);
  if (!text) return fallback;
  const auto value = config::parse_real(*text);
  if (!value || *value <= 0)
    throw config::ConfigError(
        fmt::format("--{}: expected a number above 0, found \"{}\"", option, *text));
  return *value;
}

config::Document profile_file(const std::string& name) {
  if (fs::exists(name)) return config::Document::parse_file(name);
  const fs::path folder = bundled("workloads") / "profiles";
  std::vector<std::string> names;
  if (fs::is_directory(folder)) {
    for (const auto& file : fs::directory_iterator(folder)) {
      if (file.path().stem() == name) return config::Document::parse_file(file.path());
      names.push_back(file.path().stem().string());
    }
  }
  std::ranges::sort(names);
  throw config::ConfigError(
      unknown(fmt::format("--profile: \"{}\" is neither a file nor a bundled profile", name), name,
              std::vector<std::string_view>(names.begin(), names.end())));
}

std::string csv_text(const JobTrace& trace) {
  std::ostringstream text;
  workload::write_job_csv(text, trace.jobs);
  return text.str();
}

}  // namespace

std::optional<JobTrace> read_job_trace(const CommandLine& line, const std::string& path) {
  std::error_code fault;
  if (!fs::is_regular_file(path, fault)) return std::nullopt;
  const auto reader = reader_of(line);
  const workload::JobFile file{path};
  if (reader) {
    if (!names_job_reader(reader->root())) return std::nullopt;
  } else if (workload::recognise_jobs(file) == nullptr) {
    return std::nullopt;
  }
  if (line.has("absent"))
    throw config::ConfigError(fmt::format("--absent: {} is a job trace, which has no ranks", path));
  return workload::read_jobs(file, reader ? reader->root() : config::Node{});
}

std::string job_trace_text(const JobTrace& trace) {
  std::vector<double> gpus;
  std::vector<double> seconds;
  std::map<std::string, std::pair<std::size_t, double>> kinds;
  double gpu_s = 0;
  for (const TraceJob& job : trace.jobs) {
    gpus.push_back(job.gpus);
    seconds.push_back(in_seconds(job.duration));
    const double product = gpus.back() * seconds.back();
    gpu_s += product;
    auto& [count, sum] = kinds[job.type.empty() ? "(no kind)" : job.type];
    ++count;
    sum += product;
  }
  const double days = in_seconds(trace.jobs.back().submit - trace.jobs.front().submit) / 86'400;
  std::string out = fmt::format(
      "{}: {} trace of {} jobs, submitted over {:.6g} days\n  GPU-hours  {:.6g}\n  GPUs       {}\n"
      "  seconds    {}\n",
      trace.name, trace.format, trace.jobs.size(), days, gpu_s / 3600, spread_text(std::move(gpus)),
      spread_text(std::move(seconds)));
  for (const auto& [kind, sum] : kinds) {
    out += fmt::format("  {}: {} jobs, {:.4g} % of GPU time\n", kind, sum.first,
                       100 * sum.second / gpu_s);
  }
  for (const std::string& line : workload::skipped_text(trace)) out += "  " + line + '\n';
  for (const std::string& note : trace.notes) out += "  note: " + note + '\n';
  return out;
}

std::string convert_job_trace(const JobTrace& trace, const std::string& format,
                              const std::string& out) {
  if (format != "job_csv") {
    throw config::ConfigError(unknown(
        fmt::format("--to: \"{}\" is no format of job traces", format), format, {"job_csv"}));
  }
  const auto parent = fs::path(out).parent_path();
  if (!parent.empty()) prepare_folder(parent);
  write_file(out, csv_text(trace));
  return fmt::format("{}: written from {}", out, job_trace_text(trace));
}

int generate_job_trace(const CommandLine& line) {
  const auto name = line.text("profile");
  const auto gpus = line.number("gpus");
  if (!name || !gpus || *gpus == 0 || *gpus > UINT32_MAX)
    throw config::ConfigError("railyard trace generate wants --profile NAME and --gpus N");
  const double days = positive(line, "days", 30);
  if (days * 86'400 > workload::kTraceSecondsMax)
    throw config::ConfigError(fmt::format("--days: the clock ends after {:.0f} of them",
                                          workload::kTraceSecondsMax / 86'400));
  config::Errors errors;
  const auto document = profile_file(*name);
  const workload::JobProfile profile = workload::read_job_profile(document.root(), errors);
  errors.throw_if_any();
  JobTrace trace = workload::generate_jobs(profile, {.load = positive(line, "load", 0.8),
                                                     .gpus = static_cast<std::uint32_t>(*gpus),
                                                     .span = from_seconds(days * 86'400),
                                                     .seed = line.number("seed").value_or(1)});
  trace.name = *name;
  const auto out = line.text("out");
  write_stdout(out ? convert_job_trace(trace, "job_csv", *out) : csv_text(trace));
  return kGood;
}

}  // namespace railyard::cli
