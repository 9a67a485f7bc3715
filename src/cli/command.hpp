// Other programs, run to their end.
#pragma once

#include <string>

namespace railyard::cli {

struct Ended {
  int code = 0;  ///< 127: there is no such program
  std::string text;
};

/// A command of the shell, with nothing on its stdin; `text` is what it wrote to stdout. Throws
/// IoError where no process can be started.
[[nodiscard]] Ended run_command(const std::string& command);

}  // namespace railyard::cli
