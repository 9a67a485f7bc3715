#include "command.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>

#include "railyard/core/check.hpp"

namespace railyard::cli {

Ended run_command(const std::string& command) {
  Ended out;
  std::FILE* pipe = ::popen((command + " </dev/null").c_str(), "r");
  if (pipe == nullptr) throw IoError(fmt::format("{}: cannot be started", command));
  std::array<char, 65536> buffer{};
  std::size_t count = 0;
  while ((count = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0)
    out.text.append(buffer.data(), count);
  const int status = ::pclose(pipe);
  out.code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  while (!out.text.empty() && out.text.back() == '\n') out.text.pop_back();
  return out;
}

}  // namespace railyard::cli
