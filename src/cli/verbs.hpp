// The verbs of `railyard`, one a file. A verb says which options it has, gets them parsed and
// returns an exit code; what goes wrong is thrown and ends in main.cpp. Help, manual pages and the
// completion of shells are made from the options.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace railyard::cli {

class CommandLine;

/// Exit codes; a contract with scripts.
enum Exit : int {
  kGood = 0,
  kDiffers = 1,  ///< a comparison or check failed
  kWrongInput = 2,
  kInternal = 3,
  kIo = 4,
  kInterrupted = 130
};

using Arguments = std::vector<std::string>;

struct Verb {
  std::string_view name;
  std::string_view summary;
  CommandLine (*options)();
  int (*run)(const CommandLine& line);
};
[[nodiscard]] std::span<const Verb> verbs();

CommandLine run_options();
int run(const CommandLine& line);
CommandLine explain_options();
int explain(const CommandLine& line);
CommandLine sweep_options();
int sweep(const CommandLine& line);
CommandLine check_options();
int check(const CommandLine& line);
CommandLine compare_options();
int compare(const CommandLine& line);
CommandLine list_options();
int list(const CommandLine& line);
CommandLine topology_options();
int topology(const CommandLine& line);
CommandLine place_options();
int place(const CommandLine& line);
CommandLine calibrate_options();
int calibrate(const CommandLine& line);
CommandLine flows_options();
int flows(const CommandLine& line);
CommandLine collective_options();
int collective(const CommandLine& line);
CommandLine trace_options();
int trace(const CommandLine& line);
CommandLine digest_options();
int digest(const CommandLine& line);
CommandLine validate_options();
int validate(const CommandLine& line);
CommandLine plan_options();
int plan(const CommandLine& line);
CommandLine schema_options();
int schema(const CommandLine& line);
CommandLine report_page_options();
int report_page(const CommandLine& line);
CommandLine init_options();
int init(const CommandLine& line);
CommandLine completion_options();
int completion(const CommandLine& line);
CommandLine man_options();
int man(const CommandLine& line);

}  // namespace railyard::cli
