// A program that is spoken to line by line: lines in on its stdin, lines out on its stdout, its
// stderr is ours.
//
// It is started in a process group of its own, so that an interrupt at the terminal is ours to
// handle, and it never outlives this object: it gets the end of its input, a moment to leave, and
// is killed with all its own if it does not.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>

#include "railyard/bridge/partner.hpp"
#include "railyard/config/catalog.hpp"

namespace railyard::bridge {

class LineProcess final : public Partner {
 public:
  /// Whoever does not read or answer for so long has fallen silent.
  LineProcess(const config::Command& command, std::chrono::milliseconds patience);
  ~LineProcess() override;
  LineProcess(const LineProcess&) = delete;
  LineProcess& operator=(const LineProcess&) = delete;

  void send(std::string_view line) override;
  [[nodiscard]] std::string receive() override;

 private:
  using Deadline = std::chrono::steady_clock::time_point;

  void start(const config::Command& command);
  void wait_for(int descriptor, short events, Deadline deadline, const char* what);
  [[nodiscard]] bool ended_within(std::chrono::milliseconds patience);
  [[noreturn]] void died();

  std::chrono::milliseconds patience_;
  pid_t process_ = -1;
  bool reaped_ = false;
  bool failed_ = false;  ///< nobody waits for a program that broke the rules
  int status_ = 0;
  int in_ = -1;   ///< its stdin
  int out_ = -1;  ///< its stdout
  std::string unread_;
};

}  // namespace railyard::bridge
