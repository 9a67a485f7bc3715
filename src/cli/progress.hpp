// The line on stderr that says how far a run is, and the interrupt that ends it early.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "command_line.hpp"
#include "railyard/scenario/scenario.hpp"
#include "railyard/sweep/execute.hpp"

namespace railyard::cli {

/// From here on SIGINT and SIGTERM do not end the program but wait: runs look for them and stop,
/// and what they finished is written. Before, while files are read, they end it as usual.
void hold_interrupts();
/// Is one waiting?
[[nodiscard]] bool interrupted();

class ProgressLine : public sweep::Watcher {
 public:
  /// Shows nothing when --quiet, --progress never, or auto and stderr is no terminal.
  ProgressLine(const CommandLine& line, std::span<const scenario::Spec> specs);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() override;

  void started(const sweep::Run& run) override;
  void update(const sweep::Run& run, double simulated_s, std::size_t jobs_done, std::size_t jobs,
              std::uint64_t events) override;
  void finished(const sweep::Run& run) override;
  [[nodiscard]] bool stop() override { return interrupted(); }

 private:
  struct State {
    std::string name;
    double simulated_s = 0;
    std::size_t jobs_done = 0;
    std::size_t jobs = 0;
    std::uint64_t events = 0;
  };
  void draw(bool now);
  [[nodiscard]] std::string text(double elapsed_s) const;

  std::span<const scenario::Spec> specs_;
  bool shown_ = false;
  bool terminal_ = false;
  bool drawn_ = false;
  std::size_t total_ = 0;
  std::size_t finished_ = 0;
  std::uint64_t finished_events_ = 0;
  std::map<std::pair<std::size_t, std::size_t>, State> running_;
  std::pair<std::size_t, std::size_t> latest_{};
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace railyard::cli
