#include "railyard/workload/job_stream.hpp"

#include <algorithm>
#include <map>

#include "railyard/config/csv.hpp"
#include "railyard/core/check.hpp"

namespace railyard::workload {

namespace {
// A submit time and a duration must leave room on the clock (kHorizonMax is 92 million seconds).
constexpr double kSecondsMax = 40e6;
constexpr std::int64_t kPriorityMax = 1'000'000'000;
}  // namespace

std::vector<TraceJob> read_job_stream(const std::filesystem::path& path, double arrival_scale) {
  RAILYARD_CHECK(arrival_scale > 0, "arrival_scale {} is not positive", arrival_scale);
  config::Csv csv = config::Csv::parse_file(path);
  config::Errors errors;
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
  std::vector<TraceJob> jobs;
  std::map<std::string, std::size_t, std::less<>> row_of;
  for (std::size_t row = 0; row < csv.rows(); ++row) {
    TraceJob job;
    job.name = std::string(csv.text(row, name));
    if (job.name.empty()) csv.fail(row, name, errors, "a job needs a name");
    const auto [first, fresh] = row_of.emplace(job.name, row);
    if (!fresh) {
      csv.fail(row, name, errors,
               fmt::format("\"{}\" is taken by {}", job.name, csv.place(first->second)));
    }
    job.submit = from_seconds(
        std::min(kSecondsMax,
                 csv.real(row, submit, errors, {.min = 0, .max = kSecondsMax}) / arrival_scale));
    job.gpus =
        static_cast<std::uint32_t>(csv.integer(row, gpus, errors, {.min = 1, .max = 10'000'000}));
    const std::size_t errors_before = errors.count();
    const double seconds = csv.real(row, duration, errors, {.min = 0, .max = kSecondsMax});
    job.duration = from_seconds(seconds);
    if (seconds == 0 && errors.count() == errors_before) {
      csv.fail(row, duration, errors, "a job must last longer than nothing");
    }
    if (type) job.type = csv.text(row, type);
    if (user) job.user = csv.text(row, user);
    if (group) job.group = csv.text(row, group);
    if (priority) {
      job.priority = static_cast<std::int32_t>(
          csv.integer(row, priority, errors, {.min = -kPriorityMax, .max = kPriorityMax}));
    }
    jobs.push_back(std::move(job));
  }
  errors.throw_if_any();
  std::ranges::stable_sort(jobs, {}, &TraceJob::submit);
  return jobs;
}

}  // namespace railyard::workload
