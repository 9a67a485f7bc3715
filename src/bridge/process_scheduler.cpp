// The scheduler "process": another program decides.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <memory>

#include "bridge/entries.hpp"
#include "bridge/line_process.hpp"

namespace railyard::bridge {

namespace {

std::unique_ptr<scheduler::Scheduler> create_process(const config::Parameters& parameters,
                                                     const scheduler::Parts& parts,
                                                     const scheduler::Catalogs& catalogs) {
  const auto command = parameters.get<config::Command>("command");
  const double seconds = in_seconds(parameters.get<Duration>("timeout"));
  const std::chrono::milliseconds patience(static_cast<std::int64_t>(std::ceil(seconds * 1000)));
  return scheduler_of([=] { return std::make_unique<LineProcess>(command, patience); },
                      fmt::format("{}", fmt::join(command.words, " ")), parts.placement, catalogs);
}

}  // namespace

SchedulerEntry process_entry() {
  return {
      {.name = "process",
       .summary = "another program decides: it is told what happens and answers with decisions, "
                  "JSON lines on its stdin and stdout (docs/reference/policies.md). It runs "
                  "with your rights: name only programs that you trust",
       .parameters = {{.name = "command",
                       .type = config::ParameterType::command,
                       .help = "the program and its arguments, started in the scenario file's "
                               "folder"},
                      {.name = "timeout",
                       .type = config::ParameterType::duration,
                       .fallback = "\"60s\"",
                       .help = "of wall time, for each answer; then the run ends with an error",
                       .min = 0.001,
                       .max = 86'400}}},
      &create_process};
}

}  // namespace railyard::bridge
