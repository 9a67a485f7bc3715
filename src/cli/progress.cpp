#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <set>

#include "output.hpp"
#include "railyard/config/document.hpp"

namespace railyard::cli {

namespace {

std::string span_text(double seconds) {
  if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 120) return fmt::format("{:.1f} s", seconds);
  if (seconds < 2 * 3600.0) return fmt::format("{:.1f} min", seconds / 60);
  return seconds < 2 * 86400.0 ? fmt::format("{:.1f} h", seconds / 3600)
                               : fmt::format("{:.1f} d", seconds / 86400);
}

}  // namespace

void hold_interrupts() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

bool interrupted() {
  sigset_t signals;
  sigpending(&signals);
  return sigismember(&signals, SIGINT) == 1 || sigismember(&signals, SIGTERM) == 1;
}

ProgressLine::ProgressLine(const CommandLine& line, std::span<const scenario::Spec> specs)
    : specs_(specs),
      terminal_(::isatty(STDERR_FILENO) == 1),
      start_(std::chrono::steady_clock::now()),
      last_(start_) {
  const std::string when = line.text("progress").value_or("auto");
  const std::vector<std::string_view> known{"auto", "always", "never"};
  if (std::find(known.begin(), known.end(), when) == known.end()) {
    throw config::ConfigError(
        unknown(fmt::format("--progress: \"{}\" is unknown", when), when, known));
  }
  shown_ = !line.has("quiet") && (when == "always" || (when == "auto" && terminal_));
  std::set<std::uint64_t> kinds;  // runs of one kind are made once
  for (const scenario::Spec& spec : specs) {
    for (std::size_t policy = 0; policy < spec.policy_names().size(); ++policy)
      kinds.insert(spec.run_key(policy));
  }
  total_ = kinds.size();
}

ProgressLine::~ProgressLine() {
  if (drawn_ && terminal_) static_cast<void>(!::write(STDERR_FILENO, "\r\x1b[K", 4));
}

void ProgressLine::started(const sweep::Run& run) {
  latest_ = {run.spec, run.policy};
  const scenario::Spec& spec = specs_[run.spec];
  running_[latest_].name = specs_.size() == 1
                               ? spec.policy_names()[run.policy]
                               : fmt::format("{} {}", run.spec, spec.policy_names()[run.policy]);
  draw(true);
}

void ProgressLine::update(const sweep::Run& run, double simulated_s, std::size_t jobs_done,
                          std::size_t jobs, std::uint64_t events) {
  latest_ = {run.spec, run.policy};
  State& state = running_[latest_];
  state.simulated_s = simulated_s;
  state.jobs_done = jobs_done;
  state.jobs = jobs;
  state.events = events;
  draw(false);
}

void ProgressLine::finished(const sweep::Run& run) {
  const auto at = running_.find({run.spec, run.policy});
  finished_events_ += at->second.events;
  running_.erase(at);
  ++finished_;
  draw(true);
}

std::string ProgressLine::text(double elapsed_s) const {
  double done = static_cast<double>(finished_);
  std::uint64_t events = finished_events_;
  for (const auto& [key, state] : running_) {
    events += state.events;
    if (state.jobs > 0)
      done += static_cast<double>(state.jobs_done) / static_cast<double>(state.jobs);
  }
  const double share = total_ > 0 ? std::min(1.0, done / static_cast<double>(total_)) : 1.0;
  constexpr std::size_t kBar = 20;
  const auto filled = static_cast<std::size_t>(share * kBar);
  std::string out = fmt::format("[{}{}] {}/{} runs", std::string(filled, '#'),
                                std::string(kBar - filled, '-'), finished_, total_);
  if (const auto at = running_.find(latest_); at != running_.end()) {
    const State& state = at->second;
    out += fmt::format(" | {}: {} simulated, {}/{} jobs", state.name, span_text(state.simulated_s),
                       state.jobs_done, state.jobs);
  }
  out += fmt::format(" | {:.3g} events/s", static_cast<double>(events) / std::max(elapsed_s, 1e-3));
  if (share > 0 && share < 1)
    out += fmt::format(" | ETA {}", span_text(elapsed_s * (1 - share) / share));
  return out;
}

void ProgressLine::draw(bool now) {
  if (!shown_) return;
  using namespace std::chrono_literals;
  const auto time = std::chrono::steady_clock::now();
  // A terminal line is redrawn; a log gets a line only now and then.
  if (time - last_ < (terminal_ ? (now ? 20ms : 100ms) : (now ? 0ms : 2000ms))) return;
  last_ = time;
  const std::chrono::duration<double> elapsed = time - start_;
  const std::string line =
      terminal_ ? "\r\x1b[K" + text(elapsed.count()) : text(elapsed.count()) + '\n';
  static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
  drawn_ = true;
}

}  // namespace railyard::cli
