// Readers of job traces, on small files after the published lists of columns
// (tests/fuzz/seeds/jobs).
#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "railyard/workload/job_profile.hpp"
#include "railyard/workload/job_reader.hpp"
#include "support/shared_data.hpp"

namespace railyard::test {

using namespace workload;

namespace {

std::filesystem::path sample(const std::string& name) {
  return source_dir() / "tests" / "fuzz" / "seeds" / "jobs" / name;
}

JobTrace read_as(const JobFile& file, const std::string& reader) {
  return read_jobs(file, config::Document::parse_text(reader, "--reader").root());
}

/// The first error line, or empty.
std::string refused(const std::string& text, const std::string& reader) {
  try {
    static_cast<void>(read_as({"x", text}, reader));
  } catch (const config::ConfigError& error) {
    return error.lines().front();
  }
  return {};
}

std::uint64_t skipped(const JobTrace& trace, std::string_view reason) {
  const auto found = std::ranges::find(trace.skipped, reason, &SkippedRows::reason);
  return found == trace.skipped.end() ? 0 : found->rows;
}

double seconds(Duration duration) {
  return in_seconds(duration);
}

}  // namespace

TEST_CASE("every sample is recognised by its content, but tables whose columns must be named") {
  for (const char* file : {"acme.csv", "gavel_philly.csv", "helios.csv", "job_csv.csv",
                           "lingjun.csv", "pai.csv", "philly.json", "sacct.txt", "swf.swf"}) {
    const JobReaderEntry* known = recognise_jobs({sample(file)});
    REQUIRE(known != nullptr);
    CHECK(known->description.name == std::filesystem::path(file).stem());
  }
  CHECK(recognise_jobs({sample("csv.csv")}) == nullptr);
}

// a1 runs from 11:00:18 to 12:00:18, not the 3,618 s of "duration", which hold its 18 s in the
// queue. a3 comes 630 s after a1 and runs 30 s.
TEST_CASE("of AcmeTrace the time from start to end counts, not its column duration") {
  const JobTrace trace = read_jobs({sample("acme.csv")});
  REQUIRE(trace.jobs.size() == 2);
  CHECK(seconds(trace.jobs[0].duration) == 3600);
  CHECK(trace.jobs[0].gpus == 64);
  CHECK(trace.jobs[0].type == "Pretrain");
  CHECK(trace.jobs[0].user == "u1");
  CHECK(seconds(trace.jobs[1].submit) == 630);
  CHECK(seconds(trace.jobs[1].duration) == 30);
  CHECK(skipped(trace, "jobs without GPUs") == 1);
  CHECK(skipped(trace, "jobs that never ran") == 1);
}

TEST_CASE("jobs that did not complete are left out where that is asked for, and counted") {
  const auto trace = read_as({sample("acme.csv")}, R"({"name": "acme", "states": "completed"})");
  CHECK(trace.jobs.size() == 1);
  CHECK(skipped(trace, "jobs that did not complete") == 2);
}

TEST_CASE("Helios' virtual clusters are groups") {
  const JobTrace trace = read_jobs({sample("helios.csv")});
  REQUIRE(trace.jobs.size() == 2);
  CHECK(trace.jobs[0].group == "vcX");
  CHECK(seconds(trace.jobs[0].duration) == 7200);
  CHECK(seconds(trace.jobs[1].submit) == 692);  // 00:20:00 - 00:08:28
  CHECK(skipped(trace, "jobs that never ran") == 1);
}

// In hours: submitted at 0 and 3, running for 2 and 0.5.
TEST_CASE("a table of one's own is read by the columns that are named") {
  const auto trace = read_as({sample("csv.csv")},
                             R"({"name": "csv", "job": "id", "submit": "born", "gpus": "ngpu",
                                 "duration": "ran", "user": "who", "unit": "h", "separator": ";"})");
  REQUIRE(trace.jobs.size() == 2);
  CHECK(trace.jobs[1].name == "z");
  CHECK(trace.jobs[1].user == "bob");
  CHECK(seconds(trace.jobs[1].submit) == 3 * 3600);
  CHECK(seconds(trace.jobs[1].duration) == 1800);
  CHECK(skipped(trace, "jobs without GPUs") == 1);
}

TEST_CASE("a table wants either a duration or a start and an end") {
  CHECK(refused("a,b\n1,2\n", R"({"name": "csv", "submit": "a", "gpus": "b"})") ==
        "x: reader csv: give either \"duration\" or \"start\" and \"end\"");
  CHECK(refused("a,b\n1,2\n", R"({"name": "csv", "submit": "a", "gpus": "g", "duration": "b"})") ==
        "x:1: missing column \"g\"");
}

// dlc1: two workers of 8 GPUs, one of them as a text; from 10:02 to 11:02. dlc3 was stopped, and
// its master has no GPUs.
TEST_CASE("Lingjun's workers say how many GPUs a job has") {
  const JobTrace trace = read_jobs({sample("lingjun.csv")});
  REQUIRE(trace.jobs.size() == 2);
  CHECK(trace.jobs[0].gpus == 16);
  CHECK(trace.jobs[0].type == "llama_30b");
  CHECK(trace.jobs[0].priority == 5);
  CHECK(trace.jobs[1].gpus == 4);
  CHECK(trace.jobs[1].type == "TFJob");
  CHECK(seconds(trace.jobs[1].duration) == 1800);
  CHECK(skipped(trace, "jobs that never ran") == 1);
}

// jobA: 10 instances of half a GPU are 5 GPUs, from its first task's start at 990 to 1,600.
TEST_CASE("PAI's tasks are summed to jobs") {
  const JobTrace trace = read_jobs({sample("pai.csv")});
  REQUIRE(trace.jobs.size() == 2);
  CHECK(trace.jobs[0].gpus == 5);
  CHECK(seconds(trace.jobs[0].duration) == 610);
  CHECK(seconds(trace.jobs[1].submit) == 1010);
  CHECK(skipped(trace, "jobs without an end") == 1);
  CHECK(skipped(trace, "jobs without GPUs") == 1);
}

// app_1: attempts of 60 and 240 s on 2 and 4 GPUs.
TEST_CASE("Philly's attempts are one job") {
  const JobTrace trace = read_jobs({sample("philly.json")});
  REQUIRE(trace.jobs.size() == 1);
  CHECK(trace.jobs[0].gpus == 4);
  CHECK(seconds(trace.jobs[0].duration) == 300);
  CHECK(trace.jobs[0].group == "v1");
  CHECK(skipped(trace, "jobs without GPUs") == 1);
  CHECK(skipped(trace, "jobs without an end") == 1);
}

// 102_3 has 2 GPUs of one kind and 1 of another; the total of 101 is no third kind.
TEST_CASE("Slurm's GPUs are those of its trackable resources") {
  const JobTrace trace = read_jobs({sample("sacct.txt")});
  REQUIRE(trace.jobs.size() == 2);
  CHECK(trace.jobs[0].gpus == 16);
  CHECK(trace.jobs[0].priority == 1'000'000'000);
  CHECK(trace.jobs[1].gpus == 3);
  CHECK(trace.jobs[1].group == "ml");
  CHECK(trace.jobs[1].type == "gpu");
  CHECK(skipped(trace, "steps of jobs") == 1);
  CHECK(skipped(trace, "jobs that wait or run") == 1);
  CHECK(skipped(trace, "jobs without GPUs") == 1);
  CHECK(skipped(trace, "jobs that never ran") == 1);
}

// Job 3 has no processors recorded but 12 asked for: at 8 a GPU, 2 GPUs.
TEST_CASE("processors of the archive are GPUs at the rate that is given") {
  const auto trace = read_as({sample("swf.swf")}, R"({"name": "swf", "processors_per_gpu": 8})");
  REQUIRE(trace.jobs.size() == 2);
  CHECK(trace.jobs[0].gpus == 4);
  CHECK(trace.jobs[1].gpus == 2);
  CHECK(seconds(trace.jobs[1].submit) == 120);
  CHECK(skipped(trace, "jobs that never ran") == 1);
  CHECK(skipped(trace, "partial executions") == 1);
}

TEST_CASE("a bad row is refused by file, line and column") {
  const std::string acme = "job_id,gpu_num,state,submit_time,start_time,end_time,type\n";
  CHECK(refused(acme + "1,8,COMPLETED,yesterday,1,2,x\n", "\"acme\"") ==
        "x:2 column \"submit_time\": expected seconds or a date like 2023-05-17 11:00:58, found "
        "\"yesterday\"");
  CHECK(refused(acme + "1,8,COMPLETED,1,2,3,x\n1,8,COMPLETED,1,2,3,x\n", "\"acme\"") ==
        "x:3 column \"end_time\": \"1\" is taken by x:2");
  CHECK(refused(acme + "1,8,COMPLETED,1,5,3,x\n", "\"acme\"") ==
        "x:2 column \"end_time\": the job ends 2 s before it starts");
  CHECK(refused(acme + "1,x,COMPLETED,1,2,3,x\n", "\"acme\"") ==
        "x:2 column \"gpu_num\": expected an integer, found \"x\"");
  CHECK(refused("; Version: 2.2\n1 2 3\n", "\"swf\"") == "x:2: has 3 fields, a job has 18");
  CHECK(refused("1 a 0 60 -1 -1 -1 12 600 -1 0 6 2 -1 -1 -1 -1 -1\n", "\"swf\"") ==
        "x:1 column 2: expected a number, found \"a\"");
  CHECK(refused("JobID|Submit|Start|End|State|AllocTRES\n1|1|2|3|COMPLETED|gres/gpu=a\n",
                "\"sacct\"") ==
        "x:2 column \"AllocTRES\": expected GPUs as gres/gpu=N, found \"gres/gpu=a\"");
  CHECK(refused("[{\"jobid\": \"a\",\n\"submitted_time\": \"soon\"}]", "\"philly\"") ==
        "x:2: expected a date like 2017-10-09 07:01:55, found \"soon\"");
}

TEST_CASE("a trace of nothing but skipped rows says why it is refused") {
  CHECK(refused("; MaxProcs: 8\n1 0 0 -1 8 -1 -1 8 9 -1 5 1 1 -1 1 -1 -1 -1\n", "\"swf\"") ==
        "x: holds no job that ran on GPUs; 1 rows skipped: jobs that never ran (first at x:2)");
}

// What is read and written again is the same.
TEST_CASE("our own CSV holds all that other traces say of a job") {
  for (const char* name : {"acme.csv", "sacct.txt", "job_csv.csv"}) {
    const JobTrace trace = read_jobs({sample(name)});
    std::ostringstream text;
    write_job_csv(text, trace.jobs);
    CHECK(read_jobs({"x", text.str()}).jobs == trace.jobs);
  }
}

TEST_CASE("Gavel's Philly gets the run times of another table, each once before any twice") {
  const auto path = shared_data("traces/philly_gavel/philly_jobs_seed0.csv.gz");
  const auto times = shared_data("traces/philly_gavel/philly_runtime_s.csv.gz");
  if (!path || !times) return;
  const JobTrace synthetic = read_jobs({*path});
  CHECK(synthetic.jobs.size() == 15'264);
  const JobTrace trace =
      read_as({*path}, R"({"name": "gavel_philly", "runtimes": ")" + times->string() + R"("})");
  std::vector<Duration> durations;
  for (const TraceJob& job : trace.jobs) durations.push_back(job.duration);
  std::ranges::sort(durations);
  // The median of the table is 1,186 s; 15,264 draws put theirs within about 3 % of it.
  CHECK(seconds(durations[7632]) == doctest::Approx(1186).epsilon(0.05));
}

TEST_CASE("a load that is no job, or sizes that fit nowhere, are refused") {
  const std::string text = R"({"kind": "job_profile", "arrivals": {"cv": 1}, "types": [
    {"name": "a", "percent": 100, "gpus": {"8": 1}, "run_time_s": [[1, 0], [2, 100]]}]})";
  config::Errors errors;
  const auto profile = read_job_profile(config::Document::parse_text(text, "x").root(), errors);
  errors.throw_if_any();
  CHECK_THROWS_AS(static_cast<void>(generate_jobs(
                      profile, {.load = 0.1, .gpus = 8, .span = from_seconds(1), .seed = 1})),
                  config::ConfigError);
  CHECK_THROWS_AS(static_cast<void>(generate_jobs(
                      profile, {.load = 0.1, .gpus = 7, .span = from_seconds(1e6), .seed = 1})),
                  config::ConfigError);
}

// Jobs of 8 GPUs that last 1 to 2 s: 1 / ln 2 s on the average. A load of 1 on 8 GPUs for an hour
// is 3,600 ln 2 = 2,495 of them; the last comes a mean gap before the end of the hour.
TEST_CASE("a generated trace offers the load that was asked for") {
  const std::string text = R"({"kind": "job_profile", "arrivals": {"cv": 3}, "types": [
    {"name": "a", "percent": 100, "gpus": {"8": 1}, "run_time_s": [[1, 0], [2, 100]]}]})";
  config::Errors errors;
  const auto profile = read_job_profile(config::Document::parse_text(text, "x").root(), errors);
  const JobTrace trace =
      generate_jobs(profile, {.load = 1, .gpus = 8, .span = from_seconds(3600), .seed = 1});
  CHECK(trace.jobs.size() == 2495);
  double sum = 0;
  for (const TraceJob& job : trace.jobs) sum += seconds(job.duration);
  CHECK(sum == doctest::Approx(3600).epsilon(0.001));
  CHECK(seconds(trace.jobs.back().submit) == doctest::Approx(sum * 2494 / 2495).epsilon(1e-6));
  CHECK(std::ranges::is_sorted(trace.jobs, {}, &TraceJob::submit));
}

}  // namespace railyard::test
