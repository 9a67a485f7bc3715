// Traces as files: our own recordings and those of other tools, in and out.
#pragma once

#include <optional>
#include <string>

#include "command_line.hpp"
#include "railyard/workload/recording.hpp"
#include "railyard/workload/trace.hpp"

namespace railyard::cli {

/// A file that `trace` was given. Foreign traces keep the common form, for what it says of them.
struct ReadTrace {
  workload::Recording recording;
  std::optional<workload::Trace> foreign;
};
/// --reader and --absent say how foreign files are read. `matched`: the ranks must fit together.
[[nodiscard]] ReadTrace read_any_trace(const CommandLine& line, const std::string& path,
                                       bool matched);

/// What the file holds, for people.
[[nodiscard]] std::string trace_text(const ReadTrace& trace);

/// `recording` as a file of another format: see `railyard list trace_writers`. Returns what was
/// written, for people.
[[nodiscard]] std::string convert_trace(const workload::Recording& recording,
                                        const std::string& format, const std::string& out);

}  // namespace railyard::cli
