// philly: cluster_job_log of philly-traces (Jeon et al., "Analysis of Large-Scale Multi-Tenant GPU
// Clusters for DNN Training Workloads", ATC'19), a JSON array with an object a job:
//
//   {"status": "Pass", "vc": "ee9e8c", "jobid": "application_1…", "user": "ce2e4b",
//    "submitted_time": "2017-10-09 07:01:55", "attempts": [{"start_time": …, "end_time": …,
//    "detail": [{"ip": "m1", "gpus": ["gpu0", …]}, …]}, …]}
//
// A job that was started again counts once: on the GPUs of its largest attempt, for the time of all
// attempts together.
#include <fmt/format.h>

#include <algorithm>

#include "railyard/config/json_stream.hpp"
#include "workload/job_readers/common.hpp"

namespace railyard::workload {
namespace {

using config::JsonStream;

std::optional<double> take_moment(JsonStream& json) {
  const std::string place = json.place();
  const std::string text = json.scalar();
  if (is_absent(text)) return std::nullopt;
  const auto seconds = parse_moment(text);
  if (!seconds)
    json.fail(fmt::format("expected a date like 2017-10-09 07:01:55, found \"{}\"", text));
  return seconds;
}

struct Attempt {
  std::optional<double> start;
  std::optional<double> end;
  std::int64_t gpus = 0;
};

Attempt take_attempt(JsonStream& json) {
  Attempt attempt;
  json.object([&](std::string_view key) {
    if (key == "start_time") {
      attempt.start = take_moment(json);
    } else if (key == "end_time") {
      attempt.end = take_moment(json);
    } else if (key == "detail") {
      json.array([&] {
        json.object([&](std::string_view member) {
          if (member != "gpus") return json.skip();
          json.array([&] {
            json.skip();
            ++attempt.gpus;
          });
        });
      });
    } else {
      json.skip();
    }
  });
  return attempt;
}

void take_job(JsonStream& json, JobCollector& jobs) {
  const std::string place = json.place();
  RecordedJob record;
  std::vector<Attempt> attempts;
  json.object([&](std::string_view key) {
    if (key == "status") {
      record.completed = json.scalar() == "Pass";
    } else if (key == "vc") {
      record.job.group = json.scalar();
    } else if (key == "user") {
      record.job.user = json.scalar();
    } else if (key == "jobid") {
      record.job.name = json.scalar();
    } else if (key == "submitted_time") {
      record.submitted = take_moment(json);
    } else if (key == "attempts") {
      json.array([&] { attempts.push_back(take_attempt(json)); });
    } else {
      json.skip();
    }
  });
  double ran = 0;
  for (const Attempt& attempt : attempts) {
    record.gpus = std::max(record.gpus, attempt.gpus);
    if (!attempt.start) continue;
    if (!record.started) record.started = attempt.start;
    if (attempt.end && *attempt.end < *attempt.start)
      json.fail("an attempt of the job before ends before it starts");
    if (attempt.end) ran += *attempt.end - *attempt.start;
  }
  if (record.started && attempts.back().end) record.ended = *record.started + ran;
  const std::string wrong = jobs.add(std::move(record), place);
  if (!wrong.empty()) throw config::ConfigError(place + ": " + wrong);
}

}  // namespace

bool is_philly(std::string_view head) {
  return head.find("\"submitted_time\"") != std::string_view::npos ||
         (head.find("\"jobid\"") != std::string_view::npos &&
          head.find("\"attempts\"") != std::string_view::npos);
}

JobTrace read_philly(const JobFile& file, const config::Parameters& terms) {
  JsonStream json(file.open());
  JobCollector jobs(terms);
  json.array([&] { take_job(json, jobs); });
  json.finish();
  return jobs.finish(file.path.string(), {});
}

}  // namespace railyard::workload
