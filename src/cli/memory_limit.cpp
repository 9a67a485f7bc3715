#include "memory_limit.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>

#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"

namespace railyard::cli {

namespace {

/// Of two threads with nothing but their stacks.
constexpr std::int64_t kThreadBytes = std::int64_t{16} << 20U;

/// What the kernel counts against RLIMIT_DATA, in bytes.
std::int64_t data_bytes() {
  std::ifstream in("/proc/self/status");
  std::string word;
  while (in >> word) {
    std::int64_t kilobytes = 0;
    if (word == "VmData:" && in >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

}  // namespace

void limit_memory(Bytes limit) {
  constexpr double kMebi = 1024.0 * 1024.0;
  const std::int64_t least = data_bytes() + kThreadBytes;
  if (limit.count() < least) {
    throw config::ConfigError(fmt::format(
        "--memory-limit: this program needs {:.1f} MiB before it begins, found {:.1f}",
        static_cast<double>(least) / kMebi, static_cast<double>(limit.count()) / kMebi));
  }
  rlimit bound{};
  if (::getrlimit(RLIMIT_DATA, &bound) != 0) throw IoError("--memory-limit: the system has none");
  bound.rlim_cur = std::min(static_cast<rlim_t>(limit.count()), bound.rlim_max);
  if (::setrlimit(RLIMIT_DATA, &bound) != 0)
    throw IoError("--memory-limit: the system does not take it");
}

}  // namespace railyard::cli
