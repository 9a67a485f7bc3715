// Job traces on the command line: what they hold, our own CSV of them, generated ones.
#pragma once

#include <optional>
#include <string>

#include "command_line.hpp"
#include "railyard/workload/job_stream.hpp"

namespace railyard::cli {

/// The file as a job trace, where --reader or its content says that it is one.
[[nodiscard]] std::optional<workload::JobTrace> read_job_trace(const CommandLine& line,
                                                               const std::string& path);
/// What it holds, for people.
[[nodiscard]] std::string job_trace_text(const workload::JobTrace& trace);
/// `trace convert` of a job trace. Returns what was written, for people.
[[nodiscard]] std::string convert_job_trace(const workload::JobTrace& trace,
                                            const std::string& format, const std::string& out);
/// `trace generate`: to --out, or to stdout.
int generate_job_trace(const CommandLine& line);

}  // namespace railyard::cli
