#include "slurm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <thread>

#include "command.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"

namespace railyard::cli {

namespace {

namespace fs = std::filesystem;

/// Tasks of an array without --shards: more than hosts of most queues, and each still has enough to
/// do to be worth its start.
constexpr std::size_t kShards = 64;

/// Between the quotes of a "#SBATCH" line, where Slurm reads backslashes; % begins one of its
/// patterns in names of files.
std::string sbatch_escaped(std::string_view text, bool file = false) {
  std::string out;
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') out += '\\';
    if (letter == '%' && file) out += '%';
    out += letter;
  }
  return out;
}

std::size_t shards_of(const CommandLine& line, const sweep::Sweep& sweep) {
  const auto given = line.number("shards");
  if (given && *given == 0) throw config::ConfigError("--shards: expected a number from 1");
  return std::min<std::size_t>(given.value_or(kShards), sweep.points.size());
}

/// "0-3,7": those tasks of the array that have something to do.
std::string array_of(const std::vector<std::size_t>& missing, std::size_t shards) {
  std::set<std::size_t> tasks;
  for (const std::size_t point : missing) tasks.insert(point % shards);
  std::string out;
  for (auto first = tasks.begin(); first != tasks.end();) {
    auto next = std::next(first);
    std::size_t last = *first;
    while (next != tasks.end() && *next == last + 1) last = *next++;
    out += fmt::format("{}{}", out.empty() ? "" : ",", *first);
    if (last > *first) out += fmt::format("-{}", last);
    first = next;
  }
  return out;
}

/// What --sbatch adds: "partition=gpu" as "#SBATCH --partition=gpu".
std::string own_lines(const CommandLine& line) {
  std::string out;
  for (const std::string& option : line.texts("sbatch")) {
    const std::string name = option.substr(0, option.find('='));
    const bool well =
        !name.empty() && name.front() != '-' && option.find_first_of("\r\n") == std::string::npos;
    if (!well || name == "array" || name == "wait")
      throw config::ConfigError(
          fmt::format("--sbatch: expected a long option of sbatch without dashes, as "
                      "partition=NAME (array and wait are the sweep's own), found \"{}\"",
                      option));
    out += fmt::format("#SBATCH --{}\n", option);
  }
  return out;
}

/// The words of a task: those of this command that say what a point is.
Arguments task_words(const CommandLine& line) {
  Arguments out{"sweep", line.words().at(0)};
  for (const char* name : {"set", "plugin"}) {
    for (const std::string& value : line.texts(name))
      out.push_back(fmt::format("--{}={}", name, value));
  }
  for (const char* name : {"seed", "memory-limit"}) {
    if (const auto value = line.text(name)) out.push_back(fmt::format("--{}={}", name, *value));
  }
  out.push_back(fmt::format("--jobs={}", line.number("jobs").value_or(1)));
  out.insert(out.end(), {"--progress=never", "--out=" + *line.text("out")});
  return out;
}

std::vector<std::size_t> missing_points(const sweep::Sweep& sweep, const sweep::Store& store) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    if (store.find(i) == nullptr) out.push_back(i);
  }
  return out;
}

std::vector<fs::path> shard_folders(const fs::path& out) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(out / "shards", error)) {
    if (entry.is_directory(error)) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

void gather(const fs::path& out, const sweep::Identity& identity, sweep::Store& store) {
  for (const fs::path& folder : shard_folders(out)) {
    for (const auto& [point, text] : sweep::read_points(folder, identity)) {
      if (store.find(point) == nullptr) store.add(point, text);
    }
  }
}

/// Tasks of the job in Slurm's queue; empty where Slurm does not answer.
std::optional<std::size_t> tasks_in_queue(const std::string& job) {
  const Ended ended = run_command("squeue --me --noheader --array --format=%F 2>/dev/null");
  if (ended.code != 0) return std::nullopt;
  std::istringstream lines(ended.text);
  std::string line;
  std::size_t count = 0;
  while (std::getline(lines, line)) {
    line.erase(line.find_last_not_of(' ') + 1);
    if (line == job) ++count;
  }
  return count;
}

/// A sweep that still runs is not submitted twice.
void check_queue(const fs::path& file) {
  std::ifstream in(file);
  std::string job;
  if (!std::getline(in, job) || job.empty()) return;
  const auto count = tasks_in_queue(job);
  if (count.value_or(0) == 0) return;
  throw IoError(
      fmt::format("{}: {} tasks of Slurm's job {} are in the queue; wait for them, or end them "
                  "with `scancel {}`",
                  file.parent_path().string(), *count, job, job));
}

std::string submit(const fs::path& script) {
  const Ended ended =
      run_command(fmt::format("sbatch --parsable {} 2>&1", shell_word(script.string())));
  if (ended.code == 127)
    throw IoError("sbatch: no such program here; run this where Slurm's commands are");
  if (ended.code != 0) throw IoError(fmt::format("sbatch refuses the job: {}", ended.text));
  // Lines before the last are warnings; "12;cluster" is the job 12.
  const std::string last = ended.text.substr(ended.text.rfind('\n') + 1);
  return last.substr(0, last.find(';'));
}

/// Until no task is in the queue, or an interrupt.
void wait_for(const CommandLine& line, const std::string& job) {
  using namespace std::chrono_literals;
  constexpr auto kLongest = std::chrono::milliseconds(30000);
  std::chrono::milliseconds pause = 500ms;
  std::size_t before = 0;
  while (!interrupted()) {
    const auto count = tasks_in_queue(job);  // a controller that restarts is waited for
    if (count && *count == 0) return;
    if (count && *count != before && !line.has("quiet"))
      say(fmt::format("slurm job {}: {} tasks to go", job, *count));
    before = count.value_or(before);
    for (auto slept = 0ms; slept < pause && !interrupted(); slept += 100ms)
      std::this_thread::sleep_for(100ms);
    pause = std::min(kLongest, pause + pause / 4);
  }
}

}  // namespace

void declare_executor(CommandLine& line) {
  line.option("executor", "NAME",
              "local, or slurm: an array job runs the points, a part each task; --dry-run prints "
              "its script (default: local)")
      .one_of({"local", "slurm"});
  line.option("shards", "N", "slurm: tasks of the array (default: 64, at most one a point)");
  line.repeated("sbatch", "option=value",
                "slurm: a long option of sbatch, as partition=NAME or time=1:00:00 (repeatable)");
  line.option("shard", "K/N",
              "what a task does: every N-th point from K on, into a folder of its own in --out");
}

bool on_slurm(const CommandLine& line) {
  const std::string name = line.text("executor").value_or("local");
  if (name != "local" && name != "slurm")
    throw config::ConfigError(
        unknown(fmt::format("--executor: \"{}\" is unknown", name), name, {"local", "slurm"}));
  for (const char* option : {"shards", "sbatch"}) {
    if (name == "local" && line.has(option))
      throw config::ConfigError(fmt::format("--{}: goes with --executor slurm", option));
  }
  if (name == "slurm" && line.has("shard"))
    throw config::ConfigError("--shard: is one task's; leave out --executor");
  if ((name == "slurm" || line.has("shard")) && !line.has("out"))
    throw config::ConfigError("railyard sweep: give a folder that all hosts share with --out DIR");
  return name == "slurm";
}

std::optional<Shard> shard_of(const CommandLine& line) {
  const auto given = line.text("shard");
  if (!given) return std::nullopt;
  Shard out;
  const char* end = given->data() + given->size();
  const auto first = std::from_chars(given->data(), end, out.number);
  const bool slash = first.ec == std::errc{} && first.ptr != end && *first.ptr == '/';
  const auto second = std::from_chars(slash ? first.ptr + 1 : end, end, out.of);
  if (second.ec != std::errc{} || second.ptr != end || out.number >= out.of)
    throw config::ConfigError(
        fmt::format("--shard: expected K/N with K below N, found \"{}\"", *given));
  return out;
}

fs::path shard_folder(const fs::path& out, const Shard& shard) {
  return out / "shards" / fmt::format("{}-of-{}", shard.number, shard.of);
}

std::string slurm_script(const CommandLine& line, const sweep::Sweep& sweep,
                         const std::vector<std::size_t>& missing) {
  const std::size_t shards = shards_of(line, sweep);
  const fs::path out = fs::absolute(*line.text("out")).lexically_normal();
  const std::string log = (out / "shards").string();
  if (log.find('\n') != std::string::npos)
    throw config::ConfigError("--out: the name of a folder on Slurm's hosts has no line breaks");
  std::string text = "#!/bin/sh\n";
  text += fmt::format("#SBATCH --job-name=\"railyard-{}\"\n", sbatch_escaped(sweep.name));
  text += fmt::format("#SBATCH --array={}\n", array_of(missing, shards));
  text += fmt::format("#SBATCH --cpus-per-task={}\n", line.number("jobs").value_or(1));
  text += "#SBATCH --requeue\n#SBATCH --open-mode=append\n";
  text += fmt::format("#SBATCH --output=\"{}/%a-of-{}.log\"\n", sbatch_escaped(log, true), shards);
  text += own_lines(line);
  text += fmt::format("cd {} || exit 4\nexec {}", shell_word(fs::current_path().string()),
                      shell_word(fs::read_symlink("/proc/self/exe").string()));
  for (const std::string& word : task_words(line)) text += ' ' + shell_word(word);
  return text + fmt::format(" --shard \"$SLURM_ARRAY_TASK_ID/{}\"\n", shards);
}

void run_on_slurm(const CommandLine& line, const sweep::Sweep& sweep,
                  const sweep::Identity& identity, sweep::Store& store) {
  const fs::path out(*line.text("out"));
  const fs::path job_file = out / "slurm.job";
  check_queue(job_file);
  gather(out, identity, store);
  const auto missing = missing_points(sweep, store);
  if (missing.empty()) return;
  prepare_folder(out / "shards");
  write_file(out / "slurm.sh", slurm_script(line, sweep, missing));
  hold_interrupts();
  const std::string job = submit(out / "slurm.sh");
  write_file(job_file, job + '\n');
  wait_for(line, job);
  gather(out, identity, store);
  if (interrupted())
    say(
        fmt::format("slurm job {} goes on without this program; --resume gathers what it finished, "
                    "`scancel {}` ends it",
                    job, job));
}

}  // namespace railyard::cli
