// Checks for our own faults. RAILYARD_CHECK stays on in Release; RAILYARD_DCHECK only in Debug, for
// hot loops.
//
// A failed check throws InternalError, which ends in cli/main.cpp with exit code 3; the front door
// adds scenario, seed, simulated time and the command that reproduces the fault.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace railyard {

/// A broken invariant of this program. Not the user's fault.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// The user asked to stop. Not an error: what was finished is kept. Exit code 130.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

/// A file could not be read or written. Exit code 4.
class IoError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace detail {
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& message);
}  // namespace detail

}  // namespace railyard

#define RAILYARD_CHECK(condition, ...)                                 \
  do {                                                                 \
    if (!(condition)) {                                                \
      ::railyard::detail::check_failed(__FILE__, __LINE__, #condition, \
                                       ::fmt::format(__VA_ARGS__));    \
    }                                                                  \
  } while (false)

#ifdef NDEBUG
#define RAILYARD_DCHECK(condition, ...) static_cast<void>(0)
#else
#define RAILYARD_DCHECK(condition, ...) RAILYARD_CHECK(condition, __VA_ARGS__)
#endif
