#include "bridge/line_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "railyard/scheduler/scheduler.hpp"

extern char** environ;

namespace railyard::bridge {

namespace {

using scheduler::SchedulerError;
using std::chrono::milliseconds;

/// To leave when its input has ended, or to be seen to have died.
constexpr milliseconds kGrace{1000};
/// An answer for every host of the largest cluster is a few megabytes.
constexpr std::size_t kLineMax = std::size_t{64} << 20U;

std::string reason_of(int error) {
  return std::strerror(error);
}

/// Descriptors of both ends, closed on exec; the child gets its end by dup2.
void close_all(const std::array<int, 4>& descriptors) {
  for (const int descriptor : descriptors) {
    if (descriptor >= 0) ::close(descriptor);
  }
}

}  // namespace

LineProcess::LineProcess(const config::Command& command, milliseconds patience)
    : patience_(patience) {
  start(command);
}

/// Its stdin is a socket, because writing to a pipe that nobody reads any more is a signal.
void LineProcess::start(const config::Command& command) {
  std::array<int, 2> in{-1, -1};
  std::array<int, 2> out{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in.data()) != 0 ||
      ::pipe2(out.data(), O_CLOEXEC) != 0) {
    const std::string why = reason_of(errno);
    close_all({in[0], in[1], out[0], out[1]});
    throw SchedulerError(fmt::format("cannot talk to another program: {}", why));
  }
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  if (!command.directory.empty()) {
    posix_spawn_file_actions_addchdir_np(&actions, command.directory.c_str());
  }
  posix_spawn_file_actions_adddup2(&actions, in[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  sigset_t usual;
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE);
  sigaddset(&usual, SIGINT);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> words;
  for (const std::string& word : command.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const int error =
      ::posix_spawnp(&process_, words[0], &actions, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close_all({in[1], out[1], -1, -1});
  in_ = in[0];
  out_ = out[0];
  if (error == 0) return;
  close_all({in_, out_, -1, -1});
  throw SchedulerError(
      fmt::format("\"{}\" cannot be started: {}", command.words[0], reason_of(error)));
}

LineProcess::~LineProcess() {
  ::close(in_);
  if (failed_ || !ended_within(kGrace)) ::kill(-process_, SIGKILL);
  ::close(out_);
  while (!reaped_ && ::waitpid(process_, &status_, 0) < 0 && errno == EINTR) {
  }
}

bool LineProcess::ended_within(milliseconds patience) {
  const Deadline deadline = std::chrono::steady_clock::now() + patience;
  milliseconds nap{1};
  while (!reaped_) {
    const pid_t done = ::waitpid(process_, &status_, WNOHANG);
    reaped_ = done == process_ || (done < 0 && errno != EINTR);
    if (reaped_ || std::chrono::steady_clock::now() >= deadline) break;
    std::this_thread::sleep_for(nap);
    nap = std::min(nap * 2, milliseconds{50});
  }
  return reaped_;
}

void LineProcess::died() {
  failed_ = true;
  if (!ended_within(kGrace)) {
    throw SchedulerError("it closed its stdout: answers are lines there, logs belong on stderr");
  }
  if (WIFSIGNALED(status_)) {
    throw SchedulerError(fmt::format("it was ended by signal {} ({})", WTERMSIG(status_),
                                     ::strsignal(WTERMSIG(status_))));
  }
  throw SchedulerError(
      fmt::format("it ended with exit code {} before the run was over", WEXITSTATUS(status_)));
}

void LineProcess::wait_for(int descriptor, short events, Deadline deadline, const char* what) {
  while (true) {
    const auto left = std::chrono::duration_cast<milliseconds>(
        deadline - std::chrono::steady_clock::now() + std::chrono::microseconds{999});
    pollfd ready{descriptor, events, 0};
    const int found = ::poll(&ready, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
    if (found > 0) return;
    if (found < 0 && errno == EINTR) continue;
    failed_ = true;
    if (found < 0) throw SchedulerError(fmt::format("cannot wait for it: {}", reason_of(errno)));
    throw SchedulerError(
        fmt::format("it {} for {:.3g} s: each line wants one line back, flushed; "
                    "raise \"timeout\" if it thinks longer",
                    what, std::chrono::duration<double>(patience_).count()));
  }
}

void LineProcess::send(std::string_view line) {
  const Deadline deadline = std::chrono::steady_clock::now() + patience_;
  while (!line.empty()) {
    const ssize_t sent = ::send(in_, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      line.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      wait_for(in_, POLLOUT, deadline, "read nothing");
    } else if (errno != EINTR) {
      died();
    }
  }
}

std::string LineProcess::receive() {
  const Deadline deadline = std::chrono::steady_clock::now() + patience_;
  std::size_t searched = 0;
  while (true) {
    const std::size_t end = unread_.find('\n', searched);
    if (end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    searched = unread_.size();
    if (searched > kLineMax) {
      failed_ = true;
      throw SchedulerError(fmt::format("a line of more than {} bytes", kLineMax));
    }
    wait_for(out_, POLLIN, deadline, "said nothing");
    std::array<char, 65536> buffer{};
    const ssize_t got = ::read(out_, buffer.data(), buffer.size());
    if (got > 0) unread_.append(buffer.data(), static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EINTR)) died();
  }
}

}  // namespace railyard::bridge
